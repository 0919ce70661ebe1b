"""Statistics of the rows: every number with its interval, method and population."""

from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Record

Target = Literal["these scenarios", "scenarios like these"]
State = Literal["known", "unknown", "undefined", "infinite"]
Verdict = Literal["better", "worse", "equivalent", "not_enough_data"]
Family = Literal["baseline", "tiers", "models", "modes"]
FAMILIES: Final[dict[Family, str]] = {
    "baseline": "arms against the baseline",
    "tiers": "each tier against the previous one",
    "models": "models against each other",
    "modes": "each mode against the baseline's mode",
}
PAIRED: Final = frozenset({"baseline", "modes"})  # families that compare an arm with another arm
MODE_BY_MODEL: Final = "mode x model"  # interactions: whether a mode's effect depends on the model
# The verdict on several arms is the first of these verdicts that any arm has.
OVERALL: Final[tuple[Verdict, ...]] = ("worse", "not_enough_data", "better", "equivalent")


class Measure(Record):
    """One estimand of an arm, or of a part of its trials. `value` is null unless the state is `known`."""

    metric: str
    value: float | None
    low: float | None = Field(default=None, description="Lower 95 % limit; infinite: one-sided; null: no interval")
    high: float | None = None
    state: State = "known"
    n: int = Field(description="Number of trials")
    scenarios: int
    method: str = Field(default="", description="Method of the interval; empty: no interval")
    target: Target = "scenarios like these"
    note: str = Field(default="", description="Reason why there is no value, or a caution for the reader")


class ArmMeasures(Record):
    """All measures of an arm."""

    arm: str
    measures: tuple[Measure, ...]


class TierMeasures(Record):
    """Costs and tokens of the judged trials of all sub-tests of a tier."""

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
    """Comparison of two arms on one metric, paired by scenario. Value, limits and p have the same estimand."""

    arm: str
    baseline: str
    metric: str
    scale: Literal["difference", "ratio"] = Field(
        description="Kind of the value: a difference, or a ratio of geometric means over scenarios (for the cost "
        "of a pass, a ratio of the two values)"
    )
    value: float | None
    low: float | None = None
    high: float | None = None
    inner_low: float | None = Field(
        default=None,
        description="Lower limit of the 90 % interval; for shares, also valid if large differences are rare",
    )
    inner_high: float | None = None
    equal_low: float | None = Field(
        default=None, description="Like inner_low, adjusted for the family; decides equivalence"
    )
    equal_high: float | None = None
    method: str = ""
    p: float | None = Field(default=None, description="P-value of the sign-flip test over scenarios, never 0")
    least_p: float | None = Field(default=None, description="Smallest p that this number of scenarios can give")
    p_adjusted: float | None = Field(default=None, description="P-value adjusted for all comparisons of the family")
    family: str = ""
    family_size: int = 1
    adjustment: Annotated[Literal["Holm", "Benjamini-Hochberg", "none"], Field()] = "none"
    p_here: float | None = Field(default=None, description="Stratified permutation p-value, for these scenarios only")
    scenarios: int = Field(description="Number of scenarios that both arms have")
    dropped: int = Field(default=0, description="Number of scenarios that only one of the arms has")
    wins: tuple[int, int, int] = Field(default=(0, 0, 0), description="Number of scenarios won, tied and lost")
    cohens_d: float | None = Field(default=None, description="Cohen's d of all trials, unpaired; null: no spread")
    hedges_g: float | None = None
    d_z: float | None = Field(default=None, description="Effect size of the paired differences")
    cliffs_delta: float | None = None
    correlation: float | None = Field(default=None, description="Correlation of the two arms' scenario means")
    smallest_effect: float | None = Field(default=None, description="Smallest difference detected with 80 % power")
    note: str = ""


class Ruling(Record):
    """Verdict on an arm against its baseline, by pass rate and by the largest difference that counts as none."""

    arm: str
    baseline: str
    verdict: Verdict
    why: str
    margin: float
    contrast: Contrast
    is_withheld: bool = Field(
        default=False, description="True if too many cells have no counted trial; then every gate fails"
    )


class UsedEffect(Record):
    """Effect of a treatment where it was used: difference of a metric divided by the difference of uptake.

    It is present only if at least six scenarios and enough uses bound it. It assumes that a treatment that is not used
    changes nothing.
    """

    arm: str
    baseline: str
    metric: str
    value: float
    low: float
    high: float
    uptake: float = Field(description="Mean over scenarios of the difference of the shares of trials with a use")
    scenarios: int


