"""Each sub-test of the toolkit really reaches the agent: the real Claude Code CLI starts with all 114."""

import json
from pathlib import Path

from tests.support.command import scylla
from tests.support.repository import environment

JOBS = "4"
SECONDS = 1800  # a limit for busy machines: on two free cores it takes two minutes


def test_all_sub_tests_are_delivered_to_claude_code(tmp_path: Path) -> None:
    said = scylla("tiers", "measure", "--sandbox", "bubblewrap", "--jobs", JOBS, "--json", cwd=tmp_path,
                  env=environment(tmp_path), seconds=SECONDS)  # fmt: skip
    assert said.code == 0, said.err
    rows = {row["id"]: row for row in json.loads(said.out)}
    assert len(rows) == 114
    assert [name for name, row in rows.items() if not row["proved"]] == []
    parts = {name: row["characters"] for name, row in rows.items()}
    assert parts["T0/05-full"]["prompt"] > 10 * parts["T0/04-minimal"]["prompt"]
    assert 0 < parts["T1/10-all"]["skills"] / 61 < parts["T1/11-best-of"]["skills"] / 6
    assert parts["T2/14-mcp-all"]["mcp"] == sum(parts[name]["mcp"] for name in parts if name.startswith("T2/")
                                                and "-mcp-" in name and name != "T2/14-mcp-all")  # fmt: skip
    assert rows["T1/10-all"]["short_skills"] > 0, "the CLI lists some of 61 skills by name only"
    assert rows["T1/11-best-of"]["short_skills"] == 0
