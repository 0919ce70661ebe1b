"""Labels, milestones, assignees, lists and the timeline of issues and pull requests, over REST."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.operations.pulls import create_pull
from scylla_gha.hub.records import Permission, UserRecord
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REPO, REVIEWER, Caller, make_hub

ISSUES, LABELS, MILESTONES = f"{REPO}/issues", f"{REPO}/labels", f"{REPO}/milestones"


@pytest.fixture
def author(tmp_path: Path) -> Caller:
    return Caller(make_hub(tmp_path))


def make(caller: Caller, url: str, **fields: Any) -> Any:
    answer = caller.rest("POST", url, fields)
    assert answer.status in (200, 201), answer.body
    return answer.body


def names(labels: Any) -> list[str]:
    return [label["name"] for label in labels]


def numbers(issues: Any) -> list[int]:
    return [issue["number"] for issue in issues]


def events(caller: Caller, number: int) -> list[str]:
    return [event["event"] for event in caller.get(f"{ISSUES}/{number}/timeline")]


def open_pull(caller: Caller, body: str = "") -> int:
    repository = caller.hub.state.repository(OWNER, NAME)
    assert repository is not None
    session = caller.hub.session(caller.login)
    return create_pull(session, repository, title="Change", body=body, head="topic", base="main").number


def test_names_of_labels_ignore_case(author: Caller) -> None:
    """https://docs.github.com/rest/issues/labels#create-a-label"""
    bug = make(author, LABELS, name="Bug", color="FF0000", description="Wrong")
    assert author.get(f"{LABELS}/bUG") == bug
    refused = author.rest("POST", LABELS, {"name": "bug", "color": "00ff00"})
    assert refused.status == 422
    assert refused.body["errors"] == [{"resource": "Label", "field": "name", "code": "already_exists"}]
    edited = author.rest("PATCH", f"{LABELS}/bug", {"new_name": "bug", "color": "00ff00"}).body
    assert (edited["name"], edited["color"], edited["description"], edited["default"]) == (
        "bug", "00ff00", "Wrong", True,
    )  # fmt: skip
    for fields in ({"name": "x" * 51}, {"name": "y", "color": "red"}, {"name": "y", "description": "z" * 101}):
        assert author.rest("POST", LABELS, {"color": "ff0000", **fields}).status == 422
    assert Caller(author.hub, READER).rest("POST", LABELS, {"name": "mine", "color": "ff0000"}).status == 403


def test_labels_of_an_issue_are_added_set_and_removed(author: Caller) -> None:
    """https://docs.github.com/rest/issues/labels#add-labels-to-an-issue"""
    make(author, ISSUES, title="T")
    url = f"{ISSUES}/1/labels"
    assert names(make(author, url, labels=["a", "b", "A"])) == ["a", "b"]
    assert names(author.rest("POST", url, ["c"]).body) == ["a", "b", "c"]
    assert names(author.rest("DELETE", f"{url}/B").body) == ["a", "c"]
    missing = author.rest("DELETE", f"{url}/b")
    assert (missing.status, missing.body["message"]) == (404, "Label does not exist")
    assert names(author.rest("PUT", url, {"labels": ["b"]}).body) == ["b"]
    assert author.rest("DELETE", f"{LABELS}/b").status == 204
    assert author.get(url) == []
    slashed = make(author, LABELS, name="area/ui", color="ffffff")
    assert author.get(f"{LABELS}/area/ui") == author.get(f"{LABELS}/area%2Fui") == slashed, "PyGithub quotes no slash"
    assert events(author, 1) == ["labeled"] * 3 + ["unlabeled"] * 3 + ["labeled"]


def test_who_may_triage_labels_but_makes_no_label(author: Caller) -> None:
    """https://docs.github.com/organizations/managing-user-access-to-your-organizations-repositories/managing-repository-roles/repository-roles-for-an-organization"""
    make(author, ISSUES, title="T", labels=["known"])
    state = author.hub.state
    repository, user = state.repository(OWNER, NAME), state.user(READER)
    assert repository is not None
    assert user is not None
    reader, url = Caller(author.hub, READER), f"{ISSUES}/1/labels"
    assert reader.rest("POST", url, {"labels": ["known"]}).body["message"] == "Must have admin rights to Repository."
    roles = {**dict(repository.permissions), user.id: "triage"}
    state.update(1, repository, permissions=tuple(roles.items()))
    assert reader.rest("PUT", url, {"labels": ["known"]}).status == 200
    refused = reader.rest("POST", url, {"labels": ["unknown"]})
    assert (refused.status, refused.body["errors"]) == (
        403,
        [{"resource": "Repository", "field": "label", "code": "unauthorized"}],
    )
    assert reader.rest("PATCH", f"{ISSUES}/1", {"state": "closed"}).status == 200
    assert reader.rest("PUT", f"{ISSUES}/1/lock", {}).status == 403


