"""Shared state of the workers of one run."""

import datetime
import functools
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from scylla_gha.config.keys import judgment_key, panel_digest
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.config.materials import PromptTexts
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.future_wait import wait_for_any
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.hub.client import HubProcess
from scylla_gha.images import SandboxPool
from scylla_gha.judge.judge_trial import JudgingContext
from scylla_gha.judge.panel import GatewayPanel, open_panel
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import Trial
from scylla_gha.plan.budget import CellBudget
from scylla_gha.plan.build import InstalledAgent
from scylla_gha.plan.estimate import is_for_judges, panel_worst
from scylla_gha.prepare.scenario import Keep, PreparedScenario, prepare_scenario
from scylla_gha.prepare.tools import cache_root
from scylla_gha.process import Cancel
from scylla_gha.redaction import Redactor
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import CellFolder, RunFolder, find_judgment


@dataclass(frozen=True, slots=True)
class JudgeOverrides:
    """Overrides for judging again; an empty field leaves the experiment's own setting."""

    judges: tuple[str, ...] = ()
    wording: PromptTexts | None = None
    scenarios: Mapping[str, ScenarioFolder] = field(default_factory=dict)  # with another rubric, by id
    name: str = ""

    def __bool__(self) -> bool:
        """Return whether anything is overridden."""
        return bool(self.judges or self.wording or self.scenarios)


