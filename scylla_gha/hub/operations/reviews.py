"""Reviews of pull requests: pending and submitted ones, their comments, and dismissal."""

from collections.abc import Sequence
from typing import Final, Literal

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid
from scylla_gha.hub.operations.pull_facts import head_sha, repository_of, submitted_reviews
from scylla_gha.hub.operations.subjects import NO_RIGHTS, require_conversation, require_writable
from scylla_gha.hub.operations.threads import (
    DraftThread,
    add_thread,
    add_to_thread,
    check_length,
    located,
    start_commit,
)
from scylla_gha.hub.operations.timeline import add_event
from scylla_gha.hub.records import (
    CommentRecord,
    PullRequestRecord,
    ReviewRecord,
    ReviewState,
    ThreadRecord,
)

ReviewEvent = Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"]
_STATES: Final[dict[ReviewEvent, ReviewState]] = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}
_OWN: Final[dict[ReviewEvent, str]] = {
    "APPROVE": "Can not approve your own pull request",
    "REQUEST_CHANGES": "Can not request changes on your own pull request",
}
ONE_PENDING: Final = "User can only have one pending review per pull request"


def unprocessable(message: str) -> HubError:
    """Return a 422 as GitHub's reviews have it: the reason is a text in `errors`."""
    return HubError(422, "Unprocessable Entity", (message,))


def pending_review(session: HubSession, pull: PullRequestRecord) -> ReviewRecord | None:
    """Return the user's own review that is not submitted yet; None if there is none."""
    if session.viewer is None:
        return None
    return session.state.first(ReviewRecord, pull=pull.id, author=session.viewer.id, state="PENDING")


def visible_reviews(session: HubSession, pull: PullRequestRecord) -> list[ReviewRecord]:
    """Return the reviews that the user sees: submitted ones in their order, then the own pending one."""
    pending = pending_review(session, pull)
    return [*submitted_reviews(session, pull), *([pending] if pending else [])]


def add_review(
    session: HubSession,
    pull: PullRequestRecord,
    *,
    event: ReviewEvent | None = None,
    body: str = "",
    commit: str | None = None,
    drafts: Sequence[DraftThread] = (),
) -> ReviewRecord:
    """Review a pull request, with threads; without an event the review is pending.

    See https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request

    Raises:
        HubError: 403, the conversation is locked; 422 as GitHub words it. Nothing is written then.
    """
    sha = start_commit(session, pull, commit)
    check_length(body)
    if pending_review(session, pull) is not None:
        raise unprocessable(ONE_PENDING)
    if event is not None:
        check_event(session, pull, event, body, has_comments=bool(drafts))
    threads = [located(session, pull, draft, sha) for draft in drafts]
    state = session.state
    record = ReviewRecord(id=state.new_id(), created_at=state.now(), pull=pull.id, author=session.user.id,
                          state="PENDING", commit=sha, body=body)  # fmt: skip
    review = state.create(session.user, record)
    for thread in threads:
        add_thread(session, review, thread)
    return review if event is None else _submit(session, review, event, body)


def check_event(
    session: HubSession, pull: PullRequestRecord, event: ReviewEvent, body: str, *, has_comments: bool
) -> None:
    """Refuse what authors may not do with their own pull request, and a review without words.

    See https://docs.github.com/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/about-pull-request-reviews

    Raises:
        HubError: 422.
    """
    if pull.author == session.user.id and event in _OWN:
        raise unprocessable(_OWN[event])
    if event != "APPROVE" and not body.strip() and not has_comments:
        raise unprocessable("Body can't be blank")


def _submit(session: HubSession, review: ReviewRecord, event: ReviewEvent, body: str) -> ReviewRecord:
    state, user = session.state, session.user
    submitted = state.update(user, review, state=_STATES[event], body=body, submitted_at=state.now())
    pull = state.need(PullRequestRecord, review.pull)
    left = tuple(reviewer for reviewer in pull.requested_reviewers if reviewer != user.id)
    state.update(user, pull, requested_reviewers=left, updated_at=state.now())
    return submitted


def submit_review(
    session: HubSession, review: ReviewRecord, event: ReviewEvent, body: str | None = None
) -> ReviewRecord:
    """Submit the user's pending review.

    See https://docs.github.com/rest/pulls/reviews#submit-a-review-for-a-pull-request

    Raises:
        HubError: 403, it is another's; 422, it is submitted already, or `add_review` would refuse it.
    """
    pull = session.state.need(PullRequestRecord, review.pull)
    require_conversation(session, pull)
    _require_author(session, review)
    if review.state != "PENDING":
        raise unprocessable("Can not submit a review that is not pending")
    text = review.body if body is None else body
    check_length(text)
    comments = session.state.where(CommentRecord, review=review.id)
    check_event(session, pull, event, text, has_comments=bool(comments))
    return _submit(session, review, event, text)


