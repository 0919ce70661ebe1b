"""Items, score, grade and pass, computed from what checks and judges found; nobody's own total is taken.

`S = sum_i w_i * P_i / P_i_max` over the categories that apply, their weights renormalised to 1 (the Scylla paper,
section 4.1). All N/A is null. A trial passes when the agent completed, the score reaches the threshold, and every
required checkpoint holds.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from scylla_gha.model.judgment import CategoryScore, CheckResult, Grade, ItemScore, Score
from scylla_gha.model.rubric import Item, Rubric
from scylla_gha.model.scenario import ProgressStep, Scenario

_THRESHOLDS: Final[tuple[tuple[float, Grade], ...]] = ((0.8, "A"), (0.6, "B"), (0.4, "C"), (0.2, "D"))
_DIGITS: Final = 9  # of rounding before a comparison, so that .6 from a sum of floats is .6
NO_PANEL: Final = "for the judge panel, and none is configured"

Checks = Mapping[str, CheckResult]


def score_items(rubric: Rubric, checks: Checks, *, changed: bool = True) -> tuple[ItemScore, ...]:
    """Every item of the rubric, scored by code or N/A with its reason.

    Where nothing was `changed`, nothing is earned: what holds on the base already is not the agent's doing.
    """
    items = tuple(_item(category.id, item, checks) for category in rubric.categories for item in category.items)
    if changed:
        return items
    nothing = {"value": 0.0, "reason": "nothing was changed"}
    return tuple(item if item.value is None else item.model_copy(update=nothing) for item in items)


def _item(category: str, item: Item, checks: Checks) -> ItemScore:
    value, reason = _value(item, checks)
    by = "check" if item.checks else "judge"
    return ItemScore(id=item.id, category=category, points=item.points, value=value, by=by, reason=reason)  # type: ignore[arg-type]


def _value(item: Item, checks: Checks) -> tuple[float | None, str]:
    if item.applies_if and not checks[item.applies_if].holds:
        return None, f"does not apply: {item.applies_if} does not hold"
    if not item.checks:
        return None, NO_PANEL
    found = [checks[name] for name in item.checks]
    failed = [check.id for check in found if not check.holds]
    reason = f"fails: {', '.join(failed)}" if failed else f"holds: {', '.join(item.checks)}"
    if item.type == "binary":
        return float(not failed), reason
    return min(1.0, sum(check.value for check in found) / len(found)), reason


def score_categories(rubric: Rubric, items: Iterable[ItemScore]) -> tuple[CategoryScore, ...]:
    """The categories with an item that applies, their weights summing to 1 again."""
    scored = [item for item in items if item.value is not None]
    rows = []
    for category in rubric.categories:
        mine = [item for item in scored if item.category == category.id]
        if mine:
            achieved = sum(item.points * (item.value or 0.0) for item in mine)
            rows.append((category, achieved, sum(item.points for item in mine)))
    total = sum(category.weight for category, _, _ in rows)
    return tuple(
        CategoryScore(id=category.id, weight=category.weight / total, achieved=achieved, maximum=maximum)
        for category, achieved, maximum in rows
    )


def total(categories: Iterable[CategoryScore]) -> float | None:
    """The weighted score in 0..1; None where every item is N/A."""
    parts = [category.weight * category.achieved / category.maximum for category in categories]
    return min(1.0, round(sum(parts), _DIGITS)) if parts else None


def grade(score: float, *, excess_cited: bool = False) -> Grade:
    """The paper's grade; S needs a perfect score and cited work beyond the requirements."""
    rounded = round(score, _DIGITS)
    if rounded >= 1 and excess_cited:
        return "S"
    return next((letter for threshold, letter in _THRESHOLDS if rounded >= threshold), "F")


def progress(steps: Iterable[ProgressStep], checks: Checks, items: Iterable[ItemScore]) -> float | None:
    """Weight of the achieved steps over that of all that could be decided; None where none could."""
    values = {item.id: item.value for item in items}
    expected = achieved = 0.0
    for step in steps:
        value = checks[step.checkpoint].value if step.checkpoint else values[step.item or ""]
        if value is not None:
            expected += step.weight
            achieved += step.weight * value
    return min(1.0, achieved / expected) if expected else None


def score_trial(
    scenario: Scenario, rubric: Rubric, checks: Checks, items: tuple[ItemScore, ...], *, changed: bool = True
) -> Score:
    """The verdict on a trial that the agent completed."""
    number = total(score_categories(rubric, items))
    failed = [point.id for point in scenario.checkpoints if point.required and not checks[point.id].holds]
    broken = tuple(point.id for point in scenario.checkpoints if point.guard and not checks[point.id].holds)
    enough = number is not None and round(number, _DIGITS) >= rubric.pass_threshold
    shown = "not scored" if number is None else f"score {round(number, 4):g}"
    why = f"{failed[0]} does not hold" if failed else f"{shown}, threshold {rubric.pass_threshold:g}"
    return Score(
        score=number,
        grade=None if number is None else grade(number),
        passed=enough and not failed,
        why=why,
        progress=progress(scenario.progress, checks, items) if changed else 0.0,
        broken=broken,
    )
