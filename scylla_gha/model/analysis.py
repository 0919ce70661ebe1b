"""Statistics of the rows: every number with its interval, method and population."""

from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Record

Target = Literal["these scenarios", "scenarios like these"]
State = Literal["known", "unknown", "undefined", "infinite"]
Verdict = Literal["better", "worse", "equivalent", "not_enough_data"]
Family = Literal["baseline", "tiers", "models", "modes"]
FAMILIES: Final[dict[Family, str]] = {
    "baseline": "arms against the baseline", "tiers": "each tier against the one before",
    "models": "models against each other", "modes": "each mode against the baseline's mode",
}  # fmt: skip
PAIRED: Final = frozenset({"baseline", "modes"})  # families that compare an arm with another arm
MODE_BY_MODEL: Final = "mode x model"  # interactions: whether a mode's effect depends on the model
# The verdict on several arms is the first of these that any of them has.
OVERALL: Final[tuple[Verdict, ...]] = ("worse", "not_enough_data", "better", "equivalent")


class Measure(Record):
    """One estimand of an arm, or of a part of its trials. `value` is null unless the state is `known`."""

    metric: str
    value: float | None
    low: Annotated[float | None, Field(description="of the 95 % interval; infinite: one-sided; null: none")] = None
    high: float | None = None
    state: State = "known"
    n: Annotated[int, Field(description="number of trials")]
    scenarios: int
    method: Annotated[str, Field(description="of the interval; empty: no interval")] = ""
    target: Target = "scenarios like these"
    note: Annotated[str, Field(description="why there is no value, or what to be careful about")] = ""


class ArmMeasures(Record):
    """All measures of an arm."""

    arm: str
    measures: tuple[Measure, ...]


class TierMeasures(Record):
    """Costs and tokens of a tier: of the judged trials of all its sub-tests together."""

    tier: str
    arms: tuple[str, ...]
    measures: tuple[Measure, ...]


class Slice(Record):
    """Pass rate of one or several arms on a part of the scenarios."""

    by: Literal["scenario", "category", "difficulty", "size", "tier"]
    name: str
    arm: str
    passed: int
    rate: Measure


class Contrast(Record):
    """Comparison of two arms on one metric, paired by scenario. Value, limits and p are of the same estimand."""

    arm: str
    baseline: str
    metric: str
    scale: Annotated[
        Literal["difference", "ratio"],
        Field(description="ratio: of geometric means over scenarios; of cost of pass, of both values"),
    ]
    value: float | None
    low: float | None = None
    high: float | None = None
    inner_low: Annotated[
        float | None,
        Field(description="of the 90 % interval; of shares: it holds though a large difference is too rare to be seen"),
    ] = None
    inner_high: float | None = None
    equal_low: Annotated[
        float | None, Field(description="as inner_low, adjusted for the family; decides equivalence")
    ] = None
    equal_high: float | None = None
    method: str = ""
    p: Annotated[float | None, Field(description="sign-flip over scenarios; never 0")] = None
    least_p: Annotated[float | None, Field(description="smallest p that is possible with so many scenarios")] = None
    p_adjusted: Annotated[float | None, Field(description="within the family")] = None
    family: str = ""
    family_size: int = 1
    adjustment: Annotated[Literal["Holm", "Benjamini-Hochberg", "none"], Field()] = "none"
    p_here: Annotated[float | None, Field(description="stratified permutation: on these scenarios only")] = None
    scenarios: Annotated[int, Field(description="of both arms")]
    dropped: Annotated[int, Field(description="scenarios of only one of the arms")] = 0
    wins: Annotated[tuple[int, int, int], Field(description="scenarios won, tied, lost")] = (0, 0, 0)
    cohens_d: Annotated[float | None, Field(description="of all trials, unpaired; null: no spread")] = None
    hedges_g: float | None = None
    d_z: Annotated[float | None, Field(description="of the paired differences")] = None
    cliffs_delta: float | None = None
    correlation: Annotated[float | None, Field(description="of the two arms' scenario means")] = None
    smallest_effect: Annotated[float | None, Field(description="detected with 80 % power at this spread")] = None
    note: str = ""


class Ruling(Record):
    """Verdict on an arm against its baseline, by pass rate and the margin that counts as no difference."""

    arm: str
    baseline: str
    verdict: Verdict
    why: str
    margin: float
    contrast: Contrast
    is_withheld: Annotated[bool, Field(description="too many cells have no counted trial; no gate holds then")] = False


class Interaction(Record):
    """Configuration compared with what its parts, each alone, add up to.

    Effects are differences of pass rates from the arm without any of the parts, over the scenarios that all have.
    """

    whole: str
    parts: tuple[str, ...]
    without: Annotated[str, Field(description="the arm that has none of the parts")]
    kinds: Annotated[tuple[str, ...], Field(description="of what the whole sets: blocks, skills, agents, tools, ...")]
    effect: Annotated[float | None, Field(description="of the whole; null: no scenario that all of them tried")]
    sum_of_parts: Annotated[float | None, Field(description="the effects of the parts, added up")]
    contrast: Annotated[Contrast, Field(description="effect of the whole minus that sum")]


