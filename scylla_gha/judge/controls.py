"""Controls of a judge: repeatability, position bias, and known answers of a scenario.

A judge is controlled apart from the others, so the result does not depend on the panel it sits in: another panel with
the same judge reuses it. Results are records, and never change a score.
"""

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.counting import counted
from scylla_gha.judge.blind import BlindInput
from scylla_gha.model.judgment import ControlResult, Judge, JudgeAnswer, JudgeControl, PanelDifference

Ask = Callable[[Judge, BlindInput], JudgeAnswer]
HIGH: Final = 0.8  # what a known-good answer must reach: grade A
GAP: Final = 0.2  # how far a known-bad one must stay below it: a grade
_DIGITS: Final = 9
_FAILED: Final = {
    "canary": "failed the canary",
    "order_swap": "failed the order swap",
}


def repeat_control(
    ask: Ask, judge: Judge, blind: BlindInput, times: int = 2, first: JudgeAnswer | None = None
) -> ControlResult:
    """Ask the same several times; each difference from the first answer is noise of the judge.

    Args:
        ask: asks the judge.
        judge: whom.
        blind: what about.
        times: how often, `first` among them.
        first: what it has answered to the very same already.
    """
    answers = [first or ask(judge, blind), *(ask(judge, blind) for _ in range(times - 1))]
    return _compared("repeat", judge, answers)


def order_swap_control(ask: Ask, judge: Judge, blind: BlindInput) -> ControlResult:
    """Ask with the items in order and in reverse; each difference is noise or a position bias."""
    swapped = dataclasses.replace(blind, items=tuple(reversed(blind.items)))
    return _compared("order_swap", judge, [ask(judge, blind), ask(judge, swapped)])


def canary_control(ask: Ask, judge: Judge, good: BlindInput, bad: BlindInput) -> ControlResult:
    """Ask about a known-good and a known-bad solution of one scenario, and compare the judge's scores.

    The known-bad one is a plausible mistake with good parts, so its score need not be low, only lower.

    Args:
        ask: asks the judge.
        judge: the judge to control.
        good: evidence with the reference solution's diff and checks.
        bad: evidence with a wrong solution's diff and checks.
    """
    high, low = (_mean(blind, ask(judge, blind)) for blind in (good, bad))
    if high is None or low is None:
        which = "known-good" if high is None else "known-bad"
        return ControlResult(
            kind="canary", judge=judge.model, holds=None, why=f"no item of the {which} answer has a value"
        )
    why = f"known-good {high:.2f} (at least {HIGH}), known-bad {low:.2f} (lower by at least {GAP})"
    holds = high >= HIGH and round(high - low, _DIGITS) >= GAP
    return ControlResult(kind="canary", judge=judge.model, holds=holds, why=why)


def _mean(blind: BlindInput, answer: JudgeAnswer) -> float | None:
    """Return the items' mean value weighted by points; None if an item is missing or none has a value."""
    scores = {item.id: answer.score(item.id) for item in blind.items}
    pairs = [
        (score.value, item.points) for item in blind.items if (score := scores[item.id]) and score.value is not None
    ]
    if not pairs or None in scores.values():
        return None
    return statistics.fmean([value for value, _ in pairs], weights=[points for _, points in pairs])


def _compared(kind: Literal["repeat", "order_swap"], judge: Judge, answers: Sequence[JudgeAnswer]) -> ControlResult:
    """Compare later answers with the first; skip items that one of the two lacks."""
    first = answers[0]
    both = [
        (a, b)
        for later in answers[1:]
        for score in first.items
        if (a := first.score(score.id)) and (b := later.score(a.id))
    ]
    differences = [PanelDifference(id=a.id, first=a.value, second=b.value) for a, b in both if a.value != b.value]
    if not both:
        return ControlResult(kind=kind, judge=judge.model, holds=None, why="no item has an answer on both sides")
    return ControlResult(
        kind=kind,
        judge=judge.model,
        holds=not differences,
        why=f"{len(differences)} of {counted(len(both), 'item')} differ",
        compared=len(both),
        differences=tuple(differences),
    )


def unique_judges(models: Iterable[str]) -> tuple[Judge, ...]:
    """Return the judges to control, without duplicates."""
    return tuple(Judge(model) for model in dict.fromkeys(models))


def has_known_answers(folder: ScenarioFolder) -> bool:
    """Return whether a judge can be controlled on a scenario: it has judged items, a solution and a wrong one."""
    return any(not item.checks for item in folder.rubric.items) and folder.solution.is_file() and bool(folder.wrong)


def control_warnings(controls: Iterable[JudgeControl]) -> Iterator[str]:
    """Yield warnings about the judges of a report; controls of other judges are skipped."""
    repeated: dict[str, list[ControlResult]] = defaultdict(list)
    for record in (result for result in controls if result.stands):
        for control in record.controls:
            if control.kind == "repeat":
                repeated[record.judge].append(control)
            elif control.holds is False:
                yield f"judge {record.judge} {_FAILED[control.kind]} of {record.subject}: {control.why}."
        if record.error:
            yield f"judge {record.judge}: not all controls of {record.subject} could be decided: {record.error}."
    for judge, results in sorted(repeated.items()):
        compared, differ = (
            sum(result.compared for result in results),
            sum(len(result.differences) for result in results),
        )
        if differ:
            yield f"judge {judge}, asked the same again, says otherwise of {differ} of {counted(compared, 'item')}."
