"""The weekly workflow, run by act: a real newer Claude Code against the stored one, and the issue of that."""

import json
from pathlib import Path

import pytest

from tests.support import git_server, github_api
from tests.support.act import Ran, actions, add_workflow, look_at
from tests.support.repository import write_tree

MEASURED = "claude-code@2.1.331"  # of 2026-11; its inventory is not stored, so that it is compared with an older one


def run_all(folder: Path) -> None:
    one, github = actions(folder, write_tree(folder / "repo", {"README.md": "# Ours\n"})), github_api.State()
    add_workflow(one.repository, "agents.yml")
    one.commit()
    inputs = {"agents": MEASURED, "sub-tests": "T0/01-*", "sandbox": "bubblewrap"}
    with git_server.serve(one.services / "git") as server, github_api.serving(github):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server}
        ran = one.run("agents.yml", payload={"inputs": inputs}, secrets={"GITHUB_TOKEN": github_api.TOKEN})
    ran.save(folder / "ran.json")
    (folder / "issues.json").write_text(json.dumps(list(github.issues.values())))


def both_jobs_succeed(flow: Path) -> None:
    ran = Ran.load(flow / "ran.json")
    assert ran.ended == {"measure": "succeeded", "tell": "succeeded"}, ran.log()


def the_differences_to_the_stored_version_are_real_ones(flow: Path) -> None:
    content = json.loads((flow / "services/artifacts/scylla-agent-updates-1/updates.json").read_text())
    (update,) = content["agents"]
    assert (update["version"], update["stored"], update["sub_tests"]) == ("2.1.331", "2.1.197", 1)
    texts = {difference["part"]: difference["text"] for difference in update["differences"]}
    assert "ToolSearch" in texts["inventory, tools"]
    assert "is stored" in texts["models"]
    assert any(part.startswith("transcript, event ") for part in texts)


def they_are_one_issue(flow: Path) -> None:
    (issue,) = json.loads((flow / "issues.json").read_text())
    assert issue["labels"] == ["scylla-agents"]
    assert issue["body"].startswith("<!-- scylla:agent-updates -->\n")
    assert "`claude-code` `2.1.331`" in issue["body"]
    assert "ToolSearch" in issue["body"]


CHECKS = (both_jobs_succeed, the_differences_to_the_stored_version_are_real_ones, they_are_one_issue)


def test_what_the_run_shows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