def test_milestones_count_issues_and_close(author: Caller) -> None:
    """https://docs.github.com/rest/issues/milestones"""
    first = make(author, MILESTONES, title="v1", description="First", due_on="2026-03-01T08:00:00Z")
    make(author, MILESTONES, title="v2", due_on="2026-02-01T08:00:00Z")
    assert numbers(author.get(MILESTONES)) == [2, 1]
    assert first["due_on"] == "2026-03-01T08:00:00Z"
    make(author, ISSUES, title="A", milestone=1, labels=["bug"])
    make(author, ISSUES, title="B", milestone=1)
    author.rest("PATCH", f"{ISSUES}/2", {"state": "closed"})
    edited = author.rest("PATCH", f"{MILESTONES}/1", {"state": "closed", "title": "v1.0", "due_on": None}).body
    assert (edited["open_issues"], edited["closed_issues"], edited["state"], edited["due_on"]) == (1, 1, "closed", None)
    assert edited["closed_at"] is not None
    assert names(author.get(f"{MILESTONES}/1/labels")) == ["bug"]
    assert numbers(author.get(f"{MILESTONES}?state=closed")) == [1]
    assert author.rest("POST", MILESTONES, {"title": "v2"}).body["errors"][0]["code"] == "already_exists"
    assert author.rest("POST", MILESTONES, {"title": "v3", "due_on": "soon"}).status == 422
    assert author.rest("DELETE", f"{MILESTONES}/1").status == 204
    assert author.rest("GET", f"{MILESTONES}/1").status == 404
    assert author.get(f"{ISSUES}/1")["milestone"] is None
    assert events(author, 1) == ["labeled", "milestoned", "demilestoned"]


def test_assignees_are_at_most_ten_of_those_who_may_be(author: Caller) -> None:
    """https://docs.github.com/rest/issues/assignees#add-assignees-to-an-issue"""
    make(author, ISSUES, title="T")
    assert [user["login"] for user in author.get(f"{REPO}/assignees")] == [REVIEWER, READER, AUTHOR]
    assert author.rest("GET", f"{REPO}/assignees/{REVIEWER}").status == 204
    assert author.rest("GET", f"{REPO}/assignees/{OWNER}").status == 404
    issue = make(author, f"{ISSUES}/1/assignees", assignees=[REVIEWER, "nobody", OWNER, AUTHOR])
    assert [user["login"] for user in issue["assignees"]] == [REVIEWER, AUTHOR]
    left = author.rest("DELETE", f"{ISSUES}/1/assignees", {"assignees": [REVIEWER]}).body
    assert left["assignee"]["login"] == AUTHOR
    assert events(author, 1) == ["assigned", "assigned", "unassigned"]


def test_ten_are_assigned_and_more_are_dropped(author: Caller) -> None:
    """https://docs.github.com/rest/issues/assignees#add-assignees-to-an-issue"""
    state = author.hub.state
    repository = state.repository(OWNER, NAME)
    assert repository is not None
    users = [
        state.create(1, UserRecord(id=state.new_id(), created_at=state.now(), login=f"user{number}"))
        for number in range(12)
    ]
    granted: list[tuple[int, Permission]] = [(user.id, "write") for user in users]
    state.update(1, repository, permissions=(*repository.permissions, *granted))
    issue = make(author, ISSUES, title="T", assignees=[user.login for user in users[:9]])
    assert len(issue["assignees"]) == 9
    more = make(author, f"{ISSUES}/1/assignees", assignees=[user.login for user in users[8:]])
    assert [user["login"] for user in more["assignees"]] == [user.login for user in users[:10]]


def test_lists_are_filtered_and_sorted(author: Caller) -> None:
    """https://docs.github.com/rest/issues/issues#list-repository-issues"""
    make(author, MILESTONES, title="v1")
    make(author, ISSUES, title="One", labels=["bug", "ui"], milestone=1)
    make(Caller(author.hub, READER), ISSUES, title="Two", body=f"Ask @{REVIEWER}")
    make(author, ISSUES, title="Three", labels=["bug"], assignees=[REVIEWER])
    since = author.rest("PATCH", f"{ISSUES}/2", {"state": "closed"}).body["updated_at"]
    make(author, f"{ISSUES}/1/comments", body="More")
    expected = {
        "": [3, 1], "state=all": [3, 2, 1], "state=closed": [2], "labels=BUG,ui": [1], "labels=none": [],
        "milestone=1": [1], "milestone=none": [3], "milestone=*": [1], "assignee=none": [1],
        f"assignee={REVIEWER}": [3], "assignee=*": [3], f"creator={READER}&state=all": [2],
        f"mentioned={REVIEWER}&state=all": [2], "sort=updated&state=all": [1, 2, 3], "direction=asc": [1, 3],
        "sort=comments": [1, 3], f"since={since}&state=all": [2, 1], "per_page=1&page=2": [1],
    }  # fmt: skip
    assert {query: numbers(author.get(f"{ISSUES}?{query}")) for query in expected} == expected
    assert author.rest("GET", f"{ISSUES}?milestone=7").status == 422
    assert author.rest("GET", f"{ISSUES}?assignee=no-such-user").status == 422
    assert numbers(Caller(author.hub, REVIEWER).get("/issues")) == [3]
    assert numbers(author.get("/user/issues?filter=created")) == [3, 1]


