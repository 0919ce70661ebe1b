"""plan: an experiment unfolds into cells, in the order in which they are to run, with keys and an estimate."""

import fnmatch
import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.config.crosscheck import check_variants
from scylla_gha.config.library import Library, ScenarioFolder
from scylla_gha.config.load import did_you_mean
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.estimate import Group, Spent, estimate
from scylla_gha.model.experiment import Experiment, SandboxName
from scylla_gha.model.plan import Arm, Cell, Estimate, Plan, Range
from scylla_gha.model.record import KEY_VERSION, digest, slug
from scylla_gha.model.scenario import Tools
from scylla_gha.model.variant import Variant
from scylla_gha.seeding.tools import toolbox_digest
from scylla_gha.variants.change import against_head


@dataclass(frozen=True, slots=True)
class Known:
    """What planning knows of an agent: its version on this machine, and whether it uses a model."""

    version: str | None
    uses_model: bool


def _unknown(tools: Tools, arm: Arm | None) -> str | None:  # noqa: ARG001 as below
    return None


@dataclass(frozen=True, slots=True)
class Boxing:
    """The sandbox, and what stands for the image of an arm with a scenario's tools, or for that of checks (no arm).

    None is an image that was not made, since nothing is to be stored under the keys of this plan.
    """

    sandbox: SandboxName = "host"
    image: Callable[[Tools, Arm | None], str | None] = _unknown


@dataclass(frozen=True, slots=True)
class Choice:
    """Which cells of an experiment are meant: globs over cell ids, another number of repetitions, an epoch.

    With `head`, a folder with another version of `config/`, they are those of the variants that it changes: as they are
    there, against as they are here.
    """

    only: tuple[str, ...] = ()
    repetitions: int | None = None
    epoch: str = ""
    head: Path | None = None


def agent_name(named: str) -> tuple[str, str | None]:
    """Split `name@version` as an experiment gives it."""
    name, _, version = named.partition("@")
    return name, version or None


def plan(
    experiment: Experiment,
    library: Library,
    agents: Mapping[str, Known],
    choice: Choice = Choice(),
    history: Mapping[tuple[str, str], Sequence[Spent]] | None = None,
    boxing: Boxing = Boxing(),
) -> Plan:
    """Unfold an experiment.

    Args:
        experiment: the question.
        library: where scenarios and variants are found.
        agents: what is known of each agent that the experiment names.
        choice: a part of the experiment.
        history: what earlier trials cost, by scenario and arm.
        boxing: where agents and checks run.

    Raises:
        ConfigError: a name matches nothing, the baseline is no arm, two arms are one, or no cell is left.
        RefusedError: `choice.head` changes no variant.
    """
    if choice.repetitions:
        experiment = experiment.model_copy(update={"repetitions": choice.repetitions})
    arms = _arms(experiment, library, agents)
    _check_baseline(experiment, arms)
    if choice.head:
        arms = against_head(experiment, arms, _arms(experiment, Library.here(choice.head), agents))
        experiment = experiment.model_copy(update={"baseline": next(arm.against for arm in arms if arm.against)})
    names = select("scenarios", experiment.scenarios, list(library.scenarios))
    folders = [library.scenario(name) for name in names]
    cells = _selected(_cells(experiment, folders, arms, choice.epoch, boxing), choice.only)
    guess = expect(experiment, library, arms, Work(cells, cells), history or {})
    return Plan(experiment=experiment, epoch=choice.epoch, only=choice.only, arms=arms, cells=tuple(cells),
                estimate=guess, sandbox=boxing.sandbox, check_images=_check_images(folders, boxing))  # fmt: skip


def _check_images(folders: Sequence[ScenarioFolder], boxing: Boxing) -> dict[str, str]:
    found = {folder.scenario.id: boxing.image(folder.scenario.tools, None) for folder in folders}
    return {name: image for name, image in found.items() if image is not None}


@dataclass(frozen=True, slots=True)
class Work:
    """Cells whose trials are to be run, and those to be judged."""

    trials: Sequence[Cell]
    judgments: Sequence[Cell]


def expect(
    experiment: Experiment,
    library: Library,
    arms: Sequence[Arm],
    work: Work,
    history: Mapping[tuple[str, str], Sequence[Spent]],
) -> Estimate:
    """What the work may cost and take."""
    trials = Counter((cell.scenario, cell.arm) for cell in work.trials)
    judgments = Counter((cell.scenario, cell.arm) for cell in work.judgments)
    known = {arm.id: arm for arm in arms}
    names = sorted({*trials, *judgments})
    groups = [Group(library.scenario(name), known[arm], trials[name, arm], judgments[name, arm]) for name, arm in names]
    return estimate(groups, experiment, library.priced_models(experiment.prices), history)


