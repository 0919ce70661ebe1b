"""Issues, labels, milestones, comments and assignees of the hub, through its REST interface."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.hub import AUTHOR, NAME, OWNER, READER, REPO, REVIEWER, Caller, make_hub

ISSUES = f"{REPO}/issues"


@pytest.fixture
def author(tmp_path: Path) -> Caller:
    return Caller(make_hub(tmp_path))


def as_user(caller: Caller, login: str) -> Caller:
    return Caller(caller.hub, login)


def make(caller: Caller, title: str = "It fails", **fields: Any) -> Any:
    answer = caller.rest("POST", ISSUES, {"title": title, **fields})
    assert answer.status == 201, answer.body
    return answer.body


def refused(caller: Caller, method: str, url: str, body: Any = None) -> tuple[int, str, Any]:
    answer = caller.rest(method, url, body)
    assert answer.status >= 400
    return answer.status, answer.body["message"], answer.body.get("errors")


def test_an_issue_is_made_with_labels_assignees_and_milestone(author: Caller) -> None:
    """A label that the repository has not is made: https://docs.github.com/rest/issues/issues#create-an-issue"""
    author.rest("POST", f"{REPO}/labels", {"name": "Bug", "color": "D73A4A"})
    author.rest("POST", f"{REPO}/milestones", {"title": "v1"})
    issue = make(author, body="As in #7", labels=["bug", "new one"], assignees=[REVIEWER.upper()], milestone=1)
    assert [(label["name"], label["color"]) for label in issue["labels"]] == [("Bug", "d73a4a"), ("new one", "ededed")]
    assert (issue["number"], issue["assignee"]["login"], issue["milestone"]["title"]) == (1, REVIEWER, "v1")
    assert issue["html_url"] == f"https://github.com/{OWNER}/{NAME}/issues/1"
    assert issue["author_association"] == "MEMBER"
    assert author.get(f"{ISSUES}/1") == issue
    assert author.get(f"{REPO}/milestones/1")["open_issues"] == 1


def test_labels_and_the_like_of_a_reader_are_dropped(author: Caller) -> None:
    """https://docs.github.com/rest/issues/issues#create-an-issue"""
    reader = as_user(author, READER)
    issue = make(reader, labels=["unknown"], assignees=["nobody-knows"], milestone=9)
    assert (issue["labels"], issue["assignees"], issue["milestone"]) == ([], [], None)
    edited = reader.rest("PATCH", f"{ISSUES}/1", {"title": "Mine", "labels": ["bug"], "assignees": [AUTHOR]}).body
    assert (edited["title"], edited["labels"], edited["assignees"]) == ("Mine", [], [])
    assigned = reader.rest("POST", f"{ISSUES}/1/assignees", {"assignees": [AUTHOR]})
    assert (assigned.status, assigned.body["assignees"]) == (201, [])
    assert author.get(f"{REPO}/labels") == []


@pytest.mark.parametrize(
    ("fields", "entry"),
    [
        ({"title": " "}, {"code": "missing_field", "field": "title"}),
        ({"title": "x" * 257}, {"code": "custom", "field": "title"}),
        ({"body": "x" * 65_537}, {"code": "custom", "field": "body"}),
        ({"milestone": 4}, {"code": "invalid", "field": "milestone", "value": 4}),
        ({"milestone": True}, {"code": "invalid", "field": "milestone"}),
        ({"assignees": ["ghost-user"]}, {"code": "invalid", "field": "assignees", "value": "ghost-user"}),
    ],
)
def test_a_wrong_field_is_refused_and_nothing_written(author: Caller, fields: Any, entry: Any) -> None:
    """https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api#validation-failed"""
    before = len(author.hub.state.journal)
    status, message, errors = refused(author, "POST", ISSUES, {"title": "T", "labels": ["new"], **fields})
    assert (status, message) == (422, "Validation Failed")
    assert {name: errors[0][name] for name in ("resource", *entry)} == {"resource": "Issue", **entry}
    assert len(author.hub.state.journal) == before


def test_the_longest_body_is_taken(author: Caller) -> None:
    """https://docs.github.com/rest/issues/issues#create-an-issue"""
    assert len(make(author, body="x" * 65_536)["body"]) == 65_536
    status, _, errors = refused(author, "POST", f"{ISSUES}/1/comments", {"body": "x" * 65_537})
    assert (status, errors[0]["message"]) == (422, "Body is too long (maximum is 65536 characters)")


