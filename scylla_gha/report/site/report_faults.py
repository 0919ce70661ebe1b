"""Contradictions in a report of a results branch: pages look arms up by name, and a forged report could lack them."""

from collections.abc import Iterator

from scylla_gha.model.report import Report


def report_fault(report: Report) -> str:
    """Return the first contradiction of a report; empty: there is none."""
    return next(_faults(report), "")


def _faults(report: Report) -> Iterator[str]:
    arms = [arm.arm for arm in report.arms]
    if len(set(arms)) < len(arms):
        yield "its report has an arm twice"
    if len({row.scenario for row in report.scenarios}) < len(report.scenarios):
        yield "its report has a scenario twice"
    for row in report.scenarios:
        if set(row.passed) != set(arms):
            yield "a scenario of its report has other arms than the report"
        if any(not 0 <= passed <= judged for passed, judged in row.passed.values()):
            yield "a scenario of its report passed more often than it was judged"
    if any(not {comparison.arm, comparison.baseline} <= set(arms) for comparison in report.comparisons):
        yield "its report compares arms that it does not have"
    if any(not failure.cells for failure in report.failures):
        yield "a failure of its report has no trial"
