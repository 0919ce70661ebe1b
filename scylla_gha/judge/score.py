"""Score of a trial: the consensus on each item, the grade, and pass or fail.

The consensus is the median of the configured judges. A judge that was reached but gave no verdict (it refused, or its
answer could not be read) counts as 0, because an agent's text can cause that. With an even number of values, the lower
one of the two in the middle counts then, so that no agent gains by a judge's silence. A binary item is not met if as
many judges say yes as no.

An item is `unjudged` if a provider's fault left judges out, and the other judges are not a majority or are split. The
item then has no value, the trial has no score, and it is judged again.

`S = sum_i w_i * P_i / P_i_max` over the categories that apply, with weights scaled to sum to 1 (the Scylla paper,
section 4.1). If all are N/A, the score is null. A judge's own total is never used. A trial passes if the agent
completed, the score reaches the threshold, every required checkpoint holds, and every required item that applies is
met.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.judgment import CategoryScore, CheckResult, Flag, Grade, ItemScore, JudgeAnswer, JudgeScore, Score
from scylla_gha.model.scenario import Item, ProgressStep, Rubric, Scenario

_THRESHOLDS: Final[tuple[tuple[float, Grade], ...]] = ((0.8, "A"), (0.6, "B"), (0.4, "C"), (0.2, "D"))
_DIGITS: Final = 9  # digits of numbers in comparisons, since a sum of floats may be slightly below 0.6
NO_PANEL: Final = "needs the judge panel, but no panel is configured"
NOT_ASKED: Final = "the judge panel was not asked"
_WHY_CHARS: Final = 500
_SPREAD: Final = 0.5  # judges disagree if their values differ by more

Checks = Mapping[str, CheckResult]


@dataclass(frozen=True, slots=True)
class AgreedItem:
    """Consensus on one item. If `value` is None, the item is N/A, or unjudged if `judged` is False."""

    value: float | None
    reason: str
    judged: bool = True
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Consensus:
    """Consensus on a trial.

    Attributes:
        items: consensus by item.
        excess: work beyond the requirements, if a majority of the judges cites such work.
        steps: progress steps that a majority of the judges sees.
        withheld: judges that were reached but gave no verdict on an item.
        error: items that a provider's fault left unjudged, so that the trial has no score; None if there are none.
    """

    items: dict[str, AgreedItem]
    excess: str | None = None
    steps: frozenset[str] = frozenset()
    withheld: tuple[str, ...] = ()
    error: str | None = None


def consensus(items: Iterable[Item], answers: Sequence[JudgeAnswer]) -> Consensus:
    """Combine the answers of all configured judges; a judge that could not be asked is missing.

    Args:
        items: items in the judges' prompt.
        answers: one answer of each configured judge.
    """
    need = len(answers) // 2 + 1
    agreed = {item.id: _agree(item, answers, need) for item in items}
    unjudged = [name for name, item in agreed.items() if not item.judged]
    cited = [answer.excess for answer in answers if answer.excess]
    names = {step for answer in answers for step in answer.steps}
    return Consensus(
        items=agreed,
        excess=cited[0] if len(cited) >= need else None,
        steps=frozenset(name for name in names if sum(name in answer.steps for answer in answers) >= need),
        withheld=tuple(f"{answer.judge} ({answer.error})" for answer in answers if answer.withheld),
        error=f"unjudged: {'; '.join(f'{name}: {agreed[name].reason}' for name in unjudged)}" if unjudged else None,
    )


def _agree(item: Item, answers: Sequence[JudgeAnswer], need: int) -> AgreedItem:
    scores = [(answer.judge, score) for answer in answers if (score := answer.score(item.id))]
    values = [score.value for _, score in scores if score.value is not None]
    flags = _flags(item, scores, values)
    if len(scores) - len(values) >= need:
        reasons = [score.reason for _, score in scores if score.state == "na"]
        return AgreedItem(None, f"does not apply: {reasons[0]}", flags=flags)
    missing = [answer for answer in answers if answer.score(item.id) is None]
    withheld = [f"{answer.judge}: {_missing_reason(answer, item.id)}" for answer in missing if answer.withheld]
    middle = _middle(item, values, len(withheld))
    is_complete = len(missing) == len(withheld)
    if middle is not None and (is_complete or max(len(values), len(withheld)) >= need):
        reason = f"median of {_shown(scores)}" if scores else "no judge gave a verdict"
        return AgreedItem(middle, "; counts as not met: ".join([reason, *withheld]), flags=flags)
    if values and is_complete:
        return AgreedItem(0.0, f"not met, since the judges are split: {_shown(scores)}", flags=flags)
    counts = f"{len(scores)} of {counted(len(answers), 'judge')} answered, {len(values)} with a value"
    why = f"the judges are split: {_shown(scores)}" if len(values) >= need else f"{counts}; {need} must agree"
    reasons = [f"{answer.judge}: {_missing_reason(answer, item.id)}" for answer in missing]
    return AgreedItem(None, "; ".join([why, *reasons]), judged=False, flags=flags)


def _middle(item: Item, values: Sequence[float], withheld: int) -> float | None:
    """Return the median, with a 0 for each judge without a verdict.

    Return None without votes, or if a binary item gets neither 0 nor 1.
    """
    votes = [*values, *[0.0] * withheld]
    if not votes:
        return None
    middle = round(statistics.median_low(votes) if withheld else statistics.median(votes), _DIGITS)
    return middle if item.type != "binary" or middle in {0.0, 1.0} else None


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


def score_items(
    rubric: Rubric, checks: Checks, *, changed: bool = True, panel: Consensus | None = None
) -> tuple[ItemScore, ...]:
    """Score every item of the rubric by code or by the panel, or mark it N/A with its reason.

    If nothing was `changed`, each applicable item is 0, because anything that holds on the base is not the agent's
    work. The panel need not be asked then: pass an empty consensus. An item that the panel left unjudged is None, and
    `panel.error` names it; do not score such a trial.
    """
    pairs = [(category.id, item) for category in rubric.categories for item in category.items]
    return tuple(_item(category, item, checks, panel, changed=changed) for category, item in pairs)


def _item(category: str, item: Item, checks: Checks, panel: Consensus | None, *, changed: bool) -> ItemScore:
    agreed = _agreed(item, checks, panel)
    if not changed and (agreed.value is not None or agreed.reason == NOT_ASKED):
        agreed = AgreedItem(0.0, "nothing was changed", flags=agreed.flags)
    return ItemScore(
        id=item.id,
        category=category,
        points=item.points,
        value=agreed.value,
        by="check" if item.checks else "judge",
        reason=agreed.reason,
        flags=agreed.flags,
        text=item.text,
    )


def _agreed(item: Item, checks: Checks, panel: Consensus | None) -> AgreedItem:
    if item.applies_if and not checks[item.applies_if].holds:
        return AgreedItem(None, f"does not apply: {item.applies_if} does not hold")
    if not item.checks:
        return panel.items.get(item.id, AgreedItem(None, NOT_ASKED)) if panel else AgreedItem(None, NO_PANEL)
    results = [checks[name] for name in item.checks]
    failed = [check.id for check in results if not check.holds]
    reason = f"fails: {', '.join(failed)}" if failed else f"holds: {', '.join(item.checks)}"
    if item.type == "binary":
        return AgreedItem(float(not failed), reason)
    return AgreedItem(min(1.0, sum(check.value for check in results) / len(results)), reason)


def score_categories(rubric: Rubric, items: Iterable[ItemScore]) -> tuple[CategoryScore, ...]:
    """Return the categories with an applicable item, with weights scaled to sum to 1."""
    scored = [item for item in items if item.value is not None]
    rows = []
    for category in rubric.categories:
        category_items = [item for item in scored if item.category == category.id]
        if category_items:
            achieved = sum(item.points * (item.value or 0.0) for item in category_items)
            rows.append((category, achieved, sum(item.points for item in category_items)))
    total = sum(category.weight for category, _, _ in rows) or 1.0
    return tuple(
        CategoryScore(id=category.id, weight=category.weight / total, achieved=achieved, maximum=maximum)
        for category, achieved, maximum in rows
    )


def total_score(categories: Iterable[CategoryScore]) -> float | None:
    """Return the weighted score in 0..1, or None if every scored item is N/A."""
    scored = [category for category in categories if category.weight]
    parts = [category.weight * category.achieved / category.maximum for category in scored]
    return min(1.0, round(sum(parts), _DIGITS)) if parts else None


def score_by_judge(rubric: Rubric, items: Sequence[ItemScore], answer: JudgeAnswer) -> float | None:
    """Return the score with one judge's values instead of the consensus; None if the judge left out such an item."""
    judged = {item.id: answer.score(item.id) for item in items if item.by == "judge" and item.value is not None}
    if None in judged.values():
        return None
    own_items = (
        item.model_copy(update={"value": score.value}) if (score := judged.get(item.id)) else item for item in items
    )
    return total_score(score_categories(rubric, own_items))


