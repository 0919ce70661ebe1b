"""JSON Schemas of YAML files and rows, and the reference pages that are generated from code and scenarios."""

import inspect
import json
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.scenario_folder import ScenarioFolder, oracle_modes
from scylla_gha.model import Record
from scylla_gha.model.agent_manifest import AgentManifest
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.github_fixture import GitHubFixture, GitHubRepositories
from scylla_gha.model.github_views import LIST_QUERIES, OBJECT_QUERIES, PUSHES, GitHubView, PushView
from scylla_gha.model.mode import ModeFile
from scylla_gha.model.result import Result
from scylla_gha.model.sandbox import ImageRecipe
from scylla_gha.model.scenario import Rubric, Scenario
from scylla_gha.model.traffic import ModelInfo, PriceList
from scylla_gha.model.trial import Inventory, SessionFacts
from scylla_gha.model.variant import McpServer, SubTest, Tier

_INTRODUCTION: Final = """\
# YAML reference

This page is generated from the schemas in `config/schemas/` by `scylla-gha schemas`; do not edit it.
A key without a default is required. Unknown keys are refused. `null` as a default means that the key is not set.
"""
# Record and location of each kind of file, in the order of the reference
_FILES: Final[dict[str, tuple[type[Record], str]]] = {
    "experiment": (Experiment, "config/experiments/ID.yaml"),
    "scenario": (Scenario, "scenarios/SUITE/ID/scenario.yaml"),
    "rubric": (Rubric, "scenarios/SUITE/ID/rubric.yaml"),
    "github": (GitHubFixture, "fixtures/NAME/github.yaml"),
    "github-fixtures": (GitHubRepositories, "config/github-fixtures.yaml"),
    "tier": (Tier, "config/tiers/ID.yaml"),
    "sub-test": (SubTest, "config/tiers/TIER/ID.yaml"),
    "mcp-server": (McpServer, "config/mcp/NAME/server.yaml"),
    "mode": (ModeFile, "config/modes/ID.yaml"),
    "model": (ModelInfo, "config/models/ID.yaml"),
    "prices": (PriceList, "config/prices/NAME.yaml"),
    "image": (ImageRecipe, "config/images/NAME.yaml"),
    "agent-cli": (AgentManifest, "config/agent-clis/NAME.yaml"),
    "inventory": (Inventory, "config/inventories/AGENT-VERSION.yaml"),
    "agent-session": (SessionFacts, "config/agent-sessions/AGENT-VERSION.yaml"),
    "result": (Result, "results.jsonl, one object per line"),
}
_LONGEST_DEFAULT: Final = 40
_BOUNDS: Final = {"minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}"}
_QUERIES_INTRODUCTION: Final = """\
# Queries of GitHub state

This page is generated from the code by `scylla-gha schemas`; do not edit it.

A checkpoint of kind `github` selects from one object, named by `target`, or from all objects of a kind
([scenarios with GitHub](github-scenarios.md)). `select` is a jmespath expression over these fields. Every object has an
`id` and a `sequence`, the number of the write that created it (0: the fixture).
"""
_SIMPLE: Final = {str: "text", int: "whole number", bool: "true or false", type(None): "null"}
_DOMAINS: Final = ("pr", "issue", "workflow", "release", "repo")
_LEVELS: Final = {"trivial": "basic", "easy": "basic", "medium": "intermediate", "hard": "advanced"}
_SCENARIOS_INTRODUCTION: Final = """\
# Scenarios on GitHub

This page is generated from `scenarios/github/` by `scylla-gha schemas`; do not edit it.

The id shows the domain, `difficulty` the level: trivial and easy are basic, medium is intermediate, hard is advanced.
Each mode either has an oracle that passes with this mode's tools alone, or states why they cannot solve the task.
`scylla-gha validate --execute scenarios/github` checks this, and prints the number of GitHub operations of each
oracle.

"""


def schemas() -> dict[str, str]:
    """Return the JSON text of every schema, by file name."""
    standard = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    texts = {name: standard | kind.model_json_schema() for name, (kind, _) in _FILES.items()}
    return {f"{name}.json": json.dumps(schema, indent=2, sort_keys=True) + "\n" for name, schema in texts.items()}


def yaml_reference() -> str:
    """Return the Markdown page: one section per kind of file, one table per object."""
    texts = schemas()
    sections = (_section(name, file, json.loads(texts[f"{name}.json"])) for name, (_, file) in _FILES.items())
    return "\n".join((_INTRODUCTION, *sections))


def _section(name: str, file: str, schema: Mapping[str, Any]) -> str:
    lines = [f"## {name}", "", f"File: `{file}`. {schema.get('description', '')}".rstrip(), "", *_table(name, schema)]
    for title, part in schema.get("$defs", {}).items():
        lines += ["", f"### {name}: {title}", "", part.get("description", "")]
        lines += ["", *(_table(name, part) if "properties" in part else [f"Type: {_type(name, part)}"])]
    return "\n".join(lines) + "\n"


