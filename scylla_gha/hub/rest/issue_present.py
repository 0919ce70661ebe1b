"""Issues and what belongs to them as JSON, with every field that GitHub's OpenAPI description requires."""

from typing import Any
from urllib.parse import quote

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.comments import comments_of
from scylla_gha.hub.operations.labels import DEFAULT_LABELS
from scylla_gha.hub.operations.milestones import milestone_subjects
from scylla_gha.hub.operations.subjects import association, repository_of_subject
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    RepositoryRecord,
    UserRecord,
)
from scylla_gha.hub.rest.present import ids, time, user
from scylla_gha.hub.rest.repository_json import api_url, site_url

_REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def user_json(session: HubSession, id_: int | None) -> dict[str, Any] | None:
    """Return a user by id; None for nobody."""
    record = session.state.get(UserRecord, id_)
    return None if record is None else user(record)


def reactions_json(url: str) -> dict[str, Any]:
    """Return the roll-up of reactions, of which the hub has none."""
    return {"url": f"{url}/reactions", "total_count": 0, **dict.fromkeys(_REACTIONS, 0)}


def label_json(session: HubSession, label: LabelRecord) -> dict[str, Any]:
    """Return a label."""
    repository = session.state.need(RepositoryRecord, label.repository)
    return {
        **ids(label),
        "url": f"{api_url(session, repository)}/labels/{quote(label.name, safe='')}",
        "name": label.name,
        "description": label.description,
        "color": label.color,
        "default": label.name in DEFAULT_LABELS,
    }


def labels_json(session: HubSession, subject: IssueRecord) -> list[dict[str, Any]]:
    """Return the labels of an issue or pull request."""
    return [label_json(session, session.state.need(LabelRecord, id_)) for id_ in subject.labels]


def milestone_json(session: HubSession, milestone: MilestoneRecord | None) -> dict[str, Any] | None:
    """Return a milestone; None for none."""
    if milestone is None:
        return None
    repository = session.state.need(RepositoryRecord, milestone.repository)
    url = f"{api_url(session, repository)}/milestones/{milestone.number}"
    states = [subject.state for subject in milestone_subjects(session, milestone)]
    return {
        **ids(milestone),
        "url": url,
        "html_url": f"{site_url(session, repository)}/milestone/{milestone.number}",
        "labels_url": f"{url}/labels",
        "number": milestone.number,
        "title": milestone.title,
        "description": milestone.description,
        "creator": user_json(session, milestone.creator),
        "open_issues": states.count("open"),
        "closed_issues": states.count("closed"),
        "state": milestone.state,
        "created_at": time(milestone.created_at),
        "updated_at": time(milestone.updated_at),
        "due_on": time(milestone.due_on),
        "closed_at": time(milestone.closed_at),
    }


def issue_json(session: HubSession, subject: IssueRecord) -> dict[str, Any]:
    """Return an issue, or a pull request as an issue, which then has the key `pull_request`."""
    repository = repository_of_subject(session, subject)
    return {
        **ids(subject),
        **_links(session, subject, repository),
        "number": subject.number,
        "title": subject.title,
        "body": subject.body,
        "user": user_json(session, subject.author),
        "state": subject.state,
        "state_reason": subject.state_reason,
        "labels": labels_json(session, subject),
        "comments": len(comments_of(session, subject)),
        "author_association": association(session, repository, subject.author),
        **_people(session, subject),
        "milestone": milestone_json(session, session.state.get(MilestoneRecord, subject.milestone)),
        "locked": subject.locked,
        "active_lock_reason": subject.lock_reason,
        "created_at": time(subject.created_at),
        "updated_at": time(subject.updated_at),
        "closed_at": time(subject.closed_at),
        "performed_via_github_app": None,
        "type": None,
        **(_as_pull_request(session, subject, repository) if isinstance(subject, PullRequestRecord) else {}),
    }


def _people(session: HubSession, subject: IssueRecord) -> dict[str, Any]:
    assignees = [user(session.state.need(UserRecord, id_)) for id_ in subject.assignees]
    return {
        "assignees": assignees,
        "assignee": assignees[0] if assignees else None,
        "closed_by": user_json(session, subject.closed_by),
    }


def _links(session: HubSession, subject: IssueRecord, repository: RepositoryRecord) -> dict[str, Any]:
    base = api_url(session, repository)
    url = f"{base}/issues/{subject.number}"
    return {
        "url": url,
        "repository_url": base,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": subject_url(session, subject),
        "reactions": reactions_json(url),
    }


def subject_url(session: HubSession, subject: IssueRecord) -> str:
    """Return the page of an issue or pull request."""
    kind = "pull" if isinstance(subject, PullRequestRecord) else "issues"
    return f"{site_url(session, repository_of_subject(session, subject))}/{kind}/{subject.number}"


def _as_pull_request(session: HubSession, pull: PullRequestRecord, repository: RepositoryRecord) -> dict[str, Any]:
    page = subject_url(session, pull)
    return {
        "draft": pull.draft,
        "pull_request": {
            "url": f"{api_url(session, repository)}/pulls/{pull.number}",
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "merged_at": time(pull.merged_at),
        },
    }


def comment_json(session: HubSession, comment: CommentRecord) -> dict[str, Any]:
    """Return a comment on an issue or pull request."""
    repository = repository_of_subject(session, comment.subject)
    subject = session.state.subject_by_id(comment.subject)
    assert subject is not None  # noqa: S101 comments go with what they are on
    url = f"{api_url(session, repository)}/issues/comments/{comment.id}"
    return {
        **ids(comment),
        "url": url,
        "html_url": f"{subject_url(session, subject)}#issuecomment-{comment.id}",
        "issue_url": f"{api_url(session, repository)}/issues/{subject.number}",
        "user": user_json(session, comment.author),
        "created_at": time(comment.created_at),
        "updated_at": time(comment.updated_at),
        "author_association": association(session, repository, comment.author),
        "body": comment.body,
        "reactions": reactions_json(url),
        "performed_via_github_app": None,
    }
