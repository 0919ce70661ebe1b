"""Shards of a wave: the cells of each job, what a job hands back, and the result of collecting it."""

import datetime
from typing import Annotated, Final

from pydantic import Field

from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.model.record import Record

MOST_SHARDS: Final = 250  # GitHub runs no job at all of a matrix with more than 256
TIME_OVER: Final = "the time in which its job starts cells was over"  # a next wave is for such a cell
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Shard(Record):
    """Cells of one job, in the order in which they are started."""

    number: Annotated[int, Field(ge=0, lt=MOST_SHARDS)]
    cells: Annotated[tuple[str, ...], Field(min_length=1)]
    minutes: Annotated[float, Field(ge=0, description="expected, with all lanes at work")]
    usd: Annotated[float | None, Field(description="likely cost; null: a price is unknown")] = None
    budget_usd: Annotated[float | None, Field(gt=0, description="its part of the budget; null: there is none")] = None
    role_budget_usd: RoleBudgets = RoleBudgets()

    @property
    def name(self) -> str:
        """The number in folder and artifact names."""
        return shard_name(self.number)


class WavePacking(Record):
    """Shards of one wave (`shards.json`). Every planned cell is in one shard, left, or reused, exactly once."""

    schema_version: int = 1
    experiment: Annotated[str, Field(description="the run's folder")]
    plan: Annotated[Digest, Field(description="SHA-256 of plan.json")]
    campaign: str
    wave: Annotated[int, Field(ge=1)] = 1
    lanes: Annotated[int, Field(ge=1, description="cells at once in a job")]
    minutes: Annotated[float, Field(gt=0, description="after which a job starts nothing new")]
    shards: Annotated[tuple[Shard, ...], Field(max_length=MOST_SHARDS)]
    left: Annotated[tuple[str, ...], Field(description="cells for later waves, in the plan's order")] = ()
    reused: Annotated[tuple[str, ...], Field(description="cells whose rows were taken over")] = ()
    makespan: Annotated[float, Field(ge=0, description="minutes of the longest shard, as expected")] = 0.0
    bound: Annotated[float, Field(ge=0, description="no packing of these cells takes fewer minutes")] = 0.0
    drift: Annotated[
        float,
        Field(ge=0, description="how much earlier or later than all cells an arm's start on average, of the makespan"),
    ] = 0.0
    crowding: Annotated[
        float, Field(ge=0, le=1, description="0: no shard has more than an even part of an arm; 1: one has all of it")
    ] = 0.0
    footing: Annotated[
        dict[str, str], Field(description="what the keys stand on, by name: a job on another footing refuses to work")
    ] = {}

    @property
    def cells(self) -> int:
        """Number of cells of this wave."""
        return sum(len(shard.cells) for shard in self.shards)


class ShardManifest(Record):
    """Description of a job's rows (`shards/<NNN>/manifest.json`)."""

    schema_version: int = 1
    experiment: Annotated[str, Field(description="the run's folder")]
    shard: Annotated[int, Field(ge=0, lt=MOST_SHARDS)]
    attempt: Annotated[int, Field(ge=1, description="of the workflow run")]
    plan: Annotated[Digest, Field(description="SHA-256 of plan.json")]
    sha256: Annotated[Digest, Field(description="of results.jsonl beside it")]
    count: Annotated[int, Field(ge=0, description="rows in it")]
    carried: Annotated[int, Field(ge=0, description="those of them that were taken over from earlier attempts")] = 0
    unstarted: Annotated[dict[str, str], Field(description="cells of the shard without a row, and why")] = {}
    versions: Annotated[dict[str, str], Field(description="of the toolkit, Python, the system and the agents")] = {}
    written_at: datetime.datetime


def shard_name(number: int) -> str:
    """Return a shard's number in three digits."""
    return f"{number:03d}"


class RefusedArtifact(Record):
    """Artifact of which no row was accepted."""

    artifact: Annotated[str, Field(description="its name; cut, and in ASCII, where it is none of ours")]
    reason: str


class CollectReport(Record):
    """Result of collecting rows that other machines sent (`refused.json`)."""

    schema_version: int = 1
    artifacts: Annotated[int, Field(ge=0, description="that were taken")]
    rows: Annotated[int, Field(ge=0, description="that stand, those that were reused left out")]
    reused: Annotated[int, Field(ge=0, description="rows that were there before anything was run")] = 0
    superseded: Annotated[
        int, Field(ge=0, description="artifacts of earlier attempts, before it was planned anew; not looked into")
    ] = 0
    refused: tuple[RefusedArtifact, ...] = ()
    missing: Annotated[
        dict[str, str], Field(description="cells without a row that nobody chose to leave, and why")
    ] = {}
