"""The workflow that `init --skills` writes, as act runs it: the check of a pull request."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.onboarding.init import skills_workflow
from scylla_gha.onboarding.toolkit import Toolkit
from tests.support.act import REF, TOOLKIT, Actions, Ran, actions, add_workflow
from tests.support.github_api import FORK
from tests.support.skills import write_evals, write_skill

EVALS = {"evals": [{"id": 1, "prompt": "Sum pots.csv", "expectations": ["The reply names both sums"]}]}


def pushed(head: str, repository: str) -> dict[str, Any]:
    """Return the event of a push to pull request 7."""
    pull = {"number": 7, "base": {"ref": "main"}, "labels": [],
            "head": {"sha": head, "ref": "topic", "repo": {"full_name": repository}}}  # fmt: skip
    return {"action": "synchronize", "number": 7, "pull_request": pull}


def repository(folder: Path) -> Actions:
    """Return a repository with a skill and the workflow."""
    skill = write_evals(write_skill(folder / "repo/skills/tally"), EVALS)
    one = actions(folder, skill.parents[1])
    add_workflow(
        one.repository, "scylla-skills.yml", skills_workflow(Toolkit(TOOLKIT, REF), ["skills/tally"]).content.decode()
    )
    return one


def checked(one: Actions) -> Ran:
    """Push to a pull request of a fork, whose jobs have no secret."""
    return one.run("scylla-skills.yml", "pull_request", pushed(one.commit(), FORK))


@pytest.mark.timeout(900)
def test_a_pull_request_of_a_fork_is_checked_without_a_key(tmp_path: Path) -> None:
    one = repository(tmp_path)
    ran = checked(one)
    assert ran.ended == {"check": "succeeded"}, ran.log()[-3000:]
    assert "evals/evals.json: evals: 1 entry, 1 read" in ran.log("check")
    value = json.dumps({"evals": [{"id": 1, "prompt": ""}]}, indent=1)
    write_evals(one.repository / "skills/tally", value)
    ran = checked(one)
    assert ran.ended == {"check": "failed"}, ran.log()[-3000:]
    assert "file=skills/tally/evals/evals.json,line=5,title=skill%3A evals" in ran.log("check")
    assert "evals[0].prompt: is empty" in ran.log("check")
