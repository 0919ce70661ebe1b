"""Readiness of a code base: items of the four tasks with their known answers, scores, comparisons, and the report."""

import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.judgment import Fraction
from scylla_gha.model.trial import Outcome

Dimension = Literal["intent-clarity", "modification-confidence", "cross-file-coherence", "semantic-completeness"]
DIMENSIONS: Final[dict[Dimension, str]] = {
    "intent-clarity": "Intent Clarity",
    "modification-confidence": "Modification Confidence",
    "cross-file-coherence": "Cross-File Coherence",
    "semantic-completeness": "Semantic Completeness",
}
ANSWER_FILE: Final = "ANSWER.json"
# Field of the answer that decides a part, if its name differs from the part's
ANSWER_FIELDS: Final = {"completeness": "chain", "accuracy": "chain", "efficiency": "chain"}
SOLVED: Final = 0.5  # corrected score from which an anchor counts as solved
Guesser = Literal["uniform", "by_size", "most_frequent", "prompt"]
REPORT_FILE: Final = "readiness.json"  # name of the report in a run's folder, also on the results branch
LIMITS: Final = (
    "It measures agent, model and code together. Do not compare repositories: their tasks differ in difficulty.",
    "Intents from history favour careful commit subjects; masked names make them harder than real requests.",
    "Public code may be remembered by the model; the closed-book control bounds that.",
    "Dynamic dispatch leaves calls unknown, which are not scored; small repositories get n/a.",
    "A dollar shows large changes only. Only --head and `why` are experiments; all else is an association.",
    "The project's tests run in the box: if its environment cannot be built there, two of four dimensions remain.",
)


class ItemPart(Record):
    """Separately scored part of an item.

    Attributes:
        form: kind of question; parts of one form share their guessing level.
        weight: points of the seed within the task (40, 40, 20).
        key: known answer as JSON, in the form of the part's grader.
        candidates: possible answers of a guesser (ids of functions, tests); empty: an edit, which cannot be guessed.
        from_trace: True if the part is scored from the trial's trace instead of a checkpoint (efficiency).
    """

    id: Annotated[str, Field(pattern=r"^[a-z]+$")]
    form: str
    weight: Annotated[float, Field(gt=0)]
    key: dict[str, object]
    candidates: tuple[str, ...] = ()
    from_trace: bool = False


class ChangedText(Record):
    """New text of a file, or None if it is removed."""

    path: str
    text: str | None


class ReadinessItem(Record):
    """Question or edit at one anchor: one scenario, one trial.

    Attributes:
        anchor: id of the item's function ("path::name").
        anchor_digest: SHA-256 of the function's text, which differs between commits if the code changed.
        files: files whose text the item depends on.
        prompt: exact text for the agent.
        has_shell: True if the agent may run commands (edits); otherwise it reads and writes files only (questions).
        start: changes of the code base before the agent starts: a guard removed, a body masked, tests hidden.
        solution: changes after the start that solve the item, with a score of 1.0 in every part.
        hidden: files for the grader that the agent does not see, by path in the code base (hidden tests).
        tests: ids of tests that the grader runs; empty for questions.
        notes: facts for the report's evidence (intent, ladder step, number of candidates).
    """

    id: Annotated[str, Field(pattern=r"^[0-9]{3}-[a-z0-9-]+$")]
    dimension: Dimension
    anchor: str
    anchor_digest: str
    files: tuple[str, ...]
    prompt: str
    has_shell: bool
    parts: Annotated[tuple[ItemPart, ...], Field(min_length=1)]
    start: tuple[ChangedText, ...] = ()
    solution: Annotated[tuple[ChangedText, ...], Field(min_length=1)]
    hidden: tuple[ChangedText, ...] = ()
    tests: tuple[str, ...] = ()
    notes: dict[str, str] = {}


class MissingDimension(Record):
    """Dimension without a score, and the reason in a sentence."""

    dimension: Dimension
    reason: str


class ItemSet(Record):
    """All items of a code base at a commit (`items.json` of a suite).

    Attributes:
        tree: digest of the code base's files.
        seed: seed of the sampling.
        language: main language.
        missing: dimensions that do not apply.
        counts: yields, by name ("functions", "usable intents", "guards under test"), for the report.
    """

    tree: str
    seed: int
    language: str
    items: tuple[ReadinessItem, ...]
    missing: tuple[MissingDimension, ...] = ()
    counts: dict[str, int] = {}


