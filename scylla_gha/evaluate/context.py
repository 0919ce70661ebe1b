"""Run of an experiment: its settings, the services for its cells, and the shared state of its workers."""

import datetime
import functools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scylla_gha.agents import InstalledAgent
from scylla_gha.config.keys import judgment_key, panel_digest
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.config.materials import PromptTexts
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import ConfigError, FixtureError, ToolError
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.hub.client import HubProcess
from scylla_gha.images import SandboxPool
from scylla_gha.judge import JudgingContext
from scylla_gha.judge.panel import GatewayPanel, open_panel
from scylla_gha.model.experiment import agent_name
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.trial import Trial
from scylla_gha.plan.budget import CellBudget
from scylla_gha.plan.estimate import is_for_judges, panel_worst
from scylla_gha.plan.selection import select_cells
from scylla_gha.prepare import Keep, PreparedScenario, prepare_scenario
from scylla_gha.prepare.tools import cache_root
from scylla_gha.redaction import Redactor
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import CellFolder, RunFolder, find_judgment
from scylla_gha.system.process import Cancel

if TYPE_CHECKING:
    from scylla_gha.plan import Planning


@dataclass(frozen=True, slots=True)
class JudgeOverrides:
    """Overrides for judging again; an empty field leaves the experiment's own setting."""

    judges: tuple[str, ...] = ()
    wording: PromptTexts | None = None
    scenarios: Mapping[str, ScenarioFolder] = field(default_factory=dict)  # scenarios with another rubric, by id
    name: str = ""

    def __bool__(self) -> bool:
        """Return whether anything is overridden."""
        return bool(self.judges or self.wording or self.scenarios)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run that a command line sets.

    Attributes:
        workers: maximum number of cells at once.
        deadline: time of the monotonic clock after which no cell is started; None: no deadline.
        fresh: True if stored trials and judgments are not reused.
        judging: True if trials are judged.
        keep: which workspaces stay after the run.
        first_alone: the first cell without a trial runs alone, so that the provider's cache serves the others.
    """

    workers: int = 1
    deadline: float | None = None
    fresh: bool = False
    judging: bool = True
    keep: Keep = "none"
    first_alone: bool = False


@dataclass(frozen=True)
class RunSettings:
    """Plan, folder, agents and options of a run, fixed before its first cell starts.

    Attributes:
        plan: cells to run or to judge.
        folder: folder of the run.
        sources: library of this machine, and of a change.
        agents: installed agents by their names in the experiment.
        options: options of the command line.
        overrides: settings for judging again.
        planning: planning of the whole experiment; None: the plan is a stored one.
    """

    plan: Plan
    folder: RunFolder
    sources: ConfigSources
    agents: Mapping[str, InstalledAgent]
    options: RunOptions = RunOptions()
    overrides: JudgeOverrides = JudgeOverrides()
    planning: "Planning | None" = None

    @property
    def library(self) -> Library:
        """The library of everything except the variants of a change."""
        return self.sources.here

    @property
    def judges(self) -> tuple[str, ...]:
        """Ids of the judge models: those of the overrides, or of the experiment if there are none."""
        return self.overrides.judges or self.plan.experiment.judges

    @functools.cached_property
    def panel_digest(self) -> str:
        """Digest of the judge panel, a part of the keys of judgments."""
        settings = self.plan.experiment.model_settings.judge
        return panel_digest(self.judges, self.library.roots, settings, self.overrides.wording)

    @functools.cached_property
    def sandboxes(self) -> SandboxPool:
        """The sandboxes of agents and checks."""
        return SandboxPool(self.plan.sandbox, self.library, self.plan.experiment.limits, self.sources)

    def installed(self, arm: Arm) -> InstalledAgent:
        """Return the agent of an arm on this machine.

        Raises:
            ConfigError: its manifest differs from the one of the plan.
        """
        installed = next(agent for name, agent in self.agents.items() if agent_name(name)[0] == arm.agent)
        if arm.manifest not in {None, installed.agent.digest}:
            raise ConfigError(f"config/agent-clis/{arm.agent}.yaml changed since it was planned; plan again")
        return installed

    def scenario(self, scenario: str) -> ScenarioFolder:
        """Return a scenario with the rubric for judging it."""
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
        """Return the stored trial that is reused for a cell; None if it is missing, too old, or --fresh is set."""
        return None if self.options.fresh else stored_trial(cell, self.folder.cell(cell.id), self.plan.not_before)

    def needs_judgment(self, cell: Cell, trial: Trial) -> bool:
        """Return whether a trial measures the agent and has no valid judgment."""
        judgment = find_judgment(self.folder.cell(cell.id), self.key(cell, trial))
        return trial.outcome.measures_agent and (judgment is None or judgment.error is not None)

    def judges_usd(self, cell: Cell) -> float:
        """Return the maximum cost of one request to each judge of a cell; the unused part pays for a second request."""
        experiment = self.plan.experiment
        if not self.options.judging or not is_for_judges(self.scenario(cell.scenario).rubric):
            return 0.0
        return panel_worst(experiment.judges, self.library.priced_models(experiment.prices))


@dataclass(frozen=True, slots=True)
class RunServices:
    """Processes that serve the cells of a run.

    Attributes:
        gateway: gateway from agents and judges to the models; None: neither uses a model.
        hub: server of the cells' GitHub; None: no planned scenario has GitHub state.
        budget: reservations of the running cells; None: there is no gateway.
        redactor: redactor that removes secrets from stored files.
    """

    gateway: GatewayProcess | None = None
    hub: HubProcess | None = None
    budget: CellBudget | None = None
    redactor: Redactor = field(default_factory=Redactor)


@dataclass
class RunState:
    """Events of a run that its workers share.

    Attributes:
        cancel: set if the run ends early.
        stopped: arms that start no further cell, with the reason.
        unstarted: cells that were not started, with the reason.
        full_disk: message about a disk without space for a further cell.
        halted: reason why no request can reach a model, so that no further cell is started.
        prepared: scenarios, each with its start state, or with the error of its preparation.
        lock: held while `prepared` changes.
    """

    cancel: Cancel = field(default_factory=Cancel)
    stopped: dict[str, str] = field(default_factory=dict)
    unstarted: dict[str, str] = field(default_factory=dict)
    full_disk: str | None = None
    halted: str | None = None
    prepared: dict[str, PreparedScenario | Exception] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class RunContext:
    """Settings, services and shared state for the worker of a cell; only the state changes."""

    settings: RunSettings
    services: RunServices = RunServices()
    state: RunState = field(default_factory=RunState)

    @property
    def is_budget_spent(self) -> bool:
        """True if a budget kept a cell from starting, or interrupted one."""
        return bool(self.services.budget and self.services.budget.is_spent)

    @functools.cached_property
    def panel(self) -> GatewayPanel | None:
        """The judge panel; None without judges."""
        settings, gateway = self.settings, self.services.gateway
        if not settings.judges or gateway is None:
            return None
        return open_panel(gateway, settings.judges, settings.library.roots, settings.overrides.wording)

    def check_traffic(self, log_file: Path) -> None:
        """Stop the arms of a provider that is unreachable by a request log; halt the run if judges need it."""
        gateway, settings, state = self.services.gateway, self.settings, self.state
        if gateway is None or state.halted:
            return
        for provider, reason in gateway.dead_ends(log_file).items():
            arms = [arm for arm in settings.plan.arms if arm.model]
            dead = [arm.id for arm in arms if gateway.provider_of(arm.model) == provider]
            judges = [judge for judge in settings.judges if gateway.provider_of(judge) == provider]
            if judges or len(dead) == len(arms):
                state.halted = reason
            else:
                state.stopped.update(dict.fromkeys(dead, reason))

    def judging_context(self, scenario: str) -> JudgingContext:
        """Return the sandbox, limits and panel for judging a scenario.

        Raises:
            ToolError: the image of the checks is not available, or is not the planned one.
        """
        settings, plan = self.settings, self.settings.plan
        target = settings.sandboxes.target(settings.library.scenario(scenario).scenario.tools)
        planned = plan.check_images.get(scenario)
        if target.digest != planned:
            raise ToolError(
                f"{scenario}: the image of its checks is {target.digest}, but the plan has {planned}; run "
                "`scylla-gha evaluate` again, which makes a new plan"
            )
        return JudgingContext(target, plan.experiment.limits, self.state.cancel, self.panel, settings.panel_digest)

    def prepared_scenario(self, scenario: str) -> PreparedScenario:
        """Prepare a scenario, once for each run.

        Raises:
            FixtureError: the start state is not the pinned one.
            ToolError: a tool of the scenario is not available.
        """
        settings, state = self.settings, self.state
        with state.lock:
            if scenario not in state.prepared:
                try:
                    folder = settings.scenario(scenario)
                    state.prepared[scenario] = prepare_scenario(folder, settings.library, cache_root())
                except (FixtureError, ToolError) as error:
                    state.prepared[scenario] = error
        prepared = state.prepared[scenario]
        if isinstance(prepared, Exception):
            raise prepared
        return prepared


def stored_trial(cell: Cell, folder: CellFolder, not_before: datetime.datetime | None = None) -> Trial | None:
    """Return a cell's stored trial if it has the cell's key, is not too old, and measures the agent; None otherwise."""
    trial = read_record(folder.trial, Trial)
    if trial is None or trial.key != cell.key or trial.is_older_than(not_before):
        return None
    return trial if trial.outcome.measures_agent else None


def stored_trials(plan: Plan, folder: RunFolder, only: Sequence[str] = ()) -> list[tuple[Cell, Trial]]:
    """Return the stored trials of the cells that match a glob of `only`, as `stored_trial` does; without globs, all.

    Raises:
        ConfigError: no planned cell matches.
    """
    trials = (
        (cell, stored_trial(cell, folder.cell(cell.id), plan.not_before)) for cell in select_cells(plan.cells, only)
    )
    return [(cell, trial) for cell, trial in trials if trial]
