"""Reviews of pull requests, and requests for them."""

from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid
from scylla_gha.hub.operations.pull_facts import repository_of
from scylla_gha.hub.operations.review_requests import (
    not_a_collaborator,
    remove_review_requests,
    request_reviews,
    users_named,
)
from scylla_gha.hub.operations.reviews import (
    add_review,
    check_review_event,
    delete_review,
    dismiss_review,
    edit_review,
    find_review,
    submit_review,
    visible_reviews,
)
from scylla_gha.hub.operations.threads import DraftThread, review_comments
from scylla_gha.hub.records import PullRequestRecord, ReviewRecord, Side, UserRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.present import user
from scylla_gha.hub.rest.pull_json import pull_json, review_comment_json, review_json
from scylla_gha.hub.rest.pulls import pull_of

_PULL: Final = "/repos/{owner}/{repo}/pulls/{pull_number}"
_REQUESTS: Final = f"{_PULL}/requested_reviewers"
_LIST: Final = f"{_PULL}/reviews"
_ONE: Final = f"{_LIST}/{{review_id}}"
_SIDES: Final[dict[object, Side | None]] = {None: None, "LEFT": "LEFT", "RIGHT": "RIGHT"}


def side_of(value: object) -> Side | None:
    """Return a side of a diff; None if it is left out.

    Raises:
        HubError: 422, it is neither LEFT nor RIGHT.
    """
    if not isinstance(value, str | None) or value not in _SIDES:
        raise invalid("PullRequestReviewComment", "side")
    return _SIDES[value]


def draft_of(fields: Any) -> DraftThread:  # noqa: ANN401 whatever the client sent
    """Return a thread to begin, from its JSON.

    Raises:
        HubError: 422, a field is missing or of the wrong type.
    """
    if not isinstance(fields, dict) or not isinstance(fields.get("path"), str):
        raise HubError(422, 'Invalid request.\n\n"path" wasn\'t supplied.')
    if not isinstance(fields.get("body"), str):
        raise HubError(422, 'Invalid request.\n\n"body" wasn\'t supplied.')
    numbers = {name: fields.get(name) for name in ("line", "start_line", "position")}
    if any(value is not None and type(value) is not int for value in numbers.values()):
        raise HubError(422, "Invalid request.\n\nA line is not an integer.")
    on_file = fields.get("subject_type") == "file"
    if not on_file and numbers["line"] is None and numbers["position"] is None:
        raise invalid("PullRequestReviewComment", "line", "missing_field")
    if on_file:
        numbers = dict.fromkeys(numbers)
    start_side = side_of(fields.get("start_side"))
    return DraftThread(path=fields["path"], body=fields["body"], side=side_of(fields.get("side")) or "RIGHT",
                       start_side=start_side, **numbers)  # fmt: skip


def _review_of(request: RestRequest) -> ReviewRecord:
    return find_review(request.session, pull_of(request), request.number("review_id"))


@route("GET", _LIST)
def list_reviews(request: RestRequest) -> RestAnswer:
    """Answer with the reviews in the order of their submission."""
    session = request.session
    return request.page(visible_reviews(session, pull_of(request)), lambda review: review_json(session, review))


@route("POST", _LIST)
def post_review(request: RestRequest) -> RestAnswer:
    """Review a pull request; without an event the review is pending."""
    session, pull = request.session, pull_of(request)
    review = add_review(
        session,
        pull,
        event=check_review_event(request.optional("event", str)),
        body=request.optional("body", str) or "",
        commit=request.optional("commit_id", str),
        drafts=[draft_of(fields) for fields in request.optional("comments", list) or ()],
    )
    return RestAnswer(200, review_json(session, review))


@route("GET", _ONE)
def get_review(request: RestRequest) -> RestAnswer:
    """Answer with a review."""
    return RestAnswer(200, review_json(request.session, _review_of(request)))


@route("PUT", _ONE)
def put_review(request: RestRequest) -> RestAnswer:
    """Replace the text of a review."""
    review = edit_review(request.session, _review_of(request), request.needed("body", str))
    return RestAnswer(200, review_json(request.session, review))


@route("DELETE", _ONE)
def delete_pending_review(request: RestRequest) -> RestAnswer:
    """Remove a pending review and answer with what it was."""
    review = _review_of(request)
    answer = RestAnswer(200, review_json(request.session, review))
    delete_review(request.session, review)
    return answer


@route("POST", f"{_ONE}/events")
def post_event_of_review(request: RestRequest) -> RestAnswer:
    """Submit a pending review."""
    review, event = _review_of(request), check_review_event(request.needed("event", str))
    if event is None:
        raise invalid("PullRequestReview", "event")
    submitted = submit_review(request.session, review, event, request.optional("body", str))
    return RestAnswer(200, review_json(request.session, submitted))


@route("PUT", f"{_ONE}/dismissals")
def put_dismissal(request: RestRequest) -> RestAnswer:
    """Dismiss a review."""
    review = dismiss_review(request.session, _review_of(request), request.needed("message", str))
    return RestAnswer(200, review_json(request.session, review))


@route("GET", f"{_ONE}/comments")
def list_comments_of_review(request: RestRequest) -> RestAnswer:
    """Answer with the comments that a review made."""
    session, pull, review = request.session, pull_of(request), _review_of(request)
    comments = [comment for comment in review_comments(session, pull) if comment.review == review.id]
    return request.page(comments, lambda comment: review_comment_json(session, comment))


@route("GET", _REQUESTS)
def list_requests(request: RestRequest) -> RestAnswer:
    """Answer with the users who were asked for a review."""
    state = request.session.state
    users = [user(state.need(UserRecord, id_)) for id_ in pull_of(request).requested_reviewers]
    return RestAnswer(200, {"users": users, "teams": []})


@route("POST", _REQUESTS)
def post_requests(request: RestRequest) -> RestAnswer:
    """Ask users for a review."""
    pull = pull_of(request)
    changed = request_reviews(request.session, pull, _named(request, pull))
    return RestAnswer(201, pull_json(request.session, changed))


@route("DELETE", _REQUESTS)
def delete_requests(request: RestRequest) -> RestAnswer:
    """Ask users no longer."""
    pull = pull_of(request)
    changed = remove_review_requests(request.session, pull, _named(request, pull))
    return RestAnswer(200, pull_json(request.session, changed))


def _named(request: RestRequest, pull: PullRequestRecord) -> list[UserRecord]:
    """Return the users of a body; a cell has no teams."""
    session: HubSession = request.session
    repository = repository_of(session, pull)
    if request.texts("team_reviewers"):
        raise not_a_collaborator(session, repository)
    return users_named(session, repository, request.texts("reviewers") or [])
