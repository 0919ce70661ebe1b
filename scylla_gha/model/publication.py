"""Records of publications: comments on pull requests, regression issues, and runs of the results branch."""

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
    head: Sha | None = Field(default=None, description="Commit that was evaluated; null: none")
    base: Sha | None = Field(default=None, description="Commit with which the evaluated one is compared; null: none")
    base_name: Short = ""
    pull: Annotated[int | None, Field(ge=1)] = None
    at: datetime.datetime
    minutes: Annotated[float | None, Field(ge=0)] = None
    branch: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9._/-]*$",
        max_length=200,
        description="Name of the results branch; empty: no results were written",
    )
    folder: str = Field(
        default="",
        pattern=r"^(v1/runs/[A-Za-z0-9._/-]+)?$",
        max_length=400,
        description="Folder of the run on the results branch",
    )
    site: str = Field(
        default="",
        pattern=r"^(https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~-]+)*/?)?$",
        max_length=300,
        description="Address of the deployed site; empty: there is none",
    )
    evidence: dict[Short, Annotated[int, Field(ge=1)]] = Field(
        default={}, max_length=500, description="Ids of artifacts, by trial"
    )
    has_chart: bool = Field(
        default=False, description="True if the folder on the results branch has the chart `forest.svg`"
    )
    entrants: Annotated[tuple[ArmEntry, ...], Field(max_length=2000)] = ()
    digest: Short = Field(default="", description="Digest of the plan")
    margin: float | None = None
    has_gate: bool = False
    gate_fault: Short = Field(default="", description="Reason why the experiment's gate does not hold; empty: it holds")
    from_fork: bool = Field(
        default=False, description="True if a job of a fork computed the report, without rights in this repository"
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
    """Report and facts from a job without write access, for a job that has it."""

    schema_version: int = 1
    facts: CommentFacts
    report: Report


class ArmVerdict(Record):
    """Verdict on an arm against its baseline in one measurement."""

    arm: str
    against: str
    verdict: str | None = Field(description="Verdict on the arm; null: there is no comparison")
    why: str
    not_worse: bool = Field(description="True if the one-sided 95 % limit is above -margin, or the verdict is better")


class RegressionState(Record):
    """State stored in the second line of a regression issue."""

    version: int = 1
    suite: Slug
    arms: Annotated[tuple[Short, ...], Field(min_length=1, max_length=500)]
    run: int


class Origin(Record):
    """Origin of a run. A null field is unknown or does not apply."""

    repository: str | None = None
    head: str | None = Field(default=None, description="Commit that was evaluated")
    base: str | None = Field(default=None, description="Commit with which the evaluated one is compared")
    branch: str | None = Field(default=None, description="Branch that was evaluated")
    pull: int | None = Field(default=None, ge=1, description="Number of the pull request")
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
    rows: int | None = Field(default=None, ge=0, description="Number of rows in the file; null: it contains no rows")


class RunManifest(Record):
    """All files of a run, and the versions that made them (`manifest.json`)."""

    schema_version: Literal[1] = 1
    name: RunName
    origin: Origin
    published_at: datetime.datetime
    epoch: str
    toolkit_version: str
    rows_version: int = Field(description="Schema version of the rows")
    content: Sha256 = Field(description="SHA-256 of rows and report, independent of their compression")
    files: tuple[RunFile, ...]


class RunIndexEntry(Record):
    """Entry of a run in the index, sufficient to select it without its rows."""

    schema_version: Literal[1] = 1
    name: RunName
    origin: Origin
    published_at: datetime.datetime
    epoch: str
    toolkit_version: str
    folder: str = Field(pattern=r"^v1/runs/[A-Za-z0-9._/-]+$", description="Folder of the run's files on the branch")
    manifest: Sha256 = Field(description="SHA-256 of the run's manifest.json")
    content: Sha256
    only: tuple[str, ...] = Field(default=(), description="Globs that selected a part of the cells; empty: all cells")
    counts: Counts
    passed: int = Field(ge=0, description="Number of judged trials that passed, over all arms")
    verdicts: dict[Verdict, int] = Field(default={}, description="Number of arms by their verdict against the baseline")
    usd: float | None = Field(description="Cost in USD of all agents; null: the cost of a trial is unknown")
    judge_usd: float | None

    @property
    def complete(self) -> bool:
        """True if every cell of the experiment was planned and has a trial."""
        return not self.only and self.counts.ran == self.counts.planned > 0

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on all arms together; None: nothing was compared."""
        return next((verdict for verdict in OVERALL if self.verdicts.get(verdict)), None)


class AgentDifference(Record):
    """A difference between a measured version and the stored one; `part` is its topic."""

    part: Short
    text: Annotated[str, Field(max_length=2_000)]


class AgentUpdate(Record):
    """Newest version of an agent CLI, and its differences from the stored version."""

    agent: Short
    version: Short
    stored: Short | None = Field(description="Version of the stored inventory; None: there is none")
    sub_tests: int = Field(default=0, ge=0, description="Number of sub-tests whose delivery was tested")
    differences: Annotated[tuple[AgentDifference, ...], Field(max_length=500)] = ()


class AgentUpdates(Record):
    """All measured agent CLIs, for the job that updates the issue."""

    agents: Annotated[tuple[AgentUpdate, ...], Field(max_length=100)]
