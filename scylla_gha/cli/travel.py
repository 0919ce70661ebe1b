"""One cell's way from workspace to judgment, and many cells at once.

Whether a cell has to be worked on is decided by keys alone: a trial under the planned key that measures the agent is
taken as it is; so is a judgment under the key of that trial and of what judges it. Everything else is done again.
"""

import datetime
import platform
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from scylla_gha import __version__
from scylla_gha.cli.allowance import Need
from scylla_gha.cli.floor import disk_lack
from scylla_gha.cli.journey import Journey, finish, stored_trial
from scylla_gha.cli.kept import drop_workspaces, keep_workspace
from scylla_gha.errors import FixtureError, IncompleteError, SandboxError, ToolError
from scylla_gha.estimate import is_for_judges, panel_worst
from scylla_gha.judge import judge
from scylla_gha.model.isolation import Isolation
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Trial, Usage
from scylla_gha.prepare import prepare
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.sweep import Sweep
from scylla_gha.run import Runner, run
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.seals import seals_of
from scylla_gha.seeding.workspace import scratch, work_root
from scylla_gha.store import (
    JUDGE_TRAFFIC,
    AttemptFolder,
    CellFolder,
    find_judgment,
    keep_judgment,
    read_record,
    write_record,
)
from scylla_gha.variants.outfit import outfit

_LASTING: Final = (Outcome.PROVIDER_ERROR, Outcome.DELIVERY_ERROR)
Told = Callable[[Cell, Trial, Judgment | None], None]


def travel(journey: Journey, cells: Iterable[Cell], jobs: int, told: Told) -> None:
    """Work on the cells, several at once, in their order. Returns when all are done or the run was stopped.

    Raises:
        KeyboardInterrupt: the user interrupted; what was done is kept.
    """
    waiting = _Shared(iter(cells))
    with ThreadPoolExecutor(jobs, thread_name_prefix="lane") as lanes:
        finish([lanes.submit(_lane, journey, waiting, told) for _ in range(jobs)], journey.cancel)


class _Shared:
    """An iterator that several threads take from."""

    def __init__(self, cells: Iterator[Cell]) -> None:
        self._cells = cells
        self._lock = threading.Lock()

    def take(self) -> Cell | None:
        """The next cell, or None when there is none."""
        with self._lock:
            return next(self._cells, None)


def _lane(journey: Journey, waiting: _Shared, told: Told) -> None:
    while not journey.cancel.is_set and (cell := waiting.take()):
        place = journey.folder.cell(cell.id)
        try:
            trial, judgment = _worked(journey, cell, place)
            if trial is None:
                continue
        except OSError as error:
            message = f"{cell.id}: {error}; the run stops here, and the same command goes on when that is mended"
            raise IncompleteError(message) from error
        if journey.keep == "failed":
            drop_workspaces(trial, judgment, place)
        told(cell, trial, judgment)


def _worked(journey: Journey, cell: Cell, place: CellFolder) -> tuple[Trial | None, Judgment | None]:
    """The cell's trial, stored or made now, and its judgment; what the judges may need is set aside with it."""
    trial = None if journey.fresh else stored_trial(cell, place, journey.plan.not_before)
    if trial is None and not _may_start(journey, cell):
        return None, None
    with nullcontext() if trial else _allowed(journey, cell) as refusal:
        if refusal is not None:
            if not journey.cancel.is_set:  # an interruption is no lack of money
                journey.unstarted[cell.id] = refusal
            return None, None
        trial = trial or _made(journey, cell, place)
        return trial, _judgment(journey, cell, trial, place) if journey.judging else None


def _may_start(journey: Journey, cell: Cell) -> bool:
    """Whether a cell's agent may be started; a reason why not is noted."""
    if stopped := journey.halted or journey.stopped.get(cell.arm):
        journey.unstarted[cell.id] = f"{'the run' if journey.halted else 'its arm'} was stopped: {stopped}"
        return False
    if lack := disk_lack((journey.folder.root, work_root()), journey.plan.experiment.limits.free_disk_mb):
        journey.full = journey.unstarted[cell.id] = lack
        return False
    return True


