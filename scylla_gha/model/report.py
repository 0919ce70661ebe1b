"""Report: the result of an experiment as data."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.analysis import FAMILIES, Analysis, Verdict
from scylla_gha.model.experiment import Expectation
from scylla_gha.model.github_requests import GitHubServer
from scylla_gha.model.plan import Estimate, ImpossibleTask


class Counts(Record):
    """Denominators of all rates."""

    planned: int
    ran: Annotated[int, Field(description="cells that left a trial of any outcome")]
    judged: Annotated[int, Field(description="trials that measure the agent and were judged")]
    scored: Annotated[int, Field(description="judged trials with a score that is not null")]


class ApiUse(Record):
    """Operations of an arm on GitHub: means of the trials that measure the agent."""

    trials: int
    scenarios: Annotated[int, Field(description="that all modes can do: on others, modes cannot be compared")]
    calls: Annotated[dict[str, float], Field(description="API operations of a trial by category, such as pr.read")]
    failed: Annotated[float, Field(description="operations of a trial that were answered with an error")]
    repeated: Annotated[float, Field(description="operations of a trial that had failed right before")]


class ArmSummary(Record):
    """Summary of an arm. Rates are over the trials that measure the agent and were judged."""

    arm: str
    counts: Counts
    passed: int
    pass_rate: float | None
    pass_low: Annotated[float | None, Field(description="lower limit of the 95 % Wilson interval, repetitions pooled")]
    pass_high: float | None
    unjudged: Annotated[int, Field(description="trials of the agent on which judging came to no verdict")] = 0
    pass_bounds: Annotated[
        tuple[float, float] | None,
        Field(description="the rate that is shown, had all of those failed and had all passed; null: none or no rate"),
    ] = None
    withheld: Annotated[
        int,
        Field(
            description="judged trials with a judge who was reached and gave no verdict",
            exclude_if=lambda trials: trials == 0,
        ),
    ] = 0
    github_gaps: Annotated[
        int,
        Field(description="judged trials that met a gap in the hub", exclude_if=lambda gaps: gaps == 0),
    ] = 0
    pass_rate_without_gaps: Annotated[
        float | None,
        Field(description="of the other judged trials; null: no trial met a gap", exclude_if=lambda rate: rate is None),
    ] = None
    api: Annotated[
        ApiUse | None, Field(description="null: its trials had no GitHub", exclude_if=lambda api: api is None)
    ] = None
    mean_score: float | None
    mean_progress: float | None
    grades: dict[str, int]
    outcomes: dict[str, int]
    usd: Annotated[float | None, Field(description="all attempts of all trials; null when one is unknown")]
    side_requests: Annotated[int, Field(description="of all trials, to other models than the arm's")] = 0
    side_usd: Annotated[float | None, Field(description="what they cost, a part of usd; null: unknown")] = 0.0
    cost_of_pass: Annotated[float | None, Field(description="of judged trials; null: unknown, or no pass")]
    mean_seconds: float | None
    tokens: Annotated[int | None, Field(description="input, output, cache read and write together")]


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
    expected: Annotated[Expectation | None, Field(description="null: the experiment declares none")]
    status: Literal["supported", "contradicted", "not_enough_data", "not_declared"]
    why: str


class Excluded(Record):
    """Cell that is not in the rates, and why."""

    cell: str
    outcome: Annotated[str, Field(description="an Outcome, `unjudged`, `missing`, or `not_started`")]
    reason: str


class Excused(Record):
    """Attempts of an arm with an outcome that does not measure the agent, also if a later attempt succeeded."""

    arm: str
    outcome: str
    attempts: int
    trials: int
    reason: Annotated[str, Field(description="of one of them")]


class Failure(Record):
    """Judged trials of an arm that failed for one reason; `cells` names a few of them."""

    arm: str
    kind: Annotated[str, Field(description="an Outcome, or why a completed trial did not pass")]
    count: int
    cells: tuple[str, ...]


class Report(Record):
    """Result of an experiment; all renderings are made from it."""

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
    delivery: Annotated[
        tuple[int, int] | None, Field(description="trials whose treatment was proved, of those that had one")
    ] = None
    judge_usd: Annotated[float | None, Field(description="of all judging and all controls; null when one is unknown")]
    not_possible: Annotated[
        tuple[ImpossibleTask, ...],
        Field(
            description="what a mode's tools cannot do, so that it is not compared", exclude_if=lambda tasks: not tasks
        ),
    ] = ()
    warnings: tuple[str, ...]
    notes: Annotated[
        tuple[str, ...],
        Field(
            description="what a change altered, and files for agents that arms had from the start states",
            exclude_if=lambda notes: not notes,
        ),
    ] = ()
    estimate: Estimate
    replayed: Annotated[bool, Field(description="model answers come from a recording: nothing was measured")] = False
    analysis: Annotated[Analysis | None, Field(description="null: the statistics were not installed")] = None
    paired_by: Annotated[
        Literal["baseline", "modes"],
        Field(description="which arms `comparisons` pairs", exclude_if=lambda family: family == "baseline"),
    ] = "baseline"
    imported: Annotated[bool, Field(description="no trial of it lies beside the report")] = False
    github: Annotated[
        GitHubServer | None,
        Field(description="whose GitHub the trials had; null: none had one", exclude_if=lambda github: github is None),
    ] = None

    @property
    def answer(self) -> tuple[Comparison, ...]:
        """Verdicts of the declared family; those of `comparisons` if it pairs arms, or compares nothing."""
        rulings = self.analysis.answers if self.analysis else ()
        answers = (Comparison(arm=ruling.arm, baseline=ruling.baseline, verdict=ruling.verdict, why=ruling.why)
                   for ruling in rulings)  # fmt: skip
        return tuple(answers) or self.comparisons

    @property
    def family(self) -> str:
        """The comparisons of `answer` in words."""
        rulings = self.analysis.answers if self.analysis else ()
        return rulings[0].contrast.family if rulings else FAMILIES[self.paired_by]
