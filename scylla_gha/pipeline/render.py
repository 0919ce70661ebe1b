"""Files for people in a run's folder, made from its report: `report.html`, `report.md`, its glossary, and charts."""

import importlib.util
from typing import TYPE_CHECKING

from scylla_gha.model.plan import Plan
from scylla_gha.model.report import Report
from scylla_gha.report.markdown import glossary, markdown
from scylla_gha.report.summary import main_chart
from scylla_gha.report.view import report_view
from scylla_gha.store.records import write_text
from scylla_gha.store.run_folder import RunFolder

if TYPE_CHECKING:
    from scylla_gha.report.charts.theme import Chart


def render_report(report: Report, folder: RunFolder, plan: Plan | None = None) -> None:
    """Write all renderings of a report into the folder of its run, whose plan is read if it is not given.

    Raises:
        ConfigError: a record beside the report is invalid.
    """
    from scylla_gha.pipeline.run_page import run_page

    charts = draw_charts(report)
    for chart in charts:
        write_text(folder.charts / f"{chart.name}.svg", chart.file)
    first = next((chart for chart in charts if chart.name == main_chart(report)), None)
    write_text(folder.report("md"), markdown(report, first))
    write_text(folder.glossary, glossary())
    write_text(folder.report("html"), run_page(report, charts, folder, plan))


def draw_charts(report: Report) -> "tuple[Chart, ...]":
    """Return the charts of a report; none without the extra `report`."""
    if not (importlib.util.find_spec("altair") and importlib.util.find_spec("vl_convert")):
        return ()
    from scylla_gha.report.charts import draw

    return draw(report_view(report))
