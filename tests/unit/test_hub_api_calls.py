"""API operations as the hub counts them: a batch counts as what it holds, and a second try as another one."""

import json
from pathlib import Path

import pytest

from scylla_gha.hub.api_calls import api_calls
from scylla_gha.hub.http_request import HubRequest
from scylla_gha.hub.request_log import RequestEntry, RequestLog
from tests.support.hub import AUTHOR, NAME, OWNER, make_hub
from tests.support.hub_server import serving_hub

REPO = f"/repos/{OWNER}/{NAME}"


def counted(method: str, path: str, content: bytes = b"", host: str = "api.github.com") -> dict[str, int]:
    path, _, query = path.partition("?")
    request = HubRequest(method=method, path=path, query=query, headers={}, content=content, host=host)
    return dict(api_calls(request, path)[0])


def graphql(query: str, **variables: object) -> dict[str, int]:
    return counted("POST", "/graphql", json.dumps({"query": query, "variables": variables}).encode())


@pytest.mark.parametrize(("method", "path", "category"), [
    ("GET", f"{REPO}/pulls/1/comments", "pr.read"),
    ("PUT", f"{REPO}/pulls/1/merge", "pr.write"),
    ("GET", f"{REPO}/commits/abc/pulls", "pr.read"),
    ("PATCH", f"{REPO}/issues/1", "issue.write"),
    ("POST", f"{REPO}/labels", "issue.write"),
    ("GET", f"{REPO}/actions/runs", "workflow.read"),
    ("GET", f"{REPO}/commits/topic/a/check-runs", "workflow.read"),
    ("POST", f"{REPO}/releases", "release.write"),
    ("GET", f"{REPO}/contents/pulls/a.txt", "repo.read"),
    ("DELETE", f"{REPO}/git/refs/heads%2Ftopic", "repo.write"),
    ("GET", "/search/issues", "search.read"),
    ("GET", "/user", "other.read"),
])  # fmt: skip
def test_a_request_to_rest_is_one_operation_of_its_path(method: str, path: str, category: str) -> None:
    assert counted(method, path) == {category: 1}


@pytest.mark.parametrize(("query", "calls"), [
    ("query { repository(owner: \"o\", name: \"r\") { id name } }", {"repo.read": 1}),
    ("query { repository(owner: \"o\", name: \"r\") { id a: issue(number: 1) { id } b: issue(number: 2) { id } } }",
     {"issue.read": 2}),
    (("query { repository(owner: \"o\", name: \"r\") { ...lists } viewer { login } } "
     "fragment lists on Repository { pullRequests { totalCount } releases { totalCount } }"),
     {"pr.read": 1, "release.read": 1, "other.read": 1}),
    ("query { node(id: \"PR_kwDO00000001\") { id } search(query: \"x\", type: ISSUE) { issueCount } }",
     {"pr.read": 1, "search.read": 1}),
    (("mutation { a: closeIssue(input: {issueId: \"I_kwDO1\"}) { clientMutationId } "
     "b: closeIssue(input: {issueId: \"I_kwDO2\"}) { clientMutationId } }"), {"issue.write": 2}),
    ("query { no_such_field }", {"other.read": 1}),
])  # fmt: skip
def test_a_batch_by_graphql_counts_as_what_it_holds(query: str, calls: dict[str, int]) -> None:
    assert graphql(query) == calls


def test_the_object_that_is_named_decides_on_the_noun() -> None:
    text = "mutation($i: AddLabelsToLabelableInput!) { addLabelsToLabelable(input: $i) { clientMutationId } }"
    assert graphql(text, i={"labelIds": ["LA_kwDO1"], "labelableId": "PR_kwDO2"}) == {"pr.write": 1}
    assert graphql(text, i={"labelIds": ["LA_kwDO1"], "labelableId": "I_kwDO2"}) == {"issue.write": 1}


def test_variables_that_are_nested_deep_are_one_operation() -> None:
    nested = (
        b'{"query": "query($v: ID!) { node(id: $v) { id } }", "variables": {"v": ' + b"[" * 900 + b"]" * 900 + b"}}"
    )
    assert counted("POST", "/graphql", nested) == {"other.read": 1}


def test_a_command_of_git_is_one_operation(tmp_path: Path) -> None:
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as served:
        clone = tmp_path / "clone"
        served.run("git", "clone", "--quiet", f"https://github.com/{OWNER}/{NAME}.git", str(clone))
        served.run("git", "switch", "--quiet", "--create", "new", cwd=clone)
        served.run("git", "commit", "--quiet", "--allow-empty", "--message", "Nothing", cwd=clone)
        served.run("git", "push", "--quiet", "origin", "new", cwd=clone)
        traffic = served.endpoint.log.traffic
        assert (traffic.calls, traffic.failed) == ({"git.read": 1, "git.write": 1}, 0)
        served.run("gh", "api", f"repos/{OWNER}/{NAME}/issues", "-f", "title=One", "-f", "body=Two")
        assert served.endpoint.log.traffic.calls["issue.write"] == 1


def entry(failed: bool, target: str = "/repos/o/r/pulls/1/merge") -> RequestEntry:
    return RequestEntry("gh/2", operation="PUT /merge", identity=AUTHOR, status=405 if failed else 200,
                        calls={"pr.write": 1}, target=target, failed=failed)  # fmt: skip


def test_what_failed_and_what_was_tried_again_are_counted(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "requests.jsonl")
    for failed, target in [(True, "a"), (True, "b"), (True, "a"), (False, "a"), (False, "a")]:
        log.add(entry(failed, target))
    assert (log.traffic.failed, log.traffic.repeated, log.traffic.calls) == (3, 2, {"pr.write": 5})
    log.close()
    assert [json.loads(line)["failed"] for line in (tmp_path / "requests.jsonl").read_text().splitlines()][-2:] == [
        False, False,
    ]  # fmt: skip
