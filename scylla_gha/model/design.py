"""How large an experiment has to be: variances of a pilot, and what designs can see for which money."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model.record import Record


class PairVariance(Record):
    """Of the pass rate, an arm against the baseline (w^2 and s^2 of Miller 2024, arXiv:2411.00640)."""

    arm: str
    between: Annotated[float, Field(description="w^2: of true differences between scenarios")]
    within: Annotated[float, Field(description="s^2: of the arm's repetitions of a scenario")]
    within_baseline: float
    scenarios: int
    rate_baseline: Annotated[float | None, Field(description="its mean pass rate; null: not known")] = None


class Design(Record):
    """Scenarios x repetitions, of every arm."""

    scenarios: int
    repetitions: int
    smallest_effect: Annotated[
        float | None,
        Field(description="a difference of pass rates that gets a verdict with 80 % power; null: none does"),
    ]
    trials: int
    usd: Annotated[float | None, Field(description="at the pilot's cost, judges included; null: not known")]
    minutes: Annotated[float | None, Field(description="of agents, one trial after the other; null: not known")]
    sees: Annotated[bool, Field(description="the wanted effect")]


class Power(Record):
    """What designs can see."""

    experiment: str
    arms: int
    comparisons: Annotated[int, Field(description="in the family; the level is divided by it")]
    effect: Annotated[float, Field(description="wanted: a difference of pass rates")]
    basis: Annotated[str, Field(description="where the variances come from")]
    variances: tuple[PairVariance, ...]
    designs: tuple[Design, ...]
    cheapest: Annotated[Design | None, Field(description="of the designs that see the effect")]
    at_hand: Annotated[str, Field(description="what the experiment's own scenarios can do")]
