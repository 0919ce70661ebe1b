"""Pass rates of arms over the reports of several runs, as the history that charts draw."""

from collections.abc import Sequence

from scylla_gha.model.comparison import History, Point, Series
from scylla_gha.model.report import Report
from scylla_gha.report.view import PASS, ReportView, report_view


def history_of_reports(reports: Sequence[tuple[str, Report]]) -> History:
    """Return the pass rates of the newest report's arms over all reports, oldest first; no changes are searched.

    Args:
        reports: unique names of the runs, and their reports.
    """
    views = [(name, report_view(report)) for name, report in reports]
    arms = [arm.arm for arm in reports[-1][1].arms]
    series = [Series(arm=arm, points=tuple(_point(name, view, arm) for name, view in views), shifts=()) for arm in arms]
    return History(baseline=reports[0][0], margin=0.0, series=tuple(series))


def _point(name: str, view: ReportView, arm: str) -> Point:
    summary = next((summary for summary in view.report.arms if summary.arm == arm), None)
    if summary is None:
        return Point(run=name, epoch="", trials=0, scenarios=0, rate=None, usd=None, seconds=None)
    judged = sum(row.passed.get(arm, (0, 0))[1] > 0 for row in view.report.scenarios)
    rate = view.measure(arm, PASS)
    value, low, high = (
        (rate.value, rate.low, rate.high) if rate else (summary.pass_rate, summary.pass_low, summary.pass_high)
    )
    return Point(
        run=name,
        epoch="",
        trials=summary.counts.judged,
        scenarios=judged,
        rate=value,
        rate_low=low,
        rate_high=high,
        usd=None,
        seconds=summary.mean_seconds,
    )
