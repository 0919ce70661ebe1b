"""Consensus of the panel on each item: the median, if a majority of the configured judges answered.

With fewer answers the item is `unjudged`: it has no value, and the trial has no score. A binary item on which two of
three judges split is unjudged too: the mean of yes and no is not a value that it can have.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.judgment import Flag, JudgeAnswer, JudgeScore
from scylla_gha.model.scenario import Item

_SPREAD: Final = 0.5  # judges whose values differ by more disagree
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class AgreedItem:
    """Consensus on one item. `value` None is N/A, or unjudged if `judged` is false."""

    value: float | None
    reason: str
    judged: bool = True
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Consensus:
    """Consensus on a trial; `error` names the unjudged items, and then the trial has no score."""

    items: dict[str, AgreedItem]
    excess: str | None = None
    steps: frozenset[str] = frozenset()
    error: str | None = None


def consensus(items: Iterable[Item], answers: Sequence[JudgeAnswer]) -> Consensus:
    """Combine the answers of all configured judges; a judge that could not be asked counts as missing.

    Args:
        items: the items that the judges were asked for.
        answers: an answer of every configured judge.
    """
    need = len(answers) // 2 + 1
    agreed = {item.id: _agreed(item, answers, need) for item in items}
    unjudged = [name for name, item in agreed.items() if not item.judged]
    cited = [answer.excess for answer in answers if answer.excess]
    names = {step for answer in answers for step in answer.steps}
    return Consensus(
        items=agreed,
        excess=cited[0] if len(cited) >= need else None,
        steps=frozenset(name for name in names if sum(name in answer.steps for answer in answers) >= need),
        error=f"unjudged: {'; '.join(f'{name}: {agreed[name].reason}' for name in unjudged)}" if unjudged else None,
    )


def _agreed(item: Item, answers: Sequence[JudgeAnswer], need: int) -> AgreedItem:
    scores = [(answer.judge, score) for answer in answers if (score := answer.score(item.id))]
    values = [score.value for _, score in scores if score.value is not None]
    flags = _flags(item, scores, values)
    if len(values) >= need:
        middle = round(statistics.median(values), _DIGITS)
        if item.type == "binary" and middle not in {0.0, 1.0}:
            return AgreedItem(None, f"the judges are split: {_shown(scores)}", judged=False, flags=flags)
        return AgreedItem(middle, f"median of {_shown(scores)}", flags=flags)
    if len(scores) - len(values) >= need:
        reasons = [score.reason for _, score in scores if score.state == "na"]
        return AgreedItem(None, f"does not apply: {reasons[0]}", flags=flags)
    missing = (answer for answer in answers if answer.score(item.id) is None)
    counts = f"{len(scores)} of {counted(len(answers), 'judge')} answered, {len(values)} with a value"
    reasons = [f"{answer.judge}: {_missing_reason(answer, item.id)}" for answer in missing]
    return AgreedItem(None, "; ".join([counts, f"{need} must agree", *reasons]), judged=False, flags=flags)


def _flags(item: Item, scores: Sequence[tuple[str, JudgeScore]], values: Sequence[float]) -> tuple[Flag, ...]:
    flags: set[Flag] = {flag for _, score in scores for flag in score.flags}
    split = item.type == "binary" and len(set(values)) > 1
    wide = bool(values) and round(max(values) - min(values), _DIGITS) > _SPREAD
    if split or wide or 0 < len(values) < len(scores):
        flags.add("disagreement")
    return tuple(sorted(flags))


def _shown(scores: Sequence[tuple[str, JudgeScore]]) -> str:
    return ", ".join(f"{judge} {'N/A' if score.value is None else f'{score.value:.2f}'}" for judge, score in scores)


def _missing_reason(answer: JudgeAnswer, item: str) -> str:
    reason = next((score.reason for score in answer.items if score.id == item), None)
    return reason or answer.error or "not answered"
