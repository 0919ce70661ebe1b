"""Judgments: check results, answers of the judges, item scores, the score, and controls of judges."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from scylla_gha.model import FileDigest, Record, Text
from scylla_gha.model.trial import NO_USAGE, Usage

Severity = Literal["negligible", "trivial", "minor", "moderate", "major", "severe", "critical"]
Flag = Literal[
    "disagreement",
    "evidence_contradicts_score",
    "points_out_of_range",
    "unknown_item",
    "evidence_cut",
    "instruction_in_data",
]
# Reasons why a judge omitted items: its model refused, its provider rejected the prompt, its answer had another
# form, or it could not be reached. An agent's text can cause the first and the third; a rejected prompt is sent
# again without the agent's text, and counts as refused if that prompt is accepted.
Lost = Literal["refused", "rejected", "unreadable", "unreached"]
Points = Annotated[float, Field(ge=0, description="Points deducted from 1.0; a value is never below 0")]
PROMPT_BYTES: Final = 320_000  # maximum size of a request to a judge, on which the reserved amount is based
# The deduction tiers of the paper, section 4.1; the last tier has no upper limit.
TIERS: Final[dict[Severity, tuple[float, float]]] = {
    "negligible": (0.0, 0.05),
    "trivial": (0.05, 0.15),
    "minor": (0.15, 0.30),
    "moderate": (0.30, 0.50),
    "major": (0.50, 0.80),
    "severe": (0.80, 1.50),
    "critical": (1.50, float("inf")),
}
# A trial passes only if its required checks and guards hold (a guard held before the agent's change); rubric items are
# scored by scored checks; conditions only decide which items apply; progress checks only show the agent's progress.
CheckRole = Literal["required", "guard", "scored", "condition", "progress"]
Grade = Literal["S", "A", "B", "C", "D", "F"]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Deduction(Record):
    """A fault and its points, within the tier of its severity."""

    severity: Severity
    points: Points
    why: Text


class JudgeScore(Record):
    """One judge's score of an item. Only a `scored` item has a value; `missing` is neither N/A nor 0."""

    id: str
    evidence: str = Field(description="Evidence that the judge quotes, written before the value")
    deductions: tuple[Deduction, ...] = ()
    state: Literal["scored", "na", "missing"]
    value: Annotated[float | None, Field(ge=0, le=1)] = None
    reason: str = Field(default="", description="Reason why the item is N/A or has no value")
    flags: tuple[Flag, ...] = ()

    @model_validator(mode="after")
    def _value_where_scored(self) -> "JudgeScore":
        if (self.value is not None) != (self.state == "scored"):
            raise ValueError("a scored item needs a value, and any other item must have none")
        return self


class JudgeAnswer(Record):
    """One judge's answer on one trial. `error` says why items are missing."""

    judge: Text = Field(description="Model id of the judge")
    prompt_digest: str = Field(description="SHA-256 of the system prompt and the user message")
    items: tuple[JudgeScore, ...] = ()
    excess: str | None = Field(
        default=None, description="Work beyond the requirements, in the judge's words; null: none"
    )
    steps: tuple[str, ...] = Field(default=(), description="Progress steps that are achieved")
    retries: int = Field(default=0, ge=0, description="Number of further requests for unreadable items")
    unknown: tuple[str, ...] = Field(
        default=(), description="Ids in the answer that the rubric does not have, which are dropped"
    )
    flags: tuple[Flag, ...] = ()
    error: str | None = None
    lost: Lost | None = Field(default=None, description="Reason why items are missing; null: no item is missing")
    diff_alone: bool = Field(default=False, description="True if the judge was asked again with only the diff")

    @property
    def withheld(self) -> bool:
        """True if the judge answered but omitted items; they count as unmet, since an agent's text can cause it."""
        return self.lost in {"refused", "unreadable"}

    def score(self, item: str) -> JudgeScore | None:
        """Return the score of an item; None if it is missing."""
        return next((score for score in self.items if score.id == item and score.state != "missing"), None)


class PanelDifference(Record):
    """Item that a judge scored differently when asked again; None is N/A or missing."""

    id: str
    first: float | None
    second: float | None


class ControlResult(Record):
    """Result of a judge's control; `holds` is None if it is undecided."""

    kind: Literal["repeat", "order_swap", "canary"]
    judge: Text
    holds: bool | None
    why: str
    compared: int = Field(default=0, ge=0, description="Number of items with an answer on both sides")
    differences: tuple[PanelDifference, ...] = ()


class CheckResult(Record):
    """Result of a checkpoint: True if it holds, its value as a fraction, and the evidence."""

    id: str
    holds: bool
    value: Fraction
    evidence: str
    seconds: float = 0.0
    what: str = Field(default="", description="The condition in one sentence; empty: written by an older version")
    role: CheckRole | None = Field(default=None, description="Use of the check; null: written by an older version")