def scenario_id(item: str, side: str) -> str:
    """Return the id of an item's scenario; a side is "" for the measured commit, "head", or a twin's name."""
    return f"{item}.{side}" if side else item


class ObservedTrial(Record):
    """Judged repetition of an item; with the items, the only input of the score.

    Attributes:
        item: id of the item.
        parts: share of the points by id of the part; a missing part is N/A in this trial.
        tokens: tokens of all requests; None: unknown.
        opened: files of the code base in the order in which the agent first opened them.
        calls: number of tool calls; None: unknown.
    """

    item: str
    repetition: Annotated[int, Field(ge=1)] = 1
    outcome: Outcome
    reason: str = ""
    parts: dict[str, Fraction] = {}
    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None
    calls: int | None = None
    opened: tuple[str, ...] = ()


class GuessLevel(Record):
    """Share of the points of one form of question that can be earned without reading the code."""

    form: str
    parts: Annotated[int, Field(description="Number of items with a part of this form")]
    guessers: Annotated[dict[Guesser, Fraction], Field(description="Mean share by guesser; empty: no choice")]
    closed_book: Annotated[
        Fraction | None, Field(description="Mean share of the model without tools; null: the model was not asked")
    ] = None
    asked: Annotated[int, Field(description="Number of items that the model answered without tools")] = 0

    @property
    def level(self) -> float:
        """Level by which scores are corrected: the best guesser's mean or the control's, whichever is larger."""
        return max([*self.guessers.values(), self.closed_book or 0.0, 0.0])


class AnchorScore(Record):
    """Score of an item: the mean of its repetitions; 0 is the level of guessing, 1 is all points.

    Attributes:
        file: file of the anchor.
        score: score corrected for guessing, below 0 if worse than guessing; None: no trial measures the agent.
        points: share of the points as graded, not corrected.
        parts: corrected score by id of the part.
        trials: number of repetitions that measure the agent.
        outcomes: number of trials by outcome, excluded ones included.
        tokens: mean number of tokens of the counted trials; None: unknown.
        calls: mean number of tool calls of the counted trials; None: unknown.
    """

    item: str
    dimension: Dimension
    anchor: str
    anchor_digest: str
    file: str
    score: float | None
    points: Fraction | None
    parts: dict[str, float]
    trials: int
    outcomes: dict[str, int]
    tokens: float | None = None
    usd: float | None = None
    calls: float | None = None

    @property
    def is_solved(self) -> bool | None:
        """True if at least half of the points above guessing are earned; None without a score."""
        return None if self.score is None else self.score >= SOLVED


class DimensionScore(Record):
    """Score of one dimension, 0 (guessing) to 100, with its 95 % interval.

    Attributes:
        anchors: number of items with a score.
        planned: number of items in the suite.
        excluded: number of trials that do not measure the agent, by outcome.
        solved: number of anchors with at least half of the points above guessing.
        tokens_per_solved: median tokens of the solved anchors; None: no anchor is solved, or tokens are unknown.
        calls_per_solved: median tool calls of the solved anchors; None: no anchor is solved, or calls are unknown.
        missing: reason why there is no score; None: there is a score.
    """

    dimension: Dimension
    score: float | None
    low: float | None = None
    high: float | None = None
    anchors: int
    planned: int
    excluded: dict[str, int] = {}
    failed: Annotated[dict[str, int], Field(description="Trials without an answer, which score 0")] = {}
    solved: int = 0
    tokens_per_solved: float | None = None
    usd_per_solved: float | None = None
    calls_per_solved: float | None = None
    missing: str | None = None


class Association(Record):
    """Counts of a feature among missed and solved anchors; an association, not a cause."""

    dimension: Dimension | None
    feature: str
    missed: int
    of_missed: int
    solved: int
    of_solved: int


class WorstFile(Record):
    """File whose anchors were missed most, with a sentence of evidence from the traces."""

    file: str
    missed: int
    anchors: int
    evidence: str


