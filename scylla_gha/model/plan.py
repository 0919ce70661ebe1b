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

MOST_SHARDS: Final = 250  # GitHub runs no job of a matrix with more than 256
TIME_OVER: Final = "the time in which its job starts cells was over"  # such a cell runs in the next wave
Format = Literal["csv", "jsonl", "parquet", "harbor", "inspect", "skill-creator"]


class ColumnMap(Record):
    """Mapping of foreign columns to fields (`--map-file`)."""

    columns: dict[Text, str] = Field(default={}, description="Column of the source, by our field; empty: not mapped")
    constants: dict[Text, Text] = Field(default={}, description="Value that all rows have, by our field")
    units: dict[Text, Text] = Field(default={}, description="Unit of a column or field: ms, cent, percent, ...")
    passed_if: Text | None = Field(default=None, description="Condition for a pass, such as score>=0.6; null: none")
    baseline: Text | None = Field(default=None, description="Id of the baseline arm; null: not set")


class ImportSource(Record):
    """Source of imported rows: file, format and mapping."""

    file: str
    format: Format
    sha256: str = Field(description="SHA-256 of the rows as read")
    columns: dict[str, str] = Field(description="Column of the source, by our field")
    ignored: tuple[str, ...] = Field(default=(), description="Columns of the source that were not mapped")
    passed_if: str | None = None
    notes: tuple[str, ...] = Field(default=(), description="Notes for readers of the report")


class Arm(Record):
    """Variant x mode x agent x model: the unit of comparison. Its id leaves out parts that it does not have."""

    id: str
    agent: str
    version: str | None = Field(description="Version of the agent; None: unknown on the planning machine")
    model: str | None = None
    variant: Variant | None = None
    mode: Mode | None = Field(
        default=None,
        exclude_if=lambda mode: mode is None,
        description="Mode of the arm; None: the experiment compares no modes",
    )
    manifest: str | None = Field(
        default=None,
        exclude_if=lambda manifest: manifest is None,
        description="Digest of the agent's manifest; None: the agent is built in",
    )
    side: Literal["head"] | None = Field(
        default=None,
        description="head: the arm has the change's variant; None: no change, or its base",
    )
    against: str | None = Field(
        default=None, description="Id of the arm with which this arm is compared; None: the baseline"
    )

    @property
    def without_mode(self) -> tuple[str | None, ...]:
        """Variant, agent, version and model, which must be equal in arms whose modes are compared."""
        return self.variant.id if self.variant else None, self.agent, self.version, self.model


class ImpossibleTask(Record):
    """Scenario without cells in a mode, since the mode's tools cannot do its task."""

    mode: str
    scenario: str
    reason: str


class Cell(Record):
    """Scenario x arm x repetition; `key` covers everything that can change the agent's behaviour."""

    id: str
    scenario: str
    arm: str
    repetition: Annotated[int, Field(ge=1)]
    key: str


class CostRange(Amounts):
    """An estimate with its limits; all None if there is no estimate."""

    low: float | None
    likely: float | None
    high: float | None


class EstimateShare(Record):
    """Estimated cost and minutes of a plan's agents or judges. Minutes are for cells in sequence."""

    usd: CostRange
    minutes: CostRange


_NOTHING = CostRange(low=0.0, likely=0.0, high=0.0)


class Estimate(Record):
    """Estimated cost of a plan. `basis` names the source of the numbers."""

    agents: EstimateShare
    judges: EstimateShare
    check_minutes: CostRange = Field(default=_NOTHING, description="Minutes of all checks")
    basis: str
    unpriced: tuple[str, ...] = Field(default=(), description="Models whose price is unknown")

    @property
    def usd(self) -> CostRange:
        """Cost of agents and judges together."""
        return self.agents.usd.plus(self.judges.usd)

    @property
    def unpaid(self) -> "Estimate":
        """The same estimate for a replay, which costs nothing."""
        agents, judges = (EstimateShare(usd=_NOTHING, minutes=share.minutes) for share in (self.agents, self.judges))
        basis = f"replayed, so there is no cost; minutes {self.basis}"
        return self.model_copy(update={"agents": agents, "judges": judges, "basis": basis, "unpriced": ()})

    @property
    def minutes(self) -> CostRange:
        """Minutes of agents, checks and judges together."""
        return self.agents.minutes.plus(self.judges.minutes).plus(self.check_minutes)


