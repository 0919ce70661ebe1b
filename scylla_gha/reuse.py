"""Rows of earlier work that stand for cells which need not be run again."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.config.library import Library
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result

_PLACES: Final = ("*.jsonl", "*/results.jsonl", "shards/*/results.jsonl")


def reusable(paths: Sequence[Path], plan: Plan, library: Library) -> dict[str, Result]:  # noqa: ARG001 judging is to come
    """The newest row of each planned cell that may stand for it, by the cell's id.

    Args:
        paths: files of rows, and folders of them; one that is not there has none.
        plan: what is to be measured; rows older than it allows are none.
        library: what judges today.
    """
    keys = {cell.id: cell.key for cell in plan.cells}
    found: dict[str, Result] = {}
    for row in stored_rows(paths):
        if keys.get(row.cell) != row.key or not row.measures_agent or not row.judged:
            continue
        if plan.not_before is not None and (row.started_at is None or row.started_at < plan.not_before):
            continue
        earlier = found.get(row.cell)
        if earlier is None or earlier.started_at is None or (row.started_at and row.started_at > earlier.started_at):
            found[row.cell] = row
    return {cell: row.model_copy(update={"experiment": plan.experiment.id}) for cell, row in found.items()}


def stored_rows(paths: Sequence[Path]) -> Iterator[Result]:
    """All rows of this version of the toolkit in files, and in folders of runs, shards or artifacts."""
    for path in paths:
        files = {each for place in _PLACES for each in path.glob(place)} if path.is_dir() else {path}
        for file in sorted(each for each in files if each.is_file()):
            with file.open("rb") as lines:
                for line in lines:
                    try:
                        yield Result.model_validate_json(line)
                    except ValidationError:
                        continue
