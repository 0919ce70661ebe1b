"""Expansion of an experiment into cells, in the order in which they run, with keys and an estimate."""

import fnmatch
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.config.keys import group_key, trial_key
from scylla_gha.config.library import Library
from scylla_gha.config.load import did_you_mean
from scylla_gha.config.scenario_folder import ScenarioFolder, check_variants
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.images.sandbox_pool import SandboxImages
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Arm, Cell, CostRange, Estimate, Plan
from scylla_gha.model.record import slug
from scylla_gha.model.variant import Variant
from scylla_gha.plan.estimate import CellGroup, PastCost, estimate
from scylla_gha.prepare.tools import toolbox_digest
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.variants.compare_head import compare_head


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """Version of an agent on this machine (None: unknown), and whether it uses a model."""

    version: str | None
    uses_model: bool


@dataclass(frozen=True, slots=True)
class CellSelection:
    """A part or a variation of an experiment; what is empty or None is taken from the experiment.

    Args:
        only: globs over cell ids.
        repetitions: of each scenario by each arm.
        epoch: a name under which all trials are new.
        head: a checkout with another version of `config/`. The arms are then the variants that it changes, as they are
            there and as they are here.
        scenarios: globs over scenario ids.
        agents: `name` or `name@version`.
        variants: globs over `tier/sub-test`.
        models: model ids.
        budget_usd: budget of the whole experiment.
    """

    only: tuple[str, ...] = ()
    repetitions: int | None = None
    epoch: str = ""
    head: Path | None = None
    scenarios: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    budget_usd: float | None = None

    @property
    def has_other_arms(self) -> bool:
        """Whether the arms may be others than the experiment's."""
        return bool(self.agents or self.variants or self.models)

    def apply(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the overridden fields."""
        names = ("scenarios", "agents", "variants", "models", "repetitions", "budget_usd")
        overrides = {name: getattr(self, name) for name in names}
        return experiment.model_copy(update={name: value for name, value in overrides.items() if value})


def agent_name(named: str) -> tuple[str, str | None]:
    """Split `name@version` as an experiment gives it."""
    name, _, version = named.partition("@")
    return name, version or None


def plan_cells(
    experiment: Experiment,
    library: Library,
    agents: Mapping[str, AgentInfo],
    choice: CellSelection = CellSelection(),
    history: Mapping[tuple[str, str], Sequence[PastCost]] | None = None,
    boxing: SandboxImages = SandboxImages(),
) -> Plan:
    """Expand an experiment into a plan.

    Args:
        experiment: the experiment.
        library: holds scenarios and variants.
        agents: facts of each agent that the experiment names.
        choice: a part of the experiment.
        history: costs of earlier trials, by scenario and arm.
        boxing: sandbox and images of agents and checks.

    Raises:
        ConfigError: a name matches nothing, the baseline is not an arm, two arms are equal, or no cell is left.
        RefusedError: `choice.head` changes no variant.
    """
    experiment = choice.apply(experiment)
    arms = _arms(experiment, library, agents)
    if choice.has_other_arms and experiment.baseline not in {arm.id for arm in arms}:
        experiment = experiment.model_copy(update={"baseline": arms[0].id})
    _check_baseline(experiment, arms)
    if choice.head:
        arms = compare_head(experiment, arms, _arms(experiment, Library.here(choice.head), agents))
        experiment = experiment.model_copy(update={"baseline": next(arm.against for arm in arms if arm.against)})
    names = select("scenarios", experiment.scenarios, list(library.scenarios))
    folders = [library.scenario(name) for name in names]
    cells = _selected(_cells(experiment, folders, arms, choice.epoch, boxing), choice.only)
    guess = expect(experiment, library, arms, DueCells(cells, cells), history or {})
    return Plan(experiment=experiment, epoch=choice.epoch, only=choice.only, arms=arms, cells=tuple(cells),
                estimate=guess, sandbox=boxing.sandbox, check_images=_check_images(folders, boxing))  # fmt: skip


def _check_images(folders: Sequence[ScenarioFolder], boxing: SandboxImages) -> dict[str, str]:
    found = {folder.scenario.id: boxing.image(folder.scenario.tools, None) for folder in folders}
    return {name: image for name, image in found.items() if image is not None}


@dataclass(frozen=True, slots=True)
class DueCells:
    """Cells that still need a trial, and cells that still need a judgment."""

    trials: Sequence[Cell]
    judgments: Sequence[Cell]


def expect(
    experiment: Experiment,
    library: Library,
    arms: Sequence[Arm],
    work: DueCells,
    history: Mapping[tuple[str, str], Sequence[PastCost]],
) -> Estimate:
    """Estimate cost and duration of the due cells."""
    trials = Counter((cell.scenario, cell.arm) for cell in work.trials)
    judgments = Counter((cell.scenario, cell.arm) for cell in work.judgments)
    known = {arm.id: arm for arm in arms}
    names = sorted({*trials, *judgments})
    groups = [
        CellGroup(library.scenario(name), known[arm], trials[name, arm], judgments[name, arm]) for name, arm in names
    ]
    return estimate(groups, experiment, library.priced_models(experiment.prices), history)


def refuse_above_budget(made: Plan) -> None:
    """Compare the estimate with the budgets of the experiment and of its roles.

    Raises:
        RefusedError: a likely cost is above its budget, or unknown.
    """
    experiment, guess = made.experiment, made.estimate
    _refuse_above("budget_usd", experiment.budget_usd, "", guess.usd)
    _refuse_above("role_budget_usd.agent", experiment.role_budget_usd.agent, " of the agents", guess.agents.usd)
    _refuse_above("role_budget_usd.judge", experiment.role_budget_usd.judge, " of the judges", guess.judges.usd)


def _refuse_above(field: str, budget: float | None, whose: str, usd: CostRange) -> None:
    if budget is None:
        return
    if usd.likely is None:
        raise RefusedError(f"the cost{whose} cannot be estimated (a model's price is unknown), so {field} cannot be "
                           f"kept; add the price in config/models/, or remove {field}")  # fmt: skip
    if usd.likely > budget:
        raise RefusedError(f"the likely cost{whose}, ${usd.likely:.2f}, is above the budget of ${budget:.2f}; "
                           f"plan fewer cells (--only, --repetitions), or raise {field}")  # fmt: skip


def select(kind: str, patterns: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the known names that match any of the globs, in the order of the globs, without duplicates.

    Raises:
        ConfigError: a glob matches none.
    """
    chosen: dict[str, None] = {}
    for pattern in patterns:
        found = fnmatch.filter(known, pattern)
        if not found:
            hint = did_you_mean(pattern, known) or f"; there are: {', '.join(known[:20]) or 'none'}"
            raise ConfigError(f"{kind}: {pattern!r} matches nothing{hint}")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def _arms(experiment: Experiment, library: Library, agents: Mapping[str, AgentInfo]) -> tuple[Arm, ...]:
    known = library.variants()
    variants = [known[name] for name in select("variants", experiment.variants, list(known))]
    check_variants(variants)
    arms: dict[str, Arm] = {}
    for named in experiment.agents:
        for arm in _arms_of(named, agents[named], variants, experiment):
            if arm.id in arms:
                raise ConfigError(f"experiment {experiment.id}: two arms are called {arm.id}; name each agent once")
            arms[arm.id] = arm
    return tuple(arms.values())


def _arms_of(named: str, known: AgentInfo, variants: Sequence[Variant], experiment: Experiment) -> list[Arm]:
    name, pinned = agent_name(named)
    version = known.version or pinned
    if not known.uses_model:
        return [Arm(id=slug(name), agent=name, version=version)]
    if not variants or not experiment.models:
        raise ConfigError(f"experiment {experiment.id}: {name} needs variants and models; add both lists")
    return [
        Arm(id=".".join(slug(part) for part in (variant.id, name, model)), agent=name, version=version, model=model,
            variant=variant)
        for model in experiment.models
        for variant in variants
    ]  # fmt: skip


def _check_baseline(experiment: Experiment, arms: Sequence[Arm]) -> None:
    names = [arm.id for arm in arms]
    if experiment.baseline not in names:
        hint = did_you_mean(experiment.baseline, names)
        raise ConfigError(f"experiment {experiment.id}: baseline: {experiment.baseline!r} is no arm{hint}; "
                          f"the arms are: {', '.join(names[:20])}")  # fmt: skip


def _cells(
    experiment: Experiment, folders: Sequence[ScenarioFolder], arms: Sequence[Arm], epoch: str, boxing: SandboxImages
) -> Iterable[Cell]:
    """Return all cells by repetition; the arms of each scenario and repetition are in a seeded random order."""
    keys = {(f.scenario.id, arm.id): _group_key(experiment, f, arm, boxing) for f in folders for arm in arms}
    times = {f.scenario.id: experiment.repetitions or f.scenario.runs_per_tier for f in folders}
    for repetition in range(1, max(times.values()) + 1):
        for scenario in (name for name, last in times.items() if repetition <= last):
            order = list(arms)
            random.Random(f"{experiment.seed}:{scenario}:{repetition}").shuffle(order)  # noqa: S311 no secret
            for arm in order:
                key = trial_key(keys[scenario, arm.id], repetition, epoch)
                name = f"{scenario}--{arm.id}--r{repetition:02d}"
                yield Cell(id=name, scenario=scenario, arm=arm.id, repetition=repetition, key=key)


def key_of(made: Plan, cell: Cell, folder: ScenarioFolder, boxing: SandboxImages) -> str:
    """Return the key of a planned cell with the scenario and the image as they are now."""
    group = _group_key(made.experiment, folder, made.arm(cell.arm), boxing)
    return trial_key(group, cell.repetition, made.epoch)


def _group_key(experiment: Experiment, folder: ScenarioFolder, arm: Arm, boxing: SandboxImages) -> str:
    tools = folder.scenario.tools
    image = boxing.image(tools, arm)
    limits_resources = SANDBOXES[boxing.sandbox].limits_resources
    toolbox = toolbox_digest(tools)
    return group_key(experiment, folder, arm, toolbox=toolbox, sandbox=boxing.sandbox,
                     limits_resources=limits_resources, image=image)  # fmt: skip


def _selected(cells: Iterable[Cell], only: Sequence[str]) -> list[Cell]:
    everything = list(cells)
    chosen = [cell for cell in everything if not only or any(fnmatch.fnmatchcase(cell.id, glob) for glob in only)]
    if not chosen:
        example = everything[0].id
        raise ConfigError(
            f"--only {' '.join(only)!r} matches none of {counted(len(everything), 'cell')}; one is {example}"
        )
    return chosen