@dataclass
class RunContext:
    """Shared state of the workers of one run: plan, folder, agents, gateway and budgets."""

    plan: Plan
    folder: RunFolder
    sources: ConfigSources
    agents: dict[str, InstalledAgent]
    cancel: Cancel
    gateway: GatewayProcess | None = None
    hub: HubProcess | None = None  # None: no planned scenario has GitHub state
    budget: CellBudget | None = None
    workers: int = 1  # maximum number of cells at once
    deadline: float | None = None  # of the monotonic clock: no cell is started after it
    fresh: bool = False
    judging: bool = True
    keep: Keep = "none"
    overrides: JudgeOverrides = field(default_factory=JudgeOverrides)
    redactor: Redactor = field(default_factory=Redactor)
    stopped: dict[str, str] = field(default_factory=dict)  # arm -> reason why no further cell of it is started
    unstarted: dict[str, str] = field(default_factory=dict)  # cell -> reason why it was not started
    full_disk: str | None = None  # message about a disk that is too full for a further cell
    halted: str | None = None  # reason why no further cell is started: no request can reach a model
    _prepared: dict[str, PreparedScenario | Exception] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def library(self) -> Library:
        """The library of everything except the variants of a change."""
        return self.sources.here

    @property
    def judges(self) -> tuple[str, ...]:
        """Ids of the judge models: the overrides', or else the experiment's."""
        return self.overrides.judges or self.plan.experiment.judges

    @property
    def is_budget_spent(self) -> bool:
        """True if a budget kept a cell from starting, or cut one off."""
        return bool(self.budget and self.budget.is_spent)

    @functools.cached_property
    def panel_digest(self) -> str:
        """Digest of the judge panel, a part of the keys of judgments."""
        settings = self.plan.experiment.model_settings.judge
        return panel_digest(self.judges, self.library.roots, settings, self.overrides.wording)

    @functools.cached_property
    def panel(self) -> GatewayPanel | None:
        """The judge panel; None without judges."""
        roots, wording = self.library.roots, self.overrides.wording
        return open_panel(self.gateway, self.judges, roots, wording) if self.judges and self.gateway else None

    @functools.cached_property
    def sandboxes(self) -> SandboxPool:
        """The sandboxes of agents and checks."""
        return SandboxPool(self.plan.sandbox, self.library, self.plan.experiment.limits, self.sources)

    def check_traffic(self, log_file: Path) -> None:
        """Stop the arms of a provider that a request log proves to be out of reach; halt the run if judges need it."""
        if self.gateway is None or self.halted:
            return
        for provider, reason in self.gateway.dead_ends(log_file).items():
            arms = [arm for arm in self.plan.arms if arm.model]
            dead = [arm.id for arm in arms if self.gateway.provider_of(arm.model) == provider]
            judges = [judge for judge in self.judges if self.gateway.provider_of(judge) == provider]
            if judges or len(dead) == len(arms):
                self.halted = reason
            else:
                self.stopped.update(dict.fromkeys(dead, reason))

    def judging_context(self, scenario: str) -> JudgingContext:
        """Return what judging a scenario needs: sandbox, limits and panel.

        Raises:
            ToolError: the image of the checks is not available, or is not the planned one.
        """
        target = self.sandboxes.target(self.library.scenario(scenario).scenario.tools)
        planned = self.plan.check_images.get(scenario)
        if target.digest != planned:
            raise ToolError(f"{scenario}: the image of its checks is {target.digest}, but {planned} was "
                            "planned; run `scylla-gha evaluate` again, which makes a new plan")  # fmt: skip
        return JudgingContext(target, self.plan.experiment.limits, self.cancel, self.panel, self.panel_digest)

    def scenario(self, scenario: str) -> ScenarioFolder:
        """Return a scenario with the rubric that it is judged by."""
        return self.overrides.scenarios.get(scenario) or self.library.scenario(scenario)

    def key(self, cell: Cell, trial: Trial) -> str:
        """Return the key of the judgment of a trial."""
        judging = self.scenario(cell.scenario).judging_digest
        return judgment_key(trial, judging, self.panel_digest, self.plan.check_images.get(cell.scenario))

    def own_key(self, cell: Cell, trial: Trial) -> str:
        """Return the key of the judgment that the report of the experiment uses, without overrides."""
        experiment = self.plan.experiment
        panel = panel_digest(experiment.judges, self.library.roots, experiment.model_settings.judge)
        judging = self.library.scenario(cell.scenario).judging_digest
        return judgment_key(trial, judging, panel, self.plan.check_images.get(cell.scenario))

    def stored_trial(self, cell: Cell) -> Trial | None:
        """Return the stored trial that stands for a cell; None if there is none, if it is too old, or for --fresh."""
        return None if self.fresh else stored_trial(cell, self.folder.cell(cell.id), self.plan.not_before)

    def needs_judgment(self, cell: Cell, trial: Trial) -> bool:
        """Return whether a trial measures the agent and has no valid judgment."""
        judgment = find_judgment(self.folder.cell(cell.id), self.key(cell, trial))
        return trial.outcome.measures_agent and (judgment is None or judgment.error is not None)

    def judges_usd(self, cell: Cell) -> float:
        """Return the maximum cost of one request to each judge of a cell; what it leaves over pays for a second one."""
        experiment = self.plan.experiment
        judges = experiment.judges if self.judging and is_for_judges(self.scenario(cell.scenario).rubric) else ()
        return panel_worst(judges, self.library.priced_models(experiment.prices))

    def prepared_scenario(self, scenario: str) -> PreparedScenario:
        """Prepare a scenario, once for each run.

        Raises:
            FixtureError: the start state is not the pinned one.
            ToolError: a tool of the scenario is not available.
        """
        with self._lock:
            if scenario not in self._prepared:
                try:
                    self._prepared[scenario] = prepare_scenario(self.scenario(scenario), self.library, cache_root())
                except (FixtureError, ToolError) as error:
                    self._prepared[scenario] = error
        prepared = self._prepared[scenario]
        if isinstance(prepared, Exception):
            raise prepared
        return prepared


def stored_trial(cell: Cell, folder: CellFolder, not_before: datetime.datetime | None = None) -> Trial | None:
    """Return the stored trial that can stand for the cell; None if there is none, or if it is too old."""
    trial = read_record(folder.trial, Trial)
    if trial is None or trial.key != cell.key or trial.is_older_than(not_before):
        return None
    return trial if trial.outcome.measures_agent else None


def finish(futures: Iterable[Future[None]], cancel: Cancel) -> None:
    """Wait until all have ended; cancel the others if one fails or the user interrupts.

    Raises:
        KeyboardInterrupt: the user interrupted.
    """
    left = set(futures)
    try:
        while left:  # with a time limit: a signal to another thread does not wake an endless wait
            ended, left = wait_for_any(left, 0.5)
            for future in ended:
                future.result()
    except BaseException:
        cancel.set()
        raise
