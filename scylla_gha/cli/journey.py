"""One cell's way from workspace to judgment, and many cells at once.

Whether a cell has to be worked on is decided by keys alone: a trial under the planned key that measures the agent is
taken as it is; so is a judgment under the key of that trial and of what judges it. Everything else is done again.
"""

import datetime
import functools
import platform
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Final

from scylla_gha import __version__
from scylla_gha.cli.docket import Docket
from scylla_gha.cli.planning import Installed
from scylla_gha.config.library import Library, ScenarioFolder
from scylla_gha.errors import FixtureError, IncompleteError, ToolError
from scylla_gha.gateway.client import Gateway
from scylla_gha.judge import Bench, judge
from scylla_gha.judges.court import Court, court, court_digest
from scylla_gha.model.judgment import Judgment, judgment_key
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Trial, Usage
from scylla_gha.prepare import lay_ground, prepare
from scylla_gha.proc import Cancel
from scylla_gha.run import Runner, run
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.seeding.cache import cache_root
from scylla_gha.seeding.ground import Ground
from scylla_gha.seeding.workspace import scratch
from scylla_gha.store import (
    AttemptFolder,
    CellFolder,
    RunFolder,
    find_judgment,
    keep_judgment,
    read_record,
    write_record,
)
from scylla_gha.variants.outfit import outfit

_LASTING: Final = (Outcome.PROVIDER_ERROR, Outcome.DELIVERY_ERROR)
Told = Callable[[Cell, Trial, Judgment | None], None]


@dataclass
class Journey:
    """What the lanes of one run share."""

    plan: Plan
    folder: RunFolder
    library: Library
    agents: dict[str, Installed]
    cancel: Cancel
    gateway: Gateway | None = None
    fresh: bool = False
    judging: bool = True
    docket: Docket = field(default_factory=Docket)
    stopped: dict[str, str] = field(default_factory=dict)  # arms of which no further cell is started, and why
    _grounds: dict[str, Ground | Exception] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def judges(self) -> tuple[str, ...]:
        """The models that judge: those that were given, or else the experiment's."""
        return self.docket.judges or self.plan.experiment.judges

    @functools.cached_property
    def court_digest(self) -> str:
        """What the judges put into a judgment's key."""
        return court_digest(self.judges, self.library.roots, self.docket.wording)

    @functools.cached_property
    def court(self) -> Court | None:
        """The judge panel, where there is one."""
        roots, wording = self.library.roots, self.docket.wording
        return court(self.gateway, self.judges, roots, wording) if self.judges and self.gateway else None

    @property
    def bench(self) -> Bench:
        """Where checks run, and who judges."""
        limits = self.plan.experiment.limits
        return Bench(SANDBOXES["host"], limits, self.cancel, self.court, self.court_digest)

    def scenario(self, scenario: str) -> ScenarioFolder:
        """A scenario, with the rubric that it is judged by."""
        return self.docket.scenarios.get(scenario) or self.library.scenario(scenario)

    def key(self, cell: Cell, trial: Trial) -> str:
        """The key of the judgment of a trial."""
        return judgment_key(trial, self.scenario(cell.scenario).judging_digest, self.court_digest)

    def own_key(self, cell: Cell, trial: Trial) -> str:
        """The key of the judgment that the experiment's report stands on."""
        court = court_digest(self.plan.experiment.judges, self.library.roots)
        return judgment_key(trial, self.library.scenario(cell.scenario).judging_digest, court)

    def ground(self, scenario: str) -> Ground:
        """The scenario's ground, laid once."""
        with self._lock:
            if scenario not in self._grounds:
                try:
                    self._grounds[scenario] = lay_ground(self.scenario(scenario), self.library, cache_root())
                except (FixtureError, ToolError) as error:
                    self._grounds[scenario] = error
        found = self._grounds[scenario]
        if isinstance(found, Exception):
            raise found
        return found


def travel(journey: Journey, cells: Iterable[Cell], jobs: int, told: Told) -> None:
    """Work on the cells, several at once, in their order. Returns when all are done or the run was stopped.

    Raises:
        KeyboardInterrupt: the user interrupted; what was done is kept.
    """
    waiting = _Shared(iter(cells))
    with ThreadPoolExecutor(jobs, thread_name_prefix="lane") as lanes:
        finish([lanes.submit(_lane, journey, waiting, told) for _ in range(jobs)], journey.cancel)


def finish(futures: Iterable[Future[None]], cancel: Cancel) -> None:
    """Wait until all have ended; where one fails or the user interrupts, cancel the others.

    Raises:
        KeyboardInterrupt: the user interrupted.
    """
    left = set(futures)
    try:
        while left:  # with an end: a signal may come to another thread, and does not wake one that waits for ever
            ended, left = wait(left, 0.5, FIRST_COMPLETED)
            for future in ended:
                future.result()
    except BaseException:
        cancel.set()
        raise


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
        if cell.arm in journey.stopped:
            continue
        place = journey.folder.cell(cell.id)
        try:
            trial = _trial(journey, cell, place)
            judgment = _judgment(journey, cell, trial, place) if journey.judging else None
        except OSError as error:
            message = f"{cell.id}: {error}; the run stops here, and the same command goes on when that is mended"
            raise IncompleteError(message) from error
        told(cell, trial, judgment)