class BestSubtest(Record):
    """Best sub-test of a tier: selected on one half of the repetitions, reported on the other."""

    tier: str
    arm: str
    of: Annotated[int, Field(description="number of sub-tests to choose from")]
    chosen: Measure
    reported: Measure


class CostFrontier(Record):
    """Lowest cost of a pass."""

    pooled: Measure
    best: tuple[str, ...]
    per_scenario: Measure
    unsolved: Annotated[int, Field(description="scenarios that no arm passed and that have no human baseline")]
    human: Annotated[int, Field(description="scenarios with a human baseline")]
    shares: Annotated[dict[str, float], Field(description="how often each arm is the cheapest in resamples")]
    optimism: Annotated[float | None, Field(description="of older reports, which overstated it; not shown")] = None
    pareto: Annotated[tuple[str, ...], Field(description="arms that no other beats in both pass rate and cost")] = ()


class Pair(Record):
    """Two judges: mean difference of their scores, and its standard deviation."""

    first: str
    second: str
    bias: float
    sd: float | None
    n: int


class Agreement(Record):
    """Agreement of the judges. Null is undefined: too few scores, or no spread."""

    judges: tuple[str, ...]
    trials: int
    alpha: Annotated[float | None, Field(description="Krippendorff's, interval scale, over all trials")]
    alpha_low: float | None
    alpha_high: float | None
    icc_single: Annotated[float | None, Field(description="ICC(2,1): of one judge")]
    icc_panel: Annotated[float | None, Field(description="ICC(2,k): of the panel's mean")]
    kappa: Annotated[float | None, Field(description="of grades, quadratic weights, mean over pairs of judges")]
    decisive: Annotated[float | None, Field(description="share of trials whose pass depends on the rule of consensus")]
    pairs: tuple[Pair, ...]
    by_scenario: Annotated[dict[str, float | None], Field(description="alpha of each")]


class ToolUse(Record):
    """Calls of one tool by one arm."""

    arm: str
    tool: str
    calls: int
    per_trial: float


SpreadMetric = Literal["seconds", "usd"]


class Spread(Record):
    """Values of the judged trials of an arm, for a picture of how they spread."""

    arm: str
    metric: SpreadMetric
    n: Annotated[int, Field(description="trials with a known value")]
    timeouts: Annotated[int, Field(description="those of them that ran into their time limit")]
    quartiles: Annotated[
        tuple[float, float, float, float, float], Field(description="least, first, median, third, largest; of all")
    ]
    values: Annotated[tuple[float, ...], Field(description="of other trials, sorted; of many, some at equal distances")]
    late: Annotated[tuple[float, ...], Field(description="likewise, of trials that timed out")] = ()


class Outlier(Record):
    """Trial with unusual values, for a person to inspect."""

    cell: str
    what: str


class ShrunkRate(Record):
    """Pass rate of an arm, shrunk towards similar arms by a binomial model over arms and scenarios."""

    arm: str
    rate: float
    low: float
    high: float


class Omnibus(Record):
    """Friedman's test over all arms on their common scenarios; `w` is Kendall's, 0 to 1."""

    metric: str
    arms: int
    scenarios: int
    statistic: float
    p: float
    w: float


class UnpairedArm(Record):
    """Arm without common scenarios; limits of the mean by BCa bootstrap over trials."""

    arm: str
    n: int
    mean: float
    median: float
    low: float | None
    high: float | None


class UnpairedPair(Record):
    """Two arms by ranks of their trials: Mann-Whitney, two-sided, Holm-adjusted over all pairs."""

    arm: str
    baseline: str
    p: float | None
    p_adjusted: float | None
    cliffs_delta: float | None


class Unpaired(Record):
    """Arms without common scenarios: Kruskal-Wallis over all, and every pair. Trials are treated as independent."""

    metric: str
    h: float | None
    p: float | None
    arms: tuple[UnpairedArm, ...]
    pairs: tuple[UnpairedPair, ...]


class Analysis(Record):
    """All statistics that the `report` extra computes from the rows."""

    measures: tuple[ArmMeasures, ...]
    slices: tuple[Slice, ...]
    rulings: tuple[Ruling, ...]
    answers: Annotated[
        tuple[Ruling, ...],
        Field(description="of the declared family, if its sides are tiers or models",
              exclude_if=lambda rulings: not rulings),
    ] = ()  # fmt: skip
    contrasts: tuple[Contrast, ...]
    best: tuple[BestSubtest, ...] = ()
    tiers: Annotated[
        tuple[TierMeasures, ...],
        Field(description="of two tiers or more", exclude_if=lambda tiers: not tiers),
    ] = ()
    interactions: Annotated[
        tuple[Interaction, ...],
        Field(
            description="of configurations whose parts are arms too", exclude_if=lambda interactions: not interactions
        ),
    ] = ()
    frontier: CostFrontier | None = None
    agreement: Agreement | None = None
    tools: tuple[ToolUse, ...] = ()
    spreads: Annotated[tuple[Spread, ...], Field(description="for pictures; older reports have none")] = ()
    odd: tuple[Outlier, ...] = ()
    shrunk: tuple[ShrunkRate, ...] = ()
    omnibus: tuple[Omnibus, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    warnings: tuple[str, ...] = ()