class Interaction(Record):
    """Configuration compared with the sum of its parts, each tested alone.

    Effects are differences of pass rates from the arm without any part, over the scenarios that all arms have.
    """

    whole: str
    parts: tuple[str, ...]
    without: str = Field(description="Id of the arm that has none of the parts")
    kinds: tuple[str, ...] = Field(description="Kinds of settings in the whole: blocks, skills, agents, tools, ...")
    effect: float | None = Field(description="Effect of the whole; null: no scenario that all arms tried")
    sum_of_parts: float | None = Field(description="Sum of the effects of the parts")
    contrast: Contrast = Field(description="Effect of the whole minus the sum of the parts")


class BestSubtest(Record):
    """Best sub-test of a tier: selected on one half of the repetitions, reported on the other."""

    tier: str
    arm: str
    of: int = Field(description="Number of sub-tests of the tier")
    chosen: Measure
    reported: Measure


class CostFrontier(Record):
    """Lowest cost of a pass."""

    pooled: Measure
    best: tuple[str, ...]
    per_scenario: Measure
    unsolved: int = Field(description="Number of scenarios that no arm passed and that have no human baseline")
    human: int = Field(description="Number of scenarios with a human baseline")
    shares: dict[str, float] = Field(description="Share of resamples in which the arm is the cheapest, by arm")
    optimism: float | None = Field(default=None, description="Correction in older reports; overstated, so not shown")
    pareto: tuple[str, ...] = Field(default=(), description="Arms that no other arm beats in both pass rate and cost")


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
    alpha: float | None = Field(description="Krippendorff's alpha (interval scale) over all trials")
    alpha_low: float | None
    alpha_high: float | None
    icc_single: float | None = Field(description="ICC(2,1), of a single judge")
    icc_panel: float | None = Field(description="ICC(2,k), of the mean of the panel")
    kappa: float | None = Field(description="Cohen's kappa of grades with quadratic weights, mean over pairs of judges")
    decisive: float | None = Field(description="Share of trials whose pass depends on the rule of consensus")
    pairs: tuple[Pair, ...]
    by_scenario: dict[str, float | None] = Field(description="Krippendorff's alpha by scenario")


class ToolUse(Record):
    """Calls of one tool by one arm."""

    arm: str
    tool: str
    calls: int
    per_trial: float


SpreadMetric = Literal["seconds", "usd"]


class Spread(Record):
    """Values of the judged trials of an arm, for a chart of their spread."""

    arm: str
    metric: SpreadMetric
    n: int = Field(description="Number of trials with a known value")
    timeouts: int = Field(description="Number of these trials that timed out")
    quartiles: tuple[float, float, float, float, float] = Field(
        description="Smallest value, first quartile, median, third quartile and largest value of all trials"
    )
    values: tuple[float, ...] = Field(
        description="Sorted values of trials that did not time out; if there are many, a selection at equal distances"
    )
    late: tuple[float, ...] = Field(
        default=(),
        description="Sorted values of trials that timed out; if there are many, a selection at equal distances",
    )


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
    """Two arms compared by ranks of their trials: Mann-Whitney, two-sided, Holm-adjusted over all pairs."""

    arm: str
    baseline: str
    p: float | None
    p_adjusted: float | None
    cliffs_delta: float | None


class Unpaired(Record):
    """Arms without common scenarios: Kruskal-Wallis over all arms, and every pair. Trials count as independent."""

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
    answers: tuple[Ruling, ...] = Field(
        default=(),
        exclude_if=lambda rulings: not rulings,
        description="Verdicts of the declared family, if it is tiers or models",
    )
    contrasts: tuple[Contrast, ...]
    used_effects: tuple[UsedEffect, ...] = Field(
        default=(),
        exclude_if=lambda effects: not effects,
        description="Effects of arms where their treatment was used, if the data bound them",
    )
    best: tuple[BestSubtest, ...] = ()
    tiers: tuple[TierMeasures, ...] = Field(
        default=(), exclude_if=lambda tiers: not tiers, description="Measures by tier, if there are at least two tiers"
    )
    interactions: tuple[Interaction, ...] = Field(
        default=(),
        exclude_if=lambda interactions: not interactions,
        description="Effects of configurations whose parts are arms too",
    )
    frontier: CostFrontier | None = None
    agreement: Agreement | None = None
    tools: tuple[ToolUse, ...] = ()
    spreads: tuple[Spread, ...] = Field(default=(), description="Values for charts; older reports have none")
    odd: tuple[Outlier, ...] = ()
    shrunk: tuple[ShrunkRate, ...] = ()
    omnibus: tuple[Omnibus, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    warnings: tuple[str, ...] = ()
