"""JSON Schemas of the YAML files, for editors, and of the rows; generated into `config/schemas/`."""

import json
from typing import Final

from scylla_gha.model.experiment import Experiment
from scylla_gha.model.pricing import ModelInfo, PriceList
from scylla_gha.model.record import Record
from scylla_gha.model.result import Result
from scylla_gha.model.sandbox import ImageRecipe
from scylla_gha.model.scenario import Rubric, Scenario
from scylla_gha.model.variant import Inventory, McpServer, Tier

_KINDS: Final[dict[str, type[Record]]] = {
    "experiment": Experiment,
    "image": ImageRecipe,
    "inventory": Inventory,
    "mcp-server": McpServer,
    "model": ModelInfo,
    "prices": PriceList,
    "result": Result,
    "rubric": Rubric,
    "scenario": Scenario,
    "tier": Tier,
}


def schemas() -> dict[str, str]:
    """Return the JSON text of every schema, by file name."""
    return {f"{name}.json": _text(kind) for name, kind in _KINDS.items()}


def _text(kind: type[Record]) -> str:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **kind.model_json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
