"""Results of the analysis commands: compare, history, aa-test and power."""

from typing import Annotated, Literal

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
    before: Annotated[tuple[int, int], Field(description="passed of judged, in A")]
    after: Annotated[tuple[int, int], Field(description="passed of judged, in B")]
    ruling: Ruling
    others: Annotated[tuple[Contrast, ...], Field(description="all other metrics, to look around")]
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
    low: Annotated[float, Field(description="of the 95 % Wilson interval, each verdict counted as independent")]
    high: float
    equivalent_share: float
    flip_rate: Annotated[float | None, Field(description="chance that two of the verdicts differ; null: only one")]


class EqualArm(Record):
    """One arm compared with itself."""

    arm: str
    scenarios: Annotated[int, Field(description="with two repetitions or more")]
    repetitions: Annotated[tuple[int, int], Field(description="of these scenarios: fewest, most")]
    as_run: Annotated[Verdict, Field(description="on odd against even repetitions")]
    why: str
    resampled: Annotated[FalseVerdictShares, Field(description="over random halves")]


class EqualArms(Record):
    """All arms of a run, each compared with itself."""

    experiment: str
    family: Annotated[int, Field(description="comparisons that each p is multiplied by, as in a real verdict")]
    margin: float
    resamples: int
    arms: tuple[EqualArm, ...]
    left_out: Annotated[tuple[str, ...], Field(description="arms without a scenario of two repetitions")] = ()
    over_all: FalseVerdictShares | None
    meaning: str


class Point(Record):
    """One arm in one result set. Means give every scenario the same weight."""

    run: str
    epoch: str
    trials: Annotated[int, Field(description="judged")]
    scenarios: int
    rate: Annotated[float | None, Field(description="pass rate; null: no judged trial")]
    rate_low: Annotated[float | None, Field(description="of the rate's 95 % interval; null: none")] = None
    rate_high: float | None = None
    usd: Annotated[float | None, Field(description="of a trial; null: one is unknown")]
    seconds: float | None
    difference: Annotated[float | None, Field(description="of the rate from the pinned baseline, paired")] = None
    low: Annotated[float | None, Field(description="one-sided 95 % limit of the difference")] = None
    verdict: Verdict | None = None
    not_worse: Annotated[bool | None, Field(description="`low` is above -margin; null: no interval, or the pin")] = None


class Shift(Record):
    """Change point of a series (E-divisive), or a drift (CUSUM)."""

    kind: Literal["change", "drift"]
    metric: Literal["pass_rate", "usd", "seconds"]
    run: Annotated[str, Field(description="the first one after the change, or the one that gave the signal")]
    since: Annotated[str, Field(description="where it is likely to have begun")]
    before: Annotated[float | None, Field(description="mean of the stretch before")] = None
    after: float | None = None
    side: Literal["up", "down"]
    p: Annotated[float | None, Field(description="by permutation, of the change; a drift has none")] = None


class Series(Record):
    """One arm over time."""

    arm: str
    points: tuple[Point, ...]
    shifts: tuple[Shift, ...]
    notes: tuple[str, ...] = ()


class History(Record):
    """All arms over time."""

    baseline: Annotated[str, Field(description="the pinned result set")]
    margin: float
    series: tuple[Series, ...]
    notes: tuple[str, ...] = ()


class PairVariance(Record):
    """Variances of the pass rate, an arm against the baseline (w^2 and s^2 of Miller 2024, arXiv:2411.00640)."""

    arm: str
    between: Annotated[float, Field(description="w^2: of true differences between scenarios")]
    within: Annotated[float, Field(description="s^2: of the arm's repetitions of a scenario")]
    within_baseline: float
    scenarios: int
    rate_baseline: Annotated[float | None, Field(description="its mean pass rate; null: not known")] = None


class Design(Record):
    """A number of scenarios and of repetitions, for every arm."""

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
    """Smallest effects and costs of designs."""

    experiment: str
    arms: int
    comparisons: Annotated[int, Field(description="in the family; the level is divided by it")]
    effect: Annotated[float, Field(description="wanted: a difference of pass rates")]
    basis: Annotated[str, Field(description="where the variances come from")]
    variances: tuple[PairVariance, ...]
    designs: tuple[Design, ...]
    cheapest: Annotated[Design | None, Field(description="of the designs that see the effect")]
    at_hand: Annotated[str, Field(description="what the experiment's own scenarios can do")]
