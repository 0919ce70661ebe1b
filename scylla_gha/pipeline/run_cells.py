"""One cell's way from workspace to judgment, and many cells at once.

Whether a cell has to be worked on is decided by keys alone: a trial under the planned key that measures the agent is
taken as it is; so is a judgment under the key of that trial and of what judges it. Everything else is done again.
"""

import datetime
import platform
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from scylla_gha import __version__
from scylla_gha.errors import FixtureError, IncompleteError, SandboxError, ToolError
from scylla_gha.judge.judge_trial import judge_trial
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Arm, Cell
from scylla_gha.model.sandbox import Isolation
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Trial, Usage
from scylla_gha.pipeline.cell_reservation import agent_share, reserve_cell, reserve_judging, unjudged_first
from scylla_gha.pipeline.context import RunContext, finish, stored_trial
from scylla_gha.prepare.keep import drop_workspaces, keep_workspace
from scylla_gha.prepare.scenario import prepare_workspace
from scylla_gha.prepare.workspace import scratch, work_root
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.session import RedactionSession
from scylla_gha.run.attempt import AgentRunner, run_attempt
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.records import read_record, write_record
from scylla_gha.store.run_folder import (
    JUDGE_TRAFFIC,
    AttemptFolder,
    CellFolder,
    file_digests,
    find_judgment,
    keep_judgment,
)
from scylla_gha.variants.resources import agent_resources

_MEGA: Final = 1_000_000


_LASTING: Final = (Outcome.PROVIDER_ERROR, Outcome.DELIVERY_ERROR)


OnCellDone = Callable[[Cell, Trial, Judgment | None], None]


def run_cells(context: RunContext, cells: Iterable[Cell], jobs: int, on_done: OnCellDone) -> None:
    """Work on the cells, several at once, in their order. Returns when all are done or the run was stopped.

    Raises:
        KeyboardInterrupt: the user interrupted; what was done is kept.
    """
    context.workers = jobs
    waiting = _SharedIterator(iter(unjudged_first(context, tuple(cells))))
    with ThreadPoolExecutor(jobs, thread_name_prefix="lane") as pool:
        finish([pool.submit(_worker, context, waiting, on_done) for _ in range(jobs)], context.cancel)


class _SharedIterator:
    """An iterator that several threads take from."""

    def __init__(self, cells: Iterator[Cell]) -> None:
        self._cells = cells
        self._lock = threading.Lock()

    def take(self) -> Cell | None:
        """The next cell, or None when there is none."""
        with self._lock:
            return next(self._cells, None)


def _worker(context: RunContext, waiting: _SharedIterator, on_done: OnCellDone) -> None:
    while not context.cancel.is_set and (cell := waiting.take()):
        cell_folder = context.folder.cell(cell.id)
        try:
            trial, judgment = _run_and_judge(context, cell, cell_folder)
            if trial is None:
                continue
        except OSError as error:
            message = f"{cell.id}: {error}; the run stops here, and the same command goes on when that is mended"
            raise IncompleteError(message) from error
        if context.keep == "failed":
            drop_workspaces(trial, judgment, cell_folder)
        on_done(cell, trial, judgment)


def _run_and_judge(context: RunContext, cell: Cell, cell_folder: CellFolder) -> tuple[Trial | None, Judgment | None]:
    """The cell's trial, stored or made now, and its judgment; what the judges may need is set aside with it."""
    trial = None if context.fresh else stored_trial(cell, cell_folder, context.plan.not_before)
    if trial is None and not _may_start(context, cell):
        return None, None
    with reserve_judging(context, cell, trial, cell_folder) if trial else reserve_cell(context, cell) as refusal:
        if refusal is not None:
            if not context.cancel.is_set:  # an interruption is no lack of money
                context.unstarted[cell.id] = refusal
            return None, None
        trial = trial or _run_trial(context, cell, cell_folder)
        return trial, _judgment(context, cell, trial, cell_folder) if context.judging else None


