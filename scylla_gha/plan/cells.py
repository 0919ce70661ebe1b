"""Expansion of an experiment into arms and cells, in the order in which they run, with their keys."""

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.agents import InstalledAgent
from scylla_gha.config import did_you_mean
from scylla_gha.config.keys import group_key, trial_key
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.config.scenario_folder import ScenarioFolder, check_variants
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.images import SandboxImages
from scylla_gha.model import slug
from scylla_gha.model.experiment import Experiment, agent_name
from scylla_gha.model.mode import Mode
from scylla_gha.model.plan import Arm, Cell, ImpossibleTask, Plan, unpaired_arms
from scylla_gha.model.variant import Variant
from scylla_gha.plan.changed_arms import changed_arms
from scylla_gha.plan.checks import require_supported_parts, with_model_ids
from scylla_gha.plan.estimate import DueCells, History, estimate_cells
from scylla_gha.plan.selection import CellSelection, select, select_cells, select_scenarios
from scylla_gha.plan.skills import check_prompts
from scylla_gha.prepare.tools import toolbox_digest
from scylla_gha.sandboxes import SANDBOXES

_LISTED: Final = 6  # maximum number of comparisons in a note


@dataclass(frozen=True, slots=True)
class ExpandedExperiment:
    """An experiment with its arms and scenarios, before its cells have keys."""

    experiment: Experiment
    arms: tuple[Arm, ...]
    folders: tuple[ScenarioFolder, ...]


@dataclass(frozen=True, slots=True)
class PlannedCells:
    """All cells of an experiment with their keys; a plan contains those that globs select."""

    expanded: ExpandedExperiment
    cells: tuple[Cell, ...]
    not_possible: tuple[ImpossibleTask, ...]
    epoch: str
    images: SandboxImages

    def plan(self, only: tuple[str, ...], library: Library, history: History) -> Plan:
        """Return the plan of the selected cells, with their estimate.

        Raises:
            ConfigError: no cell matches.
        """
        experiment, arms, folders = self.expanded.experiment, self.expanded.arms, self.expanded.folders
        cells = select_cells(self.cells, only)
        check_images = {folder.scenario.id: self.images.image(folder.scenario.tools, None) for folder in folders}
        return Plan(
            experiment=experiment,
            epoch=self.epoch,
            only=only,
            arms=arms,
            cells=tuple(cells),
            not_possible=self.not_possible,
            unproved=unproved_tasks(folders, arms),
            estimate=estimate_cells(experiment, library, arms, DueCells(cells, cells), history),
            sandbox=self.images.sandbox,
            check_images={name: image for name, image in check_images.items() if image is not None},
        )


def expand(
    experiment: Experiment, library: Library, agents: Mapping[str, InstalledAgent], choice: CellSelection
) -> ExpandedExperiment:
    """Return the arms and scenarios of an experiment.

    Args:
        experiment: the experiment after `choice` was applied.
        library: library of scenarios and variants.
        agents: this machine's agents, by their names in the experiment.
        choice: selection, with the best sub-tests and a change's checkout; it decides whether the baseline may change.

    Raises:
        ConfigError: a name matches nothing, the baseline is not an arm, or two arms are equal.
        RefusedError: `choice.head` changes no variant.
    """
    experiment = with_model_ids(experiment, library)
    arms = _arms(experiment, library, agents, choice.best)
    experiment = _with_baseline(experiment, [arm.id for arm in arms], choice)
    if choice.head:
        arms = _arms_of_change(experiment, arms, library, agents, choice)
        experiment = experiment.model_copy(update={"baseline": next(arm.against for arm in arms if arm.side)})
    folders = tuple(library.scenario(name) for name in select_scenarios(experiment.scenarios, library))
    check_modes(experiment, folders, [arm.variant for arm in arms if arm.variant], library)
    sources = ConfigSources.of(library, choice.head)
    require_supported_parts(arms, sources, f"experiment {experiment.id}")
    check_prompts(folders, arms, sources)
    if experiment.github != "hub":
        from scylla_gha.plan.github_com import check_github_com

        check_github_com(experiment, folders, arms, library)
    return ExpandedExperiment(experiment, arms, folders)


