"""Print reports, comparisons of result sets and judging summaries in a terminal; building blocks for other views.

Untrusted text can neither control the terminal nor forge headings: it is always indented, even if it wraps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from scylla_gha.counting import dollars, head_and_tail
from scylla_gha.model import one_line, visible
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.judgment import JudgeControl, JudgingSummary, PanelSummary
from scylla_gha.model.report import ArmPair, Flip, Report, ResultComparison
from scylla_gha.report.document import UNDEFINED, UNKNOWN, Columns, Table, number, p_value, table_of, totals
from scylla_gha.report.metrics import change, change_limits
from scylla_gha.report.sections import headline
from scylla_gha.report.summary import COUNTS_NOTE, HEADINGS, arm_row
from scylla_gha.report.uptake import uptake_line
from scylla_gha.report.view import ReportView, note_text, notes, report_view

STEP: Final = 2  # columns of indentation
_PATCH_STYLES: Final = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Indented text: wrapped in a terminal, but with unchanged lines in a file or a pipe."""

    text: Text
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the text for Rich, which calls this method."""
        if console.is_terminal:
            yield Padding(self.text, (0, 0, 0, self.indent), expand=False)
            return
        for line in self.text.split("\n", allow_blank=True):
            prefix = " " * self.indent if line.plain else ""
            yield Text(prefix).append_text(line)


def heading(words: str) -> TextBlock:
    """Return the heading of a section, after an empty line."""
    return TextBlock(Text("\n" + one_line(words), style="bold"))


def line(words: str, indent: int = STEP, style: str = "") -> TextBlock:
    """Return text as one line."""
    return TextBlock(Text(one_line(words), style=style, overflow="fold"), indent)


def field(name: str, words: str, style: str = "") -> TextBlock:
    """Return a line with a name and a value."""
    return TextBlock(Text(f"{name:<10}", overflow="fold").append(one_line(words), style=style), STEP)


def passage(words: str, indent: int, room: int | None, style: str = "") -> TextBlock:
    """Return untrusted text, cut to `room` characters (None: uncut)."""
    text = visible(words.strip("\n"))
    return TextBlock(Text(text if room is None else head_and_tail(text, room), style=style, overflow="fold"), indent)


def patch(words: str) -> TextBlock:
    """Return an uncut patch with coloured lines."""
    text = Text(overflow="fold")
    for patch_line in visible(words.rstrip("\n")).split("\n"):
        is_name = patch_line.startswith(("+++ ", "--- "))
        text.append(patch_line + "\n", style="bold" if is_name else _PATCH_STYLES.get(patch_line[:1], ""))
    text.right_crop(1)
    return TextBlock(text, STEP)


_MOST_ARMS: Final = 10
_MOST_VERDICTS: Final = 4
_MOST_EXCLUDED: Final = 3
_MOST_NOTES: Final = 5
_LEAST_NAME: Final = 16  # minimum width of an arm's name in characters
_GAP: Final = 2
_HIDDEN_FIRST: Final = ("tokens", "grades", "score", "time", "USD")  # columns that a narrow terminal hides, in order


def _text(words: str) -> Text:
    """Return text as one line, with its indentation kept."""
    return Text(" " * (len(words) - len(words.lstrip(" "))) + one_line(words))


def _grid(table: Table, title: str = "", *, fold_all: bool = False) -> Grid:
    """Return a table for Rich; if it is too wide, arms' names wrap, or with `fold_all`, all columns."""
    grid = Grid(
        title=_text(title) if title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for words in table.headings:
        grid.add_column(_text(words), overflow="fold", no_wrap=not fold_all and words != "arm")
    for row in table.rows:
        grid.add_row(*(Text(one_line(value)) for value in row))
    return grid


def terminal_report(report: Report, console: Console) -> None:
    """Print the verdicts, the arms, the counts, the excluded cells, and the warnings."""
    view = report_view(report, _MOST_ARMS)
    rows = [dict(zip(HEADINGS, arm_row(view, arm), strict=True)) for arm in view.arms]
    headings = _fitting(rows, console.width)
    table = _grid(Table(headings, [[row[name] for name in headings] for row in rows]))
    hidden = [name for name in HEADINGS if name not in headings]
    room = [f"no room in {console.width} columns for: {', '.join(hidden)}; report.md has them"] if hidden else []
    console.print(Group(*map(_text, _before(view)), table, *map(_text, (*room, *_after(view)))))


def _before(view: ReportView) -> Iterator[str]:
    answer = headline(view, _MOST_VERDICTS)
    yield f"{view.report.experiment}: {view.report.question}"
    yield from filter(None, (answer.banner, answer.counts, *map(str, answer.verdicts)))
    yield from _more(answer.left_out, "verdicts, in report.json")
    if answer.more_data:
        yield f"to know more: {answer.more_data.command} ({answer.more_data.cost})"
        yield "more scenarios help more than repetitions"
    yield from filter(None, (answer.hypothesis, answer.mode_by_model, *answer.notes))


def _after(view: ReportView) -> Iterator[str]:
    if view.left_out:
        yield f"only the best and the worst arms are shown; {view.left_out:,} more are in report.json"
    yield COUNTS_NOTE
    if view.shared:
        yield f"all arms: {view.shared}"
    yield totals(view.report)
    yield from filter(None, [uptake_line(view)])
    excluded, numbered_notes = view.report.excluded, notes(view)
    yield from (f"not in the rates: {cell.cell}: {cell.outcome}: {cell.reason}" for cell in excluded[:_MOST_EXCLUDED])
    yield from _more(len(excluded) - _MOST_EXCLUDED, "cells, in report.json")
    yield from (f"warning: {note_text(view, note)}" for note in numbered_notes[:_MOST_NOTES])
    yield from _more(len(numbered_notes) - _MOST_NOTES, "warnings, in report.md")


def _fitting(rows: Sequence[dict[str, str]], width: int) -> list[str]:
    """Return the columns that fit without cutting a number; names of arms may wrap."""
    widths = {name: max(cell_len(one_line(text)) for text in (name, *(row[name] for row in rows))) for name in HEADINGS}
    widths["arm"] = min(widths["arm"], _LEAST_NAME)
    headings = list(HEADINGS)
    for column in _HIDDEN_FIRST:
        if sum(widths[name] + _GAP for name in headings) > width:
            headings.remove(column)
    return headings


def _more(left_out: int, where: str) -> Iterator[str]:
    if left_out > 0:
        yield f"and {left_out:,} more {where}"


_OTHER_METRICS: Final = {"usd": "usd", "usd per pass": "cost_of_pass", "seconds": "seconds", "tokens": "tokens"}
_COMPARISON_NOTE: Final = "A, B: passed of judged; p: adjusted for all rows (Holm); +/=/-: scenarios won, tied, lost"
_MOST_FLIPS: Final = 20


def render_comparison(comparison: ResultComparison, console: Console) -> None:
    """Print the verdicts, the scenarios that were fixed or broken, and the warnings."""
    title = f"{comparison.b} against {comparison.a}, by {comparison.metric}"
    table = _grid(table_of(comparison.pairs, COMPARED), title)
    lines = [_COMPARISON_NOTE]
    for pair in comparison.pairs:
        lines.append(f"{_name(pair)}: {pair.ruling.verdict} ({pair.ruling.why})")
        lines.append(f"  B over A: {_other_metrics(pair)}")
        lines.extend(_flips("fixed", pair, pair.fixes))
        lines.extend(_flips("broken", pair, pair.regressions))
    lines.extend(f"warning: {warning}" for warning in comparison.warnings)
    console.print(Group(table, *map(_text, lines)))


def _name(pair: ArmPair) -> str:
    return pair.b_arm if pair.a_arm == pair.b_arm else f"{pair.b_arm} against {pair.a_arm}"


def _rate(counts: tuple[int, int]) -> str:
    return f"{counts[0]}/{counts[1]}"


def _wins(contrast: Contrast) -> str:
    return "/".join(map(str, contrast.wins)) if contrast.scenarios else UNDEFINED


COMPARED: Final[Columns[ArmPair]] = {
    "arm": _name,
    "A": lambda pair: _rate(pair.before),
    "B": lambda pair: _rate(pair.after),
    "change": lambda pair: change(pair.ruling.contrast),
    "95 %": lambda pair: change_limits(pair.ruling.contrast),
    "p": lambda pair: p_value(pair.ruling.contrast.p_adjusted),
    "+/=/-": lambda pair: (
        "/".join(map(str, pair.ruling.contrast.wins)) if pair.ruling.contrast.scenarios else UNDEFINED
    ),
}


def _other_metrics(pair: ArmPair) -> str:
    """Format changes of cost, time and tokens: geometric means of ratios over scenarios, or differences if one is 0.

    The change of the cost of a pass is the ratio of the two arms' costs of a pass.
    """
    known = {contrast.metric: contrast for contrast in (*pair.others, pair.ruling.contrast)}
    return ", ".join(f"{name} {_change(known.get(metric))}" for name, metric in _OTHER_METRICS.items())


def _change(contrast: Contrast | None) -> str:
    if contrast is None or contrast.value is None:
        return UNKNOWN
    between = change_limits(contrast)
    return change(contrast) if between == UNDEFINED else f"{change(contrast)} {between}"


def _flips(what: str, pair: ArmPair, flips: tuple[Flip, ...]) -> Iterator[str]:
    for flip in flips[:_MOST_FLIPS]:
        yield f"  {what}: {flip.scenario}: {_rate(flip.before)} -> {_rate(flip.after)} ({_name(pair)})"
    if len(flips) > _MOST_FLIPS:
        yield f"  and {len(flips) - _MOST_FLIPS} more {what}; --json has all"


_HOLDS: Final = {True: "yes", False: "NO", None: "undecided"}


def judge_summary(summary: JudgingSummary, console: Console) -> None:
    """Print the panels, the trials on whose pass they disagree, and the controls of judges."""
    flips = [cell for panel in summary.panels for cell in panel.flips]
    parts: list[RenderableType] = [_grid(table_of(summary.panels, _PANELS), fold_all=True)]
    parts += [_text(f"the panels disagree on whether it passes: {cell}") for cell in flips]
    if summary.probes:
        rows = [row for probe in summary.probes for row in _controls(probe)]
        parts.append(_grid(Table(("judge", "control", "on", "holds", "found", "USD"), rows), fold_all=True))
    console.print(Group(*parts))


def _panel_name(panel: PanelSummary) -> str:
    judges = f" ({', '.join(panel.judges)})" if panel.panel == "experiment" and panel.judges else ""
    return f"{panel.panel}{judges}"


_PANELS: Final[Columns[PanelSummary]] = {
    "judged by": _panel_name,
    "judged": lambda panel: f"{panel.judged} of {panel.trials}",
    "passed": lambda panel: str(panel.passed),
    "score": lambda panel: number(panel.mean_score),
    "difference": lambda panel: number(panel.difference),
    "flips": lambda panel: str(len(panel.flips)) if panel.compared > 0 else UNDEFINED,
    "USD": lambda panel: dollars(panel.usd),
}


def _controls(probe: JudgeControl) -> list[tuple[str, ...]]:
    """Return a row for each control; the first row shows the judge's cost."""
    results = [(control.kind.replace("_", " "), _HOLDS[control.holds], control.why) for control in probe.controls]
    if probe.error:
        results.append((UNDEFINED, _HOLDS[None], probe.error))
    return [
        (probe.judge, kind, probe.subject, holds, why, dollars(probe.usage.usd) if row == 0 else "")
        for row, (kind, holds, why) in enumerate(results)
    ]
