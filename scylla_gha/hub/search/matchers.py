"""Qualifiers of a search for issues and pull requests, as conditions on one of them.

By https://docs.github.com/en/search-github/searching-on-github/searching-issues-and-pull-requests.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.check_facts import checks_of, rollup_state
from scylla_gha.hub.operations.closing_keywords import closing_issues, pulls_that_close
from scylla_gha.hub.operations.pull_facts import head_sha, opinions, pull_commits, review_decision, submitted_reviews
from scylla_gha.hub.operations.repository_facts import languages
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    RepositoryRecord,
    UserRecord,
)
from scylla_gha.hub.search.places import PLACES, is_in_place, is_login, searcher
from scylla_gha.hub.search.ranges import in_range, number_in_range


@dataclass
class SearchCandidate:
    """Issue or pull request that a query is asked about, with what it is asked for more than once."""

    session: HubSession
    subject: IssueRecord

    @cached_property
    def repository(self) -> RepositoryRecord:
        """Its repository."""
        return self.session.state.need(RepositoryRecord, self.subject.repository)

    @cached_property
    def pull(self) -> PullRequestRecord | None:
        """The pull request; None for an issue."""
        return self.subject if isinstance(self.subject, PullRequestRecord) else None

    @cached_property
    def comments(self) -> list[CommentRecord]:
        """Comments of its conversation."""
        comments = self.session.state.where(CommentRecord, subject=self.subject.id)
        return [comment for comment in comments if comment.thread is None and comment.review is None]

    @cached_property
    def labels(self) -> list[str]:
        """Names of its labels, without case."""
        records = (self.session.state.get(LabelRecord, id_) for id_ in self.subject.labels)
        return [record.name.casefold() for record in records if record]

    def text(self, fields: frozenset[str] | None) -> list[str]:
        """Return the texts in which words are looked for."""
        texts = {"title": [self.subject.title], "body": [self.subject.body or ""],
                 "comments": [comment.body for comment in self.comments]}  # fmt: skip
        return [text for field, values in texts.items() if not fields or field in fields for text in values]

    def is_user(self, id_: int | None, login: str) -> bool:
        """Return whether an id is that of a login, which may be @me or app/<name>."""
        user = self.session.state.get(UserRecord, id_)
        return user is not None and is_login(self.session, user, login)

    def is_one_of(self, ids: tuple[int, ...], login: str) -> bool:
        """Return whether one of several ids is that of a login."""
        return any(self.is_user(id_, login) for id_ in ids)


def _is(candidate: SearchCandidate, value: str) -> bool:
    subject, pull, repository = candidate.subject, candidate.pull, candidate.repository
    answers: dict[str, Callable[[], bool]] = {
        "issue": lambda: pull is None,
        "pr": lambda: pull is not None,
        "pull-request": lambda: pull is not None,
        "open": lambda: subject.state == "open",
        "closed": lambda: subject.state == "closed",
        "merged": lambda: pull is not None and pull.merged_at is not None,
        "unmerged": lambda: pull is not None and pull.merged_at is None,
        "draft": lambda: pull is not None and pull.draft,
        "locked": lambda: subject.locked,
        "unlocked": lambda: not subject.locked,
        "public": lambda: not repository.private,
        "private": lambda: repository.private,
        "archived": lambda: repository.archived,
    }
    return value.lower() in answers and answers[value.lower()]()


def _no(candidate: SearchCandidate, value: str) -> bool:
    subject = candidate.subject
    return {
        "label": not subject.labels,
        "assignee": not subject.assignees,
        "milestone": subject.milestone is None,
        "project": True,
        "type": True,
    }.get(value.lower(), False)


def _milestone(candidate: SearchCandidate, value: str) -> bool:
    milestone = candidate.session.state.get(MilestoneRecord, candidate.subject.milestone)
    return milestone is not None and (value == "*" or milestone.title.casefold() == value.casefold())


def _assignee(candidate: SearchCandidate, value: str) -> bool:
    assignees = candidate.subject.assignees
    return bool(assignees) if value == "*" else candidate.is_one_of(assignees, value)


def _author(candidate: SearchCandidate, value: str) -> bool:
    return candidate.is_user(candidate.subject.author, value)


def _commenter(candidate: SearchCandidate, value: str) -> bool:
    comments = candidate.session.state.where(CommentRecord, subject=candidate.subject.id)
    return any(candidate.is_user(comment.author, value) for comment in comments)


def _mentions(candidate: SearchCandidate, value: str) -> bool:
    login = searcher(candidate.session).login if value == "@me" else value.removeprefix("@")
    pattern = re.compile(rf"(?<![\w/@.-])@{re.escape(login)}(?![\w-])", re.IGNORECASE)
    return any(pattern.search(text) for text in candidate.text(None))


def _involves(candidate: SearchCandidate, value: str) -> bool:
    return any(check(candidate, value) for check in (_author, _assignee, _commenter, _mentions))


def _review(candidate: SearchCandidate, value: str) -> bool:
    """Return whether reviews amount to a value; an approval counts even if none is required."""
    session, pull = candidate.session, candidate.pull
    if pull is None:
        return False
    states = {review.state for review in opinions(session, pull)}
    answers: dict[str, Callable[[], bool]] = {
        "none": lambda: not submitted_reviews(session, pull),
        "required": lambda: review_decision(session, pull) == "REVIEW_REQUIRED",
        "approved": lambda: "APPROVED" in states and "CHANGES_REQUESTED" not in states,
        "changes_requested": lambda: "CHANGES_REQUESTED" in states,
    }
    wanted = value.lower().replace("-", "_")
    return wanted in answers and answers[wanted]()


def _review_requested(candidate: SearchCandidate, value: str) -> bool:
    return candidate.pull is not None and candidate.is_one_of(candidate.pull.requested_reviewers, value)


def _reviewed_by(candidate: SearchCandidate, value: str) -> bool:
    reviews = submitted_reviews(candidate.session, candidate.pull) if candidate.pull else []
    return any(candidate.is_user(review.author, value) for review in reviews)


def _linked(candidate: SearchCandidate, value: str) -> bool:
    if value.lower() == "issue":
        return candidate.pull is not None and bool(closing_issues(candidate.session, candidate.pull))
    return value.lower() == "pr" and candidate.pull is None and bool(
        pulls_that_close(candidate.session, candidate.subject)
    )  # fmt: skip


def _status(candidate: SearchCandidate, value: str) -> bool:
    pull = candidate.pull
    if pull is None:
        return False
    state = rollup_state(checks_of(candidate.session, pull.repository, head_sha(candidate.session, pull)))
    states = {"success": ("SUCCESS",), "failure": ("FAILURE", "ERROR"), "pending": ("PENDING", "EXPECTED")}
    return state in states.get(value.lower(), ())


def _sha(candidate: SearchCandidate, value: str) -> bool:
    pull = candidate.pull
    if pull is None or not re.fullmatch(r"[0-9a-f]{7,40}", value.lower()):
        return False
    shas = [commit.sha for commit in pull_commits(candidate.session, pull)]
    return any(sha.startswith(value.lower()) for sha in [*shas, pull.merge_commit or ""])


def _reason(candidate: SearchCandidate, value: str) -> bool:
    return candidate.subject.state_reason == value.lower().replace(" ", "_")


def _language(candidate: SearchCandidate, value: str) -> bool:
    language = next(iter(languages(candidate.session, candidate.repository)), "")
    return language.casefold() == value.casefold()


def _place(name: str) -> Callable[[SearchCandidate, str], bool]:
    return lambda candidate, value: is_in_place(candidate.session, candidate.repository, name, value)


MATCHERS: Final[Mapping[str, Callable[[SearchCandidate, str], bool]]] = {
    **{name: _place(name) for name in PLACES},
    "is": _is,
    "type": _is,
    "state": _is,
    "author": _author,
    "assignee": _assignee,
    "mentions": _mentions,
    "commenter": _commenter,
    "involves": _involves,
    "label": lambda candidate, value: value.casefold() in candidate.labels,
    "no": _no,
    "milestone": _milestone,
    "head": lambda candidate, value: candidate.pull is not None and candidate.pull.head_ref.startswith(value),
    "base": lambda candidate, value: candidate.pull is not None and candidate.pull.base_ref.startswith(value),
    "review": _review,
    "review-requested": _review_requested,
    "user-review-requested": _review_requested,
    "reviewed-by": _reviewed_by,
    "linked": _linked,
    "reason": _reason,
    "status": _status,
    "sha": _sha,
    "language": _language,
    "draft": lambda candidate, value: candidate.pull is not None and candidate.pull.draft == (value == "true"),
    "archived": lambda candidate, value: candidate.repository.archived == (value == "true"),
    "comments": lambda candidate, value: number_in_range(value, len(candidate.comments)),
    "interactions": lambda candidate, value: number_in_range(value, len(candidate.comments)),
    "reactions": lambda candidate, value: number_in_range(value, 0),  # noqa: ARG005 the signature of matchers
    "created": lambda candidate, value: in_range(value, candidate.subject.created_at),
    "updated": lambda candidate, value: in_range(value, candidate.subject.updated_at),
    "closed": lambda candidate, value: in_range(value, candidate.subject.closed_at),
    "merged": lambda candidate, value: candidate.pull is not None and in_range(value, candidate.pull.merged_at),
}
