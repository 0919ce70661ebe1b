"""Mutations of issues, comments, labels and assignees, as gh sends them; what they did is read over REST."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.graphql.register import register
from tests.support.hub import AUTHOR, READER, REPO, REVIEWER, Caller, make_hub

ISSUE = f"{REPO}/issues/1"


@pytest.fixture
def author(tmp_path: Path) -> Caller:
    register()
    caller = Caller(make_hub(tmp_path))
    caller.rest("POST", f"{REPO}/issues", {"title": "It fails", "body": "Always"})
    caller.rest("POST", f"{REPO}/labels", {"name": "bug", "color": "ff0000"})
    caller.rest("POST", f"{REPO}/milestones", {"title": "v1"})
    return caller


def mutate(caller: Caller, name: str, **values: Any) -> Any:
    kind = name[0].upper() + name[1:]
    query = f"mutation($input: {kind}Input!) {{ {name}(input: $input) {{ clientMutationId }} }}"
    return caller.graphql(query, input={"clientMutationId": "x", **values})


def node(caller: Caller, url: str = ISSUE) -> str:
    return str(caller.get(url)["node_id"])


def test_issues_are_created_and_edited_with_ids(author: Caller) -> None:
    """https://docs.github.com/graphql/reference/mutations#createissue"""
    label, user = node(author, f"{REPO}/labels/bug"), author.get("/users/" + REVIEWER)["node_id"]
    milestone = node(author, f"{REPO}/milestones/1")
    values: dict[str, Any] = {"title": "New", "labelIds": [label], "assigneeIds": [user], "milestoneId": milestone}
    assert mutate(author, "createIssue", repositoryId=node(author, REPO), **values) == {
        "data": {"createIssue": {"clientMutationId": "x"}}
    }
    issue = author.get(f"{REPO}/issues/2")
    assert (issue["labels"][0]["name"], issue["assignee"]["login"], issue["milestone"]["number"]) == (
        "bug",
        REVIEWER,
        1,
    )
    mutate(author, "updateIssue", id=issue["node_id"], title="Newer", labelIds=[], milestoneId=None)
    issue = author.get(f"{REPO}/issues/2")
    assert (issue["title"], issue["labels"], issue["milestone"], len(issue["assignees"])) == ("Newer", [], None, 1)
    events = [event["event"] for event in author.get(f"{REPO}/issues/2/events")]
    assert events == ["labeled", "assigned", "milestoned", "renamed", "unlabeled", "demilestoned"]


def test_an_issue_is_closed_as_duplicate_reopened_and_deleted(author: Caller) -> None:
    """https://docs.github.com/issues/tracking-your-work-with-issues/administering-issues/deleting-an-issue"""
    author.rest("POST", f"{REPO}/issues", {"title": "Same"})
    first, second = node(author), node(author, f"{REPO}/issues/2")
    mutate(author, "closeIssue", issueId=second, stateReason="DUPLICATE", duplicateIssueId=first)
    assert author.get(f"{REPO}/issues/2")["state_reason"] == "duplicate"
    mutate(author, "reopenIssue", issueId=second)
    mutate(author, "closeIssue", issueId=second, stateReason="NOT_PLANNED")
    assert author.get(f"{REPO}/issues/2")["state_reason"] == "not_planned"
    other = mutate(Caller(author.hub, REVIEWER), "deleteIssue", issueId=second)["errors"][0]
    assert (other["type"], other["message"]) == (
        "FORBIDDEN",
        f"{REVIEWER} does not have the correct permissions to execute `DeleteIssue`",
    )
    mutate(author, "deleteIssue", issueId=second)
    gone = author.rest("GET", f"{REPO}/issues/2")
    assert (gone.status, gone.body["message"]) == (410, "This issue was deleted")
    assert author.rest("POST", f"{REPO}/issues", {"title": "Next"}).body["number"] == 3
    assert author.rest("GET", f"{REPO}/issues/9").status == 404