def list_cells(expanded: ExpandedExperiment, epoch: str, images: SandboxImages) -> PlannedCells:
    """Return all cells of an experiment, with their keys in an epoch and with these images.

    Raises:
        ConfigError: an arm cannot do any of the tasks, or cannot reach github.com.
    """
    experiment, arms, folders = expanded.experiment, expanded.arms, expanded.folders
    if experiment.github != "hub":
        from scylla_gha.plan.github_com import require_reachable

        require_reachable(experiment, arms, images.sandbox)
    not_possible = impossible_tasks(experiment, folders, arms)
    cells = tuple(_cells(experiment, folders, arms, epoch, images))
    return PlannedCells(expanded, cells, not_possible, epoch, images)


def plan_cells(
    experiment: Experiment,
    library: Library,
    agents: Mapping[str, InstalledAgent],
    choice: CellSelection = CellSelection(),
    history: History | None = None,
    images: SandboxImages = SandboxImages(),
) -> Plan:
    """Plan an experiment without notes; arguments and errors as in `expand`, `list_cells` and `PlannedCells.plan`."""
    expanded = expand(choice.apply(experiment), library, agents, choice)
    return list_cells(expanded, choice.epoch, images).plan(choice.only, library, history or {})


def _with_baseline(experiment: Experiment, names: Sequence[str], choice: CellSelection) -> Experiment:
    """Return the experiment with a baseline that is an arm; use the first arm if `choice` may have other arms.

    Raises:
        ConfigError: the experiment's own baseline is not an arm.
    """
    if experiment.baseline in names:
        return experiment
    if choice.has_other_arms:
        return experiment.model_copy(update={"baseline": names[0]})
    hint = did_you_mean(experiment.baseline, names)
    raise ConfigError(
        f"experiment {experiment.id}: baseline: {experiment.baseline!r} is not an arm{hint}; "
        f"the arms are: {', '.join(names[:20])}"
    )


def _arms(
    experiment: Experiment, library: Library, agents: Mapping[str, InstalledAgent], best: Mapping[str, str]
) -> tuple[Arm, ...]:
    names = select("variants", experiment.variants, library.tiers.names) if experiment.variants else []
    variants = [library.tiers.variant(name, best) for name in names]
    left_out = library.tiers.without_each_block(experiment.leave_one_out) if experiment.leave_one_out else []
    variants += left_out
    added, name = dict[str, str](), experiment.instructions
    for variant in tuple(variants) if name else ():
        variants.append(library.tiers.with_instructions(variant, str(name)))
        added[variants[-1].id] = variant.id
    check_variants(variants)
    arms: dict[str, Arm] = {}
    modes: Sequence[Mode | None] = planned_modes(experiment, library) or [None]
    for agent, mode in itertools.product(experiment.agents, modes):
        for arm in _arms_of(agent, agents[agent], variants, experiment, mode):
            if arm.id in arms:
                raise ConfigError(
                    f"experiment {experiment.id}: two arms have the id {arm.id}; list each agent, model and mode once"
                )
            arms[arm.id] = arm
    added |= {variant.id: experiment.leave_one_out for variant in left_out if experiment.leave_one_out}
    return tuple(_against_other(arm, arms, added) for arm in arms.values())


def _against_other(arm: Arm, arms: Mapping[str, Arm], others: Mapping[str, str]) -> Arm:
    """Compare an arm with the arm of another variant (by its own variant), if that is planned.

    An arm without one block is compared with the whole, and one with an instruction file with that without it.
    """
    if arm.variant is None or arm.variant.id not in others:
        return arm
    against = slug(others[arm.variant.id]) + arm.id.removeprefix(slug(arm.variant.id))
    return arm.model_copy(update={"against": against}) if against in arms else arm


def _arms_of(
    agent: str, installed: InstalledAgent, variants: Sequence[Variant], experiment: Experiment, mode: Mode | None
) -> list[Arm]:
    name, pinned = agent_name(agent)
    version, toolset = installed.version or pinned, [mode.id] if mode else []
    if not installed.agent.uses_model:
        return [Arm(id=".".join(slug(part) for part in (*toolset, name)), agent=name, version=version, mode=mode)]
    models = experiment.models_of(name)
    if not variants or not models:
        raise ConfigError(f"experiment {experiment.id}: {name} needs variants and models; add both lists")
    return [
        Arm(
            id=".".join(slug(part) for part in (variant.id, *toolset, name, model)),
            agent=name,
            version=version,
            model=model,
            variant=variant,
            mode=mode,
            manifest=installed.agent.digest,
        )
        for model in models
        for variant in variants
    ]