def grade(score: float, *, excess_cited: bool = False) -> Grade:
    """Return the paper's grade; S requires a perfect score and cited work beyond the requirements."""
    rounded = round(score, _DIGITS)
    if rounded >= 1 and excess_cited:
        return "S"
    return next((letter for threshold, letter in _THRESHOLDS if rounded >= threshold), "F")


def progress(
    steps: Iterable[ProgressStep], checks: Checks, items: Iterable[ItemScore], panel: Consensus | None = None
) -> float | None:
    """Return the achieved share of the weight of all decidable steps; None if there are none.

    A step with a checkpoint or with an item scored by code has its value. A step with a panel item is
    achieved if the panel reports it.
    """
    by_id = {item.id: item for item in items}
    expected = achieved = 0.0
    for step in steps:
        item = by_id.get(step.item or "")
        value = checks[step.checkpoint].value if step.checkpoint else item.value if item else None
        if panel is not None and item is not None and item.by == "judge" and value is not None:
            value = float(step.step in panel.steps)
        if value is not None:
            expected += step.weight
            achieved += step.weight * value
    return min(1.0, achieved / expected) if expected else None


def score_trial(
    scenario: Scenario,
    rubric: Rubric,
    checks: Checks,
    items: tuple[ItemScore, ...],
    *,
    changed: bool = True,
    panel: Consensus | None = None,
) -> Score:
    """Compute the verdict on a completed trial without unjudged items."""
    number = total_score(score_categories(rubric, items))
    failed = failed_checks(scenario, checks) or unmet_items(rubric, items)
    enough = number is not None and round(number, _DIGITS) >= rubric.pass_threshold
    shown = "not scored" if number is None else f"score {round(number, 4):g}"
    verb = "is not met" if unmet_items(rubric, items)[:1] == failed[:1] else "does not hold"
    why = f"{failed[0]} {verb}" if failed else f"{shown}, threshold {rubric.pass_threshold:g}"
    if panel is not None and panel.withheld:
        why += (
            f"; {counted(len(panel.withheld), 'judge')} gave no verdict, which counts as not met: {panel.withheld[0]}"
        )
    return Score(
        score=number,
        grade=None if number is None else grade(number, excess_cited=panel is not None and panel.excess is not None),
        passed=enough and not failed,
        why=why[:_WHY_CHARS],
        progress=progress(scenario.progress, checks, items, panel) if changed else 0.0,
        broken=_broken(scenario, checks),
    )


def failed_checks(scenario: Scenario, checks: Checks) -> list[str]:
    """Return the required checks that do not hold. If there are any, the trial failed, independent of the judges."""
    return [point.id for point in scenario.checkpoints if point.required and not checks[point.id].holds]


def unmet_items(rubric: Rubric, items: Iterable[ItemScore]) -> list[str]:
    """Return the required items that have a value but are not met. If there are any, the trial failed."""
    required = {item.id for item in rubric.items if item.required}
    return [item.id for item in items if item.id in required and item.value is not None and item.value < 1]


def fail_unscored(scenario: Scenario, checks: Checks, items: tuple[ItemScore, ...], panel: Consensus) -> Score:
    """Compute the verdict on a trial that failed in any case and has items that the panel left unjudged."""
    why = "".join(f"{name} does not hold; " for name in failed_checks(scenario, checks)[:1])
    return Score(
        score=None,
        grade=None,
        passed=False,
        why=f"{why}judges gave no score",
        progress=progress(scenario.progress, checks, items, panel),
        broken=_broken(scenario, checks),
    )


def _broken(scenario: Scenario, checks: Checks) -> tuple[str, ...]:
    return tuple(point.id for point in scenario.checkpoints if point.guard and not checks[point.id].holds)
