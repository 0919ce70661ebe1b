"""Excused trials of an arm: their number by reason, and the rule by which too many of them forbid a verdict.

A trial is excused where it does not measure the agent. Excuses rest on evidence from outside the box, but an agent that
brought about such evidence would drop its own failures out of the rates. So they are shown by arm, and an arm that lost
more than a few of its cells gets no verdict, and neither does one that is compared with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scylla_gha.model.analysis import Analysis
from scylla_gha.model.report import ArmSummary, Excused

_MOST_CELLS: Final = 2
_MOST_SHARE: Final = 0.05


def withheld(arms: Sequence[ArmSummary], pairs: Mapping[str, str | None]) -> dict[str, str]:
    """Return why arms get no verdict: too many of their own trials, or of their baseline's, are not counted.

    Args:
        arms: all arms of the report.
        pairs: the baseline of each arm; None or missing: it is compared with none.
    """
    lacking = {arm.arm: reason for arm in arms if (reason := _lacking(arm))}
    found = {}
    for arm, baseline in pairs.items():
        reasons = [lacking[name] for name in (arm, baseline) if name in lacking]
        if baseline is not None and reasons:
            found[arm] = "; ".join(reasons)
    return found


def without_verdicts(analysis: Analysis, reasons: Mapping[str, str]) -> Analysis:
    """The analysis with no verdict on the arms that have a reason for none; its numbers stay."""
    rulings = tuple(
        ruling.model_copy(update={"verdict": "not_enough_data", "why": reasons[ruling.arm], "is_withheld": True})
        if ruling.arm in reasons else ruling
        for ruling in analysis.rulings
    )  # fmt: skip
    return analysis.model_copy(update={"rulings": rulings})


def warnings(excused: Sequence[Excused]) -> Iterator[str]:
    """Excuses that an arm has more than once."""
    for one in excused:
        if one.attempts > 1:
            yield (f"{one.arm}: {one.attempts} attempts in {one.trials} trials ended in {one.outcome} and were excused "
                   f"(one of them: {one.reason}). Look whether the agent brought that about.")  # fmt: skip


def _lacking(arm: ArmSummary) -> str | None:
    planned, judged = arm.counts.planned, arm.counts.judged
    most = max(_MOST_CELLS, _MOST_SHARE * planned)
    if planned - judged <= most:
        return None
    return (f"{planned - judged} of {planned} cells of {arm.arm} ended without a counted trial, and a verdict allows "
            f"{int(most)}")  # fmt: skip
