"""Steps of a fixture's history on issues and pull requests: comments, reviews, merges and closings."""

from collections.abc import Mapping
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.fixture_world import FixtureWorld, StepMaker
from scylla_gha.hub.operations.comments import add_comment
from scylla_gha.hub.operations.issues import SubjectChanges, close_issue, create_issue, set_metadata
from scylla_gha.hub.operations.labels import find_label
from scylla_gha.hub.operations.merging import merge_pull
from scylla_gha.hub.operations.pull_states import close_pull
from scylla_gha.hub.operations.pulls import create_pull
from scylla_gha.hub.operations.refs import BRANCH, change_ref
from scylla_gha.hub.operations.review_requests import request_reviews
from scylla_gha.hub.operations.reviews import add_review, reply
from scylla_gha.hub.operations.threads import DraftThread, set_resolved
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    MilestoneRecord,
    PullRequestRecord,
    ThreadRecord,
    node_id,
)
from scylla_gha.model.github_history import (
    FixtureClosing,
    FixtureComment,
    FixtureCommentOn,
    FixtureIssue,
    FixtureMerge,
    FixturePullRequest,
    FixtureReview,
)


def _issue(world: FixtureWorld, step: FixtureIssue) -> None:
    session = world.session(step.author)
    changes = SubjectChanges(title=world.text(step.title), body=world.text(step.body))
    issue = create_issue(session, world.repository, changes)
    _remember(world, "issue", step.key, issue)
    _set_metadata(world, session, issue, step)
    for comment in step.comments:
        _add_comment(world, issue, comment)
    if step.closed is not None:
        _end(world, issue, step.closed)


def _remember(world: FixtureWorld, kind: str, key: str | None, record: IssueRecord, **facts: str | int) -> None:
    path = "pull" if kind == "pr" else "issues"
    url = f"{SITE}/{world.hub.state.full_name(world.repository)}/{path}/{record.number}"
    world.remember(kind, key, record, number=record.number, title=record.title, url=url, node_id=node_id(record),
                   **facts)  # fmt: skip


def _set_metadata(
    world: FixtureWorld, session: HubSession, subject: IssueRecord, step: FixtureIssue | FixturePullRequest
) -> None:
    """Set labels, assignees and milestone: as the author if that may, else as the owner."""
    changes = SubjectChanges(
        labels=tuple(_label(world, name) for name in step.labels) or None,
        assignees=tuple(world.user(name).id for name in step.assignees) or None,
        milestone=_milestone(world, step.milestone),
    )
    if changes != SubjectChanges():
        current = _subject(world, subject.id)
        set_metadata(session if session.may(world.repository, "triage") else world.owner, current, changes)


def _label(world: FixtureWorld, name: str) -> int:
    label = find_label(world.owner, world.repository, name)
    if label is None:
        raise ConfigError(f"labels: there is no label {name!r}; add it to labels")
    return label.id


def _milestone(world: FixtureWorld, title: str | None) -> int | None:
    if title is None:
        return None
    record = world.hub.state.first(MilestoneRecord, repository=world.repository.id, title=title)
    if record is None:
        raise ConfigError(f"milestone: there is no milestone {title!r}; add it to milestones")
    return record.id


def _subject(world: FixtureWorld, id_: int) -> IssueRecord | PullRequestRecord:
    record = world.hub.state.subject_by_id(id_)
    assert record is not None  # noqa: S101 steps delete none
    return record


def _add_comment(world: FixtureWorld, subject: IssueRecord, step: FixtureComment) -> None:
    session, body = world.session(step.author), world.text(step.body) or ""
    _remember_comment(world, step, add_comment(session, _subject(world, subject.id), body))


def _remember_comment(world: FixtureWorld, step: FixtureComment, comment: CommentRecord) -> None:
    world.remember("comment", step.key, comment, node_id=node_id(comment))


def _comment(world: FixtureWorld, step: FixtureCommentOn) -> None:
    kind = step.target.partition(".")[0]
    if kind not in ("issue", "pr", "thread"):
        raise ConfigError(f"target: {step.target} is not issue.KEY, pr.KEY or thread.KEY")
    id_ = world.named(step.target, kind)
    if kind == "thread":
        _reply(world, world.hub.state.need(ThreadRecord, id_), step)
    else:
        _add_comment(world, _subject(world, id_), step)


