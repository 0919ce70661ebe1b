"""report: the report's data becomes a page that people read."""

from scylla_gha.model.report import Report
from scylla_gha.render.markdown import markdown
from scylla_gha.store import RunFolder, write_text


def report(made: Report, folder: RunFolder) -> None:
    """Write `report.md`."""
    write_text(folder.report("md"), markdown(made))
