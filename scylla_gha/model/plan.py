"""The plan: which cells an experiment is, under which keys, and what they may cost."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model.experiment import Experiment
from scylla_gha.model.record import Record
from scylla_gha.model.variant import Variant


class Arm(Record):
    """Variant x agent x model: the unit that is compared. Its id leaves out what the agent has not."""

    id: str
    agent: str
    version: Annotated[str | None, Field(description="of the agent; None: not known on the planning machine")]
    model: str | None = None
    variant: Variant | None = None


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


class Estimate(Record):
    """What a plan may cost. `basis` says where the numbers come from."""

    usd: Range
    minutes: Range
    basis: str


class Plan(Record):
    """An experiment unfolded, in the order in which the cells are to be run."""

    schema_version: int = 1
    experiment: Experiment
    epoch: Annotated[str, Field(description="a run with an epoch of its own samples anew")] = ""
    arms: tuple[Arm, ...]
    cells: tuple[Cell, ...]
    estimate: Estimate

    def arm(self, arm: str) -> Arm:
        """The arm of that id; KeyError where there is none."""
        return {each.id: each for each in self.arms}[arm]