def stored_trial(cell: Cell, place: CellFolder) -> Trial | None:
    """The trial that makes working on the cell needless."""
    trial = read_record(place.trial, Trial)
    return trial if trial and trial.key == cell.key and trial.outcome.measures_agent else None


def _trial(journey: Journey, cell: Cell, place: CellFolder) -> Trial:
    stored = None if journey.fresh else stored_trial(cell, place)
    if stored is not None:
        return stored
    _clear_way(journey, cell, place)
    attempts = [_attempt_left_in(folder) for folder in place.attempts()]
    trial = _try(journey, cell, place, attempts)
    write_record(place.trial, trial)
    return trial


def _clear_way(journey: Journey, cell: Cell, place: CellFolder) -> None:
    """Put records of another key aside; they may have been paid for."""
    owner = read_record(place.cell, Cell)
    if owner is not None and (journey.fresh or owner.key != cell.key):
        aside = journey.folder.aside(owner.id, owner.key)
        aside.parent.mkdir(parents=True, exist_ok=True)
        place.root.rename(aside)
    write_record(place.cell, cell)


def _attempt_left_in(folder: AttemptFolder) -> Attempt:
    """An earlier attempt; one without a record was in flight when the harness was killed, and its cost is unknown."""
    stored = read_record(folder.file("attempt.json"), Attempt)
    if stored is not None:
        return stored
    began = datetime.datetime.fromtimestamp(folder.root.stat().st_ctime, datetime.UTC)
    return Attempt(number=folder.number, outcome=Outcome.CANCELLED, reason="the harness was killed in the middle of it",
                   retryable=True, started_at=began, seconds=0.0, usage=Usage())  # fmt: skip


def _try(journey: Journey, cell: Cell, place: CellFolder, attempts: list[Attempt]) -> Trial:
    """Attempt the cell until an outcome stands, with a doubling pause after faults that do not measure the agent."""
    retry = journey.plan.experiment.retry
    for turn in range(retry.attempts):
        attempt = _attempt(journey, cell, place.attempt(len(attempts) + 1))
        attempts = [*attempts, attempt]
        if attempt.outcome in _LASTING and not attempt.retryable:
            journey.stopped[cell.arm] = attempt.reason  # the next cell would fare alike
        last = turn == retry.attempts - 1
        if last or not attempt.retryable or journey.cancel.wait(retry.backoff_seconds * 2**turn):
            break
    arm = journey.plan.arm(cell.arm)
    versions = {
        "scylla-gha": __version__,
        "agent": attempts[-1].agent_version or arm.version or "unknown",
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    return Trial(cell=cell.id, key=cell.key, sandbox="host", versions=versions, attempts=tuple(attempts))


def _attempt(journey: Journey, cell: Cell, folder: AttemptFolder) -> Attempt:
    folder.root.mkdir(parents=True, exist_ok=True)
    try:
        ground = journey.ground(cell.scenario)
        with scratch() as root:
            return run(_runner(journey, cell), ground, prepare(ground, root), folder)
    except (FixtureError, ToolError) as error:
        now = datetime.datetime.now(datetime.UTC)
        usage = Usage() if folder.file("transcript.jsonl").exists() else NO_USAGE  # what an agent did was paid for
        attempt = Attempt(number=folder.number, outcome=Outcome.FIXTURE_ERROR, reason=str(error), retryable=False,
                          started_at=now, seconds=0.0, usage=usage)  # fmt: skip
        write_record(folder.file("attempt.json"), attempt)
        return attempt


def _runner(journey: Journey, cell: Cell) -> Runner:
    arm = journey.plan.arm(cell.arm)
    experiment = journey.plan.experiment
    named = next(each for each in experiment.agents if each.partition("@")[0] == arm.agent)
    installed = journey.agents[named]
    return Runner(
        arm=arm,
        agent=installed.agent,
        program=installed.program,
        gateway=journey.gateway,
        sandbox=SANDBOXES["host"],
        limits=experiment.limits,
        cancel=journey.cancel,
        outfit=outfit(arm.variant, journey.library.roots),
        inventory=journey.library.inventory(arm.agent, arm.version),
    )


def _judgment(journey: Journey, cell: Cell, trial: Trial, place: CellFolder) -> Judgment | None:
    """The judgment of a trial that measures the agent: the stored one where nothing that judges has changed."""
    if not trial.outcome.measures_agent:
        return None
    key = journey.key(cell, trial)
    made = find_judgment(place, key)
    if made is None or made.error is not None or journey.fresh:
        made = judge(trial, journey.ground(cell.scenario), place, journey.bench)
    keep_judgment(place, made, stands=key == journey.own_key(cell, trial))
    return made
