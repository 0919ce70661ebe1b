"""Revert rate: the share of a period's merged pull requests that were reverted within a number of days (the window).

A pull request counts as reverted if, at the end of its window, it is reverted and the revert is not itself reverted.
So the rate does not depend on the day of its computation. Pull requests whose window is not over (censored) are
counted separately. Reverting one commit of a pull request counts as reverting the pull request.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Final

from pydantic import AliasPath, Field

from scylla_gha.github_api.access import ApiRequestError
from scylla_gha.github_api.client import ApiRequest, GitHubRepository
from scylla_gha.github_api.responses import GHOST, GitHubResponse, User
from scylla_gha.model import Record
from scylla_gha.stats import wilson

_TITLE: Final = re.compile(r'(Revert|Reapply) "')
_NUMBER: Final = re.compile(r"^[^\S\n]*Reverts\s+(?:([\w.-]+/[\w.-]+))?#([0-9]{1,18})\b", re.MULTILINE | re.ASCII)
_SHA: Final = re.compile(r"\bThis reverts commit ([0-9a-f]{7,40})\b", re.ASCII)
_SHA_LENGTH: Final = 40
_NO_SUCH_COMMIT: Final = (404, 422)
_PROGRESS_INTERVAL: Final = 500  # items between two progress messages
_DAY: Final = timedelta(days=1)
_READ_PULLS: Final = ("read pull requests", "pull-requests: read")
_READ_COMMITS: Final = ("read commits", "contents: read")


class _Label(GitHubResponse):
    name: str = ""


class ClosedPull(GitHubResponse):
    """A closed pull request; `merge_commit_sha` is the commit that its merge created on the branch."""

    number: int
    title: str
    body: str | None
    base: Annotated[str, Field(validation_alias=AliasPath("base", "ref"))]
    user: User | None
    labels: tuple[_Label, ...]
    merged_at: datetime | None
    updated_at: datetime
    merge_commit_sha: str | None


class _Commit(GitHubResponse):
    sha: str
    message: Annotated[str, Field(validation_alias=AliasPath("commit", "message"))]
    date: Annotated[datetime, Field(validation_alias=AliasPath("commit", "committer", "date"))]


@dataclass(frozen=True, slots=True)
class RevertReference:
    """A revert: `by` reverts `of`. Both are `#12`, or the SHA of a commit that belongs to no pull request."""

    of: str
    by: str
    at: datetime


class Period(Record):
    """Days in UTC, including the first and the last."""

    since: date
    until: date


class Revert(Record):
    """A pull request that was reverted; `reverted_by` is `#12` or a commit's SHA."""

    pr: int
    reverted_by: str
    days: float


class RevertQuery(Record):
    """Selection of the pull requests to count: each has all of `labels`. `author` None: any author."""

    repository: str
    base: str
    period: Period
    as_of: datetime
    window_days: int
    labels: tuple[str, ...] = ()
    author: str | None = None

    def counts(self, pull: ClosedPull) -> bool:
        """Return whether to count a pull request. Names are not case-sensitive, as on GitHub."""
        author = pull.user.login if pull.user else GHOST
        return (
            pull.merged_at is not None
            and self.period.since <= pull.merged_at.astimezone(UTC).date() <= self.period.until
            and {label.lower() for label in self.labels} <= {label.name.lower() for label in pull.labels}
            and (self.author is None or self.author.lower() == author.lower())
        )


class RevertRate(RevertQuery):
    """Revert rate with Wilson's 95 % limits. `merged` is the denominator; if it is 0, the rate is None."""

    merged: int
    reverted: int
    censored: int
    rate: float | None
    low: float | None
    high: float | None
    reverts: tuple[Revert, ...]


def reverted_numbers(title: str, body: str, repository: str) -> tuple[int, ...]:
    """Return the pull requests that a pull request from GitHub's Revert button reverts."""
    references = _NUMBER.findall(body) if _TITLE.match(title) else []
    return tuple(int(number) for name, number in references if name.lower() in {"", repository.lower()})


def reverted_shas(message: str) -> tuple[str, ...]:
    """Return the SHAs that a commit of `git revert` names; they may be abbreviated."""
    return tuple(_SHA.findall(message))


