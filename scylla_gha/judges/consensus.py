"""What the panel holds together, item by item: the median, where a majority of the configured judges answered.

Fewer than a majority is `unjudged`: no value, and the trial has no score. With two of three judges, a binary item that
they split on is unjudged too: the mean of yes and no is no value that it can have.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.panel import Flag, JudgeAnswer, JudgeScore
from scylla_gha.model.rubric import Item

SPREAD: Final = 0.5  # judges who differ by more disagree
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Agreed:
    """The panel on one item. `value` None is N/A, or nothing at all where it is not `judged`."""

    value: float | None
    reason: str
    judged: bool = True
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Consensus:
    """The panel on a trial; `error` says which items are unjudged, and then the trial has no score."""

    items: dict[str, Agreed]
    excess: str | None = None
    steps: frozenset[str] = frozenset()
    error: str | None = None


def consensus(items: Iterable[Item], answers: Sequence[JudgeAnswer]) -> Consensus:
    """Bring the answers of all configured judges together; who could not be asked counts as missing.

    Args:
        items: those that the judges were asked for.
        answers: one of every configured judge.
    """
    need = len(answers) // 2 + 1
    agreed = {item.id: _agreed(item, answers, need) for item in items}
    unjudged = [name for name, one in agreed.items() if not one.judged]
    cited = [answer.excess for answer in answers if answer.excess]
    names = {step for answer in answers for step in answer.steps}
    return Consensus(
        items=agreed,
        excess=cited[0] if len(cited) >= need else None,
        steps=frozenset(name for name in names if sum(name in answer.steps for answer in answers) >= need),
        error=f"unjudged: {'; '.join(f'{name}: {agreed[name].reason}' for name in unjudged)}" if unjudged else None,
    )


def _agreed(item: Item, answers: Sequence[JudgeAnswer], need: int) -> Agreed:
    found = [(answer.judge, score) for answer in answers if (score := answer.score(item.id))]
    values = [score.value for _, score in found if score.value is not None]
    flags = _flags(item, found, values)
    if len(values) >= need:
        middle = round(statistics.median(values), _DIGITS)
        if item.type == "binary" and middle not in {0.0, 1.0}:
            return Agreed(None, f"the judges are split: {_shown(found)}", judged=False, flags=flags)
        return Agreed(middle, f"median of {_shown(found)}", flags=flags)
    if len(found) - len(values) >= need:
        reasons = [score.reason for _, score in found if score.state == "na"]
        return Agreed(None, f"does not apply: {reasons[0]}", flags=flags)
    lost = [f"{answer.judge}: {_lost(answer, item.id)}" for answer in answers if answer.score(item.id) is None]
    said = f"{len(found)} of {len(answers)} judges answered, {len(values)} with a value; {need} must agree"
    return Agreed(None, "; ".join([said, *lost]), judged=False, flags=flags)


def _flags(item: Item, found: Sequence[tuple[str, JudgeScore]], values: Sequence[float]) -> tuple[Flag, ...]:
    flags: set[Flag] = {flag for _, score in found for flag in score.flags}
    split = item.type == "binary" and len(set(values)) > 1
    wide = bool(values) and round(max(values) - min(values), _DIGITS) > SPREAD
    if split or wide or 0 < len(values) < len(found):
        flags.add("disagreement")
    return tuple(sorted(flags))


def _shown(found: Sequence[tuple[str, JudgeScore]]) -> str:
    return ", ".join(f"{judge} {'N/A' if score.value is None else f'{score.value:.2f}'}" for judge, score in found)


def _lost(answer: JudgeAnswer, item: str) -> str:
    reason = next((score.reason for score in answer.items if score.id == item), None)
    return reason or answer.error or "not answered"
