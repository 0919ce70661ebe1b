"""Checks of the skills of a plan: commands that prompts begin with, and descriptions that the CLI would leave out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import called_command
from scylla_gha.agents.skill_listing import ListedSkill, ListingRules, ModelBudget, SkillListing
from scylla_gha.config.agent_files import chosen_agent_files, front_fields, skill_exposure
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.config.materials import material_path, skill_description, skill_plugin
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.counting import counted, first_of
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.variant import Treatment

_SKILL: Final = re.compile(r"\.claude/skills/([^/]+)/SKILL\.md")
_MOST_NAMES: Final = 12  # of commands in a message
_MOST_SKILLS: Final = 5
_MOST_VARIANTS: Final = 4


def check_prompts(folders: Sequence[ScenarioFolder], arms: Sequence[Arm], sources: ConfigSources) -> None:
    """Check that a command with which a prompt begins is one of the agent, the variant or the start state.

    Nothing is checked without an inventory of the agent's version, or for a start state outside of this repository.

    Raises:
        ConfigError: there is no such command; one line for each scenario.
    """
    faults: dict[str, str] = {}
    for folder in folders:
        for arm in (arm for arm in arms if folder.is_for(arm)):
            name = called_command(folder.for_arm(arm).prompt)
            known = _known_commands(folder, arm, sources.variant(arm)) if name else None
            if known is not None and name not in known:
                faults.setdefault(folder.scenario.id, _unknown_command(folder, arm, name, known))
    if faults:
        raise ConfigError("\n".join(faults.values()))


def _unknown_command(folder: ScenarioFolder, arm: Arm, name: str, known: Sequence[str]) -> str:
    return (
        f"scenario {folder.scenario.id}: its prompt begins with /{name}, which is no command of {arm.id} that asks the "
        f"model, so that the CLI may end without any work; there are: {first_of(known, _MOST_NAMES)}; correct the "
        "name, or begin the prompt with another word"
    )


def _known_commands(folder: ScenarioFolder, arm: Arm, library: Library) -> list[str] | None:
    """Return the commands that lead to a request, the variant's own ones first; None: unknown, or `/` means nothing."""
    agent = AGENTS.get(arm.agent)
    own, inventory = agent.prompt_commands if agent else None, library.inventory(arm.agent, arm.version)
    treatment = arm.variant.treatment if arm.variant else Treatment()
    if own is None or inventory is None or (files := _files_for_agents(folder, treatment, library)) is None:
        return None
    return [*dict.fromkeys((*_variant_commands(treatment, library), *_file_commands(files), *inventory.skills, *own))]


def _variant_commands(treatment: Treatment, library: Library) -> Iterator[str]:
    for name in treatment.skills:
        folder = material_path(library.roots, treatment.folder("skills"), name)
        plugin = skill_plugin(folder)
        if skill_exposure(folder / "SKILL.md", is_of_plugin=bool(plugin))[0]:
            yield from (name, f"{plugin}:{name}") if plugin else (name,)


def _file_commands(files: Mapping[str, Path]) -> Iterator[str]:
    """Yield the names of commands and skills in a workspace's `.claude/`."""
    for path, file in sorted(files.items()):
        if path.startswith(".claude/commands/") and path.endswith(".md"):
            yield path.removeprefix(".claude/commands/").removesuffix(".md").replace("/", ":")
        elif (name := _skill_of(path)) and skill_exposure(file)[0]:
            yield name


def _skill_of(path: str) -> str:
    """Return the name of the skill whose SKILL.md a path in a repository is; empty for other paths."""
    match = _SKILL.fullmatch(path)
    return match[1] if match else ""


def _files_for_agents(folder: ScenarioFolder, treatment: Treatment, library: Library) -> dict[str, Path] | None:
    """Return the files in `.claude/` of the workspace; None if the start state is not in this repository."""
    if not treatment.reads_project:
        return {}
    if treatment.agent_files is not None:
        return chosen_agent_files(treatment.agent_files, library.roots[0])
    if folder.scenario.source.fixture is None:
        return None
    root = library.fixture(folder.scenario.source.fixture)
    return {path.relative_to(root).as_posix(): path for path in root.glob(".claude/**/*.md")}


