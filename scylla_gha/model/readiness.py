"""Items of the four readiness tasks: a question or an edit at one anchor, its parts, and the known answers."""

from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Record

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


class ItemPart(Record):
    """Part of an item that is scored by itself.

    Attributes:
        form: kind of question; parts of one form share their guessing level.
        weight: points of the seed within the task (40, 40, 20).
        key: the known answer, as the form's grader reads it (JSON).
        candidates: what a guesser may choose from (ids of functions, tests); empty: edits cannot be guessed.
        from_trace: it is scored from the trial's trace, and not by a checkpoint (efficiency).
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
        anchor: id of the function ("path::name") that the item is about.
        anchor_digest: SHA-256 of the function's text; another one in another commit: the code changed.
        files: files whose text the item depends on.
        prompt: the exact text for the agent.
        has_shell: the agent may run commands (edits); else it reads and writes files only (questions).
        start: changes of the code base from which the agent starts: a guard removed, a body masked, tests hidden.
        solution: changes of that start which answer the item; it scores 1.0 in every part.
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