def _table(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    required = set(schema.get("required", ()))
    yield "| key | type | default | meaning |"
    yield "|---|---|---|---|"
    for key, part in schema["properties"].items():
        text = json.dumps(part.get("default"), ensure_ascii=False)
        default = f"`{_cell(text)}`" if len(text) <= _LONGEST_DEFAULT else "see its table"
        row = (f"`{key}`", _type(name, part), "" if key in required else default, _cell(part.get("description", "")))
        yield f"| {' | '.join(row)} |"


def _type(name: str, part: Mapping[str, Any]) -> str:
    """Describe a type in a few words; a type with its own table is a link to the table."""
    if "$ref" in part:
        title = part["$ref"].rpartition("/")[2]
        return f"[{title}](#{name}-{title.lower()})"
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in part:
            return " or ".join(dict.fromkeys(_type(name, option) for option in part[choice]))
    if values := part.get("enum", [part["const"]] if "const" in part else []):
        return ", ".join(f"`{value}`" for value in values)
    return _plain_type(name, part)


def _plain_type(name: str, part: Mapping[str, Any]) -> str:
    kind = part.get("type", "any value")
    if kind == "array":
        return f"list of {_type(name, part['items'])}" if "items" in part else "list"
    if kind == "object":
        values = part.get("additionalProperties")
        return f"map to {_type(name, values)}" if isinstance(values, dict) else "map"
    bounds = [text.format(part[key]) for key, text in _BOUNDS.items() if key in part]
    return _cell(" ".join((str(kind), ", ".join(bounds))).strip())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def queries_page() -> str:
    """Return the Markdown page of all queries of GitHub state and their fields."""
    return "\n".join((_QUERIES_INTRODUCTION, *_sections()))


def _sections() -> Iterator[str]:
    lists = {name: plural for plural, name in LIST_QUERIES.items()}
    parts: dict[str, type[Record]] = {}
    for name, view in OBJECT_QUERIES.items():
        every = f", all: `{lists[name]}`" if name in lists else ""
        yield from _query_section(f"`{name}`{every}", view, parts)
    yield from _query_section(f"all: `{PUSHES}`", PushView, parts)
    known = {*OBJECT_QUERIES.values(), PushView}
    while missing := [part for part in parts.values() if part not in known]:
        known.update(missing)
        for part in missing:
            yield from _query_section(part.__name__, part, parts)


def _query_section(title: str, view: type[Record], parts: dict[str, type[Record]]) -> Iterator[str]:
    """Yield the section of a view; add the records in its fields to `parts`."""
    yield f"## {title}\n\n{inspect.getdoc(view)}\n\n| field | value |\n|---|---|"
    for name, field in view.model_fields.items():
        if name in GitHubView.model_fields:
            continue
        yield f"| `{name}` | {_words(field.annotation, parts)} |"
    yield ""


def _words(annotation: object, parts: dict[str, type[Record]]) -> str:
    """Return the words for a type, such as "list of text"."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_words(argument, parts) for argument in arguments)
    if origin is tuple:
        return f"list of {_words(arguments[0], parts)}"
    if isinstance(annotation, type) and issubclass(annotation, Record):
        parts[annotation.__name__] = annotation
        return annotation.__name__
    return _SIMPLE.get(annotation, "object") if isinstance(annotation, type) else "object"


def scenarios_page() -> str:
    """Return the Markdown page of all scenarios on GitHub, with the modes in which they are possible.

    Raises:
        ConfigError: a scenario is invalid.
    """
    library = Library((toolkit_root(),))
    folders = [library.scenario(name) for name in library.scenarios]
    scenarios = [folder for folder in folders if folder.github]
    modes = library.mode_names()
    return _SCENARIOS_INTRODUCTION + "\n".join((*_counts(scenarios), "", *_scenario_table(scenarios, modes), ""))


def _counts(folders: list[ScenarioFolder]) -> Iterator[str]:
    levels = list(dict.fromkeys(_LEVELS.values()))
    yield f"| domain | {' | '.join(levels)} |"
    yield "|---|" + "---|" * len(levels)
    for domain in _DOMAINS:
        of_domain = [folder for folder in folders if _domain(folder.path) == domain]
        numbers = (sum(_level(folder) == level for folder in of_domain) for level in levels)
        yield f"| {domain} | {' | '.join(map(str, numbers))} |"


def _scenario_table(folders: list[ScenarioFolder], modes: list[str]) -> Iterator[str]:
    yield f"| scenario | domain | level | task | {' | '.join(modes)} |"
    yield "|---|---|---|---|" + "---|" * len(modes)
    for folder in folders:
        name = folder.scenario.id
        link = f"[{name}](../scenarios/{folder.path.parent.name}/{name}/scenario.yaml)"
        cells = (_mode(folder, mode) for mode in modes)
        yield (
            f"| {link} | {_domain(folder.path)} | {_level(folder)} | {folder.scenario.title} | {' | '.join(cells)} |"
        )


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