def test_closing_keeps_who_when_and_why(author: Caller) -> None:
    """https://docs.github.com/rest/issues/issues#update-an-issue"""
    make(author, "One")
    other = make(author, "Other")
    closing = {"state": "closed", "state_reason": "duplicate", "duplicate_issue_id": other["id"]}
    closed = author.rest("PATCH", f"{ISSUES}/1", closing).body
    assert (closed["state"], closed["state_reason"], closed["closed_by"]["login"]) == ("closed", "duplicate", AUTHOR)
    assert closed["closed_at"] is not None
    reopened = author.rest("PATCH", f"{ISSUES}/1", {"state": "open"}).body
    assert (reopened["state"], reopened["state_reason"], reopened["closed_at"]) == ("open", "reopened", None)
    events = [event["event"] for event in author.get(f"{ISSUES}/1/events")]
    assert events == ["closed", "marked_as_duplicate", "reopened", "unmarked_as_duplicate"]


def test_a_reader_closes_only_own_issues_and_reopens_only_what_it_closed(author: Caller) -> None:
    """https://docs.github.com/organizations/managing-user-access-to-your-organizations-repositories/managing-repository-roles/repository-roles-for-an-organization"""
    reader = as_user(author, READER)
    make(author, "Of another")
    make(reader, "Own")
    assert refused(reader, "PATCH", f"{ISSUES}/1", {"state": "closed"})[:2] == (
        403, "Must have admin rights to Repository.",
    )  # fmt: skip
    assert reader.rest("PATCH", f"{ISSUES}/2", {"state": "closed"}).status == 200
    assert reader.rest("PATCH", f"{ISSUES}/2", {"state": "open"}).status == 200
    author.rest("PATCH", f"{ISSUES}/2", {"state": "closed"})
    assert refused(reader, "PATCH", f"{ISSUES}/2", {"state": "open"})[0] == 403


def test_what_may_not_be_read_is_not_found_and_nobody_writes(author: Caller) -> None:
    """https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api#404-not-found-for-an-existing-resource"""
    make(author)
    state = author.hub.state
    repository = state.repository(OWNER, NAME)
    assert repository is not None
    assert refused(Caller(author.hub, None), "POST", f"{ISSUES}/1/comments", {"body": "x"})[0] == 401
    state.update(1, repository, private=True, permissions=repository.permissions[:2])
    assert refused(as_user(author, READER), "GET", f"{ISSUES}/1")[:2] == (404, "Not Found")
    assert refused(as_user(author, READER), "POST", ISSUES, {"title": "T"})[0] == 404
    state.update(1, repository, archived=True)
    assert refused(author, "POST", ISSUES, {"title": "T"})[:2] == (403, "Repository was archived so is read-only.")


def test_a_comment_marks_a_duplicate(author: Caller) -> None:
    """https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/marking-issues-or-pull-requests-as-a-duplicate"""
    make(author, "One")
    make(author, "Same")
    comments = f"{ISSUES}/2/comments"
    as_user(author, READER).rest("POST", comments, {"body": "Duplicate of #1"})
    assert author.get(f"{ISSUES}/2/events") == []
    author.rest("POST", comments, {"body": "Thanks.\n\nDuplicate of #1"})
    assert [event["event"] for event in author.get(f"{ISSUES}/2/events")] == ["marked_as_duplicate"]
    assert author.get(f"{ISSUES}/2")["state"] == "open"
    references = [event["event"] for event in author.get(f"{ISSUES}/1/timeline")]
    assert references == ["cross-referenced"], "once for each source"


def test_a_reference_from_what_may_not_be_read_is_not_shown(author: Caller) -> None:
    """https://docs.github.com/rest/issues/timeline#list-timeline-events-for-an-issue"""
    make(author)
    author.rest("POST", "/user/repos", {"name": "secret", "private": True})
    author.rest("POST", f"/repos/{AUTHOR}/secret/issues", {"title": "T", "body": f"See {OWNER}/{NAME}#1"})
    assert len(author.get(f"{ISSUES}/1/timeline")) == 1
    assert as_user(author, READER).get(f"{ISSUES}/1/timeline") == []
