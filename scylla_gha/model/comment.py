"""Records of comments on pull requests and regression issues: their facts, their state, and pending posts."""

import datetime
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from scylla_gha.model.record import Record, Sha, Slug
from scylla_gha.model.report import Report

MOST_PAST: Final = 5
RepositoryName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9_.-]+$", max_length=140)
]
Server = Annotated[str, StringConstraints(pattern=r"^https?://[A-Za-z0-9.-]+(:[0-9]+)?$", max_length=200)]
Short = Annotated[str, StringConstraints(max_length=300)]


class RunPage(Record):
    """The workflow run of a report. Its URL is built from these parts, never read from a file."""

    server: Server = "https://github.com"
    repository: RepositoryName
    run: Annotated[int, Field(ge=1)]
    attempt: Annotated[int, Field(ge=1)] = 1

    @property
    def url(self) -> str:
        """URL of the run."""
        return f"{self.server}/{self.repository}/actions/runs/{self.run}"

    @property
    def artifacts(self) -> str:
        """URL of the run's artifacts."""
        return f"{self.url}#artifacts"

    def results(self, branch: str) -> str:
        """Return the URL of a results branch."""
        return f"{self.server}/{self.repository}/tree/{branch}"


class ArmEntry(Record):
    """An arm with its agent, version and model."""

    arm: Short
    agent: Short
    version: Short | None
    model: Short | None


class CommentFacts(Record):
    """Facts that a comment shows beside the report. A `suite` has one comment on a pull request."""

    suite: Slug
    experiment: Slug
    origin: RunPage
    head: Annotated[Sha | None, Field(description="the commit that was evaluated")] = None
    base: Annotated[Sha | None, Field(description="the commit that it is held against")] = None
    base_name: Short = ""
    pull: Annotated[int | None, Field(ge=1)] = None
    at: datetime.datetime
    minutes: Annotated[float | None, Field(ge=0)] = None
    branch: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9._/-]*$", max_length=200, description="of results; empty: none was written")
    ] = ""
    entrants: Annotated[tuple[ArmEntry, ...], Field(max_length=2000)] = ()
    digest: Annotated[Short, Field(description="of the plan")] = ""
    margin: float | None = None
    has_gate: bool = False
    gate_fault: Annotated[Short, Field(description="why the experiment's gate does not hold; empty: it does")] = ""
    from_fork: Annotated[bool, Field(description="computed by a job of a fork, without this repository's rights")] = (
        False
    )


class PastVerdict(Record):
    """An earlier verdict on the same pull request."""

    verdict: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,20}$")]
    said: Short
    head: Sha | None
    run: int
    at: datetime.datetime


class CommentState(Record):
    """State stored in a comment's second line, the current verdict first."""

    version: int = 1
    suite: Slug
    attempt: int
    verdicts: Annotated[tuple[PastVerdict, ...], Field(min_length=1, max_length=MOST_PAST)]

    @property
    def shown(self) -> PastVerdict:
        """The verdict that the comment shows."""
        return self.verdicts[0]


class PendingPost(Record):
    """Report and facts, left by a job without write access for one that has it."""

    schema_version: int = 1
    facts: CommentFacts
    report: Report


class ArmVerdict(Record):
    """Verdict on an arm against its baseline in one measurement."""

    arm: str
    against: str
    verdict: Annotated[str | None, Field(description="null: there is nothing to compare")]
    why: str
    not_worse: Annotated[bool, Field(description="shown: the one-sided 95 % limit lies above -margin, or better")]


class RegressionState(Record):
    """State stored in the second line of a regression issue."""

    version: int = 1
    suite: Slug
    arms: Annotated[tuple[Short, ...], Field(min_length=1, max_length=500)]
    run: int
