"""Each sub-test of the toolkit really reaches the agent: the real Claude Code CLI starts with all 114.

The newest proved version starts with all of them, each older one with the representative of each tier; `scylla-gha
tiers measure --agent claude-code@VERSION` starts an older one with all.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library, toolkit_root
from tests.support.claude_versions import NEWEST, OLDER
from tests.support.command import scylla
from tests.support.repository import environment

JOBS = "4"
SECONDS = 1800  # a limit for busy machines: on two free cores it takes two minutes


def test_all_sub_tests_are_delivered_to_claude_code(tmp_path: Path) -> None:
    rows = proved_rows(tmp_path, "--agent", f"claude-code@{NEWEST}")
    assert len(rows) == 114
    parts = {name: row["characters"] for name, row in rows.items()}
    assert parts["T0/05-full"]["prompt"] > 10 * parts["T0/04-minimal"]["prompt"]
    assert parts["T1/10-all"]["skills"] / 61 > 200, "names and whole descriptions"
    assert parts["T1/10-all"]["skills"] == parts["T5/07-all-skills-with-core"]["skills"]
    assert parts["T1/10-all"]["skills"] == parts["T6/01-everything"]["skills"]
    assert parts["T2/14-mcp-all"]["mcp"] == sum(parts[name]["mcp"] for name in parts if name.startswith("T2/")
                                                and "-mcp-" in name and name != "T2/14-mcp-all")  # fmt: skip
    assert [name for name, row in rows.items() if row["short_skills"]] == []


@pytest.mark.parametrize("version", OLDER)
def test_the_representative_of_each_tier_is_delivered_to_older_versions(tmp_path: Path, version: str) -> None:
    tiers = Library((toolkit_root(),)).tiers.tiers.values()
    names = [f"{tier.id}/{tier.representative}" for tier in tiers]
    rows = proved_rows(tmp_path, *names, "T1/10-all", "--agent", f"claude-code@{version}")
    assert rows.keys() == {*names, "T1/10-all"}
    assert [name for name, row in rows.items() if row["short_skills"]] == []


def proved_rows(folder: Path, *args: str) -> dict[str, Any]:
    """Measure sub-tests; the rows by name, if the delivery of each is proved."""
    said = scylla("tiers", "measure", *args, "--sandbox", "bubblewrap", "--jobs", JOBS, "--json", cwd=folder,
                  env=environment(folder), seconds=SECONDS)  # fmt: skip
    assert said.code == 0, said.err
    rows = {row["id"]: row for row in json.loads(said.out)}
    assert [name for name, row in rows.items() if not row["proved"]] == []
    return rows
