"""Scripted reviewers: people of a fixture who review pull requests while a trial goes on.

After each request that wrote something, before its answer is sent, every reviewer looks at every pull request. So the
reviews follow from the state and the order of the writes alone, and a trial that is repeated gets the same ones. They
are written by the operations that clients use, with the reviewer's rights; the journal marks them as scripted.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.conditions import is_match, pattern_fault
from scylla_gha.errors import ConfigError
from scylla_gha.hub.cell import Hub, HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.fixture_world import FixtureWorld
from scylla_gha.hub.git_diff import ChangedFile
from scylla_gha.hub.operations.closing_keywords import closing_issues
from scylla_gha.hub.operations.pull_facts import head_sha, pull_files, submitted_reviews
from scylla_gha.hub.operations.reviews import ReviewEvent, add_review
from scylla_gha.hub.operations.threads import DraftThread, diff_lines, may_see_comment
from scylla_gha.hub.records import CommentRecord, PullRequestRecord, ReviewRecord, ThreadRecord, UserRecord
from scylla_gha.model.github_fixture import (
    HeadFile,
    ReviewedPulls,
    ReviewTrigger,
    ScriptedReview,
    ScriptedReviewer,
    ScriptedThread,
)
from scylla_gha.path_patterns import PathPatterns
from scylla_gha.system.git import GitOutputError

_MOST_FILES: Final = 300
_LONGEST_FILE: Final = 100_000  # characters that expressions are tried on; a longer file does not match


@dataclass
class _Progress:
    """State of a reviewer's script on a pull request: the reviews done, and the heads that were seen."""

    done: int = 0
    reviewed: str | None = None
    reminded: str | None = None
    reminders: int = 0


@dataclass
class ReviewScript:
    """Scripts of a cell's reviewers; `names` are ids of records by the fixture's names."""

    reviewers: Sequence[ScriptedReviewer] = ()
    names: Mapping[str, int] = field(default_factory=dict)
    _progress: dict[tuple[int, int], _Progress] = field(default_factory=dict)
    _seen: int = 0

    def follow(self, hub: Hub) -> None:
        """Write the reviews that are due after the last writes of the journal, until no more follow from them.

        What GitHub refuses, such as a review in an archived repository, is tried again after the next write.
        """
        while self.reviewers and len(hub.state.journal) > self._seen:
            self._seen = len(hub.state.journal)
            for number, reviewer in enumerate(self.reviewers):
                user = hub.state.need(UserRecord, self.names[f"user.{reviewer.reviewer}"])
                session = HubSession(hub, user)
                for pull in hub.state.where(PullRequestRecord, state="open"):
                    if _concerns(reviewer.pulls, session, pull, self.names):
                        with contextlib.suppress(HubError, GitOutputError):
                            self._review(number, session, pull)

    def _review(self, number: int, session: HubSession, pull: PullRequestRecord) -> None:
        """Write a reviewer's next review of a pull request if it is due, else perhaps a reminder."""
        reviews = self.reviewers[number].reviews
        key = (number, pull.id)
        if key not in self._progress:
            self._progress[key] = _begun(session, pull)
        progress = self._progress[key]
        while progress.done < len(reviews) and _is_needless(reviews[progress.done], session, pull, progress.reviewed):
            progress.done += 1
        if progress.done == len(reviews):
            return
        following, head = reviews[progress.done], head_sha(session, pull)
        if _is_due(following.when, session, pull, progress.reviewed):
            _submit(session, pull, following.event, following.body, following.threads)
            self._progress[key] = _Progress(progress.done + 1, head, head)
            return
        reminder = following.reminder
        if reminder is None or progress.reminders == reminder.times or head == (progress.reminded or head):
            return
        _submit(session, pull, "COMMENT", reminder.body)
        progress.reminded, progress.reminders = head, progress.reminders + 1


def add_scripted_reviewer(world: FixtureWorld, reviewer: ScriptedReviewer) -> None:
    """Add a reviewer to a fixture's world, with the facts that its texts name.

    Raises:
        ConfigError: a user, issue or pull request is unknown, a text names what does not exist, or an expression is
            not one of RE2.
    """
    pulls = reviewer.pulls
    for review in reviewer.reviews:
        expressions = [file.matches for file in (*review.when.files, *review.unless)]
        expressions += [thread.line for thread in review.threads if thread.line]
        if fault := next(filter(None, map(pattern_fault, expressions)), None):
            raise ConfigError(fault)
    for name in (reviewer.reviewer, pulls.author):
        if name is not None and world.user(name).kind == "Organization":
            raise ConfigError(f"{name!r} is an organization, which neither opens nor reviews pull requests")
    if pulls.closes is not None:
        world.named(pulls.closes, "issue")
    if pulls.pull is not None:
        world.named(pulls.pull, "pr")
    reviews = tuple(_filled(world, review) for review in reviewer.reviews)
    world.scripted_reviewers.append(reviewer.model_copy(update={"reviews": reviews}))


def _filled(world: FixtureWorld, review: ScriptedReview) -> ScriptedReview:
    reminder = review.reminder
    threads = tuple(thread.model_copy(update={"body": world.text(thread.body)}) for thread in review.threads)
    changes = {
        "body": world.text(review.body),
        "threads": threads,
        "reminder": reminder.model_copy(update={"body": world.text(reminder.body)}) if reminder else None,
    }
    return review.model_copy(update=changes)


