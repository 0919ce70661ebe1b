"""A scripted reviewer as gh and git see one, from the pull request to its merge into a protected branch."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hub_server import ServedHub, serving_hub
from tests.support.scripted_reviewers import ReviewedCell

AUTHOR = "octocat"
REVIEWED = "reviewDecision,reviews,latestReviews,state,mergeStateStatus"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    cell = ReviewedCell.of(tmp_path)
    with serving_hub(cell.hub, tmp_path / "served") as running:
        running.endpoint.script = cell.script
        yield running


def view(served: ServedHub, clone: Path) -> dict[str, object]:
    shown: dict[str, object] = json.loads(served.run("gh", "pr", "view", "fix", "--json", REVIEWED, cwd=clone))
    return shown


def commit(served: ServedHub, clone: Path, text: str) -> None:
    (clone / "src/app.py").write_text(text)
    served.run("git", "-c", "user.name=Octo", "-c", "user.email=o@example.org", "commit", "-qam", "Sum", cwd=clone)
    served.run("git", "push", "-q", "origin", "HEAD:fix", cwd=clone)


def test_gh_gets_a_pull_request_through_a_scripted_review(served: ServedHub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/about-pull-request-reviews"""
    clone = served.folder / "demo"
    served.run("git", "clone", "-q", "https://github.com/octo-org/demo", str(clone))
    commit(served, clone, "def add(a, b):\n    return a + b\n")
    served.run("gh", "pr", "create", "--head", "fix", "--title", "Sum", "--body", "Fixes #1", cwd=clone)
    asked = view(served, clone)
    assert (asked["reviewDecision"], asked["mergeStateStatus"]) == ("CHANGES_REQUESTED", "BLOCKED")
    own = served.run("gh", "pr", "review", "fix", "--approve", cwd=clone, code=1)
    assert "Can not approve your own pull request" in own
    served.run("gh", "pr", "merge", "fix", "--merge", cwd=clone, code=1)
    served.run("gh", "pr", "merge", "fix", "--merge", "--admin", cwd=clone, code=1)
    commit(served, clone, "# sum\ndef add(a, b):\n    return a + b\n")
    comments = json.loads(served.run("gh", "api", "repos/octo-org/demo/pulls/4/comments", cwd=clone))
    answer = f"repos/octo-org/demo/pulls/4/comments/{comments[0]['id']}/replies"
    served.run("gh", "api", answer, "-f", "body=Said so.", cwd=clone)
    assert view(served, clone)["reviewDecision"] == "APPROVED"
    served.run("gh", "pr", "merge", "fix", "--squash", cwd=clone)
    assert view(served, clone)["state"] == "MERGED"
    issue = json.loads(served.run("gh", "issue", "view", "1", "--json", "state,stateReason", cwd=clone))
    assert issue == {"state": "CLOSED", "stateReason": "COMPLETED"}
    assert [entry.actor for entry in served.hub.state.journal if entry.scripted]
