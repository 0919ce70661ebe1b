"""The experiment's gate, once the report is written: what every arm must be shown to be against the baseline."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.errors import GateError
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.report import Report

_MOST: Final = 5  # arms that a message names


def hold_gate(experiment: Experiment, report: Report) -> None:
    """Nothing where the gate holds, or there is none.

    Raises:
        GateError: an arm was not shown to be what the gate asks of it.
    """
    if experiment.gate == "none":
        return
    failed = list(_failed(experiment, report))
    if failed:
        more = f"; and {len(failed) - _MOST} more arms" if len(failed) > _MOST else ""
        raise GateError(f"gate {experiment.gate} does not hold: {'; '.join(failed[:_MOST])}{more}; "
                        "the report is written, and lists all of them")  # fmt: skip


def _failed(experiment: Experiment, report: Report) -> Iterator[str]:
    if not report.comparisons:
        yield f"no arm stands beside the baseline {experiment.baseline}"
    ruled = {one.arm: one for one in report.analysis.rulings} if report.analysis else {}
    for comparison in report.comparisons:
        ruling = ruled.get(comparison.arm)
        if ruling is None or not _passes(experiment, ruling):
            yield f"{comparison.arm}: {comparison.verdict}: {comparison.why}{_limit(experiment, ruling)}"


def _passes(experiment: Experiment, ruling: Ruling) -> bool:
    """Not worse: the one-sided 95 % limit, which is the lower one at 90 %, lies above -margin.

    All arms have to pass, so no adjustment for their number is due: each is another chance to fail.
    """
    if ruling.verdict == "better":
        return True
    if experiment.gate == "better" or ruling.verdict == "worse":
        return False
    low = None if ruling.is_withheld else ruling.contrast.inner_low
    return low is not None and low > -ruling.margin


def _limit(experiment: Experiment, ruling: Ruling | None) -> str:
    if experiment.gate == "better" or ruling is None or ruling.is_withheld or ruling.contrast.inner_low is None:
        return ""
    return (f"; at worst {100 * ruling.contrast.inner_low:+.1f} points (one-sided 95 %), and "
            f"{-100 * ruling.margin:+.1f} is allowed")  # fmt: skip
