"""Records of the results branch: origin, files and index entry of each published run."""

import datetime
from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.analysis import OVERALL, Verdict
from scylla_gha.model.record import Record
from scylla_gha.model.report import Counts

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$", max_length=120)]  # of a folder
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


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

    experiment: Name
    run: Name
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
    sha256: Digest
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
    content: Annotated[Digest, Field(description="of rows and report, however they are packed")]
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
    manifest: Annotated[Digest, Field(description="SHA-256 of its manifest.json")]
    content: Digest
    only: Annotated[tuple[str, ...], Field(description="globs that chose a part of the cells; empty: it was all")] = ()
    counts: Counts
    passed: Annotated[int, Field(ge=0, description="judged trials of all arms")]
    verdicts: Annotated[dict[Verdict, int], Field(description="of arms against the baseline, by how many")] = {}
    usd: Annotated[float | None, Field(description="of all agents; null when one is unknown")]
    judge_usd: float | None

    @property
    def complete(self) -> bool:
        """Whether every cell of the experiment was planned and left a trial."""
        return not self.only and self.counts.ran == self.counts.planned > 0

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on all arms together; None: nothing was compared."""
        return next((verdict for verdict in OVERALL if self.verdicts.get(verdict)), None)
