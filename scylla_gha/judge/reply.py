"""Strict parsing of a judge's reply: one JSON object, alone or in a code fence; items are read one by one.

An item that cannot be read is missing, with the reason; so is an item with two answers, or with a number out of range
or not finite.
The value of a subjective item is 1 less the points of its deductions, whatever total the judge states.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints, ValidationError

from scylla_gha.counting import counted
from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.model.judgment import TIERS, Deduction, Flag, JudgeScore, Severity
from scylla_gha.model.scenario import Item

REPLY_CHARS: Final = 100_000  # a longer reply is cut and not read
_EVIDENCE_CHARS: Final = 2_000
_CITED_CHARS: Final = 1_000
_UNKNOWN: Final = 20  # unknown items whose names are kept
_DIGITS: Final = 9
_SLACK: Final = 0.1  # between a judge's own number and that of its deductions
_GRAVE: Final[frozenset[Severity]] = frozenset({"major", "severe", "critical"})
_DONE: Final = r"(?:satisfied|met|fulfilled|achieved)\b"
_MET: Final = re.compile(r"\b(?:is|are|fully|clearly|completely|all)\s+" + _DONE, re.IGNORECASE)
_NOT_MET: Final = re.compile(r"\b(?:not|never|isn't|aren't)\s+(?:\w+\s+)?" + _DONE, re.IGNORECASE)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|nothing|cannot|\w+n't|fails?|missing|without|neither|nor)\b", re.IGNORECASE
)
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
_EMPTY: Final = {"", "none", "n/a", "na", "null", "no", "nothing"}  # words of models for an empty field

_NonEmpty = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class _RawDeduction(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

    severity: Severity
    points: float
    why: _NonEmpty


class _RawItem(BaseModel):
    """An item as the judge writes it."""

    model_config = ConfigDict(strict=True, extra="ignore")

    id: str
    evidence: _NonEmpty
    deductions: list[_RawDeduction] = []
    score: float | None = None
    na: str | None = None


class _Answer(BaseModel):
    """The shape that the system prompt asks for; other fields of the object, such as a total, are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")

    items: list[JsonValue]
    steps: list[str] = []
    excess: str | None = None
    instructions_found: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """Content of a reply: a score for every requested item, possibly missing; `fault` if it is not an answer."""

    items: tuple[JudgeScore, ...]
    excess: str | None = None
    steps: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    flags: frozenset[Flag] = frozenset()
    fault: str | None = None


def missing_score(item: str, reason: str, *flags: Flag) -> JudgeScore:
    """Return an item without a value, with the reason."""
    return JudgeScore(id=item, evidence="", state="missing", reason=reason, flags=flags)


def unreadable_items(fault: str, requested: Sequence[Item]) -> ParsedReply:
    """Return a reply that is not an answer: all requested items are missing."""
    return ParsedReply(items=tuple(missing_score(item.id, fault) for item in requested), fault=fault)


def parse_reply(text: str, requested: Sequence[Item], known: frozenset[str], steps: Sequence[str]) -> ParsedReply:
    """Parse a reply.

    Args:
        text: the judge's text.
        requested: the items of the latest request.
        known: ids of the items of all requests; any other id is unknown.
        steps: the progress steps, in the order in which they were numbered.
    """
    try:
        answer = _Answer.model_validate(_json_value(text))
    except ValidationError as error:
        return unreadable_items(f"not the object that was asked for: {_first_error(error)}", requested)
    except ValueError as error:
        return unreadable_items(str(error)[:200], requested)
    names_given = (raw.get("id") if isinstance(raw, dict) else None for raw in answer.items)
    ids = [name if isinstance(name, str) else "" for name in names_given]
    counts = Counter(ids)
    by_id = dict(zip(ids, answer.items, strict=True))
    unknown = tuple(name[:40] for name in counts if name and name not in known)
    names = {f"step-{number}": step for number, step in enumerate(steps, 1)}
    flags: set[Flag] = {"unknown_item"} if unknown or set(answer.steps) - set(names) else set()
    if _cited(answer.instructions_found):
        flags.add("instruction_in_data")
    return ParsedReply(
        items=tuple(_score(item, by_id.get(item.id), counts[item.id]) for item in requested),
        excess=_cited(answer.excess),
        steps=tuple(step for name, step in names.items() if name in answer.steps),
        unknown=unknown[:_UNKNOWN],
        flags=frozenset(flags),
    )


