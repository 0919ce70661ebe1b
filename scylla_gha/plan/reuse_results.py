"""Reuse of stored rows for cells whose trial and judgment have the same keys.

A row is reused if the key of its trial and the digest of its judging are those of the planned cell. Its origin does not
matter: an earlier attempt or wave, the merge base of a pull request, or another day.
"""

import datetime
import functools
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.config.keys import judging_digest, panel_digest
from scylla_gha.config.library import Library
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.result import Result
from scylla_gha.store.untrusted_files import LINE_BYTES, UntrustedFileError, open_file, row_fault

_FILE_BYTES: Final = 2 * 1024**3
# Rows of a run, of its shards, and of artifacts. Deeper folders are workspaces, in which an agent could plant rows.
_ROW_FILES: Final = ("*.jsonl", "*/results.jsonl", "shards/*/results.jsonl")
_UNKNOWN_TIME: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


class JudgingDigests:
    """Digests of checks, rubric and judges of a plan's scenarios, as they are now."""

    def __init__(self, plan: Plan, library: Library) -> None:
        settings = plan.experiment.model_settings.judge
        self._images, self._library = plan.check_images, library
        self._panel_digest = panel_digest(plan.experiment.judges, library.roots, settings)
        self.of = functools.cache(self._of)

    def _of(self, scenario: str) -> str:
        folder = self._library.scenario(scenario)
        return judging_digest(folder.judging_digest, self._panel_digest, self._images.get(scenario))


def judging_of(plan: Plan, library: Library) -> dict[str, str]:
    """Return the judging digest of each planned scenario.

    Raises:
        ConfigError: a planned scenario is not in the library, or cannot be read.
    """
    judging = JudgingDigests(plan, library)
    return {name: judging.of(name) for name in sorted({cell.scenario for cell in plan.cells})}


def reusable(paths: Sequence[Path], plan: Plan, library: Library) -> dict[str, Result]:
    """Return the newest reusable row of each planned cell, by the cell's id.

    Args:
        paths: files of rows, and folders of a run or of artifacts. Missing paths, and lines that are not rows of this
            version, are skipped: they only cost a new trial.
        plan: has the cells and the maximum age of rows.
        library: has the checks and rubrics.

    Raises:
        ConfigError: a planned scenario is not in the library, or cannot be read.
    """
    planned, judging = {cell.key: cell for cell in plan.cells}, JudgingDigests(plan, library)
    variants = {arm.id: arm.variant.id if arm.variant else None for arm in plan.arms}
    reused: dict[str, Result] = {}
    for row in stored_rows(paths):
        cell = planned.get(row.key)
        if cell is None or not _is_reusable(row, cell, plan.not_before) or row.judging != judging.of(cell.scenario):
            continue
        if cell.id not in reused or _start_time(row) > _start_time(reused[cell.id]):
            # Named as in this plan: before its merge, a change was an arm of its own.
            names = {"experiment": plan.experiment.id, "epoch": plan.epoch, "cell": cell.id, "arm": cell.arm,
                     "variant": variants[cell.arm]}  # fmt: skip
            reused[cell.id] = row.model_copy(update=names)
    return reused


def _start_time(row: Result) -> datetime.datetime:
    return row.started_at or _UNKNOWN_TIME


def _is_reusable(row: Result, cell: Cell, not_before: datetime.datetime | None) -> bool:
    if (row.scenario, row.repetition) != (cell.scenario, cell.repetition):
        return False
    return row.measures_agent and row.judged and (not_before is None or _start_time(row) >= not_before)


def stored_rows(paths: Sequence[Path]) -> Iterator[Result]:
    """Read all rows of this version of the toolkit in files, and in folders of runs, shards or artifacts."""
    for path in paths:
        if path.is_dir():
            for file in sorted({file for pattern in _ROW_FILES for file in path.glob(pattern)}):
                if not file.parent.is_symlink():
                    yield from _rows_of(file)
        elif path.exists():
            yield from _rows_of(path.resolve())  # a link that the user names is followed


def _rows_of(path: Path) -> Iterator[Result]:
    try:
        with open_file(path, _FILE_BYTES) as file:
            yield from filter(None, map(_row, _lines(file)))
    except UntrustedFileError:
        return


def _lines(file: BufferedReader) -> Iterator[bytes]:
    """Return the lines; those longer than any row are skipped."""
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
    return None if row_fault(row) else row
