"""Records of what is published: comments on pull requests, regression issues, and runs of the results branch."""

import datetime
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from scylla_gha.model import Record, Sha, Sha256, Slug
from scylla_gha.model.analysis import OVERALL, Verdict
from scylla_gha.model.report import Counts, Report

MOST_PAST: Final = 5
RepositoryName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9_.-]+$", max_length=140)
]
Server = Annotated[str, StringConstraints(pattern=r"^https?://[A-Za-z0-9.-]+(:[0-9]+)?$", max_length=200)]
FolderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$", max_length=120)]
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

    def artifact(self, number: int) -> str:
        """Return the URL of one of the run's artifacts."""
        return f"{self.url}/artifacts/{number}"

    def results(self, branch: str, folder: str = "") -> str:
        """Return the URL of a results branch, or of a folder on it."""
        return f"{self.server}/{self.repository}/tree/{branch}{'/' if folder else ''}{folder}"

    def picture(self, branch: str, path: str) -> str:
        """Return the URL of a picture on a branch; readers of a private repository see it too."""
        return f"{self.server}/{self.repository}/raw/{branch}/{path}"


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
    folder: Annotated[
        str,
        Field(pattern=r"^(v1/runs/[A-Za-z0-9._/-]+)?$", max_length=400, description="of the run on that branch"),
    ] = ""
    evidence: Annotated[
        dict[Short, Annotated[int, Field(ge=1)]], Field(max_length=500, description="ids of artifacts, by trial")
    ] = {}
    has_chart: Annotated[bool, Field(description="the folder on that branch has the chart `forest.svg`")] = False
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


class Origin(Record):
    """Origin of a run; null is unknown, or does not apply."""

    repository: str | None = None
    head: Annotated[str | None, Field(description="the commit that was evaluated")] = None
    base: Annotated[str | None, Field(description="the commit that it is held against")] = None
    branch: Annotated[str | None, Field(description="that was evaluated")] = None
    pull: Annotated[int | None, Field(ge=1, description="number of the pull request")] = None
    campaign: str | None = None
    wave: Annotated[int | None, Field(ge=1)] = None


class RunName(Record):
    """One attempt of a workflow run for one experiment, which is published once."""

    experiment: FolderName
    run: FolderName
    attempt: Annotated[int, Field(ge=1)] = 1

    def __str__(self) -> str:
        """Return the name for the index and the command line."""
        return f"{self.experiment}/{self.run}-{self.attempt}"

    @property
    def file(self) -> str:
        """The name as a part of a file name."""
        return f"{self.experiment}--{self.run}-{self.attempt}"


class RunFile(Record):
    """A file of a run, with its digest."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z]+)+$")]
    bytes: Annotated[int, Field(ge=0)]
    sha256: Sha256
    rows: Annotated[int | None, Field(ge=0, description="in it; null: it holds none")] = None


class RunManifest(Record):
    """All files of a run, and the versions that made them (`manifest.json`)."""

    schema_version: Literal[1] = 1
    name: RunName
    origin: Origin
    published_at: datetime.datetime
    epoch: str
    toolkit_version: str
    rows_version: Annotated[int, Field(description="schema version of the rows")]
    content: Annotated[Sha256, Field(description="of rows and report, however they are packed")]
    files: tuple[RunFile, ...]


class RunIndexEntry(Record):
    """Entry of a run in the index, sufficient to select it without its rows."""

    schema_version: Literal[1] = 1
    name: RunName
    origin: Origin
    published_at: datetime.datetime
    epoch: str
    toolkit_version: str
    folder: Annotated[str, Field(pattern=r"^v1/runs/[A-Za-z0-9._/-]+$", description="of its files, in the branch")]
    manifest: Annotated[Sha256, Field(description="SHA-256 of its manifest.json")]
    content: Sha256
    only: Annotated[tuple[str, ...], Field(description="globs that chose a part of the cells; empty: it was all")] = ()
    counts: Counts
    passed: Annotated[int, Field(ge=0, description="judged trials of all arms")]
    verdicts: Annotated[dict[Verdict, int], Field(description="of arms against the baseline, by how many")] = {}
    usd: Annotated[float | None, Field(description="of all agents; null when one is unknown")]
    judge_usd: float | None

    @property
    def complete(self) -> bool:
        """True if every cell of the experiment was planned and left a trial."""
        return not self.only and self.counts.ran == self.counts.planned > 0

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on all arms together; None: nothing was compared."""
        return next((verdict for verdict in OVERALL if self.verdicts.get(verdict)), None)
