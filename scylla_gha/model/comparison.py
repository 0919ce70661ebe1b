"""Results of the analysis commands: compare, history, aa-test and power."""

from typing import Literal

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.analysis import Contrast, Ruling, Verdict

Metric = Literal["pass_rate", "score", "usd", "tokens", "seconds"]


class Flip(Record):
    """Scenario with different pass rates in A and B: passed of judged, before and after."""

    scenario: str
    before: tuple[int, int]
    after: tuple[int, int]


class ArmPair(Record):
    """An arm of B against an arm of A; the contrasts call them `b:arm` and `a:arm`."""

    a_arm: str
    b_arm: str
    before: tuple[int, int] = Field(description="Number of passed and of judged trials in A")
    after: tuple[int, int] = Field(description="Number of passed and of judged trials in B")
    ruling: Ruling
    others: tuple[Contrast, ...] = Field(description="Contrasts of all other metrics, for exploration")
    fixes: tuple[Flip, ...]
    regressions: tuple[Flip, ...]


class ResultComparison(Record):
    """Result of `scylla-gha compare`: B against A."""

    schema_version: int = 1
    a: str
    b: str
    metric: Metric
    margin: float
    pairs: tuple[ArmPair, ...]
    warnings: tuple[str, ...]


class FalseVerdictShares(Record):
    """Shares of verdicts on halves of one arm. Every `better` or `worse` is false there."""

    verdicts: int
    false: int
    false_share: float
    low: float = Field(description="Lower limit of the 95 % Wilson interval, if verdicts are counted as independent")
    high: float
    equivalent_share: float
    flip_rate: float | None = Field(description="Probability that two of the verdicts differ; null: there is only one")


class EqualArm(Record):
    """One arm compared with itself."""

    arm: str
    scenarios: int = Field(description="Number of scenarios with at least two repetitions")
    repetitions: tuple[int, int] = Field(description="Smallest and largest number of repetitions of these scenarios")
    as_run: Verdict = Field(description="Verdict on odd against even repetitions")
    why: str
    resampled: FalseVerdictShares = Field(description="Verdicts over random halves of the repetitions")


class EqualArms(Record):
    """All arms of a run, each compared with itself."""

    experiment: str
    family: int = Field(description="Number of comparisons by which each p is multiplied, as in a real verdict")
    margin: float
    resamples: int
    arms: tuple[EqualArm, ...]
    left_out: tuple[str, ...] = Field(default=(), description="Arms without a scenario that has two repetitions")
    over_all: FalseVerdictShares | None
    meaning: str


class Point(Record):
    """One arm in one result set. Means give every scenario the same weight."""

    run: str
    epoch: str
    trials: int = Field(description="Number of judged trials")
    scenarios: int
    rate: float | None = Field(description="Pass rate; null: no judged trial")
    rate_low: float | None = Field(
        default=None, description="Lower limit of the 95 % interval of the rate; null: no interval"
    )
    rate_high: float | None = None
    usd: float | None = Field(description="Mean cost of a trial in USD; null: unknown for one of them")
    seconds: float | None
    difference: float | None = Field(
        default=None, description="Paired difference of the pass rate from the pinned result set; null: unknown"
    )
    low: float | None = Field(
        default=None, description="One-sided 95 % lower limit of the difference; null: no interval"
    )
    verdict: Verdict | None = None
    not_worse: bool | None = Field(
        default=None, description="True if `low` is above -margin; null: no interval, or this is the pinned result set"
    )


class Shift(Record):
    """Change point of a series (E-divisive), or a drift (CUSUM)."""

    kind: Literal["change", "drift"]
    metric: Literal["pass_rate", "usd", "seconds"]
    run: str = Field(description="First result set after the change, or the one that gave the signal")
    since: str = Field(description="Result set at which the shift probably began")
    before: float | None = Field(default=None, description="Mean before the shift")
    after: float | None = None
    side: Literal["up", "down"]
    p: float | None = Field(default=None, description="P-value of a change, by permutation; null for a drift")


class Series(Record):
    """One arm over time."""

    arm: str
    points: tuple[Point, ...]
    shifts: tuple[Shift, ...]
    notes: tuple[str, ...] = ()


class History(Record):
    """All arms over time."""

    baseline: str = Field(description="Name of the pinned result set")
    margin: float
    series: tuple[Series, ...]
    notes: tuple[str, ...] = ()


class PairVariance(Record):
    """Variances of the pass rate, an arm against the baseline (w^2 and s^2 of Miller 2024, arXiv:2411.00640)."""

    arm: str
    between: float = Field(description="Variance w^2 of the true differences between scenarios")
    within: float = Field(description="Variance s^2 of the arm's repetitions of a scenario")
    within_baseline: float
    scenarios: int
    rate_baseline: float | None = Field(default=None, description="Mean pass rate of the baseline; null: unknown")


class Design(Record):
    """A number of scenarios and of repetitions, for every arm."""

    scenarios: int
    repetitions: int
    smallest_effect: float | None = Field(
        description="Smallest difference of pass rates that gets a verdict with 80 % power; null: none does"
    )
    trials: int
    usd: float | None = Field(description="Cost in USD at the pilot's cost per trial, judges included; null: unknown")
    minutes: float | None = Field(description="Minutes of all agents, one trial after the other; null: unknown")
    sees: bool = Field(description="True if the design detects the requested effect")


class Power(Record):
    """Smallest effects and costs of designs."""

    experiment: str
    arms: int
    comparisons: int = Field(description="Number of comparisons in the family, by which the level is divided")
    effect: float = Field(description="Requested effect, as a difference of pass rates")
    basis: str = Field(description="Source of the variances")
    variances: tuple[PairVariance, ...]
    designs: tuple[Design, ...]
    cheapest: Design | None = Field(description="Cheapest design that detects the requested effect; null: none does")
    at_hand: str = Field(description="Effect that the experiment's own scenarios can detect, in a sentence")
