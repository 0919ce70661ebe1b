"""Draw the charts of a report. A chart's function returns None if the report has no data for it."""

from collections.abc import Callable
from typing import Final

from scylla_gha.report.charts.arms import cost_pass, forest
from scylla_gha.report.charts.pass_rates import scenario_map, tier_ladder
from scylla_gha.report.charts.theme import Chart
from scylla_gha.report.charts.trials import costs, judges, times, tokens
from scylla_gha.report.view import ReportView

CHARTS: Final[dict[str, Callable[[ReportView], Chart | None]]] = {
    "forest": forest,
    "cost_pass": cost_pass,
    "tier_ladder": tier_ladder,
    "scenario_map": scenario_map,
    "seconds": times,
    "usd": costs,
    "tokens": tokens,
    "judges": judges,
}


def draw(view: ReportView) -> tuple[Chart, ...]:
    """Draw all charts that the report has data for, the most important first; needs the extra `report`."""
    return tuple(chart for function in CHARTS.values() if (chart := function(view)))
