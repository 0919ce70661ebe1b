"""Review threads: comments on lines of a diff, replies, and resolving."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid
from scylla_gha.hub.git_store import is_sha
from scylla_gha.hub.operations.pull_facts import base_sha, head_sha, repository_of
from scylla_gha.hub.operations.subjects import MOST_CHARACTERS, NO_RIGHTS, require_conversation, require_writable
from scylla_gha.hub.operations.thread_lines import hunks
from scylla_gha.hub.records import CommentRecord, PullRequestRecord, ReviewRecord, Side, ThreadRecord

_RESOURCE: Final = "PullRequestReviewComment"
_THREAD: Final = "pull_request_review_thread"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftThread:
    """Thread to begin. `line` None is the whole file; `position` counts lines of the file's diff instead of `line`."""

    path: str
    body: str
    line: int | None = None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True)
class DiffLine:
    """Line of a file's diff: its position below the first hunk's header, its hunk, and its numbers before and after."""

    position: int
    hunk: int
    old: int | None
    new: int | None

    def number(self, side: Side) -> int | None:
        """Return its number on a side of the diff."""
        return self.old if side == "LEFT" else self.new


def diff_lines(patch: str) -> Iterator[DiffLine]:
    """Yield the lines of a file's diff; headers of later hunks take a position as well."""
    position = 0
    for number, (_, lines) in enumerate(hunks(patch)):
        position += number > 0
        for old, new, _ in lines:
            position += 1
            yield DiffLine(position, number, old, new)


def lines_in_diff(session: HubSession, pull: PullRequestRecord, path: str, commit: str) -> list[DiffLine] | None:
    """Return the lines of a file that may be commented on at a commit; None if the file is not in the diff."""
    git = session.git(pull.repository)
    base = base_sha(session, pull)
    for file in git.changed_files(git.merge_base(base, commit) or base, commit):
        if file.path == path:
            return list(diff_lines(file.patch or ""))
    return None


def position_of(
    session: HubSession, pull: PullRequestRecord, thread: ThreadRecord, commit: str, line: int | None
) -> int | None:
    """Return the position of a thread's line in its file's diff at a commit; None if it is not in there.

    It is 1 for a thread on the whole file, as on GitHub.
    """
    if thread.line is None or line is None:
        return 1 if thread.line is None else None
    lines = lines_in_diff(session, pull, thread.path, commit) or []
    return next((entry.position for entry in lines if entry.number(thread.side) == line), None)


def located(session: HubSession, pull: PullRequestRecord, draft: DraftThread, commit: str) -> DraftThread:
    """Return a draft with line and side instead of a position, if its lines are in the diff at a commit.

    See https://docs.github.com/rest/pulls/comments#create-a-review-comment-for-a-pull-request

    Raises:
        HubError: 422, naming the field that is wrong.
    """
    check_body(draft.body)
    lines = lines_in_diff(session, pull, draft.path, commit)
    if lines is None:
        raise _wrong("path", "invalid")
    if draft.position is not None:
        return _at_position(draft, lines)
    if draft.line is None:
        return draft
    end = next((entry for entry in lines if entry.number(draft.side) == draft.line), None)
    if end is None:
        raise _wrong("line", "must be part of the diff")
    if draft.start_line is not None:
        side = draft.start_side or draft.side
        start = next((entry for entry in lines if entry.number(side) == draft.start_line), None)
        if start is None or start.hunk != end.hunk:
            raise _wrong("start_line", "must be part of the same hunk as the line.")
        if start.position >= end.position:
            raise _wrong("start_line", "must precede the end line.")
    return draft


def _at_position(draft: DraftThread, lines: list[DiffLine]) -> DraftThread:
    entry = next((entry for entry in lines if entry.position == draft.position), None)
    if entry is None:
        raise _wrong("position", "is invalid")
    side: Side = "LEFT" if entry.new is None else "RIGHT"
    return DraftThread(path=draft.path, body=draft.body, line=entry.number(side), side=side)


def _wrong(field: str, message: str) -> HubError:
    if message == "invalid":
        return invalid(_RESOURCE, f"{_THREAD}.{field}")
    return invalid(_RESOURCE, f"{_THREAD}.{field}", "custom", f"{_THREAD}.{field} {message}")


def check_body(body: str) -> None:
    """Refuse a comment that is empty or too long.

    Raises:
        HubError: 422.
    """
    if not body.strip():
        raise invalid(_RESOURCE, "body", "custom", "body can't be blank")
    check_length(body)


def check_length(body: str) -> None:
    """Refuse a text of a review or of a comment that is too long.

    Raises:
        HubError: 422.
    """
    if len(body) > MOST_CHARACTERS:
        raise invalid(_RESOURCE, "body", "custom", f"body is too long (maximum is {MOST_CHARACTERS} characters)")


