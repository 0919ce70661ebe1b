"""Lists of gh that are searches: what it sends is understood, and nothing of it is outside the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hub import NAME, OWNER, REVIEWER
from tests.support.hub_search import SearchWorld
from tests.support.hub_server import ServedHub, serving_hub


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(SearchWorld(tmp_path / "hub").hub, tmp_path / "served") as running:
        yield running


def test_lists_by_label_assignee_and_state_are_searches(served: ServedHub) -> None:
    numbers = ("--json", "number", "--jq", "[.[].number]")
    repository = ("-R", f"{OWNER}/{NAME}")
    listed = {
        "issue list --label bug": "[2,1]",
        "issue list --assignee @me": "[2]",
        "issue list --milestone Version_1": "[2]",
        "issue list --search crash --state all": "[1,4]",
        "issue list --mention hubot": "[1]",
        "pr list --label bug": "[]",
        "pr list --author @me --draft": "[6]",
        "pr list --search review:approved": "[6]",
        "pr list --state merged --search old": "[7]",
    }
    for command, expected in listed.items():
        words = [word.replace("_", " ") for word in command.split()]
        assert served.run("gh", *words, *repository, *numbers).strip() == expected, command


def test_pr_status_and_search_commands_find_what_concerns_the_user(served: ServedHub) -> None:
    status = served.run("gh", "pr", "status", "-R", f"{OWNER}/{NAME}", token=REVIEWER)
    assert "#5  Fix the crash" in status.partition("Requesting a code review from you")[2]
    found = served.run("gh", "search", "prs", "--review-requested=@me", "--json", "number,repository", token=REVIEWER)
    assert '"number":5' in found
    issues = served.run("gh", "search", "issues", "crash", "--label", "bug", "--json", "number", "--jq", ".[].number")
    assert issues.strip() == "1"
    assert "src/app.py: return a + b" in served.run("gh", "search", "code", "return", "--extension", "py")
    assert f"{OWNER}/{NAME}" in served.run("gh", "search", "repos", "--owner", OWNER)
    assert "Begin" in served.run("gh", "search", "commits", "begin", "--repo", f"{OWNER}/{NAME}")
