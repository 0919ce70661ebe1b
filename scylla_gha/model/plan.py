"""The plan: which cells an experiment is, under which keys, and what they may cost."""

import datetime
from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.experiment import Experiment, SandboxName
from scylla_gha.model.imported import Imported
from scylla_gha.model.record import Record
from scylla_gha.model.variant import Variant


class Arm(Record):
    """Variant x agent x model: the unit that is compared. Its id leaves out what the agent has not."""

    id: str
    agent: str
    version: Annotated[str | None, Field(description="of the agent; None: not known on the planning machine")]
    model: str | None = None
    variant: Variant | None = None
    side: Annotated[
        Literal["head"] | None, Field(description="head: its variant is that of the change, not of what it changes")
    ] = None
    against: Annotated[str | None, Field(description="the arm that it is held against; none: the baseline")] = None


class Cell(Record):
    """Scenario x arm x repetition; `key` covers all that can change what the agent does."""

    id: str
    scenario: str
    arm: str
    repetition: Annotated[int, Field(ge=1)]
    key: str


class Range(Record):
    """A guess with its limits; all None where it cannot be made."""

    low: float | None
    likely: float | None
    high: float | None

    def plus(self, other: "Range") -> "Range":
        """The sum of both; unknown in one is unknown in the sum."""
        sums = {}
        for end in Range.model_fields:
            mine, theirs = getattr(self, end), getattr(other, end)
            sums[end] = None if mine is None or theirs is None else mine + theirs
        return Range.model_validate(sums)


class Share(Record):
    """What the agents of a plan, or its judges, may cost and take. Minutes are of one cell after the other."""

    usd: Range
    minutes: Range


_NOTHING = Range(low=0.0, likely=0.0, high=0.0)


class Estimate(Record):
    """What a plan may cost. `basis` says where the numbers come from."""

    agents: Share
    judges: Share
    basis: str

    @property
    def usd(self) -> Range:
        """Of agents and judges together."""
        return self.agents.usd.plus(self.judges.usd)

    @property
    def unpaid(self) -> "Estimate":
        """The same of a replay, for which nothing is paid."""
        agents, judges = (Share(usd=_NOTHING, minutes=each.minutes) for each in (self.agents, self.judges))
        return Estimate(agents=agents, judges=judges, basis=f"replayed, nothing is paid; minutes {self.basis}")

    @property
    def minutes(self) -> Range:
        """Of agents and judges together."""
        return self.agents.minutes.plus(self.judges.minutes)


class Unstarted(Record):
    """The cells that a run did not start, and why (`unstarted.json`)."""

    cells: dict[str, str]


class Plan(Record):
    """An experiment unfolded, in the order in which the cells are to be run."""

    schema_version: int = 2
    experiment: Experiment
    epoch: Annotated[str, Field(description="a run with an epoch of its own samples anew")] = ""
    only: Annotated[tuple[str, ...], Field(description="globs that chose a part of the cells; empty: it is all")] = ()
    arms: tuple[Arm, ...]
    cells: tuple[Cell, ...]
    estimate: Estimate
    sandbox: Annotated[SandboxName, Field(description="of all agents and checks")] = "host"
    check_images: Annotated[dict[str, str], Field(description="digests of the checks' images, by scenario")] = {}
    judging: Annotated[
        dict[str, str], Field(description="digests of what judges, by scenario; a judged row has the one of its own")
    ] = {}
    notes: Annotated[
        tuple[str, ...],
        Field(description="of models (near their end, not known, without a price), and of what can be seen"),
    ] = ()
    replayed: Annotated[bool, Field(description="model answers come from a recording: nothing is measured")] = False
    imported: Annotated[Imported | None, Field(description="where rows come from that this toolkit did not make")] = (
        None
    )
    not_before: Annotated[
        datetime.datetime | None, Field(description="a stored trial that was started earlier is too old, and not taken")
    ] = None

    @property
    def needs_model(self) -> bool:
        """Whether agents or judges ask a model, so that a key is needed."""
        return bool(self.experiment.judges) or any(arm.model is not None for arm in self.arms)

    def arm(self, arm: str) -> Arm:
        """The arm of that id; KeyError where there is none."""
        return {each.id: each for each in self.arms}[arm]

    @property
    def pairs(self) -> dict[str, str]:
        """What each arm is held against: every one against the baseline, or a change against what it changes."""
        sided = {arm.id: arm.against for arm in self.arms if arm.against}
        baseline = self.experiment.baseline
        return sided or {arm: baseline for arm in dict.fromkeys(cell.arm for cell in self.cells) if arm != baseline}
