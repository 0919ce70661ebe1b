"""Reports as data: that of one run, and those of the commands compare, history, aa-test and power."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.analysis import FAMILIES, Analysis, Contrast, Ruling, Verdict
from scylla_gha.model.experiment import Expectation
from scylla_gha.model.github_requests import GitHubServer
from scylla_gha.model.plan import Estimate, ImpossibleTask

Metric = Literal["pass_rate", "score", "usd", "tokens", "seconds"]


class Counts(Record):
    """Denominators of all rates."""

    planned: int
    ran: int = Field(description="Number of cells that have a trial with any outcome")
    judged: int = Field(description="Number of trials that measure the agent and were judged")
    scored: int = Field(description="Number of judged trials with a score")


class ApiUse(Record):
    """Operations of an arm on GitHub: means of the trials that measure the agent."""

    trials: int
    scenarios: int = Field(description="Number of scenarios that all modes can do; on others, modes cannot be compared")
    calls: dict[str, float] = Field(
        description="Mean number of API operations of a trial, by category, such as pr.read"
    )
    failed: float = Field(description="Mean number of API operations of a trial that were answered with an error")
    repeated: float = Field(
        description="Mean number of API operations of a trial that repeat an operation which had just failed"
    )


class ResourceUse(Record):
    """Use of a declared resource in the judged trials of an arm whose uses are known."""

    resource: str = Field(description="skill/NAME, mcp/NAME or agent/NAME")
    trials: int = Field(description="Number of trials whose uses are known")
    used: int = Field(description="Number of these trials that used it")
    uses: int = Field(description="Number of uses in all trials")
    by_prompt: int = Field(default=0, description="Number of trials whose prompt called it by name")
    read: int = Field(
        default=0, description="Number of trials in which a tool's result had its text and that never used it"
    )
    refused: int = Field(default=0, description="Number of calls that the agent CLI refused")


class ArmSummary(Record):
    """Summary of an arm. Rates are over the trials that measure the agent and were judged."""

    arm: str
    counts: Counts
    passed: int
    pass_rate: float | None
    pass_low: float | None = Field(
        description="Lower limit of the 95 % Wilson interval of the pass rate, repetitions pooled"
    )
    pass_high: float | None
    unjudged: int = Field(default=0, description="Number of trials of the agent without a verdict")
    pass_bounds: tuple[float, float] | None = Field(
        default=None,
        description="Pass rate if all trials without a verdict had failed, and if all had passed; null: every "
        "trial has a verdict, or there is no rate",
    )
    withheld: int = Field(
        default=0,
        exclude_if=lambda trials: trials == 0,
        description="Number of judged trials for which a judge answered and left out an item",
    )
    github_gaps: int = Field(
        default=0,
        exclude_if=lambda gaps: gaps == 0,
        description="Number of judged trials that used a feature which the hub lacks",
    )
    pass_rate_without_gaps: float | None = Field(
        default=None,
        exclude_if=lambda rate: rate is None,
        description="Pass rate of the judged trials that used no such feature; null: there is no such trial",
    )
    api: ApiUse | None = Field(
        default=None,
        exclude_if=lambda api: api is None,
        description="Use of GitHub's API; null: the trials had no GitHub",
    )
    uses: tuple[ResourceUse, ...] = Field(
        default=(), exclude_if=lambda uses: not uses, description="Use of each declared resource, the least used last"
    )
    mean_score: float | None
    mean_progress: float | None
    grades: dict[str, int]
    outcomes: dict[str, int]
    usd: float | None = Field(
        description="Cost in USD of all attempts of all trials; null: the cost of an agent is unknown"
    )
    side_requests: int = Field(default=0, description="Number of requests in all trials to models other than the arm's")
    side_usd: float | None = Field(
        default=0.0, description="Cost in USD of requests to models other than the arm's, a part of usd; null: unknown"
    )
    cost_of_pass: float | None = Field(
        description="Cost in USD per pass, over the judged trials; null: unknown, or no pass"
    )
    mean_seconds: float | None
    tokens: int | None = Field(
        description="Number of input, output, cache read and cache write tokens together; null: unknown"
    )


class ScenarioRow(Record):
    """Passed and judged trials of a scenario, by arm."""

    scenario: str
    passed: dict[str, tuple[int, int]]


class Comparison(Record):
    """Verdict on an arm against its baseline."""

    arm: str
    baseline: str
    verdict: Verdict
    why: str


class HypothesisReading(Record):
    """Reading of the experiment's hypothesis by the verdicts of the declared family."""

    text: str
    expected: Expectation | None = Field(
        description="Verdicts that the experiment expects; null: no verdict is declared"
    )
    status: Literal["supported", "contradicted", "not_enough_data", "not_declared"]
    why: str


class Excluded(Record):
    """Cell that does not count in the rates, and the reason."""

    cell: str
    outcome: str = Field(description="Outcome of the cell, or `unjudged`, `missing` or `not_started`")
    reason: str


class Excused(Record):
    """Attempts of an arm whose outcome does not measure the agent, even if a later attempt succeeded."""

    arm: str
    outcome: str
    attempts: int
    trials: int
    reason: str = Field(description="Reason of one of these attempts")