class UnstartedCells(Record):
    """Cells that a run did not start, with reasons (`unstarted.json`)."""

    cells: dict[str, str]


class Plan(Record):
    """Cells of an experiment, in the order in which they are run."""

    schema_version: int = 2
    experiment: Experiment
    epoch: str = Field(default="", description="Name of the epoch; a run with a new epoch samples every trial again")
    only: tuple[str, ...] = Field(default=(), description="Globs that select cells; empty: all cells")
    arms: tuple[Arm, ...]
    cells: tuple[Cell, ...]
    estimate: Estimate
    sandbox: SandboxName = Field(default="host", description="Sandbox of all agents and checks")
    check_images: dict[str, str] = Field(default={}, description="Digests of the images for checks, by scenario")
    judging: dict[str, str] = Field(default={}, description="Digests of checks, rubric and judges, by scenario")
    providers: dict[str, str] = Field(
        default={},
        exclude_if=lambda providers: not providers,
        description="Providers of the models of judges and arms, by model, or the first part of an id such as "
        "`qwen/qwen3`; empty: there are no judges",
    )
    notes: tuple[str, ...] = Field(
        default=(),
        description="Notes about models and about detectable effects",
    )
    change: str = Field(
        default="",
        exclude_if=lambda change: not change,
        description="A change's edits to files for agents and variants, as a unified diff, which may be cut",
    )
    name_only_skills: dict[str, tuple[str, ...]] = Field(
        default={},
        exclude_if=lambda arms: not arms,
        description="Skills that the agent CLI would list without their descriptions, by its own limit, by arm",
    )
    not_possible: tuple[ImpossibleTask, ...] = Field(
        default=(),
        exclude_if=lambda tasks: not tasks,
        description="Scenarios without cells in a mode, since its tools cannot do the task",
    )
    unproved: dict[str, tuple[str, ...]] = Field(
        default={}, exclude_if=lambda modes: not modes, description="Scenarios that no oracle proves possible, by mode"
    )
    replayed: bool = Field(default=False, description="True if answers come from a recording, so nothing is measured")
    imported: ImportSource | None = Field(default=None, description="Source of imported rows; None: not imported")
    not_before: datetime.datetime | None = Field(default=None, description="Earliest start of reused trials; None: any")

    @property
    def needs_model(self) -> bool:
        """True if agents or judges use a model and need a key."""
        return bool(self.experiment.judges) or any(arm.model is not None for arm in self.arms)

    def arm(self, arm: str) -> Arm:
        """Return the arm with that id; raise KeyError if there is none."""
        return {candidate.id: candidate for candidate in self.arms}[arm]

    @property
    def pairs(self) -> dict[str, str]:
        """The baseline of each arm, by the plan's family; for a change, the arm's version before it."""
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
        """The mode with which others are compared: the baseline's or the first one; None without modes."""
        modes = {arm.id: arm.mode.id for arm in self.arms if arm.mode}
        return modes.get(self.experiment.baseline, next(iter(self.experiment.modes), None))

    @property
    def is_of_change(self) -> bool:
        """True if the plan compares a change's variants with their versions before it."""
        return any(arm.side for arm in self.arms)

    @property
    def family(self) -> Family:
        """The comparisons that answer the question; for a change, of each arm with its version before it."""
        return "baseline" if self.is_of_change else self.experiment.declared_family

    def members(self, side: str) -> list[Arm]:
        """Return the arms of a tier or a model that the plan's family compares."""
        if self.family == "models":
            return [arm for arm in self.arms if arm.model == side]
        return [arm for arm in self.arms if arm.variant and arm.variant.id.startswith(f"{side}/")]


class Shard(Record):
    """Cells of one job, in the order of their start."""

    number: Annotated[int, Field(ge=0, lt=MOST_SHARDS)]
    cells: Annotated[tuple[str, ...], Field(min_length=1)]
    minutes: float = Field(ge=0, description="Expected minutes if all lanes are busy")
    usd: float | None = Field(default=None, description="Likely cost in USD; null: a price is unknown")
    budget_usd: float | None = Field(default=None, gt=0, description="Share of the budget in USD; null: no budget")
    role_budget_usd: RoleBudgets = RoleBudgets()

    @property
    def name(self) -> str:
        """Number of the shard, as in folder and artifact names."""
        return shard_name(self.number)


