"""Comments in review threads."""

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import field
from scylla_gha.hub.graphql.git_nodes import ObjectNode, commit_node
from scylla_gha.hub.graphql.query import owner_of
from scylla_gha.hub.graphql.reviews import line_of, start_line_of
from scylla_gha.hub.operations.pull_facts import head_sha
from scylla_gha.hub.operations.thread_lines import current_line, diff_hunk, is_outdated
from scylla_gha.hub.operations.threads import position_of
from scylla_gha.hub.records import CommentRecord, PullRequestRecord, ReviewRecord, ThreadRecord


def _thread(session: HubSession, comment: CommentRecord) -> ThreadRecord:
    return session.state.need(ThreadRecord, comment.thread or 0)


@field("PullRequestReviewComment.pullRequest")
def _comment_pull(comment: CommentRecord, session: HubSession) -> PullRequestRecord:
    return session.state.need(PullRequestRecord, comment.subject)


@field("PullRequestReviewComment.pullRequestReview")
def _comment_review(comment: CommentRecord, session: HubSession) -> ReviewRecord | None:
    return session.state.get(ReviewRecord, comment.review)


@field("PullRequestReviewComment.replyTo")
def _reply_to(comment: CommentRecord, session: HubSession) -> CommentRecord | None:
    return session.state.get(CommentRecord, comment.reply_to)


@field("PullRequestReviewComment.state")
def _comment_state(comment: CommentRecord, session: HubSession) -> str:
    review = session.state.get(ReviewRecord, comment.review)
    return "PENDING" if review is not None and review.state == "PENDING" else "SUBMITTED"


@field("PullRequestReviewComment.path")
def _path(comment: CommentRecord, session: HubSession) -> str:
    return _thread(session, comment).path


@field("PullRequestReviewComment.line")
def _comment_line(comment: CommentRecord, session: HubSession) -> int | None:
    return line_of(_thread(session, comment), session)


@field("PullRequestReviewComment.startLine")
def _comment_start(comment: CommentRecord, session: HubSession) -> int | None:
    return start_line_of(_thread(session, comment), session)


@field("PullRequestReviewComment.originalLine")
def _original_line(comment: CommentRecord, session: HubSession) -> int | None:
    return _thread(session, comment).line


@field("PullRequestReviewComment.originalStartLine")
def _original_start(comment: CommentRecord, session: HubSession) -> int | None:
    return _thread(session, comment).start_line


@field("PullRequestReviewComment.position")
def _position(comment: CommentRecord, session: HubSession) -> int | None:
    thread, pull = _thread(session, comment), _comment_pull(comment, session)
    line = current_line(session, thread, thread.line)
    return position_of(session, pull, thread, head_sha(session, pull), line)


@field("PullRequestReviewComment.originalPosition")
def _original_position(comment: CommentRecord, session: HubSession) -> int:
    thread = _thread(session, comment)
    position = position_of(session, _comment_pull(comment, session), thread, thread.commit, thread.line)
    return position or 0


@field("PullRequestReviewComment.outdated")
def _comment_outdated(comment: CommentRecord, session: HubSession) -> bool:
    return is_outdated(session, _thread(session, comment))


@field("PullRequestReviewComment.subjectType")
def _comment_subject_type(comment: CommentRecord, session: HubSession) -> str:
    return "FILE" if _thread(session, comment).line is None else "LINE"


@field("PullRequestReviewComment.diffHunk")
def _diff_hunk(comment: CommentRecord, session: HubSession) -> str:
    return diff_hunk(session, _thread(session, comment))


@field("PullRequestReviewComment.originalCommit")
def _original_commit(comment: CommentRecord, session: HubSession) -> ObjectNode:
    return commit_node(owner_of(session, comment), _thread(session, comment).commit)


@field("PullRequestReviewComment.commit")
def _comment_commit(comment: CommentRecord, session: HubSession) -> ObjectNode:
    thread = _thread(session, comment)
    sha = thread.commit if is_outdated(session, thread) else head_sha(session, _comment_pull(comment, session))
    return commit_node(owner_of(session, comment), sha)
