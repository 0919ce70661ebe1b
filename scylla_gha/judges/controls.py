"""Controls of a judge: does it say the same twice, whatever the order, and can it tell good from bad?

Pure functions over whatever asks a judge; what they find is a record, and nobody's score.
"""

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from typing import Final, Literal

from scylla_gha.judges.blind import BlindInput
from scylla_gha.judges.panel import Judge
from scylla_gha.model.panel import Control, Difference, JudgeAnswer

Ask = Callable[[Judge, BlindInput], JudgeAnswer]

HIGH: Final = 0.8  # what a known-good answer must reach: grade A
GAP: Final = 0.2  # how far a known-bad one must stay below it: a grade
_DIGITS: Final = 9


def repeat(ask: Ask, judge: Judge, blind: BlindInput, times: int = 2, first: JudgeAnswer | None = None) -> Control:
    """Ask the same so many times; every difference from the first answer is noise of the judge.

    Args:
        ask: asks the judge.
        judge: whom.
        blind: what about.
        times: how often, `first` among them.
        first: what it has answered to the very same already.
    """
    answers = [first or ask(judge, blind), *(ask(judge, blind) for _ in range(times - 1))]
    return _compared("repeat", judge, answers)


def order_swap(ask: Ask, judge: Judge, blind: BlindInput) -> Control:
    """Ask with the items in order and in reverse; every difference is noise or a bias of position."""
    swapped = dataclasses.replace(blind, items=tuple(reversed(blind.items)))
    return _compared("order_swap", judge, [ask(judge, blind), ask(judge, swapped)])


def canary(ask: Ask, judge: Judge, good: BlindInput, bad: BlindInput) -> Control:
    """Ask for a known-good answer and a known-bad one, of the same scenario: can the judge tell them apart?

    The known-bad one is a plausible mistake, of which not everything is bad: so it need not be low, but lower.

    Args:
        ask: asks the judge.
        judge: whom.
        good: with the reference solution's diff and checks.
        bad: with a wrong solution's diff and checks.
    """
    high, low = (_mean(blind, ask(judge, blind)) for blind in (good, bad))
    if high is None or low is None:
        which = "known-good" if high is None else "known-bad"
        return Control(kind="canary", judge=judge.model, holds=None, why=f"no item of the {which} answer has a value")
    why = f"known-good {high:.2f} (at least {HIGH}), known-bad {low:.2f} (lower by at least {GAP})"
    holds = high >= HIGH and round(high - low, _DIGITS) >= GAP
    return Control(kind="canary", judge=judge.model, holds=holds, why=why)


def _mean(blind: BlindInput, answer: JudgeAnswer) -> float | None:
    """The mean of the items' values by their points; None where an item is missing or none has a value."""
    scores = {item.id: answer.score(item.id) for item in blind.items}
    pairs = [(one.value, item.points) for item in blind.items if (one := scores[item.id]) and one.value is not None]
    if not pairs or None in scores.values():
        return None
    return statistics.fmean([value for value, _ in pairs], weights=[points for _, points in pairs])


def _compared(kind: Literal["repeat", "order_swap"], judge: Judge, answers: Sequence[JudgeAnswer]) -> Control:
    """Compare later answers with the first; an item that one of both lacks is no difference, and not compared."""
    first = answers[0]
    both = [
        (a, b)
        for later in answers[1:]
        for one in first.items
        if (a := first.score(one.id)) and (b := later.score(a.id))
    ]
    found = [Difference(id=a.id, first=a.value, second=b.value) for a, b in both if a.value != b.value]
    if not both:
        return Control(kind=kind, judge=judge.model, holds=None, why="no item has an answer on both sides")
    return Control(
        kind=kind,
        judge=judge.model,
        holds=not found,
        why=f"{len(found)} of {len(both)} items differ",
        compared=len(both),
        differences=tuple(found),
    )