def add_thread(session: HubSession, review: ReviewRecord, draft: DraftThread) -> ThreadRecord:
    """Begin a thread in a review; the draft has been `located` at the review's commit."""
    state = session.state
    record = ThreadRecord(
        id=state.new_id(), created_at=state.now(), pull=review.pull, path=draft.path, commit=review.commit,
        line=draft.line, start_line=draft.start_line, side=draft.side,
        start_side=(draft.start_side or draft.side) if draft.start_line is not None else None,
    )  # fmt: skip
    thread = state.create(session.user, record)
    add_to_thread(session, thread, review, draft.body)
    return thread


def add_to_thread(session: HubSession, thread: ThreadRecord, review: ReviewRecord, body: str) -> CommentRecord:
    """Append a comment to a thread; all but the first are replies to the first."""
    check_body(body)
    state = session.state
    first = state.first(CommentRecord, thread=thread.id)
    record = CommentRecord(
        id=state.new_id(), created_at=state.now(), updated_at=state.now(), subject=thread.pull, author=session.user.id,
        body=body, review=review.id, thread=thread.id, reply_to=first.id if first else None,
    )  # fmt: skip
    pull = state.need(PullRequestRecord, thread.pull)
    comment = state.create(session.user, record)
    if review.state != "PENDING":
        state.update(session.user, pull, updated_at=state.now())
    return comment


def edit_review_comment(session: HubSession, comment: CommentRecord, body: str) -> CommentRecord:
    """Replace the text of a comment.

    Raises:
        HubError: 403, the user is neither its author nor has write access; 422, the text is empty.
    """
    _require_comment_rights(session, comment)
    check_body(body)
    return session.state.update(session.user, comment, body=body)


def delete_review_comment(session: HubSession, comment: CommentRecord) -> None:
    """Remove a comment; with the last one its thread goes, and a review that has nothing else.

    Raises:
        HubError: 403, the user is neither its author nor has write access.
    """
    _require_comment_rights(session, comment)
    state, user = session.state, session.user
    state.delete(user, comment)
    thread = state.get(ThreadRecord, comment.thread)
    if thread is not None and not state.where(CommentRecord, thread=thread.id):
        state.delete(user, thread)
    review = state.get(ReviewRecord, comment.review)
    is_bare = review is not None and review.state == "COMMENTED" and not review.body
    if review is not None and is_bare and not state.where(CommentRecord, review=review.id):
        state.delete(user, review)


def _require_comment_rights(session: HubSession, comment: CommentRecord) -> None:
    pull = session.state.need(PullRequestRecord, comment.subject)
    repository = repository_of(session, pull)
    require_writable(session, repository)
    if comment.author != session.user.id and not session.may(repository, "write"):
        raise HubError(403, NO_RIGHTS)


def may_resolve(session: HubSession, pull: PullRequestRecord) -> bool:
    """Return whether the user may resolve threads: the author of the pull request, or with write access.

    See https://docs.github.com/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/commenting-on-a-pull-request#resolving-conversations
    """
    if session.viewer is None:
        return False
    return pull.author == session.viewer.id or session.may(repository_of(session, pull), "write")


def set_resolved(session: HubSession, thread: ThreadRecord, *, resolved: bool) -> ThreadRecord:
    """Resolve a thread, or open it again.

    Raises:
        HubError: 403, the user may not.
    """
    pull = session.state.need(PullRequestRecord, thread.pull)
    require_writable(session, repository_of(session, pull))
    if not may_resolve(session, pull):
        raise HubError(403, NO_RIGHTS)
    if resolved == (thread.resolved_by is not None):
        return thread
    return session.state.update(session.user, thread, resolved_by=session.user.id if resolved else None)


def may_see_comment(session: HubSession, comment: CommentRecord) -> bool:
    """Return whether the user sees a comment: those of a pending review only its author does."""
    review = session.state.get(ReviewRecord, comment.review)
    if review is None or review.state != "PENDING":
        return True
    return session.viewer is not None and session.viewer.id == review.author


def review_comments(session: HubSession, pull: PullRequestRecord) -> list[CommentRecord]:
    """Return the comments in threads of a pull request that the user sees, in the order of their creation."""
    comments = session.state.where(CommentRecord, subject=pull.id)
    return [comment for comment in comments if comment.thread is not None and may_see_comment(session, comment)]


def start_commit(session: HubSession, pull: PullRequestRecord, commit: str | None) -> str:
    """Return the commit that a review or a thread is on: the head, unless another commit of the pull request is named.

    Raises:
        HubError: 422, the commit is not of the pull request; 403, the conversation is locked.
    """
    require_conversation(session, pull)
    head = head_sha(session, pull)
    if commit is None or commit == head:
        return head
    git = session.git(pull.repository)
    sha = git.commit_of(commit) if is_sha(commit) else None
    if sha is None or not git.is_ancestor(sha, head) or git.is_ancestor(sha, base_sha(session, pull)):
        raise invalid(_RESOURCE, "commit_id", "custom", "commit_id is not part of the pull request")
    return sha