class WavePacking(Record):
    """Shards of one wave (`shards.json`). Every planned cell is once in a shard, in `left`, or in `reused`."""

    schema_version: int = 1
    experiment: str = Field(description="Name of the run's folder")
    plan: Sha256 = Field(description="SHA-256 of plan.json")
    campaign: str
    wave: Annotated[int, Field(ge=1)] = 1
    lanes: int = Field(ge=1, description="Number of cells that run simultaneously in a job")
    minutes: float = Field(gt=0, description="Minutes after which a job starts no new cell")
    shards: Annotated[tuple[Shard, ...], Field(max_length=MOST_SHARDS)]
    left: tuple[str, ...] = Field(default=(), description="Cells for later waves, in the order of the plan")
    reused: tuple[str, ...] = Field(default=(), description="Cells whose rows were taken from earlier results")
    makespan: float = Field(default=0.0, ge=0, description="Expected minutes of the longest shard")
    bound: float = Field(default=0.0, ge=0, description="Minutes that every packing of these cells needs")
    drift: float = Field(
        default=0.0,
        ge=0,
        description="Largest mean distance of an arm's starts from all starts, as a share of the makespan",
    )
    crowding: float | None = Field(default=None, description="Figure of older packings; no longer computed")
    footing: dict[str, str] = Field(
        default={}, description="Values behind the keys; a job refuses to run with other values"
    )

    @property
    def cells(self) -> int:
        """Number of cells of this wave."""
        return sum(len(shard.cells) for shard in self.shards)


class ShardManifest(Record):
    """Description of a job's rows (`shards/<NNN>/manifest.json`)."""

    schema_version: int = 1
    experiment: str = Field(description="Name of the run's folder")
    shard: Annotated[int, Field(ge=0, lt=MOST_SHARDS)]
    attempt: int = Field(ge=1, description="Attempt of the workflow run")
    plan: Sha256 = Field(description="SHA-256 of plan.json")
    sha256: Sha256 = Field(description="SHA-256 of results.jsonl beside the manifest")
    count: int = Field(ge=0, description="Number of rows in results.jsonl")
    carried: int = Field(default=0, ge=0, description="Number of rows that were taken from earlier attempts")
    unstarted: dict[str, str] = Field(default={}, description="Reasons why cells of the shard have no row, by cell")
    versions: dict[str, str] = Field(default={}, description="Versions of the toolkit, Python, system and agents")
    written_at: datetime.datetime


def shard_name(number: int) -> str:
    """Return a shard's number in three digits."""
    return f"{number:03d}"


class RefusedArtifact(Record):
    """Artifact without an accepted row."""

    artifact: str = Field(description="Name of the artifact; a foreign name is cut and written in ASCII")
    reason: str


class CollectReport(Record):
    """Result of collecting rows that other machines sent (`refused.json`)."""

    schema_version: int = 1
    artifacts: int = Field(ge=0, description="Number of artifacts that were accepted")
    rows: int = Field(ge=0, description="Number of rows that count, without reused ones")
    reused: int = Field(default=0, ge=0, description="Number of rows that existed before the run")
    superseded: int = Field(default=0, ge=0, description="Number of artifacts older than the latest plan, not read")
    refused: tuple[RefusedArtifact, ...] = ()
    missing: dict[str, str] = Field(
        default={},
        description="Reasons why cells have no row, by cell, without cells that were left out on purpose",
    )


def unpaired_arms(plan: Plan) -> dict[str, str]:
    """Return the arms that the family `modes` cannot compare, with reasons; empty for other families."""
    if plan.family != "modes":
        return {}
    pairs, mode, planned = plan.pairs, plan.reference_mode, {cell.arm for cell in plan.cells}
    others = (arm.id for arm in plan.arms if arm.mode and arm.mode.id != mode)
    unpaired = f"mode {mode} has no single arm with its variant, agent and model"
    return {
        arm: f"no cell of {pairs[arm]} is planned" if arm in pairs else unpaired
        for arm in others
        if arm in planned and pairs.get(arm) not in planned
    }