class ReadinessScore(Record):
    """Readiness of a code base for one agent and model (`readiness.json`).

    Attributes:
        subject: agent with its version and model, in words.
        score: mean of the dimensions that apply; None: no dimension applies.
        applied: number of dimensions (of four) with a score.
        files: number of files with anchors, which the interval resamples.
    """

    schema_version: int = 1
    tree: str
    seed: int
    language: str
    subject: str = ""
    score: float | None
    low: float | None = None
    high: float | None = None
    applied: int
    files: int
    dimensions: tuple[DimensionScore, ...]
    levels: tuple[GuessLevel, ...]
    anchors: tuple[AnchorScore, ...]
    associations: tuple[Association, ...] = ()
    worst_files: tuple[WorstFile, ...] = ()
    closed_book_usd: Annotated[
        float | None,
        Field(description="Cost in USD of the closed-book control; null: unknown, or there was no control"),
    ] = None
    notes: tuple[str, ...] = ()


class AnchorChange(Record):
    """Anchor with a (corrected) score in both commits."""

    dimension: Dimension
    anchor: str
    before: float
    after: float
    code_changed: bool

    @property
    def is_flipped(self) -> bool:
        """True if the anchor is solved in only one of the commits."""
        return (self.before >= SOLVED) != (self.after >= SOLVED)


class DimensionChange(Record):
    """Change of one dimension over the anchors that both commits share."""

    dimension: Dimension
    before: float | None
    after: float | None
    ruling: Ruling


class ScoreComparison(Record):
    """Comparison of two commits, paired by anchor.

    Attributes:
        ruling: verdict over all shared anchors.
        unchanged: verdict over anchors with equal code in both, which measures changes around them.
        changed: verdict over anchors whose code, and so also question, differs.
        flipped: anchors that are solved in only one of the commits, lost ones first.
        anchors: list of all shared anchors.
        only_before: anchors that are missing, or have no score, in the second commit.
    """

    schema_version: int = 1
    before: str
    after: str
    ruling: Ruling
    unchanged: Ruling
    changed: Ruling
    dimensions: tuple[DimensionChange, ...]
    flipped: tuple[AnchorChange, ...]
    anchors: tuple[AnchorChange, ...]
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()


class SuiteFacts(Record):
    """Facts about a code base from which items were made.

    Attributes:
        side: "" for the measured commit; "head" or a twin's name.
        tree: digest of the code base's files.
        yields: numbers of possible items and their sources by name, for the report.
        planned: number of items by dimension.
        missing: dimensions without items, with reasons.
        notes: sentences about omitted items.
        renamed: new ids of anchors in a twin.
    """

    side: str
    commit: str
    tree: str
    language: str
    yields: dict[str, int] = {}
    planned: dict[Dimension, int] = {}
    missing: tuple[MissingDimension, ...] = ()
    notes: tuple[str, ...] = ()
    renamed: dict[str, str] = {}


class TwinEffect(Record):
    """Effect of one change of the code on the score, measured on a twin.

    Attributes:
        name: name of the twin, such as "names-100".
        what: description of the change.
        missing: reason why there is no comparison; None: there is a comparison.
    """

    name: str
    what: str
    comparison: ScoreComparison | None = None
    missing: str | None = None


class MadeSuite(Record):
    """Record of a written suite (`suite.json`); a suite with the same key is reused."""

    key: str
    sides: tuple[SuiteFacts, ...]
    unusable: Annotated[tuple[TwinEffect, ...], Field(description="Twins that could not be measured")] = ()


class ReadinessReport(Record):
    """Printed and published results of a measurement.

    Attributes:
        unavailable: reason why no agent was run; None: agents were run.
        score: score of the measured commit; None if `unavailable`.
        head: score of the commit with which it is compared.
        usd: cost of all sessions and controls in USD; None: unknown.
    """

    schema_version: int = 1
    repository: str
    at: datetime.datetime
    toolkit_version: str
    agent: str
    agent_version: str | None = None
    model: str | None = None
    sessions: Annotated[int, Field(description="Number of planned sessions of all sides")] = 0
    budget_usd: float | None = None
    usd: float | None = None
    unavailable: str | None = None
    facts: tuple[SuiteFacts, ...]
    score: ReadinessScore | None = None
    head: ReadinessScore | None = None
    comparison: ScoreComparison | None = None
    twins: tuple[TwinEffect, ...] = ()
    limits: tuple[str, ...] = LIMITS
