"""Controls of a judge: does it say the same twice, whatever the order, and can it tell good from bad?

Pure functions over whatever asks a judge; what they find is a record, and nobody's score.
"""

import dataclasses
import statistics
from collections.abc import Callable
from typing import Final, Literal

from scylla_gha.judges.blind import BlindInput
from scylla_gha.judges.panel import Judge
from scylla_gha.model.panel import Control, Difference, JudgeAnswer

Ask = Callable[[Judge, BlindInput], JudgeAnswer]

HIGH: Final = 0.8  # what a known-good answer must reach: grade A
LOW: Final = 0.4  # what a known-bad one must stay below: grade D


def repeat(ask: Ask, judge: Judge, blind: BlindInput) -> Control:
    """Ask the same twice; every difference is noise of the judge."""
    return _compared("repeat", judge, ask(judge, blind), ask(judge, blind))


def order_swap(ask: Ask, judge: Judge, blind: BlindInput) -> Control:
    """Ask with the items in order and in reverse; every difference is noise or a bias of position."""
    swapped = dataclasses.replace(blind, items=tuple(reversed(blind.items)))
    return _compared("order_swap", judge, ask(judge, blind), ask(judge, swapped))


def canary(ask: Ask, judge: Judge, good: BlindInput, bad: BlindInput) -> Control:
    """Ask for a known-good answer and a known-bad one, of the same scenario: the first must be high, the second low.

    Args:
        ask: asks the judge.
        judge: whom.
        good: with the reference solution's diff and checks.
        bad: with a wrong solution's diff and checks, or none at all.
    """
    high, low = (_mean(blind, ask(judge, blind)) for blind in (good, bad))
    if high is None or low is None:
        which = "known-good" if high is None else "known-bad"
        return Control(kind="canary", judge=judge.model, holds=None, why=f"no item of the {which} answer has a value")
    why = f"known-good {high:.2f} (at least {HIGH}), known-bad {low:.2f} (below {LOW})"
    return Control(kind="canary", judge=judge.model, holds=high >= HIGH and low < LOW, why=why)


def _mean(blind: BlindInput, answer: JudgeAnswer) -> float | None:
    """The mean of the items' values by their points; None where an item is missing or none has a value."""
    scores = {item.id: answer.score(item.id) for item in blind.items}
    pairs = [(one.value, item.points) for item in blind.items if (one := scores[item.id]) and one.value is not None]
    if not pairs or None in scores.values():
        return None
    return statistics.fmean([value for value, _ in pairs], weights=[points for _, points in pairs])


def _compared(kind: Literal["repeat", "order_swap"], judge: Judge, first: JudgeAnswer, second: JudgeAnswer) -> Control:
    """Compare what both answers have; an item that one of them lacks is no difference, and not compared."""
    both = [(a, b) for one in first.items if (a := first.score(one.id)) and (b := second.score(one.id))]
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
