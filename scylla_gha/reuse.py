"""Rows that stand for cells which need not be run: the agent would do the same, and be judged by the same.

The first is told by the key of the trial, the second by the digest of what judges it. Neither asks where a row was
made: in an earlier attempt or wave, at the merge base of a pull request, or last night.
"""

import datetime
import functools
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.config.library import Library
from scylla_gha.intake.files import UnsoundError, opened
from scylla_gha.intake.rows import LINE_BYTES, fault_of
from scylla_gha.judges.court import court_digest
from scylla_gha.model.judgment import judging_digest
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.result import Result

_FILE_BYTES: Final = 2 * 1024**3
# Rows of a run, of its shards, of artifacts side by side. Deeper lie workspaces, where an agent could plant rows.
_PLACES: Final = ("*.jsonl", "*/results.jsonl", "shards/*/results.jsonl")
_LONG_AGO: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


class Judging:
    """The digests of what judges the scenarios of a plan today."""

    def __init__(self, plan: Plan, library: Library) -> None:
        settings = plan.experiment.model_settings.judge
        self._images, self._library = plan.check_images, library
        self._court = court_digest(plan.experiment.judges, library.roots, settings)
        self.of = functools.cache(self._of)

    def _of(self, scenario: str) -> str:
        folder = self._library.scenario(scenario)
        return judging_digest(folder.judging_digest, self._court, self._images.get(scenario))


def judging_of(plan: Plan, library: Library) -> dict[str, str]:
    """The digests of what judges, by planned scenario.

    Raises:
        ConfigError: a planned scenario is not in the library, or cannot be read.
    """
    judging = Judging(plan, library)
    return {name: judging.of(name) for name in sorted({cell.scenario for cell in plan.cells})}


def reusable(paths: Sequence[Path], plan: Plan, library: Library) -> dict[str, Result]:
    """The newest row of each planned cell that may stand for it, by the cell's id.

    Args:
        paths: files of rows, and folders of them: a run's, or one of artifacts. One that is not there has none; what
            is no row of this version is passed over, since it costs no more than a new trial.
        plan: what is to be measured; rows older than it allows are none.
        library: what judges today.

    Raises:
        ConfigError: a planned scenario is not in the library, or cannot be read.
    """
    planned, judging = {cell.key: cell for cell in plan.cells}, Judging(plan, library)
    variants = {arm.id: arm.variant.id if arm.variant else None for arm in plan.arms}
    found: dict[str, Result] = {}
    for row in stored_rows(paths):
        cell = planned.get(row.key)
        if cell is None or not _stands(row, cell, plan.not_before) or row.judging != judging.of(cell.scenario):
            continue
        if cell.id not in found or _began(row) > _began(found[cell.id]):
            # As it is called here: a change that is merged by now was an arm of its own before.
            found[cell.id] = row.model_copy(
                update={
                    "experiment": plan.experiment.id,
                    "epoch": plan.epoch,
                    "cell": cell.id,
                    "arm": cell.arm,
                    "variant": variants[cell.arm],
                }
            )
    return found


def _began(row: Result) -> datetime.datetime:
    return row.started_at or _LONG_AGO


def _stands(row: Result, cell: Cell, not_before: datetime.datetime | None) -> bool:
    if (row.scenario, row.repetition) != (cell.scenario, cell.repetition):
        return False
    return row.measures_agent and row.judged and (not_before is None or _began(row) >= not_before)


def stored_rows(paths: Sequence[Path]) -> Iterator[Result]:
    """All rows of this version of the toolkit in files, and in folders of runs, shards or artifacts."""
    for path in paths:
        if path.is_dir():
            for each in sorted({found for place in _PLACES for found in path.glob(place)}):
                if not each.parent.is_symlink():
                    yield from _rows_of(each)
        elif path.exists():
            yield from _rows_of(path.resolve())  # whoever names a link means what it points to


def _rows_of(path: Path) -> Iterator[Result]:
    try:
        with opened(path, _FILE_BYTES) as file:
            yield from filter(None, map(_row, _lines(file)))
    except UnsoundError:
        return


def _lines(file: BufferedReader) -> Iterator[bytes]:
    """Lines of a size that rows have; one that is longer is passed over."""
    whole = True
    while line := file.readline(LINE_BYTES):
        ended = line.endswith(b"\n")
        if whole:
            yield line
        whole = ended


def _row(line: bytes) -> Result | None:
    try:
        row = Result.model_validate_json(line)
    except ValidationError:
        return None
    return None if fault_of(row) else row