def test_comments_are_written_edited_and_deleted(author: Caller) -> None:
    """https://docs.github.com/graphql/reference/mutations#addcomment"""
    reader = Caller(author.hub, READER)
    mutate(reader, "addComment", subjectId=node(author), body="Me too")
    comment = author.get(f"{ISSUE}/comments")[0]
    assert (comment["user"]["login"], comment["body"]) == (READER, "Me too")
    mutate(reader, "updateIssueComment", id=comment["node_id"], body="Not me")
    assert author.get(f"{REPO}/issues/comments/{comment['id']}")["body"] == "Not me"
    blank = mutate(author, "addComment", subjectId=node(author), body=" ")["errors"][0]
    assert (blank["type"], blank["message"]) == ("UNPROCESSABLE", "Body cannot be blank")
    mutate(author, "deleteIssueComment", id=comment["node_id"])
    assert author.get(f"{ISSUE}/comments") == []


def test_a_locked_conversation_takes_comments_of_writers_only(author: Caller) -> None:
    """https://docs.github.com/communities/moderating-comments-and-conversations/locking-conversations"""
    reader = Caller(author.hub, READER)
    assert mutate(reader, "lockLockable", lockableId=node(author))["errors"][0]["type"] == "FORBIDDEN"
    mutate(author, "lockLockable", lockableId=node(author), lockReason="TOO_HEATED")
    assert author.get(ISSUE)["active_lock_reason"] == "too heated"
    assert mutate(reader, "addComment", subjectId=node(author), body="But")["errors"][0]["type"] == "FORBIDDEN"
    refused = reader.rest("POST", f"{ISSUE}/comments", {"body": "But"})
    assert (refused.status, refused.body["message"]) == (403, "Unable to create comment because issue is locked.")
    assert "errors" not in mutate(Caller(author.hub, REVIEWER), "addComment", subjectId=node(author), body="End")
    mutate(author, "unlockLockable", lockableId=node(author))
    assert author.get(ISSUE)["locked"] is False


def test_labels_and_assignees_are_added_removed_and_replaced(author: Caller) -> None:
    """https://docs.github.com/graphql/reference/mutations#addlabelstolabelable"""
    label, issue = node(author, f"{REPO}/labels/bug"), node(author)
    mutate(author, "addLabelsToLabelable", labelableId=issue, labelIds=[label, label])
    assert [entry["name"] for entry in author.get(ISSUE)["labels"]] == ["bug"]
    mutate(author, "removeLabelsFromLabelable", labelableId=issue, labelIds=[label])
    assert author.get(ISSUE)["labels"] == []
    mutate(author, "replaceActorsForAssignable", assignableId=issue, actorLogins=[REVIEWER, AUTHOR])
    assert [user["login"] for user in author.get(ISSUE)["assignees"]] == [REVIEWER, AUTHOR]
    user = author.get("/users/" + AUTHOR)["node_id"]
    mutate(author, "removeAssigneesFromAssignable", assignableId=issue, assigneeIds=[user])
    assert [user["login"] for user in author.get(ISSUE)["assignees"]] == [REVIEWER]
    reader = Caller(author.hub, READER)
    assert (
        mutate(reader, "addLabelsToLabelable", labelableId=issue, labelIds=[label])["errors"][0]["type"] == "FORBIDDEN"
    )
    unknown = mutate(author, "addLabelsToLabelable", labelableId=issue, labelIds=["LA_kwDO99999999"])["errors"][0]
    assert (unknown["type"], unknown["message"]) == (
        "NOT_FOUND",
        "Could not resolve to a node with the global id of 'LA_kwDO99999999'",
    )


def test_a_request_outside_the_contract_is_named(author: Caller) -> None:
    error = mutate(author, "createIssue", repositoryId=node(author, REPO), title="T", projectIds=["P_1"])["errors"][0]
    assert (error["type"], error["message"]) == ("NOT_AVAILABLE", "CreateIssueInput.projectIds is not available")
    assert mutate(author, "pinIssue", issueId=node(author))["errors"][0]["type"] == "NOT_AVAILABLE"