def _reply(world: FixtureWorld, thread: ThreadRecord, step: FixtureComment) -> None:
    comment = reply(world.session(step.author), thread, world.text(step.body) or "")
    _remember_comment(world, step, comment)


def _pull(world: FixtureWorld, step: FixturePullRequest) -> None:
    session, state = world.session(step.author), world.hub.state
    base = step.base or world.repository.default_branch
    pull = create_pull(session, world.repository, head=step.head, base=base, title=world.text(step.title) or "",
                       body=world.text(step.body), draft=step.draft)  # fmt: skip
    _remember(world, "pr", step.key, pull, head=step.head, base=base, branch=step.head)
    _set_metadata(world, session, pull, step)
    if step.reviewers:
        request_reviews(session, state.need(PullRequestRecord, pull.id), [world.user(name) for name in step.reviewers])
    for comment in step.comments:
        _add_comment(world, pull, comment)
    for review in step.reviews:
        _add_review(world, pull.id, review)
    if step.merged is not None:
        _do_merge(world, pull.id, step.merged)
    if step.closed is not None:
        _end(world, _subject(world, pull.id), step.closed)


def _review(world: FixtureWorld, step: FixtureReview) -> None:
    _add_review(world, world.named(step.target or "", "pr"), step)


def _add_review(world: FixtureWorld, pull_id: int, step: FixtureReview) -> None:
    session, state = world.session(step.author), world.hub.state
    drafts = [
        DraftThread(path=thread.path, body=world.text(thread.body) or "", line=thread.line, side=thread.side,
                    start_line=thread.start_line, start_side=None if thread.start_line is None else thread.side)
        for thread in step.threads
    ]  # fmt: skip
    pull = state.need(PullRequestRecord, pull_id)
    review = add_review(session, pull, event=step.event, body=world.text(step.body) or "", drafts=drafts)
    world.remember("review", step.key, review, node_id=node_id(review))
    firsts = [comment for comment in state.where(CommentRecord, review=review.id) if comment.reply_to is None]
    for thread, first in zip(step.threads, firsts, strict=True):
        record = state.need(ThreadRecord, first.thread or 0)
        facts: dict[str, str | int] = {
            "path": thread.path,
            "line": thread.line or 0,
            "comment": first.id,
            "node_id": node_id(record),
        }
        world.remember("thread", thread.key, record, **facts)
        for answer in thread.replies:
            _reply(world, record, answer)
        if thread.resolved_by is not None:
            set_resolved(world.session(thread.resolved_by), state.need(ThreadRecord, record.id), resolved=True)


def _merge(world: FixtureWorld, step: FixtureMerge) -> None:
    _do_merge(world, world.named(step.target or "", "pr"), step)


def _do_merge(world: FixtureWorld, pull_id: int, step: FixtureMerge) -> None:
    session = world.session(step.by)
    merged = merge_pull(session, world.hub.state.need(PullRequestRecord, pull_id), method=step.method)
    name = next((name for name, id_ in world.names.items() if id_ == pull_id), None)
    if name is not None and merged.merge_commit:
        world.bindings[name] |= {"merge_commit": merged.merge_commit, "merge_short": merged.merge_commit[:7]}
    ref = f"{BRANCH}{merged.head_ref}"
    if step.delete_branch and world.git.ref(ref) is not None:
        change_ref(session, world.repository, ref, None)


def _close(world: FixtureWorld, step: FixtureClosing) -> None:
    name = step.target or ""
    _end(world, _subject(world, world.named(name, "pr" if name.startswith("pr.") else "issue")), step)


def _end(world: FixtureWorld, subject: IssueRecord, step: FixtureClosing) -> None:
    session = world.session(step.by)
    current = _subject(world, subject.id)
    if isinstance(current, PullRequestRecord):
        close_pull(session, current)
        return
    original = None
    if step.duplicate_of is not None:
        original = _subject(world, world.named(step.duplicate_of, "issue"))
    close_issue(session, current, step.reason, original)


STEPS: Final[Mapping[str, StepMaker]] = {
    "issue": _issue,
    "pull": _pull,
    "comment": _comment,
    "review": _review,
    "merge": _merge,
    "close": _close,
}