def revert_rate(query: RevertQuery, pulls: Iterable[ClosedPull], references: Iterable[RevertReference]) -> RevertRate:
    """Compute the rate from all merged pull requests and all reverts of the branch."""
    window = query.window_days * _DAY
    merged = sorted((pull.number, pull.merged_at) for pull in pulls if pull.merged_at and query.counts(pull))
    due = [(number, at) for number, at in merged if at + window <= query.as_of]
    latest_first = sorted((ref for ref in references if ref.of != ref.by), key=lambda ref: ref.at, reverse=True)
    reverts = []
    for number, at in due:
        undone: dict[str, RevertReference] = {}  # latest first: a later revert can revert an earlier one
        for ref in latest_first:
            if at < ref.at <= at + window and ref.by not in undone:
                undone[ref.of] = ref
        if (standing := undone.get(f"#{number}")) is not None:
            reverts.append(Revert(pr=number, reverted_by=standing.by, days=round((standing.at - at) / _DAY, 2)))
    low, high = wilson(len(reverts), len(due)) or (None, None)
    return RevertRate(
        **dict(query),
        merged=len(due),
        reverted=len(reverts),
        censored=len(merged) - len(due),
        rate=len(reverts) / len(due) if due else None,
        low=low,
        high=high,
        reverts=tuple(reverts),
    )


def read_revert_rate(repository: GitHubRepository, query: RevertQuery, report: Callable[[str], None]) -> RevertRate:
    """Read pull requests and commits, and compute the rate; `report` gets progress messages.

    Raises:
        GitHubError: a request to GitHub failed.
    """
    pulls: dict[int, ClosedPull] = {}
    references = []
    for pull in _merged_pulls(repository, query):
        pulls[pull.number] = pull
        references += [
            RevertReference(f"#{number}", f"#{pull.number}", pull.merged_at or pull.updated_at)
            for number in reverted_numbers(pull.title, pull.body or "", query.repository)
        ]
        if len(pulls) % _PROGRESS_INTERVAL == 0:
            report(f"{len(pulls)} merged pull requests read")
    window = query.window_days * _DAY
    due = [
        pull.merged_at
        for pull in pulls.values()
        if pull.merged_at and query.counts(pull) and pull.merged_at + window <= query.as_of
    ]
    if due:
        origins = _CommitOrigins(repository, query.base, {pull.merge_commit_sha or "": pull for pull in pulls.values()})
        dates = {
            "sha": query.base,
            "since": f"{min(due):%Y-%m-%dT%H:%M:%SZ}",
            "until": f"{max(due) + window:%Y-%m-%dT%H:%M:%SZ}",
        }
        commits = repository.pages(ApiRequest("GET", "/commits", *_READ_COMMITS, query=dates), _Commit)
        for count, commit in enumerate(commits, 1):
            references += origins.references(commit)
            if count % _PROGRESS_INTERVAL == 0:
                report(f"{len(pulls)} merged pull requests and {count} commits read")
    return revert_rate(query, pulls.values(), references)


def _merged_pulls(repository: GitHubRepository, query: RevertQuery) -> Iterator[ClosedPull]:
    """Yield the pull requests merged since the period began. A change between two page requests may hide one.

    GitHub lists the latest change first, and a merge is a change, so the first older pull request ends the search.
    """
    since = datetime.combine(query.period.since, time(), UTC)
    order = {"state": "closed", "sort": "updated", "direction": "desc", "base": query.base}
    for pull in repository.pages(ApiRequest("GET", "/pulls", *_READ_PULLS, query=order), ClosedPull):
        if pull.updated_at < since:
            return
        if pull.merged_at and pull.merged_at >= since:
            yield pull


@dataclass(slots=True)
class _CommitOrigins:
    """Finds the pull requests of commits; asks GitHub only about commits that revert or are reverted."""

    repository: GitHubRepository
    base: str
    pulls: dict[str, ClosedPull | None]

    def references(self, commit: _Commit) -> list[RevertReference]:
        """Return the reverts that a commit makes; a pull request's commit has the time of the merge."""
        shas = reverted_shas(commit.message)
        if not shas:
            return []
        pull = self._pull(commit.sha)
        at = pull.merged_at if pull and pull.merged_at else commit.date
        return [RevertReference(self._name(sha), self._name(commit.sha), at) for sha in shas]

    def _name(self, sha: str) -> str:
        pull = self._pull(sha)
        return f"#{pull.number}" if pull else sha

    def _pull(self, sha: str) -> ClosedPull | None:
        """Return the first merged pull request with the commit, or None."""
        if len(sha) < _SHA_LENGTH:  # GitHub accepts only full SHAs
            matches = [name for name in self.pulls if name.startswith(sha)]
            return self.pulls[matches[0]] if len(matches) == 1 else None
        if sha not in self.pulls:
            request = ApiRequest("GET", f"/commits/{sha}/pulls", *_READ_PULLS)
            try:
                pulls = [
                    pull
                    for pull in self.repository.pages(request, ClosedPull)
                    if pull.base == self.base and pull.merged_at
                ]
            except ApiRequestError as error:
                if error.status not in _NO_SUCH_COMMIT:
                    raise
                pulls = []
            self.pulls[sha] = min(pulls, key=lambda pull: pull.merged_at or pull.updated_at, default=None)
        return self.pulls[sha]
