"""Progress of runs, read from their records on disk: nothing is locked, and no command needs to know of the reader."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scylla_gha.agents import AGENTS
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import Trajectory, Trial
from scylla_gha.redaction import Redactor
from scylla_gha.redaction.session import RedactionSession
from scylla_gha.report.page.progress_page import CellProgress, CellState, LiveTrial, RunProgress
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import CellFolder, RunFolder

_SHOWN_STEPS: Final = 30  # of a trial that goes on
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


def live_trial(folder: RunFolder, cell_id: str, redactor: Redactor) -> LiveTrial | None:
    """Read the conversation of a cell's last attempt so far, without secrets; None: no attempt was started.

    The transcript is cleaned in memory, since its file is cleaned only when the attempt ends.
    """
    plan = read_record(folder.plan, Plan)
    cell = next((cell for cell in plan.cells if cell.id == cell_id), None) if plan else None
    attempts = folder.cell(cell_id).attempts() if cell else []
    if plan is None or cell is None or not attempts:
        return None
    transcript = attempts[-1].file("transcript.jsonl")
    is_plain = transcript.is_file() and not transcript.is_symlink()  # the agent may have replaced it
    steps = AGENTS[plan.arm(cell.arm).agent].conversation(transcript).steps if is_plain else ()
    newest = RedactionSession(redactor).record(Trajectory(steps=steps[-_SHOWN_STEPS:])).steps
    traffic = summarise_traffic(attempts[-1].file("traffic.jsonl"))
    prompt = attempts[-1].file("prompt.md")
    return LiveTrial(
        cell=cell_id,
        task=prompt.read_text(encoding="utf-8", errors="replace") if prompt.is_file() else None,
        steps=len(steps),
        newest=newest,
        requests=traffic.requests,
        usd=traffic.usage.usd,
        is_running=_is_locked(folder.root) and _cell_state(folder.cell(cell_id), cell) == "working",
    )
