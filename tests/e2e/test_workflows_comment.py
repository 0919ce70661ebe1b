"""From a comment on a pull request to the answer under it: two runs, as act follows no dispatch, joined by the API."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.report.comment import marker
from tests.support import git_server, github_api
from tests.support.act import REPOSITORY, Ran, actions, add_workflow, git, look_at
from tests.support.engine import found_by
from tests.support.repository import make_repository

pytestmark = pytest.mark.usefixtures("running_engine")
AT = "2026-01-01T12:00:00Z"
RUNNER = {"lanes": "2", "parallelism": "2", "minutes": "60", "runs-on": "ubuntu-latest",
          "results-branch": "scylla-results", "environment": "scylla-eval"}  # fmt: skip


def event(number: int, body: str, login: str) -> dict[str, Any]:
    """Return the event of a new comment on pull request 7."""
    user = {"login": login, "type": "User"}
    return {
        "action": "created", "sender": user, "comment": {"id": number, "body": body, "user": user, "created_at": AT},
        "issue": {"number": 7, "pull_request": {"url": "x"}},
        "repository": {"full_name": REPOSITORY, "default_branch": "main"},
    }  # fmt: skip


def run_all(folder: Path) -> None:
    """A pull request with a change, an order, and its execution; then the order of one who may not give it."""
    one = actions(folder, make_repository(folder / "repo").root)
    for name in ("comment.yml", "dispatch.yml"):
        add_workflow(one.repository, name)
    one.commit()
    git(one.repository, "checkout", "-q", "-b", "topic")
    (one.repository / "fixtures" / "README.md").write_text("A change that is evaluated.\n")
    head = one.commit(branch="topic")
    git(one.repository, "checkout", "-q", "main")
    github = github_api.State(rights={"octocat": "write", "reader": "read"})
    github.pull(7, head)
    order = "/scylla evaluate greet"
    with git_server.serve(one.services / "git") as server, github_api.serving(github):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server, **found_by()}
        secrets = {"GITHUB_TOKEN": github_api.TOKEN}
        for login in ("reader", "octocat"):
            payload = event(github.comment(7, order, login, AT), order, login)
            one.run("comment.yml", "issue_comment", payload, secrets=secrets).save(folder / f"{login}.json")
        (folder / "dispatches.json").write_text(json.dumps(github.dispatches))
        inputs = {**RUNNER, **github.dispatches[0]["inputs"]}
        ran = one.run("dispatch.yml", payload={"inputs": inputs}, env={"GITHUB_RUN_ID": "7002"}, secrets=secrets)
        ran.save(folder / "evaluated.json")
        compare = {**inputs, "base": git(one.repository, "rev-parse", "main")}
        ran = one.run("dispatch.yml", payload={"inputs": compare}, env={"GITHUB_RUN_ID": "7003"}, secrets=secrets)
        ran.save(folder / "compared.json")
    said = {"head": head, "comments": github.bodies(7), "checks": github.checks, "reactions": github.reactions}
    (folder / "said.json").write_text(json.dumps(said))


def said_of(flow: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((flow / "said.json").read_text())
    return found


def an_order_becomes_one_dispatch_at_the_pinned_head(flow: Path) -> None:
    said = said_of(flow)
    (made,) = json.loads((flow / "dispatches.json").read_text())
    assert (made["workflow"], made["ref"]) == ("dispatch.yml", "main")
    assert made["inputs"] == {"experiment": "greet", "pull": "7", "head": said["head"]}
    assert Ran.load(flow / "octocat.json").ended == {"slash": "succeeded"}


def who_may_not_write_is_refused(flow: Path) -> None:
    said = said_of(flow)
    assert "only accounts that can write to this repository start one" in Ran.load(flow / "reader.json").log("slash")
    assert {content for _, content in said["reactions"]} == {"confused", "eyes"}


def the_head_is_what_is_evaluated(flow: Path) -> None:
    said = said_of(flow)
    ran = Ran.load(flow / "evaluated.json")
    assert set(ran.ended.values()) == {"succeeded"}
    assert said["head"] in git(flow / "services/git" / f"{REPOSITORY}.git", "rev-parse", "topic")
    assert {check["head_sha"] for check in said["checks"]} == {said["head"]}


def the_answer_is_one_comment(flow: Path) -> None:
    said = said_of(flow)
    (answer,) = [body for body in said["comments"] if body.startswith(marker("greet"))]
    assert said["head"][:7] in answer


def a_comparison_of_nothing_is_answered_too(flow: Path) -> None:
    """The change is one of the fixture, and of no variant."""
    assert Ran.load(flow / "compared.json").ended == {"plan": "failed", "refused": "succeeded"}
    (answer,) = [body for body in said_of(flow)["comments"] if body.startswith("<!-- scylla:refused run=7003 -->")]
    assert (
        "This run measured nothing of `greet`: experiment greet: there is nothing to compare: no file for agents"
        in answer
    )


# One test: what is looked at comes from one run, which takes long, and which no second process should wait for.
CHECKS = (
    an_order_becomes_one_dispatch_at_the_pinned_head,
    who_may_not_write_is_refused,
    the_head_is_what_is_evaluated,
    the_answer_is_one_comment,
    a_comparison_of_nothing_is_answered_too,
)


def test_what_the_run_shows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
