"""Queries of GraphQL: connections, nodes, issues, pull requests, git, and errors in GitHub's words."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.graphql import RESOLVERS
from scylla_gha.hub.graphql.register import register
from scylla_gha.hub.graphql.schema import github_schema
from scylla_gha.hub.records import ProtectionRecord, PullRequestRecord, RepositoryRecord, ReviewRecord, ThreadRecord
from tests.support.hub import AUTHOR, NAME, OWNER, READER, Caller, commit
from tests.support.hub_contents import filled_hub

IN_DEMO = f'{{repository(owner:"{OWNER}",name:"{NAME}"){{%s}}}}'
IN_PULL = IN_DEMO % "pullRequest(number:1){%s}"


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Caller:
    return Caller(filled_hub(tmp_path_factory.mktemp("hub"), issues=7))


def demo(caller: Caller, fields: str) -> Any:
    return caller.data(IN_DEMO % fields)["repository"]


def pull(caller: Caller, fields: str) -> Any:
    return caller.data(IN_PULL % fields)["repository"]["pullRequest"]


def test_every_resolver_is_of_a_field_of_the_schema() -> None:
    register()
    types: Any = github_schema().type_map
    unknown = [key for key in RESOLVERS if key[0] not in types or key[1] not in types[key[0]].fields]
    assert unknown == []


def test_pages_go_forth_and_back_by_cursors(caller: Caller) -> None:
    """See https://docs.github.com/graphql/guides/using-pagination-in-the-graphql-api."""
    page = "totalCount pageInfo{hasNextPage hasPreviousPage startCursor endCursor} nodes{number} edges{cursor}"
    first = demo(caller, f"issues(first:3){{{page}}}")["issues"]
    assert [issue["number"] for issue in first["nodes"]] == [2, 3, 4]
    assert (first["totalCount"], first["pageInfo"]["hasNextPage"], first["pageInfo"]["hasPreviousPage"]) == (
        7,
        True,
        False,
    )
    assert first["edges"][-1]["cursor"] == first["pageInfo"]["endCursor"]
    after = demo(caller, f'issues(first:100,after:"{first["pageInfo"]["endCursor"]}"){{{page}}}')["issues"]
    assert [issue["number"] for issue in after["nodes"]] == [5, 6, 7, 8]
    before = demo(caller, f'issues(last:2,before:"{after["pageInfo"]["startCursor"]}"){{{page}}}')["issues"]
    assert [issue["number"] for issue in before["nodes"]] == [3, 4]
    assert before["pageInfo"]["hasPreviousPage"]


def test_nodes_are_found_by_the_ids_that_other_fields_give(caller: Caller) -> None:
    fields = (
        "id defaultBranchRef{id target{id ...on Commit{tree{id entries{object{id}}}}}} labels(first:1){nodes{id}} "
        "milestones(first:1){nodes{id}} releases(first:1){nodes{id}} pullRequest(number:1){id "
        "comments(first:1){nodes{id}} reviews(first:1){nodes{id}} "
        "reviewThreads(first:1){nodes{id comments(first:1){nodes{id}}}}}"
    )
    ids = list(strings(demo(caller, fields)))
    nodes = caller.data("query($ids:[ID!]!){nodes(ids:$ids){__typename id}}", ids=ids)["nodes"]
    assert [node["id"] for node in nodes] == ids
    assert {"Repository", "Ref", "Commit", "Tree", "Blob", "PullRequestReviewThread"} <= {
        node["__typename"] for node in nodes
    }
    answer = caller.graphql('{nodes(ids:["U_x","C_kwDOx"]){id}}')
    assert answer["data"] == {"nodes": [None, None]}
    assert answer["errors"][0]["message"] == "Could not resolve to a node with the global id of 'U_x'."


