"""Worker threads that take cells from trial to judgment, the trial of one cell, and progress on standard error.

Keys alone decide what is reused: a trial that measures the agent and has the planned key, and a judgment with the
key of that trial, its checks, its rubric and the judges. Other cells are run or judged again. A trial records all
attempts up to the first outcome that counts.
"""

import dataclasses
import datetime
import functools
import platform
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import click

from scylla_gha import __version__
from scylla_gha.attempt import run_attempt
from scylla_gha.attempt.equip import AgentRunner, with_instructions
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.counting import counted, dollars, duration
from scylla_gha.errors import FixtureError, IncompleteError, SandboxError, ToolError
from scylla_gha.evaluate.context import RunContext, RunSettings
from scylla_gha.judge import judge_trial
from scylla_gha.model.experiment import MB
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import TIME_OVER, Arm, Cell
from scylla_gha.model.sandbox import Isolation
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Trial, Usage
from scylla_gha.plan.budget import CellNeed
from scylla_gha.prepare import drop_workspaces, keep_workspace, prepare_workspace
from scylla_gha.prepare.workspace import scratch, work_root
from scylla_gha.redaction import RedactionSession, Redactor
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store import read_record, write_record
from scylla_gha.store.run_folder import (
    JUDGE_TRAFFIC,
    AttemptFolder,
    CellFolder,
    file_digests,
    find_judgment,
    keep_judgment,
)
from scylla_gha.system.future_wait import run_at_once
from scylla_gha.variants import arm_resources

if TYPE_CHECKING:
    from scylla_gha.attempt.github_com import LaneSource

_EVERY_SECONDS: Final = 2.0  # time between two lines of progress
OnCellDone = Callable[[Cell, Trial, Judgment | None], None]
CellLines = Callable[[Cell, Trial, Judgment | None], Iterable[str] | None]
_LASTING: Final = (Outcome.PROVIDER_ERROR, Outcome.DELIVERY_ERROR)  # the arm's next cell would fail for the same reason


class Progress:
    """A counter of finished cells that several threads may advance."""

    def __init__(self, total: int, budget_usd: float | None) -> None:
        self._total = total
        self._budget = budget_usd
        self._done = self._passed = 0
        self._usd = 0.0
        self._has_unknown = False  # whether the cost of a cell is unknown
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
        usd = dollars(None if self._has_unknown and not self._usd else self._usd)
        if self._has_unknown and self._usd:
            usd = f"at least {usd}"
        budget = f" of {dollars(self._budget)}" if self._budget else ""
        elapsed = time.monotonic() - self._started
        left = elapsed / self._done * (self._total - self._done) if self._done else None
        when = "" if left is None or self._done == self._total else f", about {duration(left)} left"
        cells = counted(self._total, "cell")
        return f"{self._done}/{cells}, {self._passed} passed, {usd}{budget}, {duration(elapsed)}{when}"


def run_cells_with_progress(context: RunContext, cells: Iterable[Cell], lines_of: CellLines | None = None) -> None:
    """Run cells as `run_cells` does, show their progress, and print what `lines_of` returns for each finished cell."""
    plan = context.settings.plan
    with Progress(len(plan.cells), plan.experiment.budget_usd) as progress:

        def advance(cell: Cell, trial: Trial, judgment: Judgment | None) -> None:
            for line in (lines_of and lines_of(cell, trial, judgment)) or ():
                progress.say(line)
            passed = judgment is not None and judgment.result is not None and judgment.result.passed
            progress.advance(trial.usage.usd, passed=passed)

        run_cells(context, cells, advance)


def run_cells(context: RunContext, cells: Iterable[Cell], on_done: OnCellDone) -> None:
    """Run and judge cells in their order, several at once, until all are done or the run is stopped.

    Args:
        context: the run's context.
        cells: cells in the order of their start.
        on_done: called by a worker after each cell that has a trial.

    Raises:
        KeyboardInterrupt: the user interrupted; finished cells are stored.
    """
    settings, ordered = context.settings, list(_unjudged_first(context.settings, cells))
    jobs = settings.options.workers
    if settings.options.first_alone:
        first = next((cell for cell in ordered if settings.stored_trial(cell) is None), None)
        ordered = [cell for cell in ordered if cell is not first]
        _work(context, iter([first] if first else []), on_done)
    queue = iter(ordered)  # a list's iterator gives each cell to one thread
    run_at_once([functools.partial(_work, context, queue, on_done)] * jobs, jobs, context.state.cancel.set)


def _unjudged_first(settings: RunSettings, cells: Iterable[Cell]) -> Iterable[Cell]:
    """With a budget, put stored trials without a judgment first, so that agents cannot spend their judges' share."""
    if settings.options.fresh or not settings.judges or settings.plan.experiment.budget_usd is None:
        return cells

    def is_later(cell: Cell) -> bool:
        trial = settings.stored_trial(cell)
        return trial is None or not settings.needs_judgment(cell, trial)

    return sorted(cells, key=is_later)


