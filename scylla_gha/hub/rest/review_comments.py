"""Comments in review threads."""

import datetime
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import invalid, not_found
from scylla_gha.hub.operations.reviews import comment_on_lines, reply
from scylla_gha.hub.operations.threads import (
    delete_review_comment,
    edit_review_comment,
    may_see_comment,
    review_comments,
)
from scylla_gha.hub.records import CommentRecord, PullRequestRecord, ThreadRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.present import time
from scylla_gha.hub.rest.pull_json import review_comment_json
from scylla_gha.hub.rest.pulls import pull_of
from scylla_gha.hub.rest.reviews import draft_of

_ALL: Final = "/repos/{owner}/{repo}/pulls/comments"
_ONE: Final = f"{_ALL}/{{comment_id}}"
_OF_PULL: Final = "/repos/{owner}/{repo}/pulls/{pull_number}/comments"


def _comment(session: HubSession, id_: int, repository: int) -> CommentRecord:
    """Return a comment in a thread of a repository; 404 if there is none that the user sees."""
    comment = session.state.get(CommentRecord, id_)
    pull = session.state.get(PullRequestRecord, comment.subject) if comment else None
    if comment is None or pull is None or comment.thread is None or pull.repository != repository:
        raise not_found()
    if not may_see_comment(session, comment):
        raise not_found()
    return comment


def _comment_of(request: RestRequest) -> CommentRecord:
    return _comment(request.session, request.number("comment_id"), request.repository().id)


def _page(request: RestRequest, comments: list[CommentRecord]) -> RestAnswer:
    """Answer with comments, sorted and bounded as the query says."""
    session, query = request.session, request.query
    since = time(_time(query["since"])) or "" if "since" in query else ""
    recent = [comment for comment in comments if (time(comment.updated_at) or "") >= since]
    by_update = query.get("sort") == "updated"
    recent.sort(
        key=lambda comment: comment.updated_at if by_update else comment.created_at,
        reverse="sort" in query and query.get("direction") == "desc",  # GitHub ignores direction without sort
    )
    return request.page(recent, lambda comment: review_comment_json(session, comment))


def _time(text: str) -> datetime.datetime:
    try:
        value = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise invalid("PullRequestReviewComment", "since") from None
    return value if value.tzinfo is None else value.astimezone(datetime.UTC)


@route("GET", _ALL)
def list_comments_of_repository(request: RestRequest) -> RestAnswer:
    """Answer with the comments in threads of all pull requests."""
    session, repository = request.session, request.repository()
    pulls = session.state.where(PullRequestRecord, repository=repository.id)
    return _page(request, [comment for pull in pulls for comment in review_comments(session, pull)])


@route("GET", _OF_PULL)
def list_comments_of_pull(request: RestRequest) -> RestAnswer:
    """Answer with the comments in threads of a pull request."""
    return _page(request, review_comments(request.session, pull_of(request)))


@route("POST", _OF_PULL)
def post_comment_on_lines(request: RestRequest) -> RestAnswer:
    """Begin a thread at once, or with `in_reply_to` reply in one."""
    session, pull = request.session, pull_of(request)
    parent = request.optional("in_reply_to", int)
    if parent is not None:
        return _reply(request, pull, parent)
    draft = draft_of(request.body)
    thread = comment_on_lines(session, pull, draft, request.needed("commit_id", str))
    comment = session.state.where(CommentRecord, thread=thread.id)[0]
    return RestAnswer(201, review_comment_json(session, comment))


@route("POST", f"{_OF_PULL}/{{comment_id}}/replies")
def post_reply(request: RestRequest) -> RestAnswer:
    """Reply in a thread, to its first comment."""
    return _reply(request, pull_of(request), request.number("comment_id"))


def _reply(request: RestRequest, pull: PullRequestRecord, parent: int) -> RestAnswer:
    """Reply to a comment; "replies to replies are not supported", says GitHub's page."""
    session = request.session
    comment = _comment(session, parent, pull.repository)
    thread = session.state.get(ThreadRecord, comment.thread)
    if comment.subject != pull.id or thread is None:
        raise not_found()
    if comment.reply_to is not None and session.state.get(CommentRecord, comment.reply_to):
        raise invalid("PullRequestReviewComment", "in_reply_to")
    return RestAnswer(201, review_comment_json(session, reply(session, thread, request.needed("body", str))))


@route("GET", _ONE)
def get_comment_on_lines(request: RestRequest) -> RestAnswer:
    """Answer with a comment in a thread."""
    return RestAnswer(200, review_comment_json(request.session, _comment_of(request)))


@route("PATCH", _ONE)
def patch_comment_on_lines(request: RestRequest) -> RestAnswer:
    """Replace the text of a comment in a thread."""
    comment = edit_review_comment(request.session, _comment_of(request), request.needed("body", str))
    return RestAnswer(200, review_comment_json(request.session, comment))


@route("DELETE", _ONE)
def delete_comment_on_lines(request: RestRequest) -> RestAnswer:
    """Remove a comment in a thread."""
    delete_review_comment(request.session, _comment_of(request))
    return RestAnswer(204)
