"""Fields that issues, pull requests, comments and reviews share: authors, texts, labels, comments, permissions."""

import datetime
import html
from collections.abc import Mapping
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.connections import GraphQLConnection, connection, no_items
from scylla_gha.hub.graphql.query import owner_of
from scylla_gha.hub.graphql.sorting import in_order, state_of
from scylla_gha.hub.operations.comments import comments_of
from scylla_gha.hub.operations.pull_facts import submitted_reviews
from scylla_gha.hub.operations.subjects import association
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    ReviewRecord,
    UserRecord,
)

_SUBJECTS: Final = ("Issue", "PullRequest")
_COMMENTS: Final = ("IssueComment", "PullRequestReviewComment", "PullRequestReview")
_TEXTS: Final = (*_SUBJECTS, *_COMMENTS)
_REACTIONS: Final = ("THUMBS_UP", "THUMBS_DOWN", "LAUGH", "HOORAY", "CONFUSED", "HEART", "ROCKET", "EYES")
_NOBODY: Final = GraphQLConnection("reactors", (), {"first": 0})
NO_REACTIONS: Final = tuple(
    {"content": content, "createdAt": None, "viewerHasReacted": False, "users": _NOBODY, "reactors": _NOBODY}
    for content in _REACTIONS
)
_Text = IssueRecord | CommentRecord | ReviewRecord

for _kind in _SUBJECTS:
    attributes(_kind, number="number", title="title", closedAt="closed_at", locked="locked", publishedAt="created_at")
    constants(_kind, projectV2=None, isReadByViewer=True, viewerSubscription="UNSUBSCRIBED",
              viewerCanSubscribe=True)  # fmt: skip
for _kind in _TEXTS:
    constants(_kind, createdViaEmail=False, reactionGroups=NO_REACTIONS)
for _kind in _COMMENTS:
    constants(_kind, isMinimized=False, minimizedReason=None)
no_items(*(f"{kind}.{name}" for kind in _SUBJECTS for name in ("projectCards", "projectItems", "projectsV2")),
         *(f"{kind}.{name}" for kind in _TEXTS for name in ("reactions", "userContentEdits")))  # fmt: skip


def _of(*names: str, kinds: tuple[str, ...] = _TEXTS) -> list[str]:
    return [f"{kind}.{name}" for kind in kinds for name in names]


@field(*_of("author"))
def _author(text: _Text, session: HubSession) -> UserRecord | None:
    return session.state.get(UserRecord, text.author)


@field(*_of("authorAssociation"))
def _association(text: _Text, session: HubSession) -> str:
    return association(session, owner_of(session, text), text.author)


@field(*_of("body", "bodyText"))
def _body(text: _Text, _session: HubSession) -> str:
    return text.body or ""


@field(*_of("bodyHTML"))
def _body_html(text: _Text, _session: HubSession) -> str:
    """Return the text as paragraphs; the hub renders no Markdown."""
    paragraphs = (text.body or "").split("\n\n")
    return "\n".join(f'<p dir="auto">{html.escape(part, quote=False)}</p>' for part in paragraphs if part.strip())


@field(*_of("titleHTML", kinds=_SUBJECTS))
def _title_html(subject: IssueRecord, _session: HubSession) -> str:
    return html.escape(subject.title, quote=False)


def edited_at(text: _Text) -> datetime.datetime | None:
    """Return when a comment was edited last; None if it was not. That of issues and pull requests is not recorded."""
    if not isinstance(text, CommentRecord):
        return None
    return text.updated_at if text.updated_at > text.created_at else None


@field(*_of("lastEditedAt"))
def _last_edited_at(text: _Text, _session: HubSession) -> datetime.datetime | None:
    return edited_at(text)


@field(*_of("includesCreatedEdit"))
def _was_edited(text: _Text, _session: HubSession) -> bool:
    return edited_at(text) is not None


@field(*_of("editor"))
def _editor(text: _Text, session: HubSession) -> UserRecord | None:
    return _author(text, session) if edited_at(text) else None


@field(*_of("viewerDidAuthor"))
def _did_author(text: _Text, session: HubSession) -> bool:
    return session.viewer is not None and session.viewer.id == text.author


@field(*_of("viewerCanUpdate"), *_of("viewerCanClose", "viewerCanReopen", kinds=_SUBJECTS))
def _may_update(text: _Text, session: HubSession) -> bool:
    needed = "triage" if isinstance(text, IssueRecord) else "write"
    return _did_author(text, session) or session.may(owner_of(session, text), needed)  # type: ignore[arg-type]


