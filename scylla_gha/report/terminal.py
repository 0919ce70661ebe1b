"""Text in a terminal: reports, comparisons of result sets, judging summaries, and building blocks of other views.

Untrusted text can neither control the terminal nor forge headings: it is always indented, even in a terminal that is
too narrow for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from scylla_gha.counting import dollars
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.comparison import ArmPair, Flip, ResultComparison
from scylla_gha.model.judgment import JudgeControl, JudgingSummary, PanelSummary
from scylla_gha.model.printable_text import head_and_tail, one_line, visible
from scylla_gha.model.report import Report
from scylla_gha.report.next_command import command_for_more_data
from scylla_gha.report.numbers import REPLAYED, UNDEFINED, UNKNOWN, number, totals
from scylla_gha.report.summary import COUNTS_NOTE, HEADINGS, arm_row, hypothesis_line, verdict_counts, verdict_lines
from scylla_gha.report.tiers import mode_by_model_line
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


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", *, fold_all: bool = False) -> Table:
    """Return a table in which the names of arms take several lines if there is no room, or all columns do."""
    table = Table(
        title=_text(title) if title else None,
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for heading_ in headings:
        table.add_column(_text(heading_), overflow="fold", no_wrap=not fold_all and heading_ != "arm")
    for row in rows:
        table.add_row(*(Text(one_line(value)) for value in row))
    return table


def terminal_report(report: Report, console: Console) -> None:
    """Print the verdicts, the arms, the counts, what is excluded, and the warnings."""
    view = report_view(report, _MOST_ARMS)
    rows = [dict(zip(HEADINGS, arm_row(view, arm), strict=True)) for arm in view.arms]
    headings = _fitting(rows, console.width)
    table = _table(headings, ([row[name] for name in headings] for row in rows))
    spared = [name for name in HEADINGS if name not in headings]
    room = [f"no room in {console.width} columns for: {', '.join(spared)}; report.md has them"] if spared else []
    console.print(Group(*map(_text, _before(view)), table, *map(_text, (*room, *_after(view)))))


def _before(view: ReportView) -> Iterator[str]:
    yield f"{view.report.experiment}: {view.report.question}"
    if view.report.replayed:
        yield REPLAYED
    if counts := verdict_counts(view, _MOST_VERDICTS):
        yield counts
    yield from map(str, verdict_lines(view, _MOST_VERDICTS))
    yield from _more(len(view.report.answer) - _MOST_VERDICTS, "verdicts, in report.json")
    if more_data := command_for_more_data(view.report):
        yield f"to know more: {more_data.command} ({more_data.cost})"
        yield "more scenarios tell more than repetitions"
    if hypothesis := hypothesis_line(view.report):
        yield hypothesis
    if crossed := mode_by_model_line(view):
        yield crossed
    yield from view.report.notes


def _after(view: ReportView) -> Iterator[str]:
    if view.left_out:
        yield f"the best and the worst arms; {view.left_out:,} more, in report.json"
    yield COUNTS_NOTE
    if view.shared:
        yield f"all arms: {view.shared}"
    yield totals(view.report)
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


COMPARISON_HEADINGS: Final = ("arm", "A", "B", "change", "95 %", "p", "+/=/-")
_IN_OWN_UNIT: Final = ("usd", "seconds", "tokens")
_OTHERS: Final = {"usd": "usd", "usd per pass": "cost_of_pass", "seconds": "seconds", "tokens": "tokens"}
_COMPARISON_NOTE: Final = "A, B: passed of judged; p: adjusted for all rows (Holm); +/=/-: scenarios won, tied, lost"
_LEAST_P: Final = 0.0001
_MOST_FLIPS: Final = 20


def render_comparison(comparison: ResultComparison, console: Console) -> None:
    """Print the verdicts, what changed scenario by scenario, and the warnings."""
    title = f"{comparison.b} against {comparison.a}, by {comparison.metric}"
    table = _table(COMPARISON_HEADINGS, map(compared_row, comparison.pairs), title)
    lines = [_COMPARISON_NOTE]
    for pair in comparison.pairs:
        lines.append(f"{_name(pair)}: {pair.ruling.verdict} ({pair.ruling.why})")
        lines.append(f"  B over A: {_other_metrics(pair)}")
        lines.extend(_flips("fixed", pair, pair.fixes))
        lines.extend(_flips("broken", pair, pair.regressions))
    lines.extend(f"warning: {warning}" for warning in comparison.warnings)
    console.print(Group(table, *map(_text, lines)))


def compared_row(pair: ArmPair) -> tuple[str, ...]:
    """Return the cells of one pair, in the order of `COMPARISON_HEADINGS`."""
    contrast = pair.ruling.contrast
    wins = "/".join(map(str, contrast.wins)) if contrast.scenarios else UNDEFINED
    return (_name(pair), _rate(pair.before), _rate(pair.after), *_value(contrast), _p(contrast.p_adjusted), wins)


def _name(pair: ArmPair) -> str:
    return pair.b_arm if pair.a_arm == pair.b_arm else f"{pair.b_arm} against {pair.a_arm}"


def _rate(counts: tuple[int, int]) -> str:
    return f"{counts[0]}/{counts[1]}"


def _value(contrast: Contrast) -> tuple[str, str]:
    """Format the difference in points or its own unit, or the ratio; and its interval."""
    if contrast.value is None:
        return UNDEFINED, UNDEFINED
    form, factor = ("x{:.3g}", 1.0) if contrast.scale == "ratio" else ("{:+.1f}", 100.0)
    if contrast.scale == "difference" and contrast.metric in _IN_OWN_UNIT:
        form, factor = "{:+.4g}", 1.0
    value = form.format(contrast.value * factor)
    if contrast.low is None or contrast.high is None:
        return value, UNDEFINED
    return value, f"[{form.format(contrast.low * factor)}, {form.format(contrast.high * factor)}]"


def _other_metrics(pair: ArmPair) -> str:
    """Format cost, time and tokens: geometric means of ratios over scenarios, or differences if one is 0.

    The cost of a pass is the ratio of both arms' own.
    """
    known = {contrast.metric: contrast for contrast in (*pair.others, pair.ruling.contrast)}
    parts = []
    for name, metric in _OTHERS.items():
        contrast = known.get(metric)
        value, limits = _value(contrast) if contrast and contrast.value is not None else (UNKNOWN, UNDEFINED)
        parts.append(f"{name} {value}" if limits == UNDEFINED else f"{name} {value} {limits}")
    return ", ".join(parts)


def _p(p: float | None) -> str:
    """Format a p value; it is never 0."""
    if p is None:
        return UNDEFINED
    return f"<{_LEAST_P}" if p < _LEAST_P else f"{p:.2g}"


def _flips(what: str, pair: ArmPair, flips: tuple[Flip, ...]) -> Iterator[str]:
    for flip in flips[:_MOST_FLIPS]:
        yield f"  {what}: {flip.scenario}: {_rate(flip.before)} -> {_rate(flip.after)} ({_name(pair)})"
    if len(flips) > _MOST_FLIPS:
        yield f"  and {len(flips) - _MOST_FLIPS} more {what}; --json has all"


_PANELS: Final = ("judged by", "judged", "passed", "score", "difference", "flips", "USD")
_CONTROLS: Final = ("judge", "control", "on", "holds", "found", "USD")
_HOLDS: Final = {True: "yes", False: "NO", None: "undecided"}


def judge_summary(summary: JudgingSummary, console: Console) -> None:
    """Print the panels, the trials that they part on, and the controls."""
    flips = [cell for panel in summary.panels for cell in panel.flips]
    parts: list[RenderableType] = [_table(_PANELS, map(_panel, summary.panels), fold_all=True)]
    parts += [_text(f"passes by one and not by the other: {cell}") for cell in flips]
    if summary.probes:
        rows = [row for probe in summary.probes for row in _controls(probe)]
        parts.append(_table(_CONTROLS, rows, fold_all=True))
    console.print(Group(*parts))


def _panel(panel: PanelSummary) -> tuple[str, ...]:
    judges = f" ({', '.join(panel.judges)})" if panel.panel == "experiment" and panel.judges else ""
    flips = str(len(panel.flips)) if panel.compared > 0 else UNDEFINED
    return (
        f"{panel.panel}{judges}",
        f"{panel.judged} of {panel.trials}",
        str(panel.passed),
        number(panel.mean_score),
        number(panel.difference),
        flips,
        dollars(panel.usd),
    )


def _controls(probe: JudgeControl) -> list[tuple[str, ...]]:
    """Return one row for each control; the first shows the judge's cost."""
    results = [(control.kind.replace("_", " "), _HOLDS[control.holds], control.why) for control in probe.controls]
    if probe.error:
        results.append((UNDEFINED, _HOLDS[None], probe.error))
    return [
        (probe.judge, kind, probe.subject, holds, why, dollars(probe.usage.usd) if row == 0 else "")
        for row, (kind, holds, why) in enumerate(results)
    ]
