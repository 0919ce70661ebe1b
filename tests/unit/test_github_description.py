"""That the local server's judge of requests, GitHub's own description, lets nothing wrong pass."""

import pytest

from tests.support.github_answers import ANSWERS
from tests.support.openapi import USED, faults

ROOT = "/repos/o/r"


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "fault"),
    [
        ("GET", "/nowhere", {}, None, "GitHub describes no GET /nowhere"),
        ("DELETE", f"{ROOT}/labels/x", {}, None, "GitHub describes no DELETE"),
        ("GET", f"{ROOT}/issues", {"state": "gone"}, None, "state='gone' is not allowed"),
        ("GET", f"{ROOT}/issues", {"per_page": "many"}, None, "per_page='many' is not allowed"),
        ("GET", f"{ROOT}/activity", {"page": "1"}, None, "knows no parameter 'page'"),
        ("GET", f"{ROOT}/pulls/seven", {}, None, "pull_number='seven' is not allowed"),
        ("POST", f"{ROOT}/issues/7/comments", {}, {"text": "x"}, "'body' is a required property"),
        ("POST", f"{ROOT}/issues/7/comments", {}, {"body": 7}, "7 is not of type 'string'"),
        ("POST", f"{ROOT}/issues/7/comments", {}, {"body": "x", "more": 1}, "unknown field 'more'"),
        ("POST", f"{ROOT}/issues/7/comments", {}, None, "a body, or none"),
        ("POST", f"{ROOT}/issues/comments/7/reactions", {}, {"content": "sad"}, "'sad' is not one of"),
        ("POST", f"{ROOT}/statuses/{'a' * 40}", {}, {"state": "neutral"}, "'neutral' is not one of"),
    ],
)
def test_what_github_does_not_describe_is_a_fault(
    method: str, path: str, query: dict[str, str], body: object, fault: str
) -> None:
    assert [one for one in faults(method, path, query, body) if fault in one]


def test_what_github_describes_is_none() -> None:
    assert faults("GET", f"{ROOT}/git/ref/tags/scylla/c", {}) == []
    assert faults("GET", f"{ROOT}/issues", {"state": "all", "page": "2", "creator": "x"}) == []
    assert faults("POST", f"{ROOT}/issues", {}, {"title": "x", "labels": ["x"]}) == []


def test_the_server_answers_all_that_is_used() -> None:
    assert set(ANSWERS) == set(USED)
