"""The experiment's gate: the verdict against the baseline that every arm must reach.

If the statistics are not installed, only the verdict `better` passes, for both kinds of gate.
"""

from collections.abc import Iterator
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import GateError
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.report import Report

_MOST: Final = 5  # arms that a message names


def hold_gate(experiment: Experiment, report: Report) -> None:
    """Check the gate after the report is written.

    Raises:
        GateError: an arm does not reach the gate.
    """
    if experiment.gate == "none":
        return
    failed = list(_failed(experiment, report))
    if failed:
        more = f"; and {counted(len(failed) - _MOST, 'more arm')}" if len(failed) > _MOST else ""
        raise GateError(f"gate {experiment.gate} does not hold: {'; '.join(failed[:_MOST])}{more}; "
                        "the report is written, and lists all of them")  # fmt: skip


def _failed(experiment: Experiment, report: Report) -> Iterator[str]:
    if not report.comparisons:
        yield f"no arm stands beside the baseline {experiment.baseline}"
    ruled = {one.arm: one for one in report.analysis.rulings} if report.analysis else {}
    for comparison in report.comparisons:
        ruling = ruled.get(comparison.arm)
        is_shown = _passes(experiment, ruling) if ruling else not report.analysis and comparison.verdict == "better"
        if not is_shown:
            yield f"{comparison.arm}: {comparison.verdict}: {comparison.why}{_limit(experiment, ruling)}"


def _passes(experiment: Experiment, ruling: Ruling) -> bool:
    """Return whether an arm is better, or not worse: its one-sided 95 % limit lies above -margin.

    All arms must pass, so their number needs no adjustment: each is another chance to fail.
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
