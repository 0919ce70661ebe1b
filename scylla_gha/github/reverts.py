"""The PR revert rate: of the pull requests merged in a period, the share that was reverted within a window of days.

- The state at the end of a pull request's own window counts: reverted, and that revert not itself reverted by then. So
  a rate does not change with the day on which it is computed.
- One whose window is not over yet (right-censored) is in neither number: it is counted apart.
- A revert of one of several commits of a pull request counts as a revert of it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from scylla_gha.model.record import Record
from scylla_gha.stats.proportion import wilson

_TITLE: Final = re.compile(r'(Revert|Reapply) "')
_NUMBER: Final = re.compile(r"^\s*Reverts\s+(?:([\w.-]+/[\w.-]+))?#([0-9]{1,18})\b", re.MULTILINE | re.ASCII)
_SHA: Final = re.compile(r"\bThis reverts commit ([0-9a-f]{7,40})\b", re.ASCII)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pull:
    """A merged pull request; `sha` is the commit that its merge made on the branch."""

    number: int
    merged_at: datetime
    sha: str | None
    title: str = ""
    body: str = ""
    author: str = ""
    labels: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """As people write it."""
        return f"#{self.number}"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the branch, by when it was committed."""

    sha: str
    at: datetime
    message: str


@dataclass(frozen=True, slots=True)
class Undo:
    """A change (`#12`, or the SHA of a commit that no pull request brought) reverted another one."""

    of: str
    by: str
    at: datetime


class Period(Record):
    """Days in UTC, both included."""

    since: date
    until: date


class Revert(Record):
    """A pull request that was reverted; `reverted_by` is `#12` or a commit's SHA."""

    pr: int
    reverted_by: str
    days: float


class Asked(Record):
    """What is counted; where there are several labels, a pull request has all of them."""

    repository: str
    base: str
    period: Period
    as_of: datetime
    window_days: int
    labels: tuple[str, ...] = ()
    author: str | None = None

    def counts(self, pull: Pull) -> bool:
        """Whether a pull request is asked about; names are not case-sensitive, as on GitHub."""
        return (
            self.period.since <= pull.merged_at.astimezone(UTC).date() <= self.period.until
            and {label.lower() for label in self.labels} <= {label.lower() for label in pull.labels}
            and (self.author is None or self.author.lower() == pull.author.lower())
        )

    def end(self, pull: Pull) -> datetime:
        """The end of a pull request's window."""
        return pull.merged_at + self.window_days * _DAY

    def is_over(self, pull: Pull) -> bool:
        """Whether it is decided if a pull request was reverted."""
        return self.end(pull) <= self.as_of


class RevertRate(Asked):
    """The answer. `merged` is the denominator; the limits are Wilson's of 95 %; None where nothing was merged."""

    merged: int
    reverted: int
    censored: int
    rate: float | None
    low: float | None
    high: float | None
    reverts: tuple[Revert, ...]


def start_of(day: date) -> datetime:
    """Midnight in UTC."""
    return datetime.combine(day, time(), UTC)


def reverted_numbers(pull: Pull, repository: str) -> tuple[int, ...]:
    """The pull requests that one made by GitHub's Revert button reverts, by its title and body."""
    if not _TITLE.match(pull.title):
        return ()
    named = _NUMBER.findall(pull.body)
    return tuple(int(number) for where, number in named if where.lower() in {"", repository.lower()})


def reverted_shas(message: str) -> tuple[str, ...]:
    """The commits that a commit reverts, by what `git revert` writes; people may have shortened them."""
    return tuple(_SHA.findall(message))


def revert_rate(asked: Asked, pulls: Iterable[Pull], undos: Iterable[Undo]) -> RevertRate:
    """The rate, of all merged pull requests and of all reverts known in the branch."""
    counted = [pull for pull in pulls if asked.counts(pull)]
    due = sorted((pull for pull in counted if asked.is_over(pull)), key=lambda pull: pull.number)
    backwards = sorted((undo for undo in undos if undo.of != undo.by), key=lambda undo: undo.at, reverse=True)
    reverts = tuple(found for pull in due if (found := _revert_of(pull, backwards, asked.end(pull))))
    low, high = wilson(len(reverts), len(due)) or (None, None)
    return RevertRate(
        **dict(asked),
        merged=len(due),
        reverted=len(reverts),
        censored=len(counted) - len(due),
        rate=len(reverts) / len(due) if due else None,
        low=low,
        high=high,
        reverts=reverts,
    )


def _revert_of(pull: Pull, backwards: Iterable[Undo], end: datetime) -> Revert | None:
    """The first revert that stood at the end; looked for from the last one back, as later ones undo earlier ones."""
    undone: dict[str, Undo] = {}
    for undo in backwards:
        if pull.merged_at < undo.at <= end and undo.by not in undone:
            undone[undo.of] = undo
    found = undone.get(pull.name)
    if found is None:
        return None
    return Revert(pr=pull.number, reverted_by=found.by, days=round((found.at - pull.merged_at) / _DAY, 2))
