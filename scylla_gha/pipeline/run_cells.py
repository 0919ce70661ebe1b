"""Worker threads that take cells from trial to judgment, and their progress on standard error.

Keys alone decide what is done: a stored trial under the planned key that measures the agent is used as it is, and so is
a judgment under the key of that trial and of what judges it. Everything else is done again.
"""

import functools
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import click

from scylla_gha.counting import counted, dollars, duration
from scylla_gha.errors import IncompleteError
from scylla_gha.judge.judge_trial import judge_trial
from scylla_gha.model.experiment import MB
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import TIME_OVER, Cell
from scylla_gha.model.trial import Trial
from scylla_gha.pipeline.context import RunContext, RunSettings
from scylla_gha.pipeline.run_trial import run_trial
from scylla_gha.plan.budget import CellNeed
from scylla_gha.prepare.scenario import drop_workspaces
from scylla_gha.prepare.workspace import work_root
from scylla_gha.redaction.session import RedactionSession
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, find_judgment, keep_judgment
from scylla_gha.system.future_wait import run_at_once

_EVERY_SECONDS: Final = 2.0  # between two lines of progress
OnCellDone = Callable[[Cell, Trial, Judgment | None], None]
CellLines = Callable[[Cell, Trial, Judgment | None], Iterable[str] | None]


class Progress:
    """A counter of finished cells that several threads may advance."""

    def __init__(self, total: int, budget_usd: float | None) -> None:
        self._total = total
        self._budget = budget_usd
        self._done = self._passed = 0
        self._usd = 0.0
        self._has_unknown = False  # cost of a cell
        self._started = self._printed_at = time.monotonic()
        self._lock = threading.Lock()
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        """Show the bar if standard error is a terminal."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._line(), total=self._total)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """Remove the bar and print the last state."""
        if self._bar is not None:
            self._bar.stop()
        click.echo(self._line(), err=True)

    def say(self, line: str) -> None:
        """Print a line, above the bar if there is one."""
        with self._lock:
            if self._bar is None:
                click.echo(line, err=True)
            else:
                self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def advance(self, usd: float | None, *, passed: bool) -> None:
        """Count one cell."""
        with self._lock:
            self._done += 1
            self._passed += passed
            self._usd += usd or 0.0
            self._has_unknown |= usd is None
            if self._bar is not None:
                self._bar.update(self._bar.tasks[0].id, advance=1, description=self._line())
            elif time.monotonic() - self._printed_at >= _EVERY_SECONDS:
                self._printed_at = time.monotonic()
                click.echo(self._line(), err=True)

    def _line(self) -> str:
        usd = f"{'at least ' if self._has_unknown else ''}{dollars(self._usd)}"
        if self._has_unknown and not self._usd:
            usd = dollars(None)
        budget = f" of {dollars(self._budget)}" if self._budget else ""
        elapsed = time.monotonic() - self._started
        left = elapsed / self._done * (self._total - self._done) if self._done else None
        when = "" if left is None or self._done == self._total else f", about {duration(left)} left"
        cells = counted(self._total, "cell")
        return f"{self._done}/{cells}, {self._passed} passed, {usd}{budget}, {duration(elapsed)}{when}"


def run_cells_with_progress(context: RunContext, cells: Iterable[Cell], lines_of: CellLines | None = None) -> None:
    """Run cells as `run_cells` does, with a progress display, and print the lines on each cell that is done."""
    plan = context.settings.plan
    with Progress(len(plan.cells), plan.experiment.budget_usd) as progress:

        def advance(cell: Cell, trial: Trial, judgment: Judgment | None) -> None:
            for line in (lines_of(cell, trial, judgment) if lines_of is not None else None) or ():
                progress.say(line)
            passed = judgment is not None and judgment.result is not None and judgment.result.passed
            progress.advance(trial.usage.usd, passed=passed)

        run_cells(context, cells, advance)


def run_cells(context: RunContext, cells: Iterable[Cell], on_done: OnCellDone) -> None:
    """Run and judge cells in their order, several at once, until all are done or the run is stopped.

    Args:
        context: of the run.
        cells: in the order in which they are started.
        on_done: called by a worker after each cell that has a trial.

    Raises:
        KeyboardInterrupt: the user interrupted; finished cells are stored.
    """
    queue = _SharedIterator(_unjudged_first(context.settings, cells))
    jobs = context.settings.options.workers
    run_at_once([functools.partial(_work, context, queue, on_done)] * jobs, jobs, context.state.cancel.set)


def _unjudged_first(settings: RunSettings, cells: Iterable[Cell]) -> Iterable[Cell]:
    """Sort stored trials without a judgment first if there is a budget, so no new agent spends their judges' money."""
    if settings.options.fresh or not settings.judges or settings.plan.experiment.budget_usd is None:
        return cells

    def is_later(cell: Cell) -> bool:
        trial = settings.stored_trial(cell)
        return trial is None or not settings.needs_judgment(cell, trial)

    return sorted(cells, key=is_later)


