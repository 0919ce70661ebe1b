"""Text in a terminal: reports, comparisons of result sets, judging summaries, and building blocks of other views.

Untrusted text can neither control the terminal nor forge headings: it is always indented, even in a terminal that is
too narrow for it.
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
    """Text with an indentation: wrapped for a terminal, and line by line as it is for a file or a pipe."""

    text: Text
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
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
    """Return a named value."""
    return TextBlock(Text(f"{name:<10}", overflow="fold").append(one_line(words), style=style), STEP)


def passage(words: str, indent: int, room: int | None, style: str = "") -> TextBlock:
    """Return untrusted text; it is cut above `room` characters, None: never."""
    whole = visible(words.strip("\n"))
    return TextBlock(Text(whole if room is None else head_and_tail(whole, room), style=style, overflow="fold"), indent)


def patch(words: str) -> TextBlock:
    """Return a whole patch, with coloured added and deleted lines."""
    text = Text(overflow="fold")
    for each in visible(words.rstrip("\n")).split("\n"):
        is_name = each.startswith(("+++ ", "--- "))
        text.append(each + "\n", style="bold" if is_name else _PATCH_STYLES.get(each[:1], ""))
    text.right_crop(1)
    return TextBlock(text, STEP)


_MOST_ARMS: Final = 10
_MOST_VERDICTS: Final = 4
_MOST_EXCLUDED: Final = 3
_MOST_NOTES: Final = 5
_LEAST_NAME: Final = 16  # columns of an arm's name
_GAP: Final = 2
_SPARED: Final = ("tokens", "grades", "score", "time", "USD")  # first to go in a narrow terminal


def _text(words: str) -> Text:
    """Return one line with its indentation."""
    return Text(" " * (len(words) - len(words.lstrip(" "))) + one_line(words))


def _grid(table: Table, title: str = "", *, fold_all: bool = False) -> Grid:
    """Return a table in which the names of arms take several lines if there is no room, or all columns do."""
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
    """Print the verdicts, the arms, the counts, what is excluded, and the warnings."""
    view = report_view(report, _MOST_ARMS)
    rows = [dict(zip(HEADINGS, arm_row(view, arm), strict=True)) for arm in view.arms]
    headings = _fitting(rows, console.width)
    table = _grid(Table(headings, [[row[name] for name in headings] for row in rows]))
    spared = [name for name in HEADINGS if name not in headings]
    room = [f"no room in {console.width} columns for: {', '.join(spared)}; report.md has them"] if spared else []
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
        yield f"the best and the worst arms; {view.left_out:,} more, in report.json"
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
    """Return the columns that fit, so that no number is cut; names of arms may take several lines."""
    widths = {name: max(cell_len(one_line(text)) for text in (name, *(row[name] for row in rows))) for name in HEADINGS}
    widths["arm"] = min(widths["arm"], _LEAST_NAME)
    headings = list(HEADINGS)
    for spared in _SPARED:
        if sum(widths[name] + _GAP for name in headings) > width:
            headings.remove(spared)
    return headings


def _more(left_out: int, where: str) -> Iterator[str]:
    if left_out > 0:
        yield f"and {left_out:,} more {where}"


_OTHERS: Final = {"usd": "usd", "usd per pass": "cost_of_pass", "seconds": "seconds", "tokens": "tokens"}
_COMPARISON_NOTE: Final = "A, B: passed of judged; p: adjusted for all rows (Holm); +/=/-: scenarios won, tied, lost"
_MOST_FLIPS: Final = 20


def render_comparison(comparison: ResultComparison, console: Console) -> None:
    """Print the verdicts, what changed scenario by scenario, and the warnings."""
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
    """Format cost, time and tokens: geometric means of ratios over scenarios, or differences if one is 0.

    The cost of a pass is the ratio of both arms' own.
    """
    known = {contrast.metric: contrast for contrast in (*pair.others, pair.ruling.contrast)}
    return ", ".join(f"{name} {_change(known.get(metric))}" for name, metric in _OTHERS.items())


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
    """Print the panels, the trials that they part on, and the controls."""
    flips = [cell for panel in summary.panels for cell in panel.flips]
    parts: list[RenderableType] = [_grid(table_of(summary.panels, _PANELS), fold_all=True)]
    parts += [_text(f"passes by one and not by the other: {cell}") for cell in flips]
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
    """Return one row for each control; the first shows the judge's cost."""
    results = [(control.kind.replace("_", " "), _HOLDS[control.holds], control.why) for control in probe.controls]
    if probe.error:
        results.append((UNDEFINED, _HOLDS[None], probe.error))
    return [
        (probe.judge, kind, probe.subject, holds, why, dollars(probe.usage.usd) if row == 0 else "")
        for row, (kind, holds, why) in enumerate(results)
    ]
