"""Page that lists the scenarios with GitHub of the toolkit, generated from their files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.config.scenario_oracles import oracle_modes

_DOMAINS: Final = ("pr", "issue", "workflow", "release", "repo")
_LEVELS: Final = {"trivial": "basic", "easy": "basic", "medium": "intermediate", "hard": "advanced"}
_INTRODUCTION: Final = """\
# Scenarios on GitHub

This page is generated from `scenarios/github/` by `scylla-gha schemas`; do not edit it.

The domain stands in the id, and the level is the key `difficulty`: easy is basic, medium intermediate, hard advanced.
A mode has an oracle that passes with its tools alone, or the reason why the task is not possible with them.
`scylla-gha validate --execute scenarios/github` proves all of it, and prints how many operations on GitHub each oracle
takes.

"""


def scenarios_page() -> str:
    """Return the text of the page.

    Raises:
        ConfigError: a scenario is invalid.
    """
    library = Library((toolkit_root(),))
    folders = [library.scenario(name) for name in library.scenarios]
    scenarios = [folder for folder in folders if folder.github]
    modes = library.mode_names()
    return _INTRODUCTION + "\n".join((*_counts(scenarios), "", *_table(scenarios, modes), ""))


def _counts(folders: list[ScenarioFolder]) -> Iterator[str]:
    levels = list(dict.fromkeys(_LEVELS.values()))
    yield f"| domain | {' | '.join(levels)} |"
    yield "|---|" + "---|" * len(levels)
    for domain in _DOMAINS:
        of_domain = [folder for folder in folders if _domain(folder.path) == domain]
        numbers = (sum(_level(folder) == level for folder in of_domain) for level in levels)
        yield f"| {domain} | {' | '.join(map(str, numbers))} |"


def _table(folders: list[ScenarioFolder], modes: list[str]) -> Iterator[str]:
    yield f"| scenario | domain | level | task | {' | '.join(modes)} |"
    yield "|---|---|---|---|" + "---|" * len(modes)
    for folder in folders:
        name = folder.scenario.id
        link = f"[{name}](../scenarios/{folder.path.parent.name}/{name}/scenario.yaml)"
        cells = (_mode(folder, mode) for mode in modes)
        yield (f"| {link} | {_domain(folder.path)} | {_level(folder)} | {folder.scenario.title} "
               f"| {' | '.join(cells)} |")  # fmt: skip


def _domain(path: Path) -> str:
    """Return the domain in the name of a scenario's folder, such as pr in 151-pr-review-comment."""
    word = path.name.split("-")[1]
    return word if word in _DOMAINS else ""


def _level(folder: ScenarioFolder) -> str:
    return _LEVELS[folder.scenario.difficulty]


def _mode(folder: ScenarioFolder, mode: str) -> str:
    github = folder.scenario.github
    reason = github.not_possible.get(mode) if github else None
    return reason or ("yes" if mode in oracle_modes(folder.path) else "no oracle")
