"""The report in a terminal."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from scylla_gha.model.report import Report
from scylla_gha.render.text import HEADINGS, arm_row, plain


def show(report: Report, console: Console) -> None:
    """Print the arms, the counts, the verdicts and the warnings."""
    console.print(Group(*_parts(report)))


def _parts(report: Report) -> list[RenderableType]:
    counts = report.counts
    table = Table(title=_line(f"{report.experiment}: {report.question}"), title_justify="left")
    for heading in HEADINGS:
        table.add_column(_line(heading), overflow="fold")
    for arm in report.arms:
        table.add_row(*(_line(value) for value in arm_row(arm)))
    said = f"{counts.planned} planned, {counts.ran} ran, {counts.judged} judged, {counts.scored} scored"
    parts: list[RenderableType] = [table, _line(said)]
    parts += [_line(f"{one.arm} against {one.baseline}: {one.verdict} ({one.why})") for one in report.comparisons]
    parts += [_line(f"not in the rates: {one.cell}: {one.outcome}: {one.reason}") for one in report.excluded[:10]]
    parts += [_line(f"and {len(report.excluded) - 10} more, in report.json")] if len(report.excluded) > 10 else []  # noqa: PLR2004
    parts += [_line(f"warning: {warning}") for warning in report.warnings]
    return parts


def _line(text: str) -> Text:
    return Text(plain(text))
