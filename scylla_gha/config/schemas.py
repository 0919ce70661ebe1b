"""JSON Schemas of the YAML files, for editors, and of the rows in `results.jsonl`; generated into `config/schemas/`."""

import json
from typing import Final

from scylla_gha.model.delivery import Inventory
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.image import Recipe
from scylla_gha.model.outfit import McpServer
from scylla_gha.model.pricing import Model, PriceList
from scylla_gha.model.record import Record
from scylla_gha.model.result import Result
from scylla_gha.model.rubric import Rubric
from scylla_gha.model.scenario import Scenario
from scylla_gha.model.variant import Tier

_KINDS: Final[dict[str, type[Record]]] = {
    "experiment": Experiment,
    "image": Recipe,
    "inventory": Inventory,
    "mcp-server": McpServer,
    "model": Model,
    "prices": PriceList,
    "result": Result,
    "rubric": Rubric,
    "scenario": Scenario,
    "tier": Tier,
}


def schemas() -> dict[str, str]:
    """File name to JSON text of every schema."""
    return {f"{name}.json": _text(kind) for name, kind in _KINDS.items()}


def _text(kind: type[Record]) -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **kind.model_json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