def _work(context: RunContext, queue: Iterator[Cell], on_done: OnCellDone) -> None:
    options, state = context.settings.options, context.state
    while not state.cancel.is_set and (cell := next(queue, None)):
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
    """Return a cell's stored or new trial and its judgment; both None if the cell is not started."""
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
            return (
                f"the disk of {existing} has {free} MB left, but a new cell needs {least_mb} MB "
                "(limits.free_disk_mb); make room, and run the same command again"
            )
    return None


def _reserve(context: RunContext, cell: Cell, trial: Trial | None) -> AbstractContextManager[str | None]:
    """Reserve the maximum cost of a cell until it is judged; the context's value is the reason of a refusal."""
    settings, budget = context.settings, context.services.budget
    if budget is None or (trial is not None and not settings.needs_judgment(cell, trial)):
        return nullcontext()
    if trial is not None:
        return budget.judging(cell.id, settings.judges_usd(cell))
    limit = settings.plan.experiment.limits.usd if settings.plan.arm(cell.arm).model else None
    return budget.cell(cell.id, CellNeed(limit or 0.0, settings.judges_usd(cell)), context.state.cancel)


def _judge(context: RunContext, cell: Cell, trial: Trial) -> Judgment | None:
    """Return the judgment of a trial that measures the agent: the stored one if checks, rubric and judges are equal."""
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
        redaction = RedactionSession(context.services.redactor.with_public_tokens(prepared.holds))
        with redaction.guarding(attempt_folder.root):
            judgment = judge_trial(trial, prepared, cell_folder, context.judging_context(cell.scenario))
            judgment = redaction.record(judgment)
        context.check_traffic(attempt_folder.file(JUDGE_TRAFFIC))
    keep_judgment(cell_folder, judgment, stands=key == settings.own_key(cell, trial))
    return judgment


def run_trial(context: RunContext, cell: Cell) -> Trial:
    """Run a cell's agent and store the trial; archive a stored trial that has another key."""
    cell_folder = context.settings.folder.cell(cell.id)
    _archive_stale_records(context.settings, cell, cell_folder)
    attempts = [_stored_attempt(folder, context.services.redactor) for folder in cell_folder.attempts()]
    if not (attempts and attempts[-1].outcome.measures_agent):  # else killed before the trial was stored
        attempts = _run_attempts(context, cell, cell_folder, attempts)
    trial = _trial_record(context.settings, cell, attempts)
    write_record(cell_folder.trial, trial)
    return trial


def _archive_stale_records(settings: RunSettings, cell: Cell, cell_folder: CellFolder) -> None:
    """Archive records that are too old or have another key, since they may have been paid for."""
    owner, stored = read_record(cell_folder.cell, Cell), read_record(cell_folder.trial, Trial)
    is_old = stored is not None and stored.is_older_than(settings.plan.not_before)
    if owner is not None and (settings.options.fresh or is_old or owner.key != cell.key):
        archive = settings.folder.archive_path(owner.id, owner.key)
        archive.parent.mkdir(parents=True, exist_ok=True)
        cell_folder.root.rename(archive)
    write_record(cell_folder.cell, cell)


def _stored_attempt(folder: AttemptFolder, redactor: Redactor) -> Attempt:
    """Return an earlier attempt; an attempt without a record was killed with the harness, and its cost is unknown."""
    stored = read_record(folder.file("attempt.json"), Attempt)
    if stored is not None:
        return stored
    redaction = RedactionSession(redactor)
    redaction.folder(folder.root)
    started = datetime.datetime.fromtimestamp(folder.root.stat().st_ctime, datetime.UTC)
    return Attempt(
        number=folder.number,
        outcome=Outcome.CANCELLED,
        reason="the harness was killed during the attempt",
        retryable=True,
        started_at=started,
        seconds=0.0,
        usage=Usage(),
        redactions=redaction.count,
        files=file_digests(folder),
    )


def _run_attempts(context: RunContext, cell: Cell, cell_folder: CellFolder, attempts: list[Attempt]) -> list[Attempt]:
    """Attempt the cell until an outcome stands, with a doubling pause after faults that do not measure the agent."""
    retry = context.settings.plan.experiment.retry
    for number in range(retry.attempts):
        attempt = _run_one_attempt(context, cell, cell_folder.attempt(len(attempts) + 1))
        attempts = [*attempts, attempt]
        context.check_traffic(cell_folder.attempt(attempt.number).file("traffic.jsonl"))
        if attempt.outcome in _LASTING and not attempt.retryable:
            context.state.stopped[cell.arm] = attempt.reason
        last = number == retry.attempts - 1
        state = context.state
        is_stopped = state.halted or cell.arm in state.stopped
        if last or not attempt.retryable or is_stopped or state.cancel.wait(retry.backoff_seconds * 2**number):
            break
    return attempts


