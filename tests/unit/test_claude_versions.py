"""The newest proved version of Claude Code is the one that the toolkit names by default; older ones stay proved."""

import re
from pathlib import Path

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.config.library import Library, toolkit_root
from tests.support.claude_versions import NEWEST, VERSIONS

ROOT = toolkit_root()
PLACES = [
    *sorted(ROOT.glob("config/experiments/*.yaml")), *sorted(ROOT.glob(".github/workflows/*.yml")),
    *sorted((ROOT / "scylla_gha/cli").glob("*.py")), ROOT / "scylla_gha/onboarding/templates/experiment.yaml",
    *(ROOT / "docs" / f"{page}.md" for page in ("tutorial", "variants", "github-scenarios", "readiness")),
]  # fmt: skip


def test_everything_that_names_a_version_by_default_names_the_newest() -> None:
    versions = {path: set(re.findall(r"claude-code@([0-9.]+)", path.read_text(encoding="utf-8"))) for path in PLACES}
    assert {path.name: found for path, found in versions.items() if found > {NEWEST} or found - {NEWEST}} == {}
    assert sum(1 for found in versions.values() if found) > 10


@pytest.mark.parametrize("version", VERSIONS)
def test_each_inventory_knows_all_models_and_the_short_names_of_models(version: str) -> None:
    library = Library((ROOT,))
    inventory = library.inventory("claude-code", version)
    assert inventory is not None
    asked = {name for name, model in library.models().items() if model.provider == "anthropic"}
    assert set(inventory.models) >= asked
    assert inventory.aliases.keys() == AGENTS["claude-code"].models.aliases.keys()
    assert {*inventory.deferred_tools} <= {*inventory.tools}


def test_short_names_without_an_inventory_are_those_of_the_newest_version() -> None:
    inventory = Library((ROOT,)).inventory("claude-code", NEWEST)
    assert inventory is not None
    assert inventory.aliases == AGENTS["claude-code"].models.aliases


def test_two_versions_are_proved() -> None:
    assert {"2.1.197", "2.1.332"} <= set(VERSIONS)
    assert Path(ROOT / "config/recordings/hello-claude").is_dir()