def _arms_of_change(
    experiment: Experiment,
    arms: Sequence[Arm],
    library: Library,
    agents: Mapping[str, InstalledAgent],
    choice: CellSelection,
) -> tuple[Arm, ...]:
    """Return the arms that a change alters, like `changed_arms`, but without the change's folder in messages."""
    if choice.head is None:
        raise AssertionError("the caller gives a checkout")
    head = Library.here(choice.head)
    try:
        return changed_arms(experiment, arms, _arms(experiment, head, agents, choice.best), library, head)
    except ConfigError as error:
        raise ConfigError(f"--head: {str(error).replace(str(choice.head), 'the change')}") from None


def _cells(
    experiment: Experiment, folders: Sequence[ScenarioFolder], arms: Sequence[Arm], epoch: str, images: SandboxImages
) -> Iterator[Cell]:
    """Yield all cells by repetition; the arms of each scenario and repetition are in a seeded random order."""
    keys = {
        (f.scenario.id, arm.id): _group_key(experiment, f, arm, images)
        for f in folders
        for arm in arms
        if why_impossible(f, arm) is None and f.is_for(arm)
    }
    times = {f.scenario.id: experiment.repetitions or f.scenario.runs_per_tier for f in folders}
    for repetition in range(1, max(times.values()) + 1):
        for scenario in (name for name, last in times.items() if repetition <= last):
            order = list(arms)
            random.Random(f"{experiment.seed}:{scenario}:{repetition}").shuffle(order)  # noqa: S311 no secret
            for arm in (arm for arm in order if (scenario, arm.id) in keys):
                key = trial_key(keys[scenario, arm.id], repetition, epoch)
                name = f"{scenario}--{arm.id}--r{repetition:02d}"
                yield Cell(id=name, scenario=scenario, arm=arm.id, repetition=repetition, key=key)


def key_of(plan: Plan, cell: Cell, folder: ScenarioFolder, images: SandboxImages) -> str:
    """Return the key of a planned cell with the scenario and the image as they are now."""
    group = _group_key(plan.experiment, folder, plan.arm(cell.arm), images)
    return trial_key(group, cell.repetition, plan.epoch)


def _group_key(experiment: Experiment, folder: ScenarioFolder, arm: Arm, images: SandboxImages) -> str:
    tools, folder, arm = folder.scenario.tools, folder.for_arm(arm), folder.arm(arm)
    image = images.image(tools, arm)
    limits_resources = SANDBOXES[images.sandbox].limits_resources
    toolbox = toolbox_digest(tools)
    return group_key(
        experiment, folder, arm, toolbox=toolbox, sandbox=images.sandbox, limits_resources=limits_resources, image=image
    )


def planned_modes(experiment: Experiment, library: Library) -> list[Mode]:
    """Read the modes of an experiment.

    Raises:
        ConfigError: a mode is missing or invalid, or two modes are the same toolset.
    """
    modes = [library.mode(name) for name in experiment.modes]
    seen: dict[str, str] = {}
    for mode in modes:
        twin = seen.setdefault(mode.digest, mode.id)
        if twin != mode.id:
            raise ConfigError(
                f"experiment {experiment.id}: modes: {twin} and {mode.id} are the same toolset; "
                "change or remove one in config/modes/"
            )
    return modes


def check_modes(
    experiment: Experiment, folders: Sequence[ScenarioFolder], variants: Sequence[Variant], library: Library
) -> None:
    """Check that the modes of an experiment differ only in their declared tools.

    Raises:
        ConfigError: a scenario has no GitHub, or a scenario or variant contains a tool of a mode.
    """
    if not experiment.modes:
        return
    known = [library.mode(name) for name in library.mode_names()]
    faults = [*_scenario_faults(folders, known), *_variant_faults(variants, known)]
    if faults:
        raise ConfigError("\n".join(f"experiment {experiment.id}: {fault}" for fault in faults))


def why_impossible(folder: ScenarioFolder, arm: Arm) -> str | None:
    """Return the reason why a task cannot be done with the tools of an arm's mode; None if it can."""
    github, mode = folder.scenario.github, folder.arm(arm).mode
    return github.not_possible.get(mode.id) if github and mode else None