@field(*_of("viewerCannotUpdateReasons"))
def _why_not(text: _Text, session: HubSession) -> list[str]:
    if session.viewer is None:
        return ["LOGIN_REQUIRED"]
    return [] if _may_update(text, session) else ["INSUFFICIENT_ACCESS"]


@field(*_of("viewerCanDelete", kinds=("IssueComment", "PullRequestReviewComment")))
def _may_delete_comment(text: _Text, session: HubSession) -> bool:
    return _may_update(text, session)


@field("PullRequestReview.viewerCanDelete")
def _may_delete_review(review: ReviewRecord, session: HubSession) -> bool:
    return review.state == "PENDING" and _did_author(review, session)


@field("Issue.viewerCanDelete")
def _may_delete(issue: IssueRecord, session: HubSession) -> bool:
    return session.may(owner_of(session, issue), "admin")


@field(*_of("viewerCanMinimize", kinds=_COMMENTS))
def _may_minimize(text: _Text, session: HubSession) -> bool:
    return session.may(owner_of(session, text), "write")


@field(*_of("viewerCanReact"))
def _may_react(_text: _Text, session: HubSession) -> bool:
    return session.viewer is not None


@field(*_of("viewerCanLabel", kinds=_SUBJECTS))
def _may_label(subject: IssueRecord, session: HubSession) -> bool:
    return session.may(owner_of(session, subject), "triage")


@field(*_of("state", kinds=_SUBJECTS))
def _state(subject: IssueRecord, _session: HubSession) -> str:
    return state_of(subject)


@field(*_of("closed", kinds=_SUBJECTS))
def _is_closed(subject: IssueRecord, _session: HubSession) -> bool:
    return subject.state == "closed"


@field(*_of("activeLockReason", kinds=_SUBJECTS))
def _lock_reason(subject: IssueRecord, _session: HubSession) -> str | None:
    reason = subject.lock_reason
    return reason.upper().replace("-", "_").replace(" ", "_") if reason and subject.locked else None


@connection(*_of("labels", kinds=_SUBJECTS))
def _labels(
    subject: IssueRecord, session: HubSession, *, orderBy: Mapping[str, str] | None = None  # noqa: N803 GitHub's name
) -> list[LabelRecord]:  # fmt: skip
    return in_order([session.state.need(LabelRecord, label) for label in subject.labels], orderBy)


@connection(*_of("assignees", kinds=_SUBJECTS), *_of("assignedActors", kinds=_SUBJECTS))
def _assignees(subject: IssueRecord, session: HubSession) -> list[UserRecord]:
    return [session.state.need(UserRecord, user) for user in subject.assignees]


@field(*_of("milestone", kinds=_SUBJECTS))
def _milestone(subject: IssueRecord, session: HubSession) -> MilestoneRecord | None:
    return session.state.get(MilestoneRecord, subject.milestone)


@connection(*_of("comments", kinds=_SUBJECTS))
def _comments(
    subject: IssueRecord, session: HubSession, *, orderBy: Mapping[str, str] | None = None  # noqa: N803 GitHub's name
) -> list[CommentRecord]:  # fmt: skip
    return in_order(comments_of(session, subject), orderBy)


@connection(*_of("participants", kinds=_SUBJECTS))
def _participants(subject: IssueRecord, session: HubSession) -> list[UserRecord]:
    reviews = submitted_reviews(session, subject) if isinstance(subject, PullRequestRecord) else []
    authors = [*(comment.author for comment in comments_of(session, subject)), *(review.author for review in reviews)]
    return [session.state.need(UserRecord, user) for user in dict.fromkeys([subject.author, *authors])]


@field("IssueComment.issue")
def _issue(comment: CommentRecord, session: HubSession) -> IssueRecord | None:
    return session.state.subject_by_id(comment.subject)


@field("IssueComment.pullRequest")
def _pull(comment: CommentRecord, session: HubSession) -> PullRequestRecord | None:
    return session.state.get(PullRequestRecord, comment.subject)


@field("IssueComment.publishedAt", "PullRequestReviewComment.publishedAt", "PullRequestReviewComment.draftedAt")
def _published_at(comment: CommentRecord, _session: HubSession) -> datetime.datetime:
    return comment.created_at