def name_only_skills(plan: Plan, sources: ConfigSources) -> dict[str, tuple[str, ...]]:
    """Return the skills whose descriptions the CLI leaves out within its own limit, by arm; no arms without such."""
    names = ((arm.id, _name_only(arm, sources.variant(arm))) for arm in plan.arms)
    return {arm: skills for arm, skills in names if skills}


def _name_only(arm: Arm, library: Library) -> tuple[str, ...]:
    agent = AGENTS.get(arm.agent)
    listing, treatment = agent.skill_listing if agent else None, arm.variant.treatment if arm.variant else Treatment()
    skills = [*_listed_skills(treatment, library.roots), *_listed_files(treatment, library.roots[0])]
    if listing is None or not skills:
        return ()
    rules = listing.rules(arm.version)
    return listing.fit(skills, rules, rules.room(_budget(arm, treatment, listing, rules))).by_name_only


def _budget(arm: Arm, treatment: Treatment, listing: SkillListing, rules: ListingRules) -> ModelBudget:
    """Return an arm's limit, which its settings may raise."""
    budget, fraction = rules.budget(arm.model or ""), (treatment.settings or {}).get(listing.setting)
    if not isinstance(fraction, int | float):
        return budget
    return replace(budget, characters=int(budget.characters * fraction / listing.default_fraction))


def _listed_skills(treatment: Treatment, roots: Sequence[Path]) -> Iterator[ListedSkill]:
    for name in treatment.skills:
        folder = material_path(roots, treatment.folder("skills"), name)
        plugin = skill_plugin(folder)
        if not skill_exposure(folder / "SKILL.md", is_of_plugin=bool(plugin))[1]:
            continue
        description, *when = skill_description(folder)
        if plugin:
            yield ListedSkill(f"{plugin}:{name}", description, "".join(when), "plugin")
        else:
            yield ListedSkill(name, description, "".join(when))


def _listed_files(treatment: Treatment, root: Path) -> Iterator[ListedSkill]:
    """Yield the skills among the repository's own files for agents that a variant names."""
    files = chosen_agent_files(treatment.agent_files, root) if treatment.agent_files else {}
    for path, file in files.items():
        if (name := _skill_of(path)) and skill_exposure(file)[1]:
            fields = front_fields(file)
            description, when = (str(fields.get(key) or "") for key in ("description", "when_to_use"))
            yield ListedSkill(name, description, when, "project")


def listing_notes(plan: Plan) -> Iterator[str]:
    """Yield a note for each agent and model whose own limit leaves out descriptions of skills."""
    groups: dict[tuple[str, str | None, str | None], list[Arm]] = {}
    for arm in plan.arms:
        if arm.id in plan.name_only_skills:
            groups.setdefault((arm.agent, arm.version, arm.model), []).append(arm)
    for (agent, version, model), arms in groups.items():
        texts = [_listing_text(arm, plan.name_only_skills[arm.id]) for arm in arms]
        listing = AGENTS[agent].skill_listing if agent in AGENTS else None
        measured = listing.rules(version).version if listing else version
        rules = "" if measured == version else f", as measured for {measured}"
        yield (
            f"{agent} {version or ''} with {model}: by its own limit{rules}, the model sees only the names of some "
            f"skills: {first_of(texts, _MOST_VARIANTS, '; ')}. `skill_listing` says how trials list them"
        )


def _listing_text(arm: Arm, names: Sequence[str]) -> str:
    variant = arm.variant
    is_cut = variant is not None and variant.treatment.skill_listing == "default"
    how = "by name in these trials too" if is_cut else "with descriptions in these trials"
    return (
        f"{variant.id if variant else arm.id}: {counted(len(names), 'skill')} ({first_of(names, _MOST_SKILLS)}), {how}"
    )
