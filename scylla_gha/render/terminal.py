"""The report in a terminal."""

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from scylla_gha.model.report import Report
from scylla_gha.render.text import COUNTS_NOTE, HEADINGS, arm_row, plain, short_names, totals


def show(report: Report, console: Console) -> None:
    """Print the arms, the counts, the verdicts and the warnings."""
    console.print(Group(*_parts(report)))


def _parts(report: Report) -> list[RenderableType]:
    names, shared = short_names([arm.arm for arm in report.arms])
    table = Table(title=_line(f"{report.experiment}: {report.question}"), title_justify="left", box=SIMPLE_HEAD,
                  pad_edge=False, collapse_padding=True)  # fmt: skip
    for heading in HEADINGS:
        table.add_column(_line(heading), overflow="fold", no_wrap=heading != "arm")
    for arm in report.arms:
        table.add_row(_line(names[arm.arm]), *(_line(value) for value in arm_row(arm)[1:]))
    parts: list[RenderableType] = [table, _line(COUNTS_NOTE)]
    parts += [_line(f"all arms: {shared}")] if shared else []
    parts.append(_line(totals(report)))
    parts += [
        _line(f"{names[one.arm]} against {names.get(one.baseline, one.baseline)}: {one.verdict} ({one.why})")
        for one in report.comparisons
    ]
    parts += [_line(f"not in the rates: {one.cell}: {one.outcome}: {one.reason}") for one in report.excluded[:10]]
    parts += [_line(f"and {len(report.excluded) - 10} more, in report.json")] if len(report.excluded) > 10 else []  # noqa: PLR2004
    parts += [_line(f"warning: {warning}") for warning in report.warnings]
    return parts


def _line(text: str) -> Text:
    return Text(plain(text))
