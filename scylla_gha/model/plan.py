"""Plan of an experiment: cells with keys and estimated costs, the shards of a wave, and the source of imported rows."""

import datetime
from collections import Counter
from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Amounts, Record, Sha256, Text
from scylla_gha.model.analysis import Family
from scylla_gha.model.experiment import Experiment, RoleBudgets, SandboxName
from scylla_gha.model.mode import Mode
from scylla_gha.model.variant import Variant

MOST_SHARDS: Final = 250  # GitHub runs no job at all of a matrix with more than 256
TIME_OVER: Final = "the time in which its job starts cells was over"  # a next wave is for such a cell
Format = Literal["csv", "jsonl", "parquet", "harbor", "inspect"]


class ColumnMap(Record):
    """Mapping of foreign columns to fields (`--map-file`)."""

    columns: Annotated[dict[Text, str], Field(description="our field: their column; an empty one is not mapped")] = {}
    constants: Annotated[dict[Text, Text], Field(description="our field: its value in all rows")] = {}
    units: Annotated[dict[Text, Text], Field(description="their column or our field: ms, cent, percent, ...")] = {}
    passed_if: Annotated[Text | None, Field(description="a field, a comparison and a number, as score>=0.6")] = None
    baseline: Annotated[Text | None, Field(description="the arm that the others are compared with")] = None


class ImportSource(Record):
    """Source of imported rows: file, format and mapping."""

    file: str
    format: Format
    sha256: Annotated[str, Field(description="of the rows as they were read")]
    columns: Annotated[dict[str, str], Field(description="our field: their column")]
    ignored: Annotated[tuple[str, ...], Field(description="their columns that were not mapped")] = ()
    passed_if: str | None = None
    notes: Annotated[tuple[str, ...], Field(description="notes for the reader of the report")] = ()


class Arm(Record):
    """Variant x mode x agent x model: the unit of comparison. Its id leaves out parts that it does not have."""

    id: str
    agent: str
    version: Annotated[str | None, Field(description="of the agent; None: not known on the planning machine")]
    model: str | None = None
    variant: Variant | None = None
    mode: Annotated[
        Mode | None,
        Field(description="None: the experiment compares no modes", exclude_if=lambda mode: mode is None),
    ] = None
    side: Annotated[Literal["head"] | None, Field(description="head: its variant is that of the change")] = None
    against: Annotated[str | None, Field(description="arm that it is compared with; None: the baseline")] = None

    @property
    def without_mode(self) -> tuple[str | None, ...]:
        """Variant, agent and model: what the arms that are compared as modes have in common."""
        return self.variant.id if self.variant else None, self.agent, self.version, self.model


class ImpossibleTask(Record):
    """Scenario that no cell of a mode has, since its task cannot be done with the mode's tools."""

    mode: str
    scenario: str
    reason: str


class Cell(Record):
    """Scenario x arm x repetition; `key` covers all that can change what the agent does."""

    id: str
    scenario: str
    arm: str
    repetition: Annotated[int, Field(ge=1)]
    key: str


class CostRange(Amounts):
    """An estimate with its limits; all None if it cannot be made."""

    low: float | None
    likely: float | None
    high: float | None


class EstimateShare(Record):
    """Estimated cost and minutes of a plan's agents or judges. Minutes are of one cell after the other."""

    usd: CostRange
    minutes: CostRange


_NOTHING = CostRange(low=0.0, likely=0.0, high=0.0)


class Estimate(Record):
    """Estimated cost of a plan. `basis` names the source of the numbers."""

    agents: EstimateShare
    judges: EstimateShare
    check_minutes: Annotated[CostRange, Field(description="of all checks")] = _NOTHING
    basis: str
    unpriced: Annotated[tuple[str, ...], Field(description="models whose price is unknown")] = ()

    @property
    def usd(self) -> CostRange:
        """Cost of agents and judges together."""
        return self.agents.usd.plus(self.judges.usd)

    @property
    def unpaid(self) -> "Estimate":
        """The same estimate for a replay, which costs nothing."""
        agents, judges = (EstimateShare(usd=_NOTHING, minutes=share.minutes) for share in (self.agents, self.judges))
        basis = f"replayed, nothing is paid; minutes {self.basis}"
        return self.model_copy(update={"agents": agents, "judges": judges, "basis": basis, "unpriced": ()})

    @property
    def minutes(self) -> CostRange:
        """Minutes of agents, checks and judges together."""
        return self.agents.minutes.plus(self.judges.minutes).plus(self.check_minutes)