def test_a_pull_request_is_an_issue_with_a_key_of_its_own(author: Caller) -> None:
    """https://docs.github.com/rest/issues/issues#list-repository-issues"""
    make(author, ISSUES, title="Fails")
    assert open_pull(author, "See #1") == 2
    issue, pull = author.get(f"{ISSUES}/1"), author.get(f"{ISSUES}/2")
    assert "pull_request" not in issue
    assert pull["pull_request"]["url"].endswith(f"{REPO}/pulls/2")
    assert numbers(author.get(ISSUES)) == [2, 1]
    make(author, f"{ISSUES}/2/labels", labels=["ready"])
    make(author, f"{ISSUES}/2/comments", body="Look")
    closed = author.rest("PATCH", f"{ISSUES}/2", {"state": "closed"}).body
    assert (closed["state"], closed["state_reason"], names(closed["labels"])) == ("closed", None, ["ready"])
    assert sorted(events(author, 2)) == ["closed", "commented", "committed", "labeled"]
    reference = author.get(f"{ISSUES}/1/timeline")[0]
    assert (reference["event"], reference["source"]["issue"]["number"]) == ("cross-referenced", 2)
    assert author.get(f"{ISSUES}/1/events") == []
    newest = author.get(f"{REPO}/issues/events")[0]
    assert (newest["event"], newest["issue"]["number"]) == ("closed", 2)
    assert author.get(f"{REPO}/issues/events/{newest['id']}") == newest


def test_the_timeline_of_a_pull_request_has_reviews(author: Caller) -> None:
    """https://docs.github.com/rest/issues/timeline#list-timeline-events-for-an-issue"""
    open_pull(author)
    pull, reviewer = f"{REPO}/pulls/1", Caller(author.hub, REVIEWER)
    make(author, f"{pull}/requested_reviewers", reviewers=[REVIEWER])
    review = make(reviewer, f"{pull}/reviews", event="REQUEST_CHANGES", body="No")
    author.rest("PUT", f"{pull}/reviews/{review['id']}/dismissals", {"message": "Done"})
    make(reviewer, f"{pull}/reviews", event="APPROVE")
    assert author.rest("PUT", f"{pull}/merge", {}).status == 200
    timeline = author.get(f"{ISSUES}/1/timeline")
    kinds = [entry["event"] for entry in timeline if entry["event"] not in ("committed", "review_request_removed")]
    assert kinds == ["review_requested", "reviewed", "review_dismissed", "reviewed", "merged", "closed"]
    assert [entry["state"] for entry in timeline if entry["event"] == "reviewed"] == ["dismissed", "approved"]
    dismissed = next(entry for entry in timeline if entry["event"] == "review_dismissed")["dismissed_review"]
    assert (dismissed["review_id"], dismissed["dismissal_message"]) == (review["id"], "Done")


def test_comments_belong_to_their_authors(author: Caller) -> None:
    """https://docs.github.com/rest/issues/comments#update-an-issue-comment"""
    make(author, ISSUES, title="T")
    comment = make(author, f"{ISSUES}/1/comments", body="First")
    own = make(Caller(author.hub, READER), f"{ISSUES}/1/comments", body="Second")
    url = f"{ISSUES}/comments"
    assert comment["html_url"].endswith(f"/issues/1#issuecomment-{comment['id']}")
    assert [entry["body"] for entry in author.get(url)] == ["First", "Second"]
    assert [entry["body"] for entry in author.get(f"{url}?sort=created&direction=desc")] == ["Second", "First"]
    reader = Caller(author.hub, READER)
    assert reader.rest("PATCH", f"{url}/{comment['id']}", {"body": "Mine"}).status == 403
    assert reader.rest("PATCH", f"{url}/{own['id']}", {"body": "Mine"}).body["body"] == "Mine"
    assert Caller(author.hub, REVIEWER).rest("DELETE", f"{url}/{own['id']}").status == 204
    assert author.rest("GET", f"{url}/{own['id']}").status == 404
    assert author.get(f"{ISSUES}/1")["comments"] == 1


def test_issues_may_be_switched_off(author: Caller) -> None:
    """https://docs.github.com/rest/issues/issues#create-an-issue"""
    make(author, ISSUES, title="T")
    author.rest("PATCH", REPO, {"has_issues": False})
    refused = author.rest("POST", ISSUES, {"title": "U"})
    assert (refused.status, refused.body["message"]) == (410, "Issues are disabled for this repo")
    assert author.rest("GET", f"{ISSUES}/1").status == 410