def strings(value: Any) -> Any:
    """Every text in an answer."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(item)


def test_a_private_repository_is_hidden_from_who_may_not_read_it(tmp_path: Path) -> None:
    hub = filled_hub(tmp_path)
    record = hub.state.repository(OWNER, NAME)
    user = hub.state.user(READER)
    assert record is not None
    assert user is not None
    without_reader = tuple(entry for entry in record.permissions if entry[0] != user.id)
    hub.state.update(0, record, private=True, permissions=without_reader)
    id_ = demo(Caller(hub), "pullRequest(number:1){id}")["pullRequest"]["id"]
    reader = Caller(hub, READER)
    answer = reader.graphql(IN_DEMO % "id")
    assert answer["data"] == {"repository": None}
    assert answer["errors"][0]["message"] == f"Could not resolve to a Repository with the name '{OWNER}/{NAME}'."
    assert reader.graphql(f'{{node(id:"{id_}"){{id}}}}')["errors"][0]["type"] == "NOT_FOUND"
    assert reader.data('{organization(login:"octo-org"){repositories{totalCount}}}') == {
        "organization": {"repositories": {"totalCount": 0}}
    }


def test_a_pull_request_says_what_git_says(caller: Caller) -> None:
    about = pull(
        caller,
        "additions deletions changedFiles mergeable mergeStateStatus headRefOid files(first:9){nodes{path changeType}} "
        "commits(last:1){nodes{commit{oid messageHeadline authors(first:1){nodes{user{login}}}}}} "
        "headRef{name prefix target{oid}} closingIssuesReferences(first:5){nodes{number}} "
        "potentialMergeCommit{parents(first:2){nodes{oid}}}",
    )
    assert (about["additions"], about["deletions"], about["changedFiles"]) == (2, 2, 3)
    assert (about["mergeable"], about["mergeStateStatus"]) == ("MERGEABLE", "UNSTABLE")
    assert {file["path"]: file["changeType"] for file in about["files"]["nodes"]} == {
        "README.md": "DELETED",
        "docs/new.md": "ADDED",
        "src/app.py": "MODIFIED",
    }
    last = about["commits"]["nodes"][0]["commit"]
    assert (last["oid"], last["messageHeadline"]) == (about["headRefOid"], "Change the sum")
    assert last["authors"]["nodes"][0]["user"] == {"login": AUTHOR}
    assert about["headRef"] == {"name": "topic", "prefix": "refs/heads/", "target": {"oid": about["headRefOid"]}}
    assert about["closingIssuesReferences"]["nodes"] == [{"number": 2}]
    assert about["potentialMergeCommit"]["parents"]["nodes"][1] == {"oid": about["headRefOid"]}


def test_checks_of_the_head_are_rolled_up(caller: Caller) -> None:
    rollup = pull(
        caller,
        "statusCheckRollup{state contexts(first:9){checkRunCount checkRunCountsByState{state count} nodes{__typename "
        "...on CheckRun{name conclusion isRequired(pullRequestNumber:1) checkSuite{workflowRun{event workflow{name}}} "
        "annotations(first:1){nodes{location{start{line}}}} steps(first:1){nodes{name}}} "
        "...on StatusContext{context state creator{login}}}}}",
    )["statusCheckRollup"]
    run, status = rollup["contexts"]["nodes"]
    assert (rollup["state"], rollup["contexts"]["checkRunCount"]) == ("FAILURE", 1)
    assert rollup["contexts"]["checkRunCountsByState"] == [{"state": "FAILURE", "count": 1}]
    assert run["checkSuite"] == {"workflowRun": {"event": "push", "workflow": {"name": "CI"}}}
    assert (run["steps"]["nodes"], run["isRequired"]) == ([{"name": "Test"}], False)
    assert status == {
        "__typename": "StatusContext",
        "context": "lint",
        "state": "SUCCESS",
        "creator": {"login": AUTHOR},
    }


def test_reviews_by_reader_and_decision(tmp_path: Path) -> None:
    hub = filled_hub(tmp_path)
    fields = "reviewDecision latestReviews(first:5){nodes{state author{login}}} reviews(first:5){nodes{state}}"
    assert pull(Caller(hub), fields)["reviewDecision"] is None, "none is required"
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    rule = ProtectionRecord(id=hub.state.new_id(), created_at=hub.state.now(), repository=repository.id,
                            pattern="main", required_reviews=1)  # fmt: skip
    hub.state.create(0, rule)
    assert pull(Caller(hub), fields)["reviewDecision"] == "CHANGES_REQUESTED"
    review = hub.state.first(ReviewRecord)
    assert review is not None
    hub.state.update(0, review, state="PENDING")
    assert pull(Caller(hub), fields) == {
        "reviewDecision": "REVIEW_REQUIRED",
        "latestReviews": {"nodes": []},
        "reviews": {"nodes": []},
    }
    assert pull(Caller(hub, "hubot"), fields)["reviews"]["nodes"] == [{"state": "PENDING"}]
    assert pull(Caller(hub), "reviewThreads(first:1){nodes{comments(first:9){nodes{body}}}}")["reviewThreads"] == {
        "nodes": [{"comments": {"nodes": [{"body": "So."}]}}]
    }
    hub.state.update(0, review, state="APPROVED")
    assert pull(Caller(hub), fields)["reviewDecision"] == "APPROVED"


def test_a_thread_moves_with_its_line_and_is_outdated_when_the_line_changes(tmp_path: Path) -> None:
    """See https://docs.github.com/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests."""
    hub = filled_hub(tmp_path)
    fields = "reviewThreads(first:1){nodes{isOutdated line originalLine comments(first:1){nodes{outdated diffHunk}}}}"
    thread = pull(Caller(hub), fields)["reviewThreads"]["nodes"][0]
    assert (thread["isOutdated"], thread["line"]) == (False, 2)
    hunk = thread["comments"]["nodes"][0]["diffHunk"]
    assert hunk.splitlines() == [
        "@@ -1,2 +1,2 @@",
        " def add(a, b):",
        "-    return a + b",
        "+    return a + b + 0",
    ]
    record, repository = hub.state.first(PullRequestRecord), hub.state.first(RepositoryRecord)
    assert record is not None
    assert repository is not None
    git, author = hub.git(repository), hub.session(AUTHOR).signature()
    head = git.refs()["refs/pull/1/head"]
    for text, outdated, line in (
        ("import os\n\n\ndef add(a, b):\n    return a + b + 0\n", False, 5),
        ("def add(a, b):\n    return sum((a, b))\n", True, None),
    ):
        git.set_ref("refs/pull/1/head", commit(git, {"src/app.py": text}, "More\n", author, head))
        thread = pull(Caller(hub), fields)["reviewThreads"]["nodes"][0]
        assert (thread["isOutdated"], thread["line"], thread["originalLine"]) == (outdated, line, 2)
    assert hub.state.where(ThreadRecord)[0].line == 2