def _json_value(text: str) -> object:
    """Parse the reply as exactly one JSON value; raise ValueError if it is something else."""
    bare = text.strip()
    match = _FENCED.fullmatch(bare)
    try:
        return parse_json(match[1] if match else bare, keep_non_finite=True, unique_keys=True)
    except InvalidJsonError as error:
        raise ValueError(f"the reply is not one JSON object alone: {error}") from None


def _first_error(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'the answer'}: {first['msg']}"


def _cited(text: str | None) -> str | None:
    bare = (text or "").strip()
    return None if bare.lower().rstrip(".") in _EMPTY else bare[:_CITED_CHARS]


def _score(item: Item, raw: JsonValue, times: int) -> JudgeScore:
    if times != 1:
        return missing_score(item.id, f"answered {counted(times, 'time')}" if times else "not answered")
    try:
        return _item_score(item, _RawItem.model_validate(raw))
    except ValidationError as error:
        return missing_score(item.id, _first_error(error))


def _item_score(item: Item, raw: _RawItem) -> JudgeScore:
    """Return the judge's score of an item, with flags; missing if its answer is not valid."""
    evidence = raw.evidence[:_EVIDENCE_CHARS]
    if raw.na is not None and raw.na.strip():
        if raw.score is not None or raw.deductions:
            return missing_score(item.id, "it is N/A, and yet has a score or deductions")
        return JudgeScore(id=item.id, evidence=evidence, state="na", reason=raw.na.strip()[:_EVIDENCE_CHARS])
    if range_fault := next(filter(None, map(_range_fault, raw.deductions)), None):
        return missing_score(item.id, range_fault, "points_out_of_range")
    value = _value(item, raw)
    if isinstance(value, str):
        return missing_score(item.id, value, *(("points_out_of_range",) if raw.score is not None else ()))
    return JudgeScore(
        id=item.id,
        evidence=evidence,
        deductions=tuple(
            Deduction(severity=fault.severity, points=fault.points, why=fault.why[:_EVIDENCE_CHARS])
            for fault in raw.deductions
        ),
        state="scored",
        value=value,
        flags=("evidence_contradicts_score",) if _contradicts(item, raw, value) else (),
    )


def _value(item: Item, raw: _RawItem) -> float | str:
    """Return the value in 0..1, or why there is none."""
    if item.type == "subjective":
        return max(0.0, round(1.0 - sum(deduction.points for deduction in raw.deductions), _DIGITS))
    if raw.score is None:
        return "score: is null, and it is not N/A either"
    if item.type == "binary" and raw.score not in {0.0, 1.0}:
        return "score: of a binary item it is 0 or 1"
    return raw.score if 0 <= raw.score <= 1 else "score: is not in 0..1"


def _range_fault(deduction: _RawDeduction) -> str | None:
    """Return why the points do not fit the severity, or None."""
    low, high = TIERS[deduction.severity]
    if low <= round(deduction.points, _DIGITS) <= high:
        return None
    bounds = f"{low:.2f} points or more" if high == float("inf") else f"{low:.2f} to {high:.2f} points"
    return f"deductions: {deduction.severity} is {bounds}, not {deduction.points:g}"


def _contradicts(item: Item, raw: _RawItem, value: float) -> bool:
    """Return whether the judge's text contradicts its value. This sets a flag, and never changes a value."""
    grave = any(deduction.severity in _GRAVE for deduction in raw.deductions)
    if item.type == "subjective":
        return raw.score is not None and not abs(raw.score - value) <= _SLACK  # true for NaN, too
    if value == 1:
        return grave or bool(_NOT_MET.search(raw.evidence))
    says_met = bool(_MET.search(raw.evidence)) and not _NEGATION.search(raw.evidence)
    return value == 0 and not raw.deductions and says_met