class ItemScore(Record):
    """Value of an item from 0 to 1, or None with the reason why it is N/A; for panel items, the consensus."""

    id: str
    category: str
    points: float
    value: Fraction | None
    by: Literal["check", "judge"]
    reason: str
    flags: tuple[Flag, ...] = ()
    text: str = Field(default="", description="Requirement that earns the points; empty: written by an older version")


class CategoryScore(Record):
    """Achieved and maximum points of the applicable items, and the weight without N/A categories."""

    id: str
    weight: float
    achieved: float
    maximum: float


class Score(Record):
    """Verdict on one trial, computed from items and checkpoints."""

    score: Fraction | None
    grade: Grade | None
    passed: bool
    why: str = Field(description="First reason why the trial did not pass, or the reason why it passed")
    progress: Fraction | None = Field(
        description="Weight of the expected steps that were achieved, as a share; null: unknown"
    )
    broken: tuple[str, ...] = Field(
        default=(), description="Ids of the guards that held on the base, but no longer hold"
    )


class Judgment(Record):
    """Judgment of a trial; `key` covers the trial's key, checks, rubric and judges."""

    schema_version: int = 2
    cell: str
    key: str
    trial_key: str
    error: str | None = Field(
        default=None, description="Reason why the trial could not be judged, so that judging is tried again; null: none"
    )
    unjudged: str | None = Field(
        default=None,
        description="In records of earlier versions, final reason why judges answered without a verdict",
    )
    checks: tuple[CheckResult, ...] = ()
    check_seconds: float | None = Field(
        default=None, description="Wall time in seconds of all checks; null: written by an older version"
    )
    items: tuple[ItemScore, ...] = ()
    answers: tuple[JudgeAnswer, ...] = Field(default=(), description="Answers of the judges; empty: no panel was asked")
    usage: Usage = Field(default=NO_USAGE, description="Usage of the panel; the agent's usage is in its trial")
    unadjusted: tuple[str, ...] = Field(
        default=(), description="Configured model settings that requests of some judges did not have"
    )
    subscription: bool = Field(default=False, description="True if a subscription paid, so that USD are list prices")
    files: dict[str, FileDigest] = Field(
        default={}, description="Digests of the logs of the panel's requests, by name in the cell's folder"
    )
    categories: tuple[CategoryScore, ...] = ()
    result: Score | None = Field(
        default=None,
        description="Verdict and score, also if a required check fails and judges gave no score; null: no verdict",
    )


class JudgeControl(Record):
    """One line of `controls.jsonl`, written before the judge is asked, so that no paid request is lost."""

    schema_version: int = 1
    key: str = Field(description="Digest of the judge, its prompt and the evidence")
    judge: Text
    scenario: Text
    cell: str | None = Field(
        default=None, description="Cell whose trial was judged again; None: the control has known answers"
    )
    times: int = Field(default=1, ge=1, description="Number of requests per question")
    controls: tuple[ControlResult, ...] = ()
    error: str | None = Field(
        default=None, description="Reason why some controls are undecided, so that the judge is asked again; None: none"
    )
    usage: Usage = Field(default=NO_USAGE, description="Usage of all requests with this key")
    traffic: FileDigest | None = Field(
        default=None, description="Digest of the log of its requests; None: written by an older version"
    )
    stands: bool = Field(default=True, description="False if the report has another judge, prompt or rubric")

    @property
    def subject(self) -> str:
        """Cell of the control, or its scenario if there is no cell."""
        return self.cell or self.scenario


class PanelSummary(Record):
    """Summary of a panel's judgments, compared with the experiment's own panel."""

    panel: str = Field(description="Name of the judge overrides, or `experiment`")
    judges: tuple[str, ...]
    trials: int = Field(description="Number of trials to judge")
    judged: int
    passed: int
    mean_score: float | None
    compared: int = Field(
        default=0, description="Number of trials with a score by this panel and by the experiment's own panel"
    )
    difference: float | None = Field(
        default=None, description="Mean absolute difference of these scores; null: none compared"
    )
    flips: tuple[str, ...] = Field(default=(), description="Cells that pass by only one of the two panels")
    usd: float | None = Field(description="Cost in USD of these judgments, earlier ones included; null: unknown")


class JudgingSummary(Record):
    """Output of `scylla-gha judge`."""

    schema_version: int = 1
    experiment: str
    panels: tuple[PanelSummary, ...]
    probes: tuple[JudgeControl, ...]


@dataclass(frozen=True, slots=True)
class Judge:
    """A judging model; without a `temperature`, the model uses its own, as some models require."""

    model: str
    temperature: float | None = None
    max_tokens: int = 16_000