def delete_review(session: HubSession, review: ReviewRecord) -> None:
    """Remove a pending review with its threads.

    See https://docs.github.com/rest/pulls/reviews#delete-a-pending-review-for-a-pull-request

    Raises:
        HubError: 403, it is another's; 422, it was submitted.
    """
    if review.state != "PENDING":
        raise unprocessable("Can not delete a non-pending pull request review")
    _require_author(session, review)
    state, user = session.state, session.user
    for comment in state.where(CommentRecord, review=review.id):
        state.delete(user, comment)
        thread = state.get(ThreadRecord, comment.thread)
        if thread is not None and not state.where(CommentRecord, thread=thread.id):
            state.delete(user, thread)
    state.delete(user, review)


def edit_review(session: HubSession, review: ReviewRecord, body: str) -> ReviewRecord:
    """Replace the text of a review.

    See https://docs.github.com/rest/pulls/reviews#update-a-review-for-a-pull-request

    Raises:
        HubError: 403, the user is not its author; 422, the text is empty.
    """
    _require_author(session, review)
    check_length(body)
    if not body.strip() and review.state in ("COMMENTED", "CHANGES_REQUESTED"):
        raise unprocessable("Body can't be blank")
    return session.state.update(session.user, review, body=body)


def _require_author(session: HubSession, review: ReviewRecord) -> None:
    pull = session.state.need(PullRequestRecord, review.pull)
    require_writable(session, repository_of(session, pull))
    if review.author != session.user.id:
        raise HubError(403, NO_RIGHTS)


def dismiss_review(session: HubSession, review: ReviewRecord, message: str) -> ReviewRecord:
    """Take the weight from an approval or a request for changes, with write access.

    See https://docs.github.com/rest/pulls/reviews#dismiss-a-review-for-a-pull-request

    Raises:
        HubError: 403 without write access; 422 without a message, or for another kind of review.
    """
    pull = session.state.need(PullRequestRecord, review.pull)
    session.require(repository_of(session, pull), "write", NO_RIGHTS)
    if not message.strip():
        raise unprocessable("Message can't be blank")
    if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
        raise unprocessable(f"Can not dismiss a {review.state.lower()} pull request review")
    add_event(session, pull, "review_dismissed", review=review.id, state=review.state.lower(), message=message)
    return session.state.update(session.user, review, state="DISMISSED")


def review_for_comments(session: HubSession, pull: PullRequestRecord) -> ReviewRecord:
    """Return the user's pending review, or begin one."""
    return pending_review(session, pull) or add_review(session, pull)


def comment_on_lines(
    session: HubSession, pull: PullRequestRecord, draft: DraftThread, commit: str | None
) -> ThreadRecord:
    """Begin a thread at once, in a review of its own.

    See https://docs.github.com/rest/pulls/comments#create-a-review-comment-for-a-pull-request

    Raises:
        HubError: 422, the user has a pending review, or the lines are not in the diff.
    """
    review = add_review(session, pull, event="COMMENT", commit=commit, drafts=[draft])
    comment = session.state.first(CommentRecord, review=review.id)
    return session.state.need(ThreadRecord, (comment.thread or 0) if comment else 0)


def reply(session: HubSession, thread: ThreadRecord, body: str, review: ReviewRecord | None = None) -> CommentRecord:
    """Reply in a thread: in a pending review if one is given, else at once, in a review of its own.

    Raises:
        HubError: 403, the conversation is locked; 422, the text is empty, or the review is not pending.
    """
    pull = session.state.need(PullRequestRecord, thread.pull)
    require_conversation(session, pull)
    if review is not None and (review.state != "PENDING" or review.author != session.user.id):
        raise unprocessable("Can not add a comment to a review that is not pending")
    if review is None:
        if not body.strip():
            raise unprocessable("Body can't be blank")
        state = session.state
        record = ReviewRecord(id=state.new_id(), created_at=state.now(), pull=pull.id, author=session.user.id,
                              state="COMMENTED", commit=head_sha(session, pull), submitted_at=state.now())  # fmt: skip
        review = state.create(session.user, record)
    return add_to_thread(session, thread, review, body)


def find_review(session: HubSession, pull: PullRequestRecord, id_: int) -> ReviewRecord:
    """Return a review that the user sees.

    Raises:
        HubError: 404.
    """
    review = next((review for review in visible_reviews(session, pull) if review.id == id_), None)
    if review is None:
        raise HubError(404, "Not Found")
    return review


def check_review_event(event: str | None) -> ReviewEvent | None:
    """Validate the review event; return None if it is empty.

    Raises:
        HubError: 422, it is not one.
    """
    if not event or event == "PENDING":
        return None
    for known in _STATES:
        if event == known:
            return known
    raise invalid("PullRequestReview", "event")
