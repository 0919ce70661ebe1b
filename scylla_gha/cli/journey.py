"""What the lanes of one run share: the plan, where it is kept, who works on it, and what is known so far."""

import datetime
import functools
import threading
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path

from scylla_gha.cli.allowance import Allowance
from scylla_gha.cli.boxing import Boxes
from scylla_gha.cli.docket import Docket
from scylla_gha.cli.kept import Keep
from scylla_gha.cli.planning import Installed
from scylla_gha.cli.route import Route
from scylla_gha.cli.sources import Sources
from scylla_gha.config.library import Library, ScenarioFolder
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.gateway.client import Gateway
from scylla_gha.gateway.journal import account
from scylla_gha.judge import Bench
from scylla_gha.judges.court import Court, court, court_digest
from scylla_gha.model.judgment import judgment_key
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import Trial
from scylla_gha.prepare import lay_ground
from scylla_gha.proc import Cancel
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.seeding.cache import cache_root
from scylla_gha.seeding.ground import Ground
from scylla_gha.store import CellFolder, RunFolder, read_record


@dataclass
class Journey:
    """What the lanes of one run share."""

    plan: Plan
    folder: RunFolder
    sources: Sources
    agents: dict[str, Installed]
    cancel: Cancel
    gateway: Gateway | None = None
    allowance: Allowance | None = None
    fresh: bool = False
    judging: bool = True
    keep: Keep = "none"
    docket: Docket = field(default_factory=Docket)
    redactor: Redactor = field(default_factory=Redactor)
    stopped: dict[str, str] = field(default_factory=dict)  # arms of which no further cell is started, and why
    unstarted: dict[str, str] = field(default_factory=dict)  # cells, and why
    full: str | None = None  # which disk has too little room for a further cell
    route: Route | None = None  # how the provider is reached; None: nobody is asked
    is_answered: bool = False  # by the provider, in this run
    halted: str | None = None  # why no further cell is started: none could reach a model
    _grounds: dict[str, Ground | Exception] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def library(self) -> Library:
        """Where all but the variants of a change lies."""
        return self.sources.here

    @property
    def judges(self) -> tuple[str, ...]:
        """The models that judge: those that were given, or else the experiment's."""
        return self.docket.judges or self.plan.experiment.judges

    @property
    def is_budget_spent(self) -> bool:
        """Whether a budget kept a cell from being started, or cut one."""
        return bool(self.allowance and self.allowance.is_spent)

    @functools.cached_property
    def court_digest(self) -> str:
        """What the judges put into a judgment's key."""
        settings = self.plan.experiment.model_settings.judge
        return court_digest(self.judges, self.library.roots, settings, self.docket.wording)

    @functools.cached_property
    def court(self) -> Court | None:
        """The judge panel, where there is one."""
        roots, wording = self.library.roots, self.docket.wording
        return court(self.gateway, self.judges, roots, wording) if self.judges and self.gateway else None

    @functools.cached_property
    def boxes(self) -> Boxes:
        """Where agents and checks run."""
        return Boxes(self.plan.sandbox, self.library, self.plan.experiment.limits)

    def heed(self, journal: Path) -> None:
        """Halt the run where a journal proves that no request can do better; an answer shows that the way is right."""
        if self.route is None or self.is_answered or self.halted:
            return
        evidence = account(journal).evidence
        self.is_answered = evidence.answers > 0
        if not self.is_answered and evidence.fault:
            self.halted = self.route.dead_end(evidence.fault)

    def bench(self, scenario: str) -> Bench:
        """Where the checks of a scenario run, and who judges.

        Raises:
            ToolError: the image that they run in cannot be had, or is not the one that was planned with.
        """
        place = self.boxes.place(self.library.scenario(scenario).scenario.tools)
        planned = self.plan.check_images.get(scenario)
        if place.digest != planned:
            raise ToolError(f"{scenario}: the image of its checks is {place.digest}, and {planned} when it was "
                            "planned; run `scylla-gha evaluate` again, which plans anew")  # fmt: skip
        return Bench(place, self.plan.experiment.limits, self.cancel, self.court, self.court_digest)

    def scenario(self, scenario: str) -> ScenarioFolder:
        """A scenario, with the rubric that it is judged by."""
        return self.docket.scenarios.get(scenario) or self.library.scenario(scenario)

    def key(self, cell: Cell, trial: Trial) -> str:
        """The key of the judgment of a trial."""
        judging = self.scenario(cell.scenario).judging_digest
        return judgment_key(trial, judging, self.court_digest, self.plan.check_images.get(cell.scenario))

    def own_key(self, cell: Cell, trial: Trial) -> str:
        """The key of the judgment that the experiment's report stands on."""
        experiment = self.plan.experiment
        court = court_digest(experiment.judges, self.library.roots, experiment.model_settings.judge)
        judging = self.library.scenario(cell.scenario).judging_digest
        return judgment_key(trial, judging, court, self.plan.check_images.get(cell.scenario))

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


def stored_trial(cell: Cell, place: CellFolder, not_before: datetime.datetime | None = None) -> Trial | None:
    """The trial that makes working on the cell needless; one that was started too early does not."""
    trial = read_record(place.trial, Trial)
    if trial is None or trial.key != cell.key or trial.is_older_than(not_before):
        return None
    return trial if trial.outcome.measures_agent else None


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