def _concerns(pulls: ReviewedPulls, session: HubSession, pull: PullRequestRecord, names: Mapping[str, int]) -> bool:
    if pull.draft or pull.author == session.user.id:
        return False
    if pulls.pull is not None and names[pulls.pull] != pull.id:
        return False
    if pulls.author is not None and names[f"user.{pulls.author}"] != pull.author:
        return False
    if pulls.base is not None and pulls.base != pull.base_ref:
        return False
    return pulls.closes is None or names[pulls.closes] in {issue.id for issue in closing_issues(session, pull)}


def _begun(session: HubSession, pull: PullRequestRecord) -> _Progress:
    """Return the state of a script that begins: a review that the fixture has counts as the last one."""
    own = [review for review in submitted_reviews(session, pull) if review.author == session.user.id]
    commit = own[-1].commit if own else None
    return _Progress(reviewed=commit, reminded=commit)


def _is_due(when: ReviewTrigger, session: HubSession, pull: PullRequestRecord, reviewed: str | None) -> bool:
    if when.requested and session.user.id not in pull.requested_reviewers:
        return False
    if when.pushed and head_sha(session, pull) == reviewed:
        return False
    if when.replied and not _is_answered(session, pull):
        return False
    return all(_has_file(session, pull, file) for file in when.files)


def _is_needless(review: ScriptedReview, session: HubSession, pull: PullRequestRecord, reviewed: str | None) -> bool:
    """Return whether what a review would ask for is there already."""
    is_due = bool(review.unless) and _is_due(review.when, session, pull, reviewed)
    return is_due and all(_has_file(session, pull, file) for file in review.unless)


def _is_answered(session: HubSession, pull: PullRequestRecord) -> bool:
    state, reviewer = session.state, session.user.id
    comments = [comment for comment in state.where(CommentRecord, subject=pull.id) if may_see_comment(session, comment)]
    begun = [comment for comment in comments
             if comment.author == reviewer and comment.thread is not None and comment.reply_to is None]  # fmt: skip
    if not begun:
        last = max((review.id for review in state.where(ReviewRecord, pull=pull.id, author=reviewer)), default=0)
        return any(comment.id > last for comment in comments if comment.author != reviewer)
    authors = {comment.thread: comment.author for comment in comments}  # of the last comment of each thread
    open_threads = [thread.id for thread in state.where(ThreadRecord, pull=pull.id) if thread.resolved_by is None]
    return all(authors[first.thread] != reviewer for first in begun if first.thread in open_threads)


def _has_file(session: HubSession, pull: PullRequestRecord, wanted: HeadFile) -> bool:
    texts = (_text(session, pull, file.path) for file in _files(session, pull, wanted.path))
    return any(is_match(wanted.matches, text) for text in texts)


def _files(session: HubSession, pull: PullRequestRecord, pattern: str) -> Iterator[ChangedFile]:
    """Yield the files that a pull request changes and whose path matches, as many as GitHub shows."""
    spec = PathPatterns([pattern])
    files = pull_files(session, pull)[:_MOST_FILES]
    yield from (file for file in files if file.status != "removed" and spec.match(file.path))


def _text(session: HubSession, pull: PullRequestRecord, path: str) -> str:
    """Return a file of the head; empty if it is longer than expressions are tried on."""
    content = session.git(pull.repository).content(f"{head_sha(session, pull)}:{path}") or b""
    return content.decode(errors="replace") if len(content) <= _LONGEST_FILE else ""


def _submit(
    session: HubSession,
    pull: PullRequestRecord,
    event: ReviewEvent,
    body: str,
    threads: Sequence[ScriptedThread] = (),
) -> None:
    """Submit a review, and mark its writes in the journal."""
    journal = session.state.journal
    before = len(journal)
    drafts = [(thread, _draft(session, pull, thread)) for thread in threads]
    texts = (body, *(thread.body for thread, draft in drafts if draft is None))
    add_review(session, pull, event=event, body="\n\n".join(text for text in texts if text),
               drafts=[draft for _, draft in drafts if draft is not None])  # fmt: skip
    session.state.mark_scripted(before)


def _draft(session: HubSession, pull: PullRequestRecord, thread: ScriptedThread) -> DraftThread | None:
    """Return where a thread is begun; None if the pull request changes no such file."""
    files = list(_files(session, pull, thread.path))
    for file in files if thread.line is not None else ():
        if (line := _line(session, pull, file, thread.line or "")) is not None:
            return DraftThread(path=file.path, body=thread.body, line=line)
    return DraftThread(path=files[0].path, body=thread.body) if files else None


def _line(session: HubSession, pull: PullRequestRecord, file: ChangedFile, expression: str) -> int | None:
    """Return the first line of a file's diff that matches; lines that were added come first."""
    texts = _text(session, pull, file.path).split("\n")
    lines = [line for line in diff_lines(file.patch or "") if line.new is not None]
    for line in sorted(lines, key=lambda line: line.old is not None):
        if line.new is not None and line.new <= len(texts) and is_match(expression, texts[line.new - 1]):
            return line.new
    return None