def test_objects_are_found_by_expressions(caller: Caller) -> None:
    fields = (
        'file:object(expression:"main:src/app.py"){...on Blob{text byteSize isBinary}} '
        'tree:object(expression:"HEAD:"){...on Tree{entries{name type mode}}} none:object(expression:"main:nope"){id} '
        'parent:object(expression:"topic~1:README.md"){...on Blob{text}} '
        'commit:object(expression:"topic"){...on Commit{history(first:5){nodes{messageHeadline}}}}'
    )
    answer = demo(caller, fields)
    assert answer["file"] == {"text": "def add(a, b):\n    return a + b\n", "byteSize": 32, "isBinary": False}
    assert [(entry["name"], entry["type"]) for entry in answer["tree"]["entries"]] == [
        ("README.md", "blob"),
        ("src", "tree"),
    ]
    assert (answer["none"], answer["parent"]) == (None, {"text": "# Demo\n"})
    assert [one["messageHeadline"] for one in answer["commit"]["history"]["nodes"]] == ["Change the sum", "Begin"]


def test_timelines_are_in_order_and_filtered(caller: Caller) -> None:
    items = (
        "totalCount nodes{__typename ...on LabeledEvent{label{name} actor{login}} ...on AssignedEvent{assignee{"
        "...on User{login}}} ...on CrossReferencedEvent{willCloseTarget source{...on PullRequest{number}}}}"
    )
    issue = demo(caller, f"issue(number:2){{timelineItems(first:9){{{items}}}}}")["issue"]["timelineItems"]
    assert [node["__typename"] for node in issue["nodes"]] == [
        "IssueComment",
        "LabeledEvent",
        "AssignedEvent",
        "CrossReferencedEvent",
    ]
    assert issue["nodes"][1] == {"__typename": "LabeledEvent", "label": {"name": "bug"}, "actor": {"login": AUTHOR}}
    assert issue["nodes"][3] == {
        "__typename": "CrossReferencedEvent",
        "willCloseTarget": True,
        "source": {"number": 1},
    }
    only = pull(caller, f"timelineItems(first:9,itemTypes:[PULL_REQUEST_COMMIT,PULL_REQUEST_REVIEW]){{{items}}}")
    assert {node["__typename"] for node in only["timelineItems"]["nodes"]} == {"PullRequestCommit", "PullRequestReview"}


