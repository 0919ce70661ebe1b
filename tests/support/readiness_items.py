"""Small suites of readiness items, and judged trials of them, built by hand."""

import random
from collections.abc import Callable
from typing import Any

from scylla_gha.model.readiness import (
    ChangedText,
    Dimension,
    ItemPart,
    ItemSet,
    MissingDimension,
    ObservedTrial,
    ReadinessItem,
)
from scylla_gha.model.trial import Outcome

TREE = "a" * 40
PARTS = (
    ItemPart(id="locate", form="locate", weight=40, key={}, candidates=("a.py::f",)),
    ItemPart(id="explain", form="explain", weight=40, key={}, candidates=("t::a", "t::b", "t::c", "t::d")),
    ItemPart(id="context", form="context", weight=20, key={}, candidates=("a.py::f",)),
)


def readiness_item(number: int, dimension: Dimension = "intent-clarity", digest: str = "0") -> ReadinessItem:
    """An item at function `f<number>`; two items share a file."""
    file = f"src/m{number // 2}.py"
    return ReadinessItem(
        id=f"{number:03d}-f{number}", dimension=dimension, anchor=f"{file}::f{number}", anchor_digest=digest * 64,
        files=(file,), prompt=f"Question {number}", has_shell=dimension != "intent-clarity", parts=PARTS,
        solution=(ChangedText(path="ANSWER.json", text="{}"),),
    )  # fmt: skip


def item_set(count: int = 12, dimension: Dimension = "intent-clarity", *missing: MissingDimension) -> ItemSet:
    items = tuple(readiness_item(number, dimension) for number in range(count))
    return ItemSet(tree=TREE, seed=0, language="python", items=items, missing=missing)


def trial(item: ReadinessItem, share: float = 1.0, outcome: Outcome = Outcome.COMPLETED, repetition: int = 1,
          **more: Any) -> ObservedTrial:  # fmt: skip
    parts = {part.id: share for part in item.parts} if outcome is Outcome.COMPLETED else {}
    return ObservedTrial(item=item.id, repetition=repetition, outcome=outcome, parts=parts, **more)


def drawn_trials(items: ItemSet, chance: Callable[[ReadinessItem], float], seed: int) -> list[ObservedTrial]:
    """Trials whose parts are solved by chance."""
    draw = random.Random(seed)
    return [
        ObservedTrial(item=item.id, outcome=Outcome.COMPLETED, tokens=1000, usd=0.01,
                      parts={part.id: float(draw.random() < chance(item)) for part in item.parts})
        for item in items.items
    ]  # fmt: skip