def refuse_above_budget(made: Plan) -> None:
    """Compare the estimate with the budgets of the experiment and of its roles.

    Raises:
        RefusedError: a likely cost is above its budget, or cannot be told.
    """
    experiment, guess = made.experiment, made.estimate
    _refuse_above("budget_usd", experiment.budget_usd, "", guess.usd)
    _refuse_above("role_budget_usd.agent", experiment.role_budget_usd.agent, " of the agents", guess.agents.usd)
    _refuse_above("role_budget_usd.judge", experiment.role_budget_usd.judge, " of the judges", guess.judges.usd)


def _refuse_above(field: str, budget: float | None, whose: str, usd: Range) -> None:
    if budget is None:
        return
    if usd.likely is None:
        raise RefusedError(f"the cost{whose} cannot be estimated (a model's price is unknown), so {field} cannot be "
                           f"kept; add the price in config/models/, or remove {field}")  # fmt: skip
    if usd.likely > budget:
        raise RefusedError(f"the likely cost{whose}, ${usd.likely:.2f}, is above the budget of ${budget:.2f}; "
                           f"plan fewer cells (--only, --repetitions), or raise {field}")  # fmt: skip


def select(kind: str, patterns: Iterable[str], known: Sequence[str]) -> list[str]:
    """The known names that match any of the globs, in the order of the globs, each once.

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


def _arms(experiment: Experiment, library: Library, agents: Mapping[str, Known]) -> tuple[Arm, ...]:
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


def _arms_of(named: str, known: Known, variants: Sequence[Variant], experiment: Experiment) -> list[Arm]:
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
    experiment: Experiment, folders: Sequence[ScenarioFolder], arms: Sequence[Arm], epoch: str, boxing: Boxing
) -> Iterable[Cell]:
    """All cells, repetition by repetition; the arms of each scenario and repetition in a seeded random order."""
    keys = {(f.scenario.id, arm.id): _group_key(experiment, f, arm, boxing) for f in folders for arm in arms}
    times = {f.scenario.id: experiment.repetitions or f.scenario.runs_per_tier for f in folders}
    for repetition in range(1, max(times.values()) + 1):
        for scenario in (name for name, last in times.items() if repetition <= last):
            order = list(arms)
            random.Random(f"{experiment.seed}:{scenario}:{repetition}").shuffle(order)  # noqa: S311 no secret
            for arm in order:
                key = _sample_key(keys[scenario, arm.id], repetition, epoch)
                name = f"{scenario}--{arm.id}--r{repetition:02d}"
                yield Cell(id=name, scenario=scenario, arm=arm.id, repetition=repetition, key=key)


def key_of(made: Plan, cell: Cell, folder: ScenarioFolder, boxing: Boxing) -> str:
    """The key that a planned cell has with the scenario as it is now, and the image."""
    group = _group_key(made.experiment, folder, made.arm(cell.arm), boxing)
    return _sample_key(group, cell.repetition, made.epoch)


def _sample_key(group: str, repetition: int, epoch: str) -> str:
    return hashlib.sha256(f"{group}:{repetition}:{epoch}".encode()).hexdigest()


def _group_key(experiment: Experiment, folder: ScenarioFolder, arm: Arm, boxing: Boxing) -> str:
    """Covers all that can change what the agent does, but for repetition and epoch."""
    image = boxing.image(folder.scenario.tools, arm)
    return digest([
        KEY_VERSION,
        folder.task_digest,
        folder.solution_digest if arm.variant is None else None,
        toolbox_digest(folder.scenario.tools),
        arm.agent,
        arm.version,
        arm.model,
        arm.variant.digest if arm.variant else None,
        experiment.limits.timeout_seconds or folder.scenario.task.timeout_seconds,
        experiment.limits.keyed(boxing.sandbox),
        boxing.sandbox,
        # Prices too: by them a limit in USD ends a trial, and rows of one table must not be priced by two lists.
        [experiment.model_settings.agent.configured(), experiment.prices] if arm.model else None,
        *([image] if image else []),
    ])  # fmt: skip


def _selected(cells: Iterable[Cell], only: Sequence[str]) -> list[Cell]:
    everything = list(cells)
    chosen = [cell for cell in everything if not only or any(fnmatch.fnmatchcase(cell.id, glob) for glob in only)]
    if not chosen:
        example = everything[0].id
        raise ConfigError(f"--only {' '.join(only)!r} matches none of {len(everything)} cells; one is {example}")
    return chosen
