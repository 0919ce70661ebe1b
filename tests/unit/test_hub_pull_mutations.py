"""Mutations of pull requests: what they answer, and GitHub's words where they are refused."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.records import node_id
from tests.support.hub import OWNER, READER, REPO, REVIEWER, Caller, make_hub
from tests.support.pulls import PULLS, delete_branch, demo, git_of, open_pull, pull_record, push

FIELDS = "pullRequest {number state isDraft title baseRefName headRefOid merged labels(first: 5) {nodes {name}}}"


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return make_hub(tmp_path)


def send(caller: Caller, name: str, returned: str = FIELDS, **values: Any) -> dict[str, Any]:
    """The whole answer to a mutation, whose input type is called after it."""
    kind = f"{name[0].upper()}{name[1:]}Input!"
    return caller.graphql(f"mutation($input: {kind}) {{{name}(input: $input) {{{returned}}}}}", input=values)


def test_a_pull_request_lives_through_its_mutations(hub: Hub) -> None:
    caller = Caller(hub)
    label = caller.rest("POST", f"{REPO}/labels", {"name": "bug", "color": "ff0000"}).body["node_id"]
    fields = {"repositoryId": node_id(demo(hub)), "baseRefName": "main", "headRefName": "topic", "title": "T"}
    created = send(caller, "createPullRequest", draft=True, **fields)["data"]["createPullRequest"]["pullRequest"]
    assert (created["number"], created["isDraft"], created["headRefOid"]) == (1, True, git_of(hub).branch("topic"))
    at = {"pullRequestId": node_id(pull_record(hub, 1))}
    steps: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("markPullRequestReadyForReview", {}, {"isDraft": False}),
        ("convertPullRequestToDraft", {}, {"isDraft": True}),
        (
            "updatePullRequest",
            {"title": "U", "labelIds": [label]},
            {"title": "U", "labels": {"nodes": [{"name": "bug"}]}},
        ),
        ("closePullRequest", {}, {"state": "CLOSED"}),
        ("reopenPullRequest", {}, {"state": "OPEN"}),
        ("updatePullRequest", {"state": "CLOSED"}, {"state": "CLOSED"}),
        ("updatePullRequest", {"state": "OPEN"}, {"state": "OPEN"}),
        ("markPullRequestReadyForReview", {}, {"isDraft": False}),
        ("mergePullRequest", {"mergeMethod": "SQUASH", "commitHeadline": "H"}, {"merged": True, "state": "MERGED"}),
    ]
    for name, values, expected in steps:
        answer = send(caller, name, **at, **values)
        assert "errors" not in answer, (name, answer["errors"])
        pull = answer["data"][name]["pullRequest"]
        assert {field: pull[field] for field in expected} == expected, name
    assert git_of(hub).commit(str(git_of(hub).branch("main"))).message.startswith("H\n\n")


def refused(caller: Caller, name: str, **values: Any) -> str:
    error = send(caller, name, "clientMutationId", **values)["errors"][0]
    assert error["type"] in ("UNPROCESSABLE", "FORBIDDEN", "NOT_FOUND")
    message: str = error["message"]
    return message


def test_creation_is_refused_in_graphqls_words(hub: Hub) -> None:
    """https://docs.github.com/graphql/reference/mutations#createpullrequest."""
    caller = Caller(hub)
    values = {"repositoryId": node_id(demo(hub)), "baseRefName": "main", "title": "T"}
    blank = (
        "Head sha can't be blank, Base sha can't be blank, No commits between main and gone, Head ref must be a branch"
    )
    assert refused(caller, "createPullRequest", headRefName="gone", **values) == blank
    nothing = "No commits between main and main"
    assert refused(caller, "createPullRequest", headRefName="main", **values) == nothing
    open_pull(caller)
    twice = f"A pull request already exists for {OWNER}:topic."
    assert refused(caller, "createPullRequest", headRefName="topic", **values) == twice


def test_merges_updates_and_reopening_are_refused_in_githubs_words(hub: Hub) -> None:
    """https://docs.github.com/graphql/reference/mutations#mergepullrequest."""
    caller = Caller(hub)
    open_pull(caller)
    at = {"pullRequestId": node_id(pull_record(hub, 1))}
    for name in ("closePullRequest", "mergePullRequest", "updatePullRequestBranch", "revertPullRequest"):
        forbidden = f"{READER} does not have the correct permissions to execute `{name[0].upper()}{name[1:]}`"
        assert refused(Caller(hub, READER), name, **at) == forbidden
    stale = "Head branch was modified. Review and try the merge again."
    assert refused(caller, "mergePullRequest", expectedHeadOid="1" * 40, **at) == stale
    assert refused(caller, "updatePullRequestBranch", **at) == "There are no new commits on the base branch."
    push(hub, "main", {"src/app.py": "def add(*all):\n    return sum(all)\n"})
    assert refused(caller, "mergePullRequest", **at) == "Pull Request is not mergeable"
    delete_branch(hub, "topic")
    assert refused(caller, "reopenPullRequest", **at) == "Could not open the pull request."


def test_auto_merge_is_refused_where_the_repository_does_not_allow_it(hub: Hub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/incorporating-changes-from-a-pull-request/automatically-merging-a-pull-request"""
    caller = Caller(hub)
    open_pull(caller)
    at = {"pullRequestId": node_id(pull_record(hub, 1))}
    assert refused(caller, "enablePullRequestAutoMerge", **at) == "Auto merge is not allowed for this repository"
    assert refused(caller, "disablePullRequestAutoMerge", **at) == "Can't disable auto-merge for this pull request."
    caller.rest("PATCH", REPO, {"allow_auto_merge": True})
    (error,) = send(caller, "enablePullRequestAutoMerge", "clientMutationId", **at)["errors"]
    assert error["type"] == "NOT_AVAILABLE"
    reader = f"{READER} does not have the correct permissions to execute `EnablePullRequestAutoMerge`"
    assert refused(Caller(hub, READER), "enablePullRequestAutoMerge", **at) == reader


def test_a_head_in_a_fork_is_followed_and_merged(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/pulls#create-a-pull-request: head is "username:branch"."""
    fork = Caller(hub, READER).rest("POST", f"{REPO}/forks", {}).body["full_name"]
    reader = Caller(hub, READER)

    def write(name: str) -> None:
        content = {"message": name, "content": "eA==", "branch": "main"}
        assert reader.rest("PUT", f"/repos/{fork}/contents/{name}.txt", content).status == 201

    write("One")
    pull = open_pull(reader, f"{READER}:main")
    assert (pull["head"]["repo"]["full_name"], pull["maintainer_can_modify"]) == (fork, True)
    write("Two")
    pull = reader.get(f"{PULLS}/1")
    assert (pull["commits"], pull["head"]["sha"]) == (2, git_of(hub).ref("refs/pull/1/head"))
    assert Caller(hub, REVIEWER).rest("PUT", f"{PULLS}/1/merge", {}).status == 200
    tip = git_of(hub).commit(str(git_of(hub).branch("main")))
    assert tip.headline == f"Merge pull request #1 from {READER}/main"