def test_ids_and_addresses_are_those_of_rest(caller: Caller) -> None:
    """See https://docs.github.com/graphql/guides/using-global-node-ids."""
    names = "id url"
    answer = demo(
        caller,
        f"{names} issue(number:2){{{names} comments(first:1){{nodes{{{names}}}}} milestone{{{names}}}}} "
        f'label(name:"bug"){{id}} release(tagName:"v1"){{{names}}} object(expression:"topic"){{id}} '
        f"pullRequest(number:1){{{names} author{{...on User{{{names}}}}} reviews(first:1){{nodes{{{names}}}}}}}",
    )
    repo = f"/repos/{OWNER}/{NAME}"
    pairs = [
        (answer, repo),
        (answer["issue"], f"{repo}/issues/2"),
        (answer["issue"]["comments"]["nodes"][0], f"{repo}/issues/2/comments"),
        (answer["issue"]["milestone"], f"{repo}/milestones/1"),
        (answer["label"], f"{repo}/labels/bug"),
        (answer["release"], f"{repo}/releases/tags/v1"),
        (answer["object"], f"{repo}/commits/topic"),
        (answer["pullRequest"], f"{repo}/pulls/1"),
        (answer["pullRequest"]["author"], f"/users/{AUTHOR}"),
        (answer["pullRequest"]["reviews"]["nodes"][0], f"{repo}/pulls/1/reviews"),
    ]
    for node, path in pairs:
        body = caller.get(path)
        record = body[0] if isinstance(body, list) else body
        assert node["id"] == record["node_id"], path
        assert node.get("url", record.get("html_url")) == record.get("html_url"), path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "User"), (f"{OWNER}/{NAME}", "Repository"), (f"{OWNER}/{NAME}/pull/1", "PullRequest"),
        (f"{OWNER}/{NAME}/issues/2", "Issue"), (f"{OWNER}/none", None), (f"{OWNER}/{NAME}/wiki/x", None),
    ],
)  # fmt: skip
def test_resources_are_found_by_their_addresses(caller: Caller, path: str, kind: str | None) -> None:
    answer = caller.data("query($url:URI!){resource(url:$url){__typename}}", url=f"https://github.com/{path or AUTHOR}")
    assert answer["resource"] == ({"__typename": kind} if kind else None)


def test_nobody_reacted_and_suites_hold_their_runs(caller: Caller) -> None:
    about = pull(
        caller,
        "reactionGroups{content reactors(first:9){totalCount nodes{__typename} pageInfo{hasNextPage}}} "
        "commits(last:1){nodes{commit{checkSuites(first:9){nodes{conclusion app{slug} "
        "matchingPullRequests(first:1){nodes{number}} checkRuns(first:9){nodes{name}}}}}}}",
    )
    assert [group["reactors"]["totalCount"] for group in about["reactionGroups"]] == [0] * 8
    (suite,) = about["commits"]["nodes"][0]["commit"]["checkSuites"]["nodes"]
    assert suite == {
        "conclusion": "FAILURE",
        "app": {"slug": "github-actions"},
        "matchingPullRequests": {"nodes": [{"number": 1}]},
        "checkRuns": {"nodes": [{"name": "test"}]},
    }
