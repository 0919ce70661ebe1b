"""Readiness score of a code base: dimensions, intervals, guessing levels, effort; and the change between two scores."""

from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.judgment import Fraction
from scylla_gha.model.readiness import Dimension
from scylla_gha.model.trial import Outcome

SOLVED: Final = 0.5  # corrected score from which an anchor counts as solved
Guesser = Literal["uniform", "by_size", "most_frequent", "prompt"]


class ObservedTrial(Record):
    """One repetition of an item as it was judged: the score's only input beside the items.

    Attributes:
        item: id of the item.
        parts: share of the points by id of the part; a part that is missing is N/A in this trial.
        tokens: of all requests; None: unknown.
        opened: files of the code base in the order in which the agent first opened them.
        calls: calls of tools; None: unknown.
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
    """Share of the points of one form of question that is earned without reading the code."""

    form: str
    parts: Annotated[int, Field(description="items that have such a part")]
    guessers: Annotated[dict[Guesser, Fraction], Field(description="mean of each simulated guesser; empty: no choice")]
    closed_book: Annotated[
        Fraction | None, Field(description="mean of the model without tools; null: it was not asked")
    ] = None
    asked: Annotated[int, Field(description="items that the control answered")] = 0

    @property
    def level(self) -> float:
        """The level that scores are corrected by: the larger of the best guesser's and the control's mean."""
        return max([*self.guessers.values(), self.closed_book or 0.0, 0.0])


class AnchorScore(Record):
    """Score of an item: the mean of its repetitions; 0 is the level of guessing, 1 is all points.

    Attributes:
        file: file of the anchor.
        score: corrected for guessing, below 0 if it is worse than that; None: no trial that measures the agent.
        points: share of the points as graded, not corrected.
        parts: corrected score by id of the part.
        trials: repetitions that measure the agent.
        outcomes: number of trials by outcome, those that are excluded too.
        tokens: mean of the counted trials; None: unknown.
        calls: calls of tools, mean of the counted trials; None: unknown.
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
        """True from half of the points that guessing does not earn; None without a score."""
        return None if self.score is None else self.score >= SOLVED


class DimensionScore(Record):
    """Score of one dimension, 0 (guessing) to 100, with its 95 % interval.

    Attributes:
        anchors: items with a score.
        planned: items of the suite.
        excluded: trials that do not measure the agent, by outcome.
        solved: anchors with at least half of the points that guessing does not earn.
        tokens_per_solved: median of the solved anchors; None: none is solved, or tokens are unknown.
        calls_per_solved: median of their calls of tools; None: as of tokens.
        missing: why there is no score; None: there is one.
    """

    dimension: Dimension
    score: float | None
    low: float | None = None
    high: float | None = None
    anchors: int
    planned: int
    excluded: dict[str, int] = {}
    failed: Annotated[dict[str, int], Field(description="trials that ended without an answer and score 0")] = {}
    solved: int = 0
    tokens_per_solved: float | None = None
    usd_per_solved: float | None = None
    calls_per_solved: float | None = None
    missing: str | None = None


class Association(Record):
    """Feature of anchors counted over missed and solved ones; it shows an association, not a cause."""

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
        subject: agent, its version and model, in words.
        score: mean of the dimensions that apply; None: none does.
        applied: how many of the four have a score.
        files: files that anchors are in; the interval resamples them.
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
        float | None, Field(description="paid for the closed-book control; null: not asked, or unknown")
    ] = None
    notes: tuple[str, ...] = ()


class AnchorChange(Record):
    """Anchor with a score in both commits; corrected scores."""

    dimension: Dimension
    anchor: str
    before: float
    after: float
    code_changed: bool

    @property
    def is_flipped(self) -> bool:
        """True if it is solved in one of the commits only."""
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
        unchanged: over those whose code is the same in both; what changed around them is measured.
        changed: over those whose code differs, whose questions differ too.
        flipped: anchors that are solved in one of the two only, lost ones first.
        anchors: all shared anchors.
        only_before: anchors that only the first commit has, or that have no score in the second.
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