def impossible_tasks(
    experiment: Experiment, folders: Sequence[ScenarioFolder], arms: Sequence[Arm]
) -> tuple[ImpossibleTask, ...]:
    """Return the scenarios that a mode's tools cannot do, sorted by mode.

    Raises:
        ConfigError: no scenario is left for an arm.
    """
    tasks: dict[tuple[str, str], ImpossibleTask] = {}
    for arm in arms:
        reasons = {folder.scenario.id: why_impossible(folder, arm) for folder in folders}
        mode = next((toolset.id for folder in folders if (toolset := folder.arm(arm).mode)), "")
        if all(reasons.values()):
            raise ConfigError(
                f"experiment {experiment.id}: no scenario is possible with the tools of {arm.id} "
                f"(`github.not_possible.{mode}`); add scenarios, or remove the mode"
            )
        tasks |= {
            (mode, name): ImpossibleTask(mode=mode, scenario=name, reason=reason)
            for name, reason in reasons.items()
            if reason
        }
    return tuple(tasks[key] for key in sorted(tasks))


def unproved_tasks(folders: Sequence[ScenarioFolder], arms: Sequence[Arm]) -> dict[str, tuple[str, ...]]:
    """Return by mode the scenarios without an oracle of the mode, unless they declare it impossible."""
    tasks: dict[str, list[str]] = {}
    modes = sorted({arm.mode.id for arm in arms if arm.mode})
    for mode, folder in itertools.product(modes, folders):
        github = folder.scenario.github
        if github and mode not in github.not_possible and not folder.oracle(mode).is_file():
            tasks.setdefault(mode, []).append(folder.scenario.id)
    return {mode: tuple(names) for mode, names in tasks.items()}


def unproved_notes(tasks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a note for each mode with scenarios that have no oracle for it."""
    for mode, names in tasks.items():
        yield (
            f"mode {mode}: {counted(len(names), 'scenario')} without an oracle for it ({', '.join(names)}), so "
            f"nothing proves that its tools can do them; write solution/{mode}.sh"
        )


def impossible_notes(tasks: Sequence[ImpossibleTask]) -> Iterator[str]:
    """Yield a note for each scenario without cells in a mode."""
    for task in tasks:
        yield f"mode {task.mode}: no cells of {task.scenario}, since its tools cannot do the task: {task.reason}"


def comparison_notes(plan: Plan) -> Iterator[str]:
    """Yield notes on the comparisons of the family `modes`, and on arms that cannot be compared."""
    if plan.family != "modes":
        return
    pairs = [f"{arm} with {other}" for arm, other in plan.pairs.items()]
    more = f", and {len(pairs) - _LISTED} more" if len(pairs) > _LISTED else ""
    names = f"{', '.join(pairs[:_LISTED])}{more}" if pairs else "no arm of another mode is planned"
    yield (
        f"compares each mode with {plan.reference_mode} within the same variant, agent and model "
        f"({counted(len(pairs), 'comparison')}): {names}"
    )
    yield from (f"{arm}: is not compared, since {reason}" for arm, reason in unpaired_arms(plan).items())


def _scenario_faults(folders: Sequence[ScenarioFolder], known: Sequence[Mode]) -> Iterator[str]:
    packages = {package: mode.id for mode in known for package in mode.python}
    for folder in folders:
        scenario = folder.scenario
        if folder.github is None:
            yield (
                f"modes: {scenario.id} has no GitHub, but modes are toolsets for GitHub; list only "
                "scenarios with `github`, such as github/*, or remove `modes`"
            )
        for package in scenario.tools.python:
            if package in packages:
                yield (
                    f"modes: {scenario.id} gives {package} to every mode, but it is a tool of the mode "
                    f"{packages[package]}; remove it from tools in {folder.path / 'scenario.yaml'}"
                )


def _variant_faults(variants: Sequence[Variant], known: Sequence[Mode]) -> Iterator[str]:
    servers = {server: mode.id for mode in known for server in mode.mcp_servers}
    for variant in variants:
        for server in variant.treatment.mcp_servers:
            if server in servers:
                yield (
                    f"modes: the variant {variant.id} gives the MCP server {server} to every mode, but it is a tool "
                    f"of the mode {servers[server]}; choose a variant without it"
                )
