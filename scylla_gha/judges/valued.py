"""The value of one item, from what a judge said of it.

Of a subjective item the value is 1 less the points of its deductions, whatever the judge made of them. A number out of
its range is not moved into it: the item is missing, and asked again.
"""

import re
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, StringConstraints

from scylla_gha.model.panel import TIERS, Deduction, Flag, JudgeScore, Severity
from scylla_gha.model.rubric import Item

_Said = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
_EVIDENCE_CHARS: Final = 2_000
_DIGITS: Final = 9
_SLACK: Final = 0.1  # between a judge's own number and that of its deductions
_GRAVE: Final[frozenset[Severity]] = frozenset({"major", "severe", "critical"})
_DONE: Final = r"(?:satisfied|met|fulfilled|achieved)\b"
_MET: Final = re.compile(r"\b(?:is|are|fully|clearly|completely|all)\s+" + _DONE, re.IGNORECASE)
_NOT_MET: Final = re.compile(r"\b(?:not|never|isn't|aren't)\s+(?:\w+\s+)?" + _DONE, re.IGNORECASE)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|nothing|cannot|\w+n't|fails?|missing|without|neither|nor)\b", re.IGNORECASE
)


class _RawDeduction(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

    severity: Severity
    points: float
    why: _Said


class RawItem(BaseModel):
    """An item as a judge writes it."""

    model_config = ConfigDict(strict=True, extra="ignore")

    id: str
    evidence: _Said
    deductions: list[_RawDeduction] = []
    score: float | None = None
    na: str | None = None


def missing(item: str, reason: str, *flags: Flag) -> JudgeScore:
    """An item without a value, and why."""
    return JudgeScore(id=item, evidence="", state="missing", reason=reason, flags=flags)


def valued(item: Item, raw: RawItem) -> JudgeScore:
    """The judge's score of an item, with flags; missing where what it said does not make one."""
    evidence = raw.evidence[:_EVIDENCE_CHARS]
    if raw.na is not None and raw.na.strip():
        if raw.score is not None or raw.deductions:
            return missing(item.id, "it is N/A, and yet has a score or deductions")
        return JudgeScore(id=item.id, evidence=evidence, state="na", reason=raw.na.strip()[:_EVIDENCE_CHARS])
    outside = [one for one in raw.deductions if not _within(one)]
    if outside:
        return missing(item.id, _range_fault(outside[0]), "points_out_of_range")
    value = _value(item, raw)
    if isinstance(value, str):
        return missing(item.id, value, *(("points_out_of_range",) if raw.score is not None else ()))
    return JudgeScore(
        id=item.id,
        evidence=evidence,
        deductions=tuple(_deduction(one) for one in raw.deductions),
        state="scored",
        value=value,
        flags=("evidence_contradicts_score",) if _contradicts(item, raw, value) else (),
    )


def _value(item: Item, raw: RawItem) -> float | str:
    """The value in 0..1, or why there is none."""
    if item.type == "subjective":
        return max(0.0, round(1.0 - sum(one.points for one in raw.deductions), _DIGITS))
    if raw.score is None:
        return "score: is null, and it is not N/A either"
    if item.type == "binary" and raw.score not in {0.0, 1.0}:
        return "score: of a binary item it is 0 or 1"
    return raw.score if 0 <= raw.score <= 1 else "score: is not in 0..1"


def _within(one: _RawDeduction) -> bool:
    low, high = TIERS[one.severity]
    return low <= round(one.points, _DIGITS) <= high


def _range_fault(one: _RawDeduction) -> str:
    low, high = TIERS[one.severity]
    bounds = f"{low:.2f} or more" if high == float("inf") else f"{low:.2f} to {high:.2f}"
    return f"deductions: {one.severity} is {bounds} points, not {one.points:g}"


def _deduction(one: _RawDeduction) -> Deduction:
    return Deduction(severity=one.severity, points=one.points, why=one.why[:_EVIDENCE_CHARS])


def _contradicts(item: Item, raw: RawItem, value: float) -> bool:
    """Whether what the judge wrote speaks against its value. Only a flag hangs on this, never a value."""
    grave = any(one.severity in _GRAVE for one in raw.deductions)
    if item.type == "subjective":
        return raw.score is not None and not abs(raw.score - value) <= _SLACK  # true of a NaN, too
    if value == 1:
        return grave or bool(_NOT_MET.search(raw.evidence))
    says_met = bool(_MET.search(raw.evidence)) and not _NEGATION.search(raw.evidence)
    return value == 0 and not raw.deductions and says_met