def _allowed(journey: Journey, cell: Cell) -> AbstractContextManager[str | None]:
    """Set aside what the cell may cost, until it is judged; why not, where a budget does not allow it."""
    if journey.allowance is None:
        return nullcontext()
    experiment = journey.plan.experiment
    limit = experiment.limits.usd if journey.plan.arm(cell.arm).model else None
    judges = experiment.judges if journey.judging and is_for_judges(journey.scenario(cell.scenario).rubric) else ()
    need = Need(limit or 0.0, panel_worst(judges, journey.library.priced_models(experiment.prices)))
    return journey.allowance.cell(cell.id, need, journey.cancel)


def _made(journey: Journey, cell: Cell, place: CellFolder) -> Trial:
    _clear_way(journey, cell, place)
    attempts = [_attempt_left_in(folder, journey.redactor) for folder in place.attempts()]
    if not (attempts and attempts[-1].outcome.measures_agent):  # else killed between the two records
        attempts = _try(journey, cell, place, attempts)
    trial = _sum_up(journey, cell, attempts)
    write_record(place.trial, trial)
    return trial


def _clear_way(journey: Journey, cell: Cell, place: CellFolder) -> None:
    """Put records of another key, or that are too old, aside; they may have been paid for."""
    owner, stored = read_record(place.cell, Cell), read_record(place.trial, Trial)
    is_old = stored is not None and stored.is_older_than(journey.plan.not_before)
    if owner is not None and (journey.fresh or is_old or owner.key != cell.key):
        aside = journey.folder.aside(owner.id, owner.key)
        aside.parent.mkdir(parents=True, exist_ok=True)
        place.root.rename(aside)
    write_record(place.cell, cell)


def _attempt_left_in(folder: AttemptFolder, redactor: Redactor) -> Attempt:
    """An earlier attempt; one without a record was in flight when the harness was killed, and its cost is unknown."""
    stored = read_record(folder.file("attempt.json"), Attempt)
    if stored is not None:
        return stored
    sweep = Sweep(redactor)
    sweep.folder(folder.root)
    began = datetime.datetime.fromtimestamp(folder.root.stat().st_ctime, datetime.UTC)
    return Attempt(number=folder.number, outcome=Outcome.CANCELLED, reason="the harness was killed in the middle of it",
                   retryable=True, started_at=began, seconds=0.0, usage=Usage(), redactions=sweep.found,
                   files=seals_of(folder))  # fmt: skip


def _try(journey: Journey, cell: Cell, place: CellFolder, attempts: list[Attempt]) -> list[Attempt]:
    """Attempt the cell until an outcome stands, with a doubling pause after faults that do not measure the agent."""
    retry = journey.plan.experiment.retry
    for turn in range(retry.attempts):
        attempt = _attempt(journey, cell, place.attempt(len(attempts) + 1))
        attempts = [*attempts, attempt]
        journey.heed(place.attempt(attempt.number).file("traffic.jsonl"))
        if attempt.outcome in _LASTING and not attempt.retryable:
            journey.stopped[cell.arm] = attempt.reason  # the next cell would fare alike
        last = turn == retry.attempts - 1
        if last or not attempt.retryable or journey.halted or journey.cancel.wait(retry.backoff_seconds * 2**turn):
            break
    return attempts


def _sum_up(journey: Journey, cell: Cell, attempts: list[Attempt]) -> Trial:
    arm = journey.plan.arm(cell.arm)
    image = journey.boxes.boxing.image(journey.scenario(cell.scenario).scenario.tools, arm)
    versions = {
        "scylla-gha": __version__,
        "agent": attempts[-1].agent_version or arm.version or "unknown",
        "python": platform.python_version(),
        "system": platform.platform(),
        **({"image": image} if image else {}),
    }
    return Trial(cell=cell.id, key=cell.key, sandbox=journey.plan.sandbox, versions=versions, attempts=tuple(attempts),
                 isolation=isolation_of(journey.plan.sandbox, arm))  # fmt: skip