def _may_start(context: RunContext, cell: Cell) -> bool:
    """Whether a cell's agent may be started; a reason why not is noted."""
    if stopped := context.halted or context.stopped.get(cell.arm):
        context.unstarted[cell.id] = f"{'the run' if context.halted else 'its arm'} was stopped: {stopped}"
        return False
    if reason := low_disk_space((context.folder.root, work_root()), context.plan.experiment.limits.free_disk_mb):
        context.full_disk = context.unstarted[cell.id] = reason
        return False
    return True


def _run_trial(context: RunContext, cell: Cell, cell_folder: CellFolder) -> Trial:
    _archive_stale_records(context, cell, cell_folder)
    attempts = [_stored_attempt(folder, context.redactor) for folder in cell_folder.attempts()]
    if not (attempts and attempts[-1].outcome.measures_agent):  # else killed between the two records
        attempts = _run_attempts(context, cell, cell_folder, attempts)
    trial = _trial_record(context, cell, attempts)
    write_record(cell_folder.trial, trial)
    return trial


def _archive_stale_records(context: RunContext, cell: Cell, cell_folder: CellFolder) -> None:
    """Put records of another key, or that are too old, aside; they may have been paid for."""
    owner, stored = read_record(cell_folder.cell, Cell), read_record(cell_folder.trial, Trial)
    is_old = stored is not None and stored.is_older_than(context.plan.not_before)
    if owner is not None and (context.fresh or is_old or owner.key != cell.key):
        aside = context.folder.archive_path(owner.id, owner.key)
        aside.parent.mkdir(parents=True, exist_ok=True)
        cell_folder.root.rename(aside)
    write_record(cell_folder.cell, cell)


def _stored_attempt(folder: AttemptFolder, redactor: Redactor) -> Attempt:
    """An earlier attempt; one without a record was in flight when the harness was killed, and its cost is unknown."""
    stored = read_record(folder.file("attempt.json"), Attempt)
    if stored is not None:
        return stored
    sweep = RedactionSession(redactor)
    sweep.folder(folder.root)
    began = datetime.datetime.fromtimestamp(folder.root.stat().st_ctime, datetime.UTC)
    return Attempt(number=folder.number, outcome=Outcome.CANCELLED, reason="the harness was killed in the middle of it",
                   retryable=True, started_at=began, seconds=0.0, usage=Usage(), redactions=sweep.count,
                   files=file_digests(folder))  # fmt: skip


def _run_attempts(context: RunContext, cell: Cell, cell_folder: CellFolder, attempts: list[Attempt]) -> list[Attempt]:
    """Attempt the cell until an outcome stands, with a doubling pause after faults that do not measure the agent."""
    retry = context.plan.experiment.retry
    for number in range(retry.attempts):
        attempt = _run_one_attempt(context, cell, cell_folder.attempt(len(attempts) + 1))
        attempts = [*attempts, attempt]
        context.check_traffic(cell_folder.attempt(attempt.number).file("traffic.jsonl"))
        if attempt.outcome in _LASTING and not attempt.retryable:
            context.stopped[cell.arm] = attempt.reason  # the next cell would fare alike
        last = number == retry.attempts - 1
        if last or not attempt.retryable or context.halted or context.cancel.wait(retry.backoff_seconds * 2**number):
            break
    return attempts


def _trial_record(context: RunContext, cell: Cell, attempts: list[Attempt]) -> Trial:
    arm = context.plan.arm(cell.arm)
    image = context.sandboxes.boxing.image(context.scenario(cell.scenario).scenario.tools, arm)
    versions = {
        "scylla-gha": __version__,
        "agent": attempts[-1].agent_version or arm.version or "unknown",
        "python": platform.python_version(),
        "system": platform.platform(),
        **({"image": image} if image else {}),
    }
    return Trial(cell=cell.id, key=cell.key, sandbox=context.plan.sandbox, versions=versions, attempts=tuple(attempts),
                 isolation=isolation_of(context.plan.sandbox, arm))  # fmt: skip


