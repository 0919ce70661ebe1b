"""What the judges of a panel answered, one by one, before any consensus."""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from scylla_gha.model.record import Record, Text

Severity = Literal["negligible", "trivial", "minor", "moderate", "major", "severe", "critical"]
Flag = Literal[
    "disagreement",
    "evidence_contradicts_score",
    "points_out_of_range",
    "unknown_item",
    "evidence_cut",
    "instruction_in_data",
]
# Why a judge left items out: its model refused, its provider rejected what it was to be shown, it answered otherwise
# than asked, or it could not be reached. What an agent wrote can bring about all but the last.
Lost = Literal["refused", "rejected", "unreadable", "unreached"]
Points = Annotated[float, Field(ge=0, description="of 1.0; a value is 1 less all of them, and never below 0")]

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


class Deduction(Record):
    """A fault and what it costs, within the tier of its severity."""

    severity: Severity
    points: Points
    why: Text


class JudgeScore(Record):
    """One judge on one item. Only a `scored` item has a value, and `missing` is neither N/A nor 0."""

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
    """All that one judge said of one trial. `error` is why items are missing, never the agent's doing."""

    judge: Annotated[Text, Field(description="the model's id")]
    prompt_digest: Annotated[str, Field(description="SHA-256 of the system prompt and the user's message it was sent")]
    items: tuple[JudgeScore, ...] = ()
    excess: Annotated[str | None, Field(description="work beyond the requirements, as the judge cites it")] = None
    steps: Annotated[tuple[str, ...], Field(description="the progress steps that it found achieved")] = ()
    retries: Annotated[int, Field(ge=0, description="further requests for items that could not be read")] = 0
    unknown: Annotated[tuple[str, ...], Field(description="ids of items that it made up; dropped")] = ()
    flags: tuple[Flag, ...] = ()
    error: str | None = None
    lost: Annotated[Lost | None, Field(description="why items are missing; null: none is")] = None
    diff_alone: Annotated[bool, Field(description="it was asked again, and shown nothing but the diff")] = False

    def score(self, item: str) -> JudgeScore | None:
        """What it said of an item; None where it said nothing that stands."""
        return next((one for one in self.items if one.id == item and one.state != "missing"), None)


class Difference(Record):
    """An item that a judge valued differently when it was asked the same again; None is N/A or missing."""

    id: str
    first: float | None
    second: float | None


class Control(Record):
    """What a control of a judge found: `holds` is None where it could not be decided."""

    kind: Literal["repeat", "order_swap", "canary"]
    judge: Text
    holds: bool | None
    why: str
    compared: Annotated[int, Field(ge=0, description="items with an answer on both sides")] = 0
    differences: tuple[Difference, ...] = ()