class _SharedIterator:
    """An iterator that several threads take from."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._cells = iter(cells)
        self._lock = threading.Lock()

    def take(self) -> Cell | None:
        """Return the next cell; None if there is none."""
        with self._lock:
            return next(self._cells, None)


def _work(context: RunContext, queue: _SharedIterator, on_done: OnCellDone) -> None:
    options, state = context.settings.options, context.state
    while not state.cancel.is_set and (cell := queue.take()):
        if options.deadline is not None and time.monotonic() >= options.deadline:
            state.unstarted[cell.id] = TIME_OVER
            continue
        try:
            trial, judgment = _run_and_judge(context, cell)
            if trial is None:
                continue
            if options.keep == "failed":
                drop_workspaces(trial, judgment, context.settings.folder.cell(cell.id))
            on_done(cell, trial, judgment)
        except OSError as error:
            message = f"{cell.id}: {error}; the run stops here; correct this, and run the same command again to resume"
            raise IncompleteError(message) from error


def _run_and_judge(context: RunContext, cell: Cell) -> tuple[Trial | None, Judgment | None]:
    """Return a cell's trial, stored or run now, and its judgment; both None if the cell is not started."""
    trial = context.settings.stored_trial(cell)
    if trial is None and not _may_start(context, cell):
        return None, None
    with _reserve(context, cell, trial) as refusal:
        if refusal is not None:
            if not context.state.cancel.is_set:  # an interruption is not a lack of money
                context.state.unstarted[cell.id] = refusal
            return None, None
        trial = trial or run_trial(context, cell)
        return trial, _judge(context, cell, trial) if context.settings.options.judging else None


def _may_start(context: RunContext, cell: Cell) -> bool:
    """Return whether a cell's agent may be started; store the reason if not."""
    settings, state = context.settings, context.state
    if stopped := state.halted or state.stopped.get(cell.arm):
        state.unstarted[cell.id] = f"{'the run' if state.halted else 'its arm'} was stopped: {stopped}"
        return False
    if reason := low_disk_space((settings.folder.root, work_root()), settings.plan.experiment.limits.free_disk_mb):
        state.full_disk = state.unstarted[cell.id] = reason
        return False
    return True


def low_disk_space(folders: Sequence[Path], least_mb: int) -> str | None:
    """Return a message about a disk with less free space than `least_mb`, or None. A folder need not exist yet."""
    for folder in folders:
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free // MB
        if free < least_mb:
            return (f"the disk of {existing} has {free} MB left, and nothing new starts below {least_mb} MB "
                    "(limits.free_disk_mb); make room, and run the same command again")  # fmt: skip
    return None


def _reserve(context: RunContext, cell: Cell, trial: Trial | None) -> AbstractContextManager[str | None]:
    """Reserve the maximum cost of the work on a cell until it is judged; the value is the reason if that is refused."""
    settings, budget = context.settings, context.services.budget
    if budget is None or (trial is not None and not settings.needs_judgment(cell, trial)):
        return nullcontext()
    if trial is not None:
        return budget.judging(cell.id, settings.judges_usd(cell))
    limit = settings.plan.experiment.limits.usd if settings.plan.arm(cell.arm).model else None
    return budget.cell(cell.id, CellNeed(limit or 0.0, settings.judges_usd(cell)), context.state.cancel)


def _judge(context: RunContext, cell: Cell, trial: Trial) -> Judgment | None:
    """Return the judgment of a trial that measures the agent: the stored one if nothing that judges has changed."""
    if not trial.outcome.measures_agent:
        return None
    settings = context.settings
    cell_folder, key = settings.folder.cell(cell.id), settings.key(cell, trial)
    judgment = find_judgment(cell_folder, key)
    if context.state.halted and context.panel:
        return judgment
    if judgment is None or judgment.error is not None or settings.options.fresh:
        prepared = context.prepared_scenario(cell.scenario)
        attempt_folder = cell_folder.attempt(trial.last.number)
        redaction = RedactionSession(context.services.redactor.knowing(prepared.holds))
        with redaction.guarding(attempt_folder.root):
            judgment = judge_trial(trial, prepared, cell_folder, context.judging_context(cell.scenario))
            judgment = redaction.record(judgment)
        context.check_traffic(attempt_folder.file(JUDGE_TRAFFIC))
    keep_judgment(cell_folder, judgment, stands=key == settings.own_key(cell, trial))
    return judgment
