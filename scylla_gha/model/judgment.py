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
# Why a judge left items out: its model refused, its provider rejected the prompt, its answer was not in the requested
# form, or it could not be reached. Text of an agent can cause the first and the third; what a provider rejects is asked
# again without the agent's text, and counts as refused if that is accepted.
Lost = Literal["refused", "rejected", "unreadable", "unreached"]
Points = Annotated[float, Field(ge=0, description="deducted from 1.0; a value is never below 0")]
PROMPT_BYTES: Final = 320_000  # maximum of a request to a judge, for which the reserved money pays
# The deduction tiers of the paper, section 4.1; the last has no upper end.
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
# scored by scored checks; conditions only decide which items apply; progress checks only show how far the agent came.
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
    evidence: Annotated[str, Field(description="what the judge saw, written before the value")]
    deductions: tuple[Deduction, ...] = ()
    state: Literal["scored", "na", "missing"]
    value: Annotated[float | None, Field(ge=0, le=1)] = None
    reason: Annotated[str, Field(description="why it is N/A, or why there is no value")] = ""
    flags: tuple[Flag, ...] = ()

    @model_validator(mode="after")
    def _value_where_scored(self) -> "JudgeScore":
        if (self.value is not None) != (self.state == "scored"):
            raise ValueError("a scored item has a value, and no other has")
        return self


class JudgeAnswer(Record):
    """One judge's answer on one trial. `error` says why items are missing."""

    judge: Annotated[Text, Field(description="the model's id")]
    prompt_digest: Annotated[str, Field(description="SHA-256 of the system prompt and the user's message")]
    items: tuple[JudgeScore, ...] = ()
    excess: Annotated[str | None, Field(description="work beyond the requirements, in the judge's words")] = None
    steps: Annotated[tuple[str, ...], Field(description="progress steps that are achieved")] = ()
    retries: Annotated[int, Field(ge=0, description="further requests for items that could not be read")] = 0
    unknown: Annotated[tuple[str, ...], Field(description="ids of items that the rubric does not have; dropped")] = ()
    flags: tuple[Flag, ...] = ()
    error: str | None = None
    lost: Annotated[Lost | None, Field(description="why items are missing; null: none is")] = None
    diff_alone: Annotated[bool, Field(description="it was asked again with the diff alone")] = False

    @property
    def withheld(self) -> bool:
        """True if the judge was reached and left items out, as a text of an agent can cause: they count as not met."""
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
    """Result of a judge's control: `holds` is None if it could not be decided."""

    kind: Literal["repeat", "order_swap", "canary"]
    judge: Text
    holds: bool | None
    why: str
    compared: Annotated[int, Field(ge=0, description="items with an answer on both sides")] = 0
    differences: tuple[PanelDifference, ...] = ()


class CheckResult(Record):
    """Result of a checkpoint: whether it holds, to which fraction, and the evidence."""

    id: str
    holds: bool
    value: Fraction
    evidence: str
    seconds: float = 0.0
    what: Annotated[str, Field(description="the condition in a sentence; empty: of an older version")] = ""
    role: Annotated[CheckRole | None, Field(description="use of the check; null: of an older version")] = None


class ItemScore(Record):
    """Value of an item in 0..1, or None with the reason why it is N/A; for panel items, the consensus."""

    id: str
    category: str
    points: float
    value: Fraction | None
    by: Literal["check", "judge"]
    reason: str
    flags: tuple[Flag, ...] = ()
    text: Annotated[str, Field(description="what earns the points; empty: of an older version")] = ""


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
    why: Annotated[str, Field(description="first reason why it did not pass, or reason why it passed")]
    progress: Annotated[Fraction | None, Field(description="weight of the expected steps that were achieved")]
    broken: Annotated[tuple[str, ...], Field(description="guards that held on the base and no longer do")] = ()


class Judgment(Record):
    """Judgment of a trial; `key` covers the trial's key, checks, rubric and judges."""

    schema_version: int = 2
    cell: str
    key: str
    trial_key: str
    error: Annotated[str | None, Field(description="why it could not be judged; judging is tried again")] = None
    unjudged: Annotated[
        str | None, Field(description="of earlier versions: why reached judges gave no verdict, which is final")
    ] = None
    checks: tuple[CheckResult, ...] = ()
    check_seconds: Annotated[float | None, Field(description="wall time of all checks; null: of an older version")] = (
        None
    )
    items: tuple[ItemScore, ...] = ()
    answers: Annotated[tuple[JudgeAnswer, ...], Field(description="of each judge; empty: no panel was asked")] = ()
    usage: Annotated[Usage, Field(description="of the panel; the agent's is in its trial")] = NO_USAGE
    unadjusted: Annotated[tuple[str, ...], Field(description="settings that some judges' requests did not have")] = ()
    subscription: Annotated[bool, Field(description="USD are list prices of what a subscription paid for")] = False
    files: Annotated[
        dict[str, FileDigest], Field(description="the panel's requests, by name in the cell's folder")
    ] = {}
    categories: tuple[CategoryScore, ...] = ()
    result: Annotated[Score | None, Field(description="also where a required check fails and judges gave no score")] = (
        None
    )


class JudgeControl(Record):
    """One line of `controls.jsonl`, written before the judge is asked, so no paid request is lost."""

    schema_version: int = 1
    key: Annotated[str, Field(description="covers the judge, its prompt, and the evidence")]
    judge: Text
    scenario: Text
    cell: Annotated[str | None, Field(description="the trial that was asked about again; None: known answers")] = None
    times: Annotated[int, Field(ge=1, description="how often each question was asked")] = 1
    controls: tuple[ControlResult, ...] = ()
    error: Annotated[str | None, Field(description="why not all were decided; it is then asked again")] = None
    usage: Annotated[Usage, Field(description="of all requests under this key")] = NO_USAGE
    traffic: Annotated[FileDigest | None, Field(description="its requests; None: of an older version")] = None
    stands: Annotated[bool, Field(description="false: of another judge, prompt or rubric than the report's")] = True

    @property
    def subject(self) -> str:
        """The cell that it is about, or else the scenario."""
        return self.cell or self.scenario


class PanelSummary(Record):
    """Summary of a panel's judgments, compared with the experiment's own panel."""

    panel: Annotated[str, Field(description="`experiment`, or the name of the overrides")]
    judges: tuple[str, ...]
    trials: Annotated[int, Field(description="that were to be judged")]
    judged: int
    passed: int
    mean_score: float | None
    compared: Annotated[int, Field(description="trials with a score by this panel and by the experiment's own")] = 0
    difference: Annotated[float | None, Field(description="mean absolute difference of those scores")] = None
    flips: Annotated[tuple[str, ...], Field(description="cells that pass by only one of the two")] = ()
    usd: Annotated[float | None, Field(description="of these judgments at any time; None: unknown")]


class JudgingSummary(Record):
    """Output of `scylla-gha judge`."""

    schema_version: int = 1
    experiment: str
    panels: tuple[PanelSummary, ...]
    probes: tuple[JudgeControl, ...]


@dataclass(frozen=True, slots=True)
class Judge:
    """A judging model; `temperature` None leaves it to the model, as some models require."""

    model: str
    temperature: float | None = None
    max_tokens: int = 16_000