def isolation_of(sandbox: str, arm: Arm) -> Isolation:
    """What the sandbox gives; a variant with tools that the provider runs leaves its network not closed."""
    given = SANDBOXES[sandbox].isolation
    if given.network == "gateway" and arm.variant and arm.variant.treatment.server_tools:
        return given.model_copy(update={"network": "provider"})
    return given


def _attempt(journey: Journey, cell: Cell, folder: AttemptFolder) -> Attempt:
    folder.root.mkdir(parents=True, exist_ok=True)
    try:
        ground = journey.ground(cell.scenario)
        with scratch() as root:
            workspace = prepare(ground, root)
            attempt = run(runner_of(journey, cell), ground, workspace, folder)
            if journey.keep != "none":
                attempt = keep_workspace(attempt, workspace.repo, folder, journey.redactor)
                write_record(folder.file("attempt.json"), attempt)
            return attempt
    except (FixtureError, ToolError) as error:
        now = datetime.datetime.now(datetime.UTC)
        usage = Usage() if folder.file("transcript.jsonl").exists() else NO_USAGE  # what an agent did was paid for
        lost = isinstance(error, SandboxError)
        outcome = Outcome.SANDBOX_ERROR if lost else Outcome.FIXTURE_ERROR
        attempt = Attempt(number=folder.number, outcome=outcome, reason=str(error), retryable=lost, started_at=now,
                          seconds=0.0, usage=usage)  # fmt: skip
        attempt = Sweep(journey.redactor).record(attempt).model_copy(update={"files": seals_of(folder)})
        write_record(folder.file("attempt.json"), attempt)
        return attempt


def runner_of(journey: Journey, cell: Cell) -> Runner:
    """How a cell's agent is run.

    Raises:
        ToolError: the image that it works in cannot be had.
    """
    arm = journey.plan.arm(cell.arm)
    experiment = journey.plan.experiment
    named = next(each for each in experiment.agents if each.partition("@")[0] == arm.agent)
    installed = journey.agents[named]
    place = journey.boxes.place(journey.scenario(cell.scenario).scenario.tools, arm)
    return Runner(
        arm=arm,
        agent=installed.agent,
        program=installed.started_by(place),
        gateway=journey.gateway,
        place=place,
        limits=experiment.limits,
        cancel=journey.cancel,
        outfit=outfit(arm.variant, journey.sources.variant(arm).roots),
        inventory=journey.library.inventory(arm.agent, arm.version),
        redactor=journey.redactor,
        share_usd=_share(journey.plan),
    )


def _share(plan: Plan) -> float | None:
    """A trial's equal part of what all agents may spend; None where it has a limit of its own, or nothing has one."""
    experiment = plan.experiment
    budgets = [each for each in (experiment.budget_usd, experiment.role_budget_usd.agent) if each is not None]
    return min(budgets) / len(plan.cells) if budgets and experiment.limits.usd is None else None


def _judgment(journey: Journey, cell: Cell, trial: Trial, place: CellFolder) -> Judgment | None:
    """The judgment of a trial that measures the agent: the stored one where nothing that judges has changed."""
    if not trial.outcome.measures_agent:
        return None
    key = journey.key(cell, trial)
    made = find_judgment(place, key)
    if journey.halted and journey.court:
        return made
    if made is None or made.error is not None or journey.fresh:
        ground = journey.ground(cell.scenario)
        sweep = Sweep(journey.redactor.knowing(ground.holds))
        with sweep.guarding(place.attempt(trial.last.number).root):
            made = sweep.record(judge(trial, ground, place, journey.bench(cell.scenario)))
        journey.heed(place.attempt(trial.last.number).file(JUDGE_TRAFFIC))
    keep_judgment(place, made, stands=key == journey.own_key(cell, trial))
    return made