class UnstartedCells(Record):
    """Cells that a run did not start, with the reason (`unstarted.json`)."""

    cells: dict[str, str]


class Plan(Record):
    """Cells of an experiment, in the order in which they are run."""

    schema_version: int = 2
    experiment: Experiment
    epoch: Annotated[str, Field(description="a run with an epoch of its own samples anew")] = ""
    only: Annotated[tuple[str, ...], Field(description="globs that select cells; empty: all cells")] = ()
    arms: tuple[Arm, ...]
    cells: tuple[Cell, ...]
    estimate: Estimate
    sandbox: Annotated[SandboxName, Field(description="of all agents and checks")] = "host"
    check_images: Annotated[dict[str, str], Field(description="digests of the checks' images, by scenario")] = {}
    judging: Annotated[dict[str, str], Field(description="digests of checks, rubric and judges, by scenario")] = {}
    notes: Annotated[
        tuple[str, ...],
        Field(description="of models (near their end, not known, without a price), and of what can be seen"),
    ] = ()
    not_possible: Annotated[
        tuple[ImpossibleTask, ...],
        Field(description="what has no cells, by mode and scenario", exclude_if=lambda tasks: not tasks),
    ] = ()
    unproved: Annotated[
        dict[str, tuple[str, ...]],
        Field(description="scenarios that no oracle proves possible, by mode", exclude_if=lambda modes: not modes),
    ] = {}
    replayed: Annotated[bool, Field(description="model answers come from a recording: nothing is measured")] = False
    imported: Annotated[ImportSource | None, Field(description="source of rows that this toolkit did not make")] = None
    not_before: Annotated[
        datetime.datetime | None, Field(description="stored trials that started earlier are too old")
    ] = None

    @property
    def needs_model(self) -> bool:
        """True if agents or judges use a model, so that a key is needed."""
        return bool(self.experiment.judges) or any(arm.model is not None for arm in self.arms)

    def arm(self, arm: str) -> Arm:
        """Return the arm with that id; KeyError if there is none."""
        return {candidate.id: candidate for candidate in self.arms}[arm]

    @property
    def pairs(self) -> dict[str, str]:
        """The arm that each arm is compared with: by the family of the plan; of a change, its version before."""
        against = {arm.id: arm.against for arm in self.arms if arm.against}
        if self.is_of_change:
            return {arm.id: against[arm.id] for arm in self.arms if arm.side}
        baseline, planned = self.experiment.baseline, dict.fromkeys(cell.arm for cell in self.cells)
        if self.family == "modes":
            arms, mode = [arm for arm in self.arms if arm.mode], self.reference_mode
            reference = {arm.id: arm.without_mode for arm in arms if arm.mode and arm.mode.id == mode}
            counts, partners = Counter(reference.values()), {rest: arm for arm, rest in reference.items()}
            others = {arm.id: arm.without_mode for arm in arms if arm.id in planned and arm.id not in reference}
            return {arm: partners[rest] for arm, rest in others.items() if counts[rest] == 1}
        return {arm: against.get(arm, baseline) for arm in planned if arm != baseline}

    @property
    def reference_mode(self) -> str | None:
        """The mode that others are compared with: the baseline's, else the first; None without modes."""
        modes = {arm.id: arm.mode.id for arm in self.arms if arm.mode}
        return modes.get(self.experiment.baseline, next(iter(self.experiment.modes), None))

    @property
    def is_of_change(self) -> bool:
        """True if the plan compares the variants of a change with those before it."""
        return any(arm.side for arm in self.arms)

    @property
    def family(self) -> Family:
        """The comparisons that answer the question; of a change, each arm and its version before."""
        return "baseline" if self.is_of_change else self.experiment.declared_family

    def members(self, side: str) -> list[Arm]:
        """Return the arms of a tier or a model, which the family of the plan compares."""
        if self.family == "models":
            return [arm for arm in self.arms if arm.model == side]
        return [arm for arm in self.arms if arm.variant and arm.variant.id.startswith(f"{side}/")]


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
    plan: Annotated[Sha256, Field(description="SHA-256 of plan.json")]
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
    crowding: Annotated[float | None, Field(description="of older packings; no longer computed")] = None
    footing: Annotated[
        dict[str, str], Field(description="values that the keys depend on, by name; a job with others refuses")
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
    plan: Annotated[Sha256, Field(description="SHA-256 of plan.json")]
    sha256: Annotated[Sha256, Field(description="of results.jsonl beside it")]
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
