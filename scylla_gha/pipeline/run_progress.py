"""Progress of runs, read from their records on disk: nothing is locked, and no command needs to know of the reader."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import Trial
from scylla_gha.report.page.progress_page import CellProgress, CellState, RunProgress
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import CellFolder, RunFolder

_REMEMBERED: Final = 100_000  # judged cells whose records are not read again


def runs_in(root: Path) -> list[RunFolder]:
    """Return the folders below `root` that hold a plan, the last one that was planned first."""
    plans = [(RunFolder(path).plan.stat().st_mtime, RunFolder(path)) for path in _folders(root)]
    return [folder for _, folder in sorted(plans, key=lambda plan: -plan[0])]


def _folders(root: Path) -> Iterator[Path]:
    yield from (path for path in root.glob("*/") if not path.is_symlink() and RunFolder(path).plan.is_file())


def run_progress(folder: RunFolder) -> RunProgress:
    """Read the progress of a run; a plan that cannot be read has no cells."""
    cells = tuple(CellProgress(cell.id, _cell_state(folder.cell(cell.id), cell)) for cell in _cells(folder))
    return RunProgress(folder.root.name, cells, _is_locked(folder.root), folder.report("html").is_file())


def _cells(folder: RunFolder) -> tuple[Cell, ...]:
    try:
        return _planned(folder.plan, folder.plan.stat().st_mtime_ns)
    except (ConfigError, OSError):
        return ()


@functools.lru_cache(maxsize=100)
def _planned(path: Path, changed: int) -> tuple[Cell, ...]:  # noqa: ARG001 a changed file is another key
    plan = read_record(path, Plan)
    return plan.cells if plan else ()


def _cell_state(folder: CellFolder, cell: Cell) -> CellState:
    try:
        if folder.judgment.is_file() and folder.trial.is_file():
            return _judged_state(folder, folder.judgment.stat().st_mtime_ns, folder.trial.stat().st_mtime_ns, cell.key)
        trial = read_record(folder.trial, Trial)
    except (ConfigError, OSError):
        return "unreadable"
    if trial is not None and trial.key == cell.key:
        return "judging" if trial.outcome.measures_agent else "excluded"
    return "working" if folder.cell.is_file() else "waiting"


@functools.lru_cache(maxsize=_REMEMBERED)
def _judged_state(folder: CellFolder, judged: int, ended: int, key: str) -> CellState:  # noqa: ARG001 parts of the cache's key
    trial, judgment = read_record(folder.trial, Trial), read_record(folder.judgment, Judgment)
    if trial is None or trial.key != key:
        return "working"
    if not trial.outcome.measures_agent:
        return "excluded"
    if judgment is None or judgment.trial_key != key:
        return "judging"
    if judgment.result is None:
        return "unjudged"
    return "passed" if judgment.result.passed else "failed"


def _is_locked(folder: Path) -> bool:
    """Return whether a command works in the folder. The kernel's table is read, since trying the lock would take it."""
    number = str(folder.stat().st_ino)
    try:
        locks = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    except OSError:
        return False
    return any(fields[1:2] == ["FLOCK"] and fields[5].rpartition(":")[2] == number for fields in locks)