def isolation_of(sandbox: str, arm: Arm) -> Isolation:
    """What the sandbox gives; a variant with tools that the provider runs leaves its network not closed."""
    isolation = SANDBOXES[sandbox].isolation
    if isolation.network == "gateway" and arm.variant and arm.variant.treatment.server_tools:
        return isolation.model_copy(update={"network": "provider"})
    return isolation


def _run_one_attempt(context: RunContext, cell: Cell, folder: AttemptFolder) -> Attempt:
    folder.root.mkdir(parents=True, exist_ok=True)
    try:
        prepared = context.prepared_scenario(cell.scenario)
        with scratch() as root:
            workspace = prepare_workspace(prepared, root)
            attempt = run_attempt(runner_of(context, cell), prepared, workspace, folder)
            if context.keep != "none":
                attempt = keep_workspace(attempt, workspace.repo, folder, context.redactor)
                write_record(folder.file("attempt.json"), attempt)
            return attempt
    except (FixtureError, ToolError) as error:
        now = datetime.datetime.now(datetime.UTC)
        usage = Usage() if folder.file("transcript.jsonl").exists() else NO_USAGE  # what an agent did was paid for
        lost = isinstance(error, SandboxError)
        outcome = Outcome.SANDBOX_ERROR if lost else Outcome.FIXTURE_ERROR
        attempt = Attempt(number=folder.number, outcome=outcome, reason=str(error), retryable=lost, started_at=now,
                          seconds=0.0, usage=usage)  # fmt: skip
        attempt = RedactionSession(context.redactor).record(attempt).model_copy(update={"files": file_digests(folder)})
        write_record(folder.file("attempt.json"), attempt)
        return attempt


def runner_of(context: RunContext, cell: Cell) -> AgentRunner:
    """How a cell's agent is run.

    Raises:
        ToolError: the image that it works in cannot be had.
    """
    arm = context.plan.arm(cell.arm)
    experiment = context.plan.experiment
    named = next(name for name in experiment.agents if name.partition("@")[0] == arm.agent)
    installed = context.agents[named]
    target = context.sandboxes.place(context.scenario(cell.scenario).scenario.tools, arm)
    return AgentRunner(
        arm=arm,
        agent=installed.agent,
        program=installed.program_in(target),
        gateway=context.gateway,
        target=target,
        limits=experiment.limits,
        cancel=context.cancel,
        resources=agent_resources(arm.variant, context.sources.variant(arm).roots),
        inventory=context.library.inventory(arm.agent, arm.version),
        redactor=context.redactor,
        share_usd=agent_share(context, cell),
    )


def _judgment(context: RunContext, cell: Cell, trial: Trial, cell_folder: CellFolder) -> Judgment | None:
    """The judgment of a trial that measures the agent: the stored one where nothing that judges has changed."""
    if not trial.outcome.measures_agent:
        return None
    key = context.key(cell, trial)
    made = find_judgment(cell_folder, key)
    if context.halted and context.panel:
        return made
    if made is None or made.error is not None or context.fresh:
        prepared = context.prepared_scenario(cell.scenario)
        sweep = RedactionSession(context.redactor.knowing(prepared.holds))
        with sweep.guarding(cell_folder.attempt(trial.last.number).root):
            made = sweep.record(judge_trial(trial, prepared, cell_folder, context.judging_context(cell.scenario)))
        context.check_traffic(cell_folder.attempt(trial.last.number).file(JUDGE_TRAFFIC))
    keep_judgment(cell_folder, made, stands=key == context.own_key(cell, trial))
    return made


def low_disk_space(places: Iterable[Path], floor_mb: int) -> str | None:
    """Which disk has less free space than the floor; None where all have enough. A place need not be there yet."""
    for cell_folder in places:
        there = next(folder for folder in (cell_folder, *cell_folder.parents) if folder.exists())
        free = shutil.disk_usage(there).free // _MEGA
        if free < floor_mb:
            return (f"the disk of {there} has {free} MB left, and nothing new starts below {floor_mb} MB "
                    "(limits.free_disk_mb); make room, and run the same command again")  # fmt: skip
    return None
