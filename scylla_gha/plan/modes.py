"""Modes of an experiment, and what must hold so that they are compared fairly."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.mode import Mode
from scylla_gha.model.plan import Arm, ImpossibleTask, Plan
from scylla_gha.model.unpaired_arms import unpaired_arms
from scylla_gha.model.variant import Variant

_LISTED: Final = 6  # comparisons that a note names


def planned_modes(experiment: Experiment, library: Library) -> list[Mode]:
    """Read the modes of an experiment.

    Raises:
        ConfigError: one is missing or invalid, or two are the same toolset.
    """
    modes = [library.mode(name) for name in experiment.modes]
    seen: dict[str, str] = {}
    for mode in modes:
        twin = seen.setdefault(mode.digest, mode.id)
        if twin != mode.id:
            raise ConfigError(f"experiment {experiment.id}: modes: {twin} and {mode.id} are one toolset under two "
                              "names; change or remove one in config/modes/")  # fmt: skip
    return modes


def check_modes(
    experiment: Experiment, folders: Sequence[ScenarioFolder], variants: Sequence[Variant], library: Library
) -> None:
    """Check that the modes of an experiment differ in what they declare alone.

    Raises:
        ConfigError: a scenario has no GitHub, or a scenario or a variant has a tool of a mode.
    """
    if not experiment.modes:
        return
    known = [library.mode(name) for name in library.mode_names()]
    faults = [*_scenario_faults(folders, known), *_variant_faults(variants, known)]
    if faults:
        raise ConfigError("\n".join(f"experiment {experiment.id}: {fault}" for fault in faults))


def why_impossible(folder: ScenarioFolder, arm: Arm) -> str | None:
    """Return why a scenario's task cannot be done with the tools of an arm's mode; None if it can."""
    github, mode = folder.scenario.github, folder.arm(arm).mode
    return github.not_possible.get(mode.id) if github and mode else None


def impossible_tasks(
    experiment: Experiment, folders: Sequence[ScenarioFolder], arms: Sequence[Arm]
) -> tuple[ImpossibleTask, ...]:
    """Return the scenarios that get no cells in a mode, by mode.

    Raises:
        ConfigError: no scenario is left for an arm.
    """
    tasks: dict[tuple[str, str], ImpossibleTask] = {}
    for arm in arms:
        reasons = {folder.scenario.id: why_impossible(folder, arm) for folder in folders}
        mode = next((toolset.id for folder in folders if (toolset := folder.arm(arm).mode)), "")
        if all(reasons.values()):
            raise ConfigError(f"experiment {experiment.id}: no scenario is possible with the tools of {arm.id} "
                              f"(`github.not_possible.{mode}`); add scenarios, or remove the mode")  # fmt: skip
        tasks |= {(mode, name): ImpossibleTask(mode=mode, scenario=name, reason=reason)
                  for name, reason in reasons.items() if reason}  # fmt: skip
    return tuple(tasks[key] for key in sorted(tasks))


def unproved_tasks(folders: Sequence[ScenarioFolder], arms: Sequence[Arm]) -> dict[str, tuple[str, ...]]:
    """Return the scenarios with neither an oracle of a mode nor the reason why it cannot do them, by mode."""
    tasks: dict[str, list[str]] = {}
    modes = sorted({arm.mode.id for arm in arms if arm.mode})
    for mode, folder in itertools.product(modes, folders):
        github = folder.scenario.github
        if github and mode not in github.not_possible and not folder.oracle(mode).is_file():
            tasks.setdefault(mode, []).append(folder.scenario.id)
    return {mode: tuple(names) for mode, names in tasks.items()}


def unproved_notes(tasks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a note for each mode of which scenarios have no oracle."""
    for mode, names in tasks.items():
        yield (f"mode {mode}: {counted(len(names), 'scenario')} without an oracle for it ({', '.join(names)}), so "
               f"it is not proved that its tools can do them; write solution/{mode}.sh")  # fmt: skip


def impossible_notes(tasks: Sequence[ImpossibleTask]) -> Iterator[str]:
    """Yield a note for each scenario that gets no cells in a mode."""
    for task in tasks:
        yield f"mode {task.mode}: no cells of {task.scenario}, since its tools cannot do the task: {task.reason}"


def comparison_notes(plan: Plan) -> Iterator[str]:
    """Yield a note on the arms that the family `modes` compares, and one on each whose other arm has no cell."""
    if plan.family != "modes":
        return
    pairs = [f"{arm} with {other}" for arm, other in plan.pairs.items()]
    more = f", and {len(pairs) - _LISTED} more" if len(pairs) > _LISTED else ""
    listed = f"{', '.join(pairs[:_LISTED])}{more}" if pairs else "no arm of another mode is planned"
    yield (f"compares each mode with {plan.reference_mode} within the same variant, agent and model "
           f"({counted(len(pairs), 'comparison')}): {listed}")  # fmt: skip
    yield from (f"{arm}: is not compared, since {reason}" for arm, reason in unpaired_arms(plan).items())


def _scenario_faults(folders: Sequence[ScenarioFolder], known: Sequence[Mode]) -> Iterator[str]:
    packages = {package: mode.id for mode in known for package in mode.python}
    for folder in folders:
        scenario = folder.scenario
        if folder.github is None:
            yield (f"modes: {scenario.id} has no GitHub, and modes are toolsets for GitHub; name only "
                   "scenarios with `github`, such as github/*, or leave out modes")  # fmt: skip
        for package in scenario.tools.python:
            if package in packages:
                yield (f"modes: {scenario.id} gives {package} to every mode, which is a tool of the mode "
                       f"{packages[package]}; remove it from tools in {folder.path / 'scenario.yaml'}")  # fmt: skip


def _variant_faults(variants: Sequence[Variant], known: Sequence[Mode]) -> Iterator[str]:
    servers = {server: mode.id for mode in known for server in mode.mcp_servers}
    for variant in variants:
        for server in variant.treatment.mcp_servers:
            if server in servers:
                yield (f"modes: the variant {variant.id} gives the MCP server {server} to every mode, which is a tool "
                       f"of the mode {servers[server]}; choose a variant without it")  # fmt: skip
