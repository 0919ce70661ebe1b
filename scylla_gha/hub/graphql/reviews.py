"""Reviews, review requests, threads and their comments."""

import datetime
from collections.abc import Iterable
from typing import Any

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.connections import connection, no_items
from scylla_gha.hub.graphql.git_nodes import ObjectNode, commit_node
from scylla_gha.hub.graphql.query import may_read, owner_of
from scylla_gha.hub.operations.pull_facts import (
    latest_reviews,
    opinions,
    repository_of,
    review_decision,
)
from scylla_gha.hub.operations.reviews import visible_reviews
from scylla_gha.hub.operations.thread_lines import current_line, is_outdated
from scylla_gha.hub.operations.threads import may_resolve
from scylla_gha.hub.records import (
    CommentRecord,
    PullRequestRecord,
    ReviewRecord,
    ThreadRecord,
    UserRecord,
)

attributes("PullRequestReview", submittedAt="submitted_at", state="state", publishedAt="submitted_at")
attributes("PullRequestReviewThread", path="path", originalLine="line", originalStartLine="start_line",
           diffSide="side", startDiffSide="start_side")  # fmt: skip
constants("PullRequest", viewerLatestReviewRequest=None)
no_items("PullRequestReview.onBehalfOf")


@connection("PullRequest.reviews")
def _reviews(
    pull: PullRequestRecord, session: HubSession, *, states: list[str] | None = None, author: str | None = None
) -> list[ReviewRecord]:
    user = session.state.user(author) if author else None
    return [
        review
        for review in visible_reviews(session, pull)
        if (not states or review.state in states) and (not author or (user is not None and review.author == user.id))
    ]


@connection("PullRequest.latestReviews")
def _latest(pull: PullRequestRecord, session: HubSession) -> list[ReviewRecord]:
    return latest_reviews(session, pull)


@connection("PullRequest.latestOpinionatedReviews")
def _opinions(
    pull: PullRequestRecord, session: HubSession, *, writersOnly: bool | None = None  # noqa: N803 GitHub's name
) -> list[ReviewRecord]:  # fmt: skip
    return opinions(session, pull, writers_only=bool(writersOnly))


@field("PullRequest.viewerLatestReview")
def _own_latest(pull: PullRequestRecord, session: HubSession) -> ReviewRecord | None:
    own = [review for review in visible_reviews(session, pull)
           if session.viewer is not None and review.author == session.viewer.id]  # fmt: skip
    return own[-1] if own else None


@field("PullRequest.reviewDecision")
def _decision(pull: PullRequestRecord, session: HubSession) -> str | None:
    return review_decision(session, pull)


@connection("PullRequest.reviewRequests")
def _requests(pull: PullRequestRecord, session: HubSession) -> list[dict[str, Any]]:
    return [
        {
            "id": f"RRQ_kwDO{pull.id:08d}x{user}",
            "databaseId": user,
            "asCodeOwner": False,
            "pullRequest": pull,
            "requestedReviewer": session.state.need(UserRecord, user),
        }
        for user in pull.requested_reviewers
    ]


@connection("PullRequest.suggestedReviewerActors")
def _suggested(pull: PullRequestRecord, session: HubSession, *, query: str | None = None) -> list[dict[str, Any]]:
    users = [session.state.need(UserRecord, user) for user, _ in repository_of(session, pull).permissions]
    return [
        {"reviewer": user, "isAuthor": False, "isCommenter": False}
        for user in users
        if user.id != pull.author and user.kind != "Organization"
        and (not query or query.casefold() in user.login.casefold())
    ]  # fmt: skip


@field("PullRequestReview.pullRequest", "PullRequestReviewThread.pullRequest")
def _pull(record: ReviewRecord | ThreadRecord, session: HubSession) -> PullRequestRecord:
    return session.state.need(PullRequestRecord, record.pull)


@field("PullRequestReview.commit")
def _commit(review: ReviewRecord, session: HubSession) -> ObjectNode:
    return commit_node(owner_of(session, review), review.commit)


@field("PullRequestReview.updatedAt")
def _updated_at(review: ReviewRecord, _session: HubSession) -> datetime.datetime:
    return review.submitted_at or review.created_at


@field("PullRequestReview.authorCanPushToRepository")
def _author_can_push(review: ReviewRecord, session: HubSession) -> bool:
    author = session.state.need(UserRecord, review.author)
    return HubSession(session.hub, author).may(owner_of(session, review), "write")


@connection("PullRequestReview.comments")
def _review_comments(review: ReviewRecord, session: HubSession) -> list[CommentRecord]:
    return [comment for comment in session.state.where(CommentRecord, review=review.id) if comment.thread is not None]


def _visible(session: HubSession, comments: Iterable[CommentRecord]) -> list[CommentRecord]:
    return [comment for comment in comments if may_read(session, comment)]


@connection("PullRequest.reviewThreads")
def _threads(pull: PullRequestRecord, session: HubSession) -> list[ThreadRecord]:
    threads = session.state.where(ThreadRecord, pull=pull.id)
    return [thread for thread in threads if _visible(session, session.state.where(CommentRecord, thread=thread.id))]


@connection("PullRequestReviewThread.comments")
def _thread_comments(thread: ThreadRecord, session: HubSession, *, skip: int | None = None) -> list[CommentRecord]:
    return _visible(session, session.state.where(CommentRecord, thread=thread.id))[skip or 0 :]


@field("PullRequestReviewThread.isOutdated")
def _is_outdated(thread: ThreadRecord, session: HubSession) -> bool:
    return is_outdated(session, thread)


@field("PullRequestReviewThread.isResolved", "PullRequestReviewThread.isCollapsed")
def _is_resolved(thread: ThreadRecord, _session: HubSession) -> bool:
    return thread.resolved_by is not None


@field("PullRequestReviewThread.resolvedBy")
def _resolved_by(thread: ThreadRecord, session: HubSession) -> UserRecord | None:
    return session.state.get(UserRecord, thread.resolved_by)


@field("PullRequestReviewThread.line")
def line_of(thread: ThreadRecord, session: HubSession) -> int | None:
    """Return the last line of a thread at the head; None if it is outdated."""
    return current_line(session, thread, thread.line)


@field("PullRequestReviewThread.startLine")
def start_line_of(thread: ThreadRecord, session: HubSession) -> int | None:
    """Return the first line of a thread at the head; None if it is outdated, or has one line."""
    return None if line_of(thread, session) is None else current_line(session, thread, thread.start_line)


@field("PullRequestReviewThread.subjectType")
def _subject_type(thread: ThreadRecord, _session: HubSession) -> str:
    return "FILE" if thread.line is None else "LINE"


@field("PullRequestReviewThread.viewerCanReply")
def _may_reply(_thread: ThreadRecord, session: HubSession) -> bool:
    return session.viewer is not None


@field("PullRequestReviewThread.viewerCanResolve")
def _may_resolve(thread: ThreadRecord, session: HubSession) -> bool:
    return thread.resolved_by is None and may_resolve(session, _pull(thread, session))


@field("PullRequestReviewThread.viewerCanUnresolve")
def _may_unresolve(thread: ThreadRecord, session: HubSession) -> bool:
    return thread.resolved_by is not None and may_resolve(session, _pull(thread, session))
