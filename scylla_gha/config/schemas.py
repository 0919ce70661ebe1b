"""JSON Schemas of the YAML files and of the rows, and the reference page of all keys, which is generated from them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from scylla_gha.model import Record
from scylla_gha.model.agent_update import SessionFacts
from scylla_gha.model.delivery import Inventory
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.github_fixture import GitHubFixture
from scylla_gha.model.github_repositories import GitHubRepositories
from scylla_gha.model.mcp_server import McpServer
from scylla_gha.model.mode import ModeFile
from scylla_gha.model.result import Result
from scylla_gha.model.sandbox import ImageRecipe
from scylla_gha.model.scenario import Rubric, Scenario
from scylla_gha.model.traffic import ModelInfo, PriceList
from scylla_gha.model.variant import SubTest, Tier

_KINDS: Final[dict[str, type[Record]]] = {
    "experiment": Experiment,
    "github": GitHubFixture,
    "github-fixtures": GitHubRepositories,
    "image": ImageRecipe,
    "inventory": Inventory,
    "agent-session": SessionFacts,
    "mcp-server": McpServer,
    "mode": ModeFile,
    "model": ModelInfo,
    "prices": PriceList,
    "result": Result,
    "rubric": Rubric,
    "scenario": Scenario,
    "sub-test": SubTest,
    "tier": Tier,
}
_INTRODUCTION: Final = """\
# YAML reference

This page is generated from the schemas in `config/schemas/` by `scylla-gha schemas`; do not edit it.
A key without a default is required. Unknown keys are refused. `null` as a default means that the key is not set.
"""
_FILES: Final = {
    "experiment": "config/experiments/ID.yaml",
    "scenario": "scenarios/SUITE/ID/scenario.yaml",
    "rubric": "scenarios/SUITE/ID/rubric.yaml",
    "github": "fixtures/NAME/github.yaml",
    "github-fixtures": "config/github-fixtures.yaml",
    "tier": "config/tiers/ID.yaml",
    "sub-test": "config/tiers/TIER/ID.yaml",
    "mcp-server": "config/mcp/NAME/server.yaml",
    "mode": "config/modes/ID.yaml",
    "model": "config/models/ID.yaml",
    "prices": "config/prices/NAME.yaml",
    "image": "config/images/NAME.yaml",
    "inventory": "config/inventories/AGENT-VERSION.yaml",
    "agent-session": "config/agent-sessions/AGENT-VERSION.yaml",
    "result": "results.jsonl, one object a line",
}
_LONGEST_DEFAULT: Final = 40
_BOUNDS: Final = {"minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}", "exclusiveMaximum": "< {}"}


def schemas() -> dict[str, str]:
    """Return the JSON text of every schema, by file name."""
    standard = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    texts = {name: standard | kind.model_json_schema() for name, kind in _KINDS.items()}
    return {f"{name}.json": json.dumps(schema, indent=2, sort_keys=True) + "\n" for name, schema in texts.items()}


def yaml_reference() -> str:
    """Return the Markdown page: one section per kind of file, one table per object."""
    texts = schemas()
    sections = (_section(name, file, json.loads(texts[f"{name}.json"])) for name, file in _FILES.items())
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
    """Describe a type in a few words; types with a table of their own are links to it."""
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
