"""Mutations of reviews, review threads and their comments."""

from collections.abc import Mapping
from typing import Any

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.graphql.mutations import mutation, node
from scylla_gha.hub.graphql.pull_mutations import pull_of
from scylla_gha.hub.operations.reviews import (
    ReviewEvent,
    add_review,
    check_review_event,
    delete_review,
    dismiss_review,
    edit_review,
    pending_review,
    reply,
    review_for_comments,
    submit_review,
    unprocessable,
)
from scylla_gha.hub.operations.threads import (
    DraftThread,
    add_thread,
    delete_review_comment,
    edit_review_comment,
    located,
    set_resolved,
)
from scylla_gha.hub.records import CommentRecord, PullRequestRecord, ReviewRecord, ThreadRecord


def _draft(values: Mapping[str, Any]) -> DraftThread:
    """Return a thread to begin, from the input of a mutation."""
    return DraftThread(
        path=values["path"],
        body=values["body"],
        line=values.get("line"),
        side=values.get("side") or "RIGHT",
        start_line=values.get("startLine"),
        start_side=values.get("startSide") if values.get("startLine") is not None else None,
        position=values.get("position"),
    )


def _event(values: Mapping[str, Any]) -> ReviewEvent | None:
    if values.get("event") == "DISMISS":
        raise unprocessable("Can not dismiss a review that is not submitted")
    return check_review_event(values.get("event"))


@mutation("addPullRequestReview")
def _add_review(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    drafts = [_draft(entry) for name in ("threads", "comments") for entry in values.get(name) or () if entry]
    review = add_review(
        session,
        pull_of(session, values),
        event=_event(values),
        body=values.get("body") or "",
        commit=values.get("commitOID"),
        drafts=drafts,
    )
    return {"pullRequestReview": review, "reviewEdge": {"node": review, "cursor": str(review.id)}}


@mutation("submitPullRequestReview")
def _submit_review(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    event = _event(values)
    if event is None:
        raise unprocessable("Event is invalid")
    return {"pullRequestReview": submit_review(session, _review(session, values), event, values.get("body"))}


def _review(session: HubSession, values: Mapping[str, Any]) -> ReviewRecord:
    """Return the review that an input names, or the user's pending one of the pull request that it names.

    Raises:
        HubError: there is none that the user sees.
    """
    if values.get("pullRequestReviewId"):
        review = node(session, values["pullRequestReviewId"], ReviewRecord)
        if review.state == "PENDING" and review.author != session.user.id:
            raise not_found()
        return review
    if not values.get("pullRequestId"):
        raise HubError(422, "Either pullRequestReviewId or pullRequestId is required")
    pending = pending_review(session, pull_of(session, values))
    if pending is None:
        raise HubError(404, "Could not find a pending review")
    return pending


@mutation("deletePullRequestReview")
def _delete_review(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    review = _review(session, values)
    delete_review(session, review)
    return {"pullRequestReview": review}


@mutation("dismissPullRequestReview")
def _dismiss_review(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"pullRequestReview": dismiss_review(session, _review(session, values), values["message"])}


@mutation("updatePullRequestReview")
def _update_review(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"pullRequestReview": edit_review(session, _review(session, values), values["body"])}


def _review_to_extend(session: HubSession, values: Mapping[str, Any]) -> ReviewRecord:
    """Return the pending review that an input names, or the user's of a pull request, which may have to be begun."""
    if values.get("pullRequestReviewId"):
        review = _review(session, values)
    elif values.get("pullRequestId"):
        review = review_for_comments(session, pull_of(session, values))
    else:
        raise HubError(422, "Either pullRequestReviewId or pullRequestId is required")
    if review.state != "PENDING" or review.author != session.user.id:
        raise unprocessable("Can not add a comment to a review that is not pending")
    return review


@mutation("addPullRequestReviewThread")
def _add_thread(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Begin a thread; where lines are not in the diff, GitHub answers with no thread and no error."""
    on_file = values.get("subjectType") == "FILE"
    if not on_file and values.get("line") is None:
        raise HubError(422, "line is required for a thread on a line")
    review = _review_to_extend(session, values)
    try:
        return {"thread": _thread_in(session, review, _draft({**values, "line": None} if on_file else values))}
    except HubError as error:
        fields = [str(entry.get("field")) for entry in error.errors if isinstance(entry, Mapping)]
        if any(field.startswith("pull_request_review_thread.") for field in fields):
            return {"thread": None}
        raise


def _thread_in(session: HubSession, review: ReviewRecord, draft: DraftThread) -> ThreadRecord:
    pull = session.state.need(PullRequestRecord, review.pull)
    return add_thread(session, review, located(session, pull, draft, review.commit))


@mutation("addPullRequestReviewThreadReply")
def _add_reply(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Reply in a thread: in the named review, or in the user's pending one if there is one, as GitHub does."""
    thread = node(session, values["pullRequestReviewThreadId"], ThreadRecord)
    pull = session.state.need(PullRequestRecord, thread.pull)
    review = _review(session, values) if values.get("pullRequestReviewId") else pending_review(session, pull)
    return {"comment": reply(session, thread, values["body"], review)}


@mutation("addPullRequestReviewComment")
def _add_comment(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Comment at a position of the diff, or reply (`inReplyTo`), in a pending review."""
    review = _review_to_extend(session, values)
    body = values.get("body") or ""
    if values.get("inReplyTo"):
        thread = session.state.get(ThreadRecord, node(session, values["inReplyTo"], CommentRecord).thread)
        if thread is None or thread.pull != review.pull:
            raise not_found()
        comment = reply(session, thread, body, review)
    elif values.get("path") and values.get("position") is not None:
        thread = _thread_in(session, review, _draft({**values, "body": body}))
        comment = session.state.where(CommentRecord, thread=thread.id)[0]
    else:
        raise HubError(422, "path and position are required")
    return {"comment": comment, "commentEdge": {"node": comment, "cursor": str(comment.id)}}


@mutation("resolveReviewThread")
def _resolve(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"thread": set_resolved(session, node(session, values["threadId"], ThreadRecord), resolved=True)}


@mutation("unresolveReviewThread")
def _unresolve(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"thread": set_resolved(session, node(session, values["threadId"], ThreadRecord), resolved=False)}


def _line_comment(session: HubSession, id_: str) -> CommentRecord:
    """Return a comment in a thread by its global id."""
    comment = node(session, id_, CommentRecord)
    if comment.thread is None:
        raise HubError(404, f"Could not resolve to a node with the global id of '{id_}'")
    return comment


@mutation("updatePullRequestReviewComment")
def _update_comment(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    comment = _line_comment(session, values["pullRequestReviewCommentId"])
    return {"pullRequestReviewComment": edit_review_comment(session, comment, values["body"])}


@mutation("deletePullRequestReviewComment")
def _delete_comment(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    comment = _line_comment(session, values["id"])
    delete_review_comment(session, comment)
    review = session.state.get(ReviewRecord, comment.review)
    return {"pullRequestReview": review, "pullRequestReviewComment": comment}
