"""Comments on issues and pull requests."""

from scylla_gha.hub.errors import not_found
from scylla_gha.hub.operations.comments import add_comment, comments_of, delete_comment, edit_comment
from scylla_gha.hub.operations.subjects import find_subject, repository_of_subject
from scylla_gha.hub.records import CommentRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.issue_present import comment_json
from scylla_gha.hub.rest.milestones import timestamp

_ALL = "/repos/{owner}/{repo}/issues/comments"
_ONE = _ALL + "/{comment_id}"
_SUBJECT = "/repos/{owner}/{repo}/issues/{issue_number}/comments"


@route("GET", _SUBJECT)
def list_subject_comments(request: RestRequest) -> RestAnswer:
    """List the comments on an issue, the oldest first."""
    subject = find_subject(request.session, request.repository(), request.number("issue_number"))
    return _page(request, comments_of(request.session, subject))


@route("POST", _SUBJECT)
def post_comment(request: RestRequest) -> RestAnswer:
    """Comment on an issue or pull request."""
    subject = find_subject(request.session, request.repository(), request.number("issue_number"))
    comment = add_comment(request.session, subject, request.needed("body", str))
    body = comment_json(request.session, comment)
    return RestAnswer(201, body, headers={"Location": body["url"]})


@route("GET", _ALL)
def list_repository_comments(request: RestRequest) -> RestAnswer:
    """List the comments on all issues of a repository; sorted by id, or by creation or update if the query says so."""
    repository = request.repository()
    comments = [
        comment
        for comment in request.session.state.where(CommentRecord, thread=None, review=None)
        if repository_of_subject(request.session, comment.subject).id == repository.id
    ]
    sort = request.query.get("sort")
    if sort in ("created", "updated"):
        comments.sort(key=lambda comment: comment.updated_at if sort == "updated" else comment.created_at,
                      reverse=request.query.get("direction") == "desc")  # fmt: skip
    return _page(request, comments)


@route("GET", _ONE)
def get_comment(request: RestRequest) -> RestAnswer:
    """Return a comment."""
    return RestAnswer(200, comment_json(request.session, _comment(request)))


@route("PATCH", _ONE)
def patch_comment(request: RestRequest) -> RestAnswer:
    """Change the text of a comment."""
    edited = edit_comment(request.session, _comment(request), request.needed("body", str))
    return RestAnswer(200, comment_json(request.session, edited))


@route("DELETE", _ONE)
def remove_comment(request: RestRequest) -> RestAnswer:
    """Delete a comment."""
    delete_comment(request.session, _comment(request))
    return RestAnswer(204)


def _comment(request: RestRequest) -> CommentRecord:
    repository = request.repository()
    comment = request.session.state.get(CommentRecord, request.number("comment_id"))
    if comment is None or comment.thread is not None or comment.review is not None:
        raise not_found()
    if repository_of_subject(request.session, comment.subject).id != repository.id:
        raise not_found()
    return comment


def _page(request: RestRequest, comments: list[CommentRecord]) -> RestAnswer:
    since = request.query.get("since")
    earliest = timestamp(since, "IssueComment", "since") if since else None
    shown = [comment for comment in comments if earliest is None or comment.updated_at >= earliest]
    return request.page(shown, lambda comment: comment_json(request.session, comment))