def _run_one_attempt(context: RunContext, cell: Cell, folder: AttemptFolder) -> Attempt:
    folder.root.mkdir(parents=True, exist_ok=True)
    try:
        prepared = context.prepared_scenario(cell.scenario)
        with scratch() as root:
            workspace = prepare_workspace(prepared, root)
            runner = agent_runner(context, cell)
            prepared = dataclasses.replace(prepared, folder=prepared.folder.for_arm(runner.arm))
            attempt = run_attempt(runner, prepared, workspace, folder)
            if context.settings.options.keep != "none":
                attempt = keep_workspace(attempt, workspace.repo, folder, context.services.redactor)
                write_record(folder.file("attempt.json"), attempt)
            return attempt
    except (FixtureError, ToolError) as error:
        now = datetime.datetime.now(datetime.UTC)
        usage = Usage() if folder.file("transcript.jsonl").exists() else NO_USAGE  # a started agent has a cost
        lost = isinstance(error, SandboxError)
        attempt = Attempt(
            number=folder.number,
            outcome=Outcome.SANDBOX_ERROR if lost else Outcome.FIXTURE_ERROR,
            reason=str(error) or repr(error),
            retryable=lost,
            started_at=now,
            seconds=0.0,
            usage=usage,
        )
        redacted = RedactionSession(context.services.redactor).record(attempt)
        attempt = redacted.model_copy(update={"files": file_digests(folder)})
        write_record(folder.file("attempt.json"), attempt)
        return attempt


def agent_runner(context: RunContext, cell: Cell) -> AgentRunner:
    """Return the settings with which a cell's agent is run.

    Raises:
        ToolError: the image of its sandbox is not available.
    """
    folder, experiment = context.settings.scenario(cell.scenario), context.settings.plan.experiment
    arm = folder.arm(context.settings.plan.arm(cell.arm))
    installed = context.settings.installed(arm)
    target = context.settings.sandboxes.target(folder.scenario.tools, arm)
    runner = AgentRunner(
        arm=arm,
        agent=installed.agent,
        program=installed.program_in(image=target.image is not None),
        gateway=context.services.gateway,
        target=target,
        limits=experiment.limits,
        cancel=context.state.cancel,
        resources=arm_resources(arm, context.settings.sources.variant(arm).roots),
        inventory=context.settings.library.inventory(arm.agent, arm.version),
        redactor=context.services.redactor,
        hub=context.services.hub,
        checks=context.settings.sandboxes.target(folder.scenario.tools) if folder.github else None,
        other_programs=_other_programs(context.settings, arm),
        lanes=_lanes(context, cell, folder),
        share_usd=_share_usd(context.settings, cell),
    )
    return with_instructions(runner)


def _lanes(context: RunContext, cell: Cell, folder: ScenarioFolder) -> "LaneSource | None":
    """Return the repositories of a cell that works on github.com; None for the hub, or without GitHub."""
    fixture = folder.scenario.source.fixture
    if context.settings.plan.experiment.github == "hub" or folder.github is None or fixture is None:
        return None
    from scylla_gha.evaluate.lanes import lane_source

    return lane_source(context.settings.library, context.settings.folder, cell, fixture, context.state.cancel)


def _other_programs(settings: RunSettings, arm: Arm) -> tuple[str, ...]:
    """Return the names of the programs of other modes that an arm's mode does not have."""
    if arm.mode is None:
        return ()
    modes = map(settings.library.mode, settings.library.mode_names())
    names = dict.fromkeys(name for mode in modes for name in mode.programs)
    return tuple(name for name in names if name not in arm.mode.programs)


def _share_usd(settings: RunSettings, cell: Cell) -> float | None:
    """Return a trial's equal share of the agents' budget; None if trials have their own limit, or there is no budget.

    The agents' budget excludes the reserve for the judges of running cells.
    """
    experiment, cells = settings.plan.experiment, len(settings.plan.cells)
    if experiment.limits.usd is not None:
        return None
    judges_usd = settings.judges_usd(cell) * min(settings.options.workers, cells)
    total = None if experiment.budget_usd is None else max(0.0, experiment.budget_usd - judges_usd)
    budgets = [budget for budget in (total, experiment.role_budget_usd.agent) if budget is not None]
    return min(budgets) / cells if budgets else None


def _trial_record(settings: RunSettings, cell: Cell, attempts: list[Attempt]) -> Trial:
    folder = settings.scenario(cell.scenario)
    arm = folder.arm(settings.plan.arm(cell.arm))
    image = settings.sandboxes.image_digests.image(folder.scenario.tools, arm)
    versions = {
        "scylla-gha": __version__,
        "agent": attempts[-1].agent_version or arm.version or "unknown",
        "python": platform.python_version(),
        "system": platform.platform(),
        **({"image": image} if image else {}),
    }
    return Trial(
        cell=cell.id,
        key=cell.key,
        sandbox=settings.plan.sandbox,
        versions=versions,
        attempts=tuple(attempts),
        isolation=isolation_of(settings.plan.sandbox, arm),
    )


def isolation_of(sandbox: str, arm: Arm) -> Isolation:
    """Return the isolation that a sandbox gives; tools that the provider runs open the network to some degree."""
    isolation = SANDBOXES[sandbox].isolation
    if isolation.network == "gateway" and arm.variant and arm.variant.treatment.server_tools:
        return isolation.model_copy(update={"network": "provider"})
    return isolation