class Failure(Record):
    """Judged trials of an arm that failed for the same reason; `cells` names a few."""

    arm: str
    kind: str = Field(description="Outcome of the trials, or the reason why completed trials did not pass")
    count: int
    cells: tuple[str, ...]


class Report(Record):
    """Result of an experiment, the source of all its renderings."""

    schema_version: int = 3
    experiment: str
    question: str
    toolkit_version: str
    counts: Counts
    arms: tuple[ArmSummary, ...]
    scenarios: tuple[ScenarioRow, ...]
    comparisons: tuple[Comparison, ...]
    hypothesis: Annotated[HypothesisReading | None, Field(exclude_if=lambda reading: reading is None)] = None
    excluded: tuple[Excluded, ...]
    excused: tuple[Excused, ...] = ()
    failures: tuple[Failure, ...] = ()
    delivery: tuple[int, int] | None = Field(
        default=None,
        description="Trials with proof that the agent got its treatment, and with a treatment; null: no treatment",
    )
    judge_usd: float | None = Field(
        description="Cost in USD of all judging and all controls; null: the cost of a trial is unknown"
    )
    not_possible: tuple[ImpossibleTask, ...] = Field(
        default=(),
        exclude_if=lambda tasks: not tasks,
        description="Tasks that a mode's tools cannot do, so that they are not compared",
    )
    judge_providers: dict[str, str] = Field(
        default={},
        exclude_if=lambda providers: not providers,
        description="Providers of the judges, by judge; empty: no judges, or written by an older version",
    )
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda notes: not notes,
        description="Notes about a change's edits, and about files for agents that arms had from the start states",
    )
    change: str = Field(
        default="",
        exclude_if=lambda change: not change,
        description="A change's edits to files for agents and variants, as a unified diff, which may be cut",
    )
    estimate: Estimate
    replayed: bool = Field(
        default=False, description="True if model answers came from a recording, so that nothing was measured"
    )
    analysis: Analysis | None = Field(
        default=None, description="Statistics of the rows; null: the `report` extra was not installed"
    )
    paired_by: Literal["baseline", "modes"] = Field(
        default="baseline",
        exclude_if=lambda family: family == "baseline",
        description="How `comparisons` pairs arms, for example each with the baseline",
    )
    imported: bool = Field(
        default=False, description="True if rows were imported, so that no trials are stored beside the report"
    )
    github: GitHubServer | None = Field(
        default=None,
        exclude_if=lambda github: github is None,
        description="Server of the trials' GitHub; null: no trial had GitHub",
    )

    @property
    def answer(self) -> tuple[Comparison, ...]:
        """Verdicts of the declared family; if it pairs arms or has no comparison, those of `comparisons`."""
        rulings = self.analysis.answers if self.analysis else ()
        answers = (
            Comparison(arm=ruling.arm, baseline=ruling.baseline, verdict=ruling.verdict, why=ruling.why)
            for ruling in rulings
        )
        return tuple(answers) or self.comparisons

    @property
    def family(self) -> str:
        """The comparisons of `answer` in words."""
        rulings = self.analysis.answers if self.analysis else ()
        return rulings[0].contrast.family if rulings else FAMILIES[self.paired_by]


class Flip(Record):
    """Scenario with different pass rates in A and B: numbers of passed and judged trials, before and after."""

    scenario: str
    before: tuple[int, int]
    after: tuple[int, int]


class ArmPair(Record):
    """An arm of B against an arm of A; their names in contrasts are `b:arm` and `a:arm`."""

    a_arm: str
    b_arm: str
    before: tuple[int, int] = Field(description="Numbers of passed and judged trials in A")
    after: tuple[int, int] = Field(description="Numbers of passed and judged trials in B")
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
    low: float = Field(description="Lower limit of the 95 % Wilson interval, with verdicts treated as independent")
    high: float
    equivalent_share: float
    flip_rate: float | None = Field(
        description="Probability that two of the verdicts differ; null: there is only one verdict"
    )


class EqualArm(Record):
    """One arm compared with itself."""

    arm: str
    scenarios: int = Field(description="Number of scenarios with at least two repetitions")
    repetitions: tuple[int, int] = Field(description="Smallest and largest numbers of repetitions of these scenarios")
    as_run: Verdict = Field(description="Verdict on odd against even repetitions")
    why: str
    resampled: FalseVerdictShares = Field(description="Verdicts over random halves of the repetitions")


class EqualArms(Record):
    """All arms of a run, each compared with itself."""

    experiment: str
    family: int = Field(description="Number of comparisons; each p is multiplied by it, as in a real verdict")
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
    usd: float | None = Field(
        description="Mean cost of a trial in USD; null: the cost of a judgment or a control is unknown"
    )
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
    run: str = Field(description="First result set after the change, or the result set that gave the signal")
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
    """Numbers of scenarios and repetitions, the same for every arm."""

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
    comparisons: int = Field(description="Number of comparisons in the family; the level is divided by it")
    effect: float = Field(description="Requested effect, as a difference of pass rates")
    basis: str = Field(description="Source of the variances")
    variances: tuple[PairVariance, ...]
    designs: tuple[Design, ...]
    cheapest: Design | None = Field(
        description="Cheapest design that detects the requested effect; null: no design does"
    )
    at_hand: str = Field(description="Effect that the experiment's own scenarios can detect, in a sentence")
