"""Controls of a judge: repeatability, position bias, and known answers of a scenario.

Each judge is controlled separately, so that another panel with the same judge reuses the result. Results are stored,
and never change a score.
"""

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.counting import counted
from scylla_gha.judge.prompt import BlindInput
from scylla_gha.model.judgment import ControlResult, Judge, JudgeAnswer, JudgeControl, PanelDifference

Ask = Callable[[Judge, BlindInput], JudgeAnswer]
_LEAST_GOOD: Final = 0.8  # score of a known-good answer: grade A
_LEAST_GAP: Final = 0.2  # one grade, by which a known-bad answer's score must be lower
_DIGITS: Final = 9
_TITLES: Final = {"canary": "canary", "order_swap": "order swap"}


def repeat_control(
    ask: Ask, judge: Judge, blind: BlindInput, times: int = 2, first: JudgeAnswer | None = None
) -> ControlResult:
    """Ask the same several times; each difference from the first answer is the judge's noise.

    Args:
        ask: asks the judge.
        judge: the judge to control.
        blind: the judge's input.
        times: number of answers, `first` included.
        first: an earlier answer to the same prompt; None if there is none.
    """
    answers = [first or ask(judge, blind), *(ask(judge, blind) for _ in range(times - 1))]
    return _compared("repeat", judge, answers)


def order_swap_control(ask: Ask, judge: Judge, blind: BlindInput) -> ControlResult:
    """Ask with the items in order and in reverse; each difference is noise or a position bias."""
    swapped = dataclasses.replace(blind, items=tuple(reversed(blind.items)))
    return _compared("order_swap", judge, [ask(judge, blind), ask(judge, swapped)])


def canary_control(ask: Ask, judge: Judge, good: BlindInput, bad: BlindInput) -> ControlResult:
    """Ask about the reference solution and a wrong solution of one scenario, and compare the judge's scores.

    The wrong solution is a plausible mistake with good parts, so its score has to be lower, but not low.
    """
    high, low = (_mean(blind, ask(judge, blind)) for blind in (good, bad))
    holds: bool | None = None
    if high is None or low is None:
        why = f"no item of the {'known-good' if high is None else 'known-bad'} answer has a value"
    else:
        why = f"known-good {high:.2f} (at least {_LEAST_GOOD}), known-bad {low:.2f} (lower by at least {_LEAST_GAP})"
        holds = high >= _LEAST_GOOD and round(high - low, _DIGITS) >= _LEAST_GAP
    return ControlResult(kind="canary", judge=judge.model, holds=holds, why=why)


def _mean(blind: BlindInput, answer: JudgeAnswer) -> float | None:
    """Return the items' mean value weighted by points; None if an item is missing or none has a value."""
    scores = [(answer.score(item.id), item.points) for item in blind.items]
    pairs = [(score.value, points) for score, points in scores if score and score.value is not None]
    if not pairs or any(score is None for score, _ in scores):
        return None
    return statistics.fmean([value for value, _ in pairs], weights=[points for _, points in pairs])


def _compared(kind: Literal["repeat", "order_swap"], judge: Judge, answers: Sequence[JudgeAnswer]) -> ControlResult:
    """Compare later answers with the first; skip items that one of the two answers does not have."""
    first = answers[0]
    pairs = [
        (score, second)
        for later in answers[1:]
        for score in first.items
        if score.state != "missing" and (second := later.score(score.id))
    ]
    differences = tuple(
        PanelDifference(id=score.id, first=score.value, second=second.value)
        for score, second in pairs
        if score.value != second.value
    )
    differ = f"{len(differences)} of {counted(len(pairs), 'item')} differ"
    return ControlResult(
        kind=kind,
        judge=judge.model,
        holds=not differences if pairs else None,
        why=differ if pairs else "no item has an answer on both sides",
        compared=len(pairs),
        differences=differences,
    )


def unique_judges(models: Iterable[str]) -> tuple[Judge, ...]:
    """Return the judges to control, without duplicates."""
    return tuple(Judge(model) for model in dict.fromkeys(models))


def has_known_answers(folder: ScenarioFolder) -> bool:
    """Return True if a judge can be controlled on a scenario: it has judged items, a solution and a wrong solution.

    Scenarios with GitHub are left out: their solutions are scripts, whose evidence would need a trial.
    """
    return (
        folder.github is None
        and any(not item.checks for item in folder.rubric.items)
        and folder.solution.is_file()
        and bool(folder.wrong)
    )


def control_warnings(controls: Iterable[JudgeControl]) -> Iterator[str]:
    """Yield warnings about a report's judges; skip controls of judges that the report no longer has."""
    repeated: dict[str, list[ControlResult]] = defaultdict(list)
    for record in (result for result in controls if result.stands):
        for control in record.controls:
            if control.kind == "repeat":
                repeated[record.judge].append(control)
            elif control.holds is False:
                yield f"judge {record.judge} failed the {_TITLES[control.kind]} of {record.subject}: {control.why}."
        if record.error:
            yield f"judge {record.judge}: not all controls of {record.subject} could be decided: {record.error}."
    for judge, results in sorted(repeated.items()):
        compared = sum(result.compared for result in results)
        differ = sum(len(result.differences) for result in results)
        if differ:
            items = f"{differ} of {counted(compared, 'item')}"
            yield f"judge {judge} answered {items} differently when it was asked the same again."
