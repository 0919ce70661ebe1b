"""Reports, comparisons of result sets and judging summaries in a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from scylla_gha.model.analysis import Contrast
from scylla_gha.model.comparison import ArmPair, Flip, ResultComparison
from scylla_gha.model.judgment import JudgeControl, JudgingSummary, PanelSummary
from scylla_gha.model.report import Report
from scylla_gha.report.numbers import UNDEFINED, UNKNOWN, number, plain, totals, usd
from scylla_gha.report.summary import COUNTS_NOTE, HEADINGS, arm_row, verdict_counts, verdict_lines
from scylla_gha.report.view import ReportView, note_text, notes, report_view

_MOST_ARMS: Final = 10
_MOST_VERDICTS: Final = 4
_MOST_EXCLUDED: Final = 3
_MOST_NOTES: Final = 5
_ARM: Final = 16  # columns that a name has at least
_GAP: Final = 2
_SPARED: Final = ("tokens", "grades", "score", "time", "USD")  # first to go where it is narrow


def terminal_report(report: Report, console: Console) -> None:
    """Print the verdicts, the arms, the counts, what is excluded, and the warnings."""
    console.print(Group(*_parts(report_view(report, _MOST_ARMS), console.width)))


def _parts(page: ReportView, width: int) -> Iterator[RenderableType]:
    report = page.report
    yield _line(f"{report.experiment}: {report.question}")
    yield from map(_line, _verdicts(page))
    yield _table(page, width)
    if page.left_out:
        yield _line(f"the best and the worst arms; {page.left_out:,} more, in report.json")
    yield _line(COUNTS_NOTE)
    if page.shared:
        yield _line(f"all arms: {page.shared}")
    yield _line(totals(report))
    yield from map(_line, _doubts(page))


def _verdicts(page: ReportView) -> Iterator[str]:
    counted = verdict_counts(page, _MOST_VERDICTS)
    if counted:
        yield counted
    for line in verdict_lines(page, _MOST_VERDICTS):
        yield str(line)
    yield from _more(len(page.report.comparisons) - _MOST_VERDICTS, "verdicts, in report.json")


def _table(page: ReportView, width: int) -> Table:
    rows = [dict(zip(HEADINGS, arm_row(page, arm), strict=True)) for arm in page.arms]
    made = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    headings = _fitting(rows, width)
    for heading in headings:
        made.add_column(_line(heading), overflow="fold", no_wrap=heading != "arm")
    for row in rows:
        made.add_row(*(_line(row[heading]) for heading in headings))
    return made


def _fitting(rows: Sequence[dict[str, str]], width: int) -> list[str]:
    """Return the columns that fit, so that no number is cut; names of arms may take several lines."""
    widths = {heading: max(cell_len(plain(text)) for text in (heading, *(row[heading] for row in rows)))
              for heading in HEADINGS}  # fmt: skip
    widths["arm"] = min(widths["arm"], _ARM)
    headings = list(HEADINGS)
    for heading in _SPARED:
        if sum(widths[each] + _GAP for each in headings) <= width:
            break
        headings.remove(heading)
    return headings


def _doubts(page: ReportView) -> Iterator[str]:
    left, found = page.report.excluded, notes(page)
    yield from (f"not in the rates: {one.cell}: {one.outcome}: {one.reason}" for one in left[:_MOST_EXCLUDED])
    yield from _more(len(left) - _MOST_EXCLUDED, "cells, in report.json")
    yield from (f"warning: {note_text(page, note)}" for note in found[:_MOST_NOTES])
    yield from _more(len(found) - _MOST_NOTES, "warnings, in report.md")


def _more(left_out: int, where: str) -> Iterator[str]:
    if left_out > 0:
        yield f"and {left_out:,} more {where}"


def _line(text: str) -> Text:
    return Text(plain(text))


COMPARISON_HEADINGS: Final = ("arm", "A", "B", "change", "95 %", "p", "+/=/-")
_RATIOS: Final = ("usd", "seconds", "tokens")
_BESIDE: Final = {"usd": "usd", "usd per pass": "cost_of_pass", "seconds": "seconds", "tokens": "tokens"}
_NOTE: Final = "A, B: passed of judged; p: adjusted for all rows (Holm); +/=/-: scenarios won, tied, lost"
_LEAST_P: Final = 0.0001
_MOST_FLIPS: Final = 20


def render_comparison(made: ResultComparison, console: Console) -> None:
    """Print the verdicts, what changed scenario by scenario, and the warnings."""
    console.print(Group(*_comparison_parts(made)))


def _comparison_parts(made: ResultComparison) -> Iterator[RenderableType]:
    table = Table(title=_indented(f"{made.b} against {made.a}, by {made.metric}"), title_justify="left",
                  box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)  # fmt: skip
    for heading in COMPARISON_HEADINGS:
        table.add_column(_indented(heading), overflow="fold", no_wrap=heading != "arm")
    for pair in made.pairs:
        table.add_row(*(_indented(value) for value in compared_row(pair)))
    yield table
    yield _indented(_NOTE)
    for pair in made.pairs:
        yield _indented(f"{_name(pair)}: {pair.ruling.verdict} ({pair.ruling.why})")
        yield _indented(f"  B over A: {_beside(pair)}")
        yield from _flips("fixed", pair, pair.fixes)
        yield from _flips("broken", pair, pair.regressions)
    yield from (_indented(f"warning: {warning}") for warning in made.warnings)


def compared_row(pair: ArmPair) -> tuple[str, ...]:
    """Return the cells of one pair, in the order of `COMPARISON_HEADINGS`."""
    one = pair.ruling.contrast
    value, limits = _value(one)
    wins = "/".join(str(count) for count in one.wins) if one.scenarios else UNDEFINED
    return (
        _name(pair), _rate(pair.before), _rate(pair.after), value, limits, _p(one.p_adjusted),
        wins,
    )  # fmt: skip


def _name(pair: ArmPair) -> str:
    return pair.b_arm if pair.a_arm == pair.b_arm else f"{pair.b_arm} against {pair.a_arm}"


def _rate(counts: tuple[int, int]) -> str:
    return f"{counts[0]}/{counts[1]}"


def _value(one: Contrast) -> tuple[str, str]:
    """Format the difference in points or its own unit, or the ratio; and its interval."""
    if one.value is None:
        return UNDEFINED, UNDEFINED
    form, times = ("x{:.3g}", 1.0) if one.scale == "ratio" else ("{:+.1f}", 100.0)
    if one.scale == "difference" and one.metric in _RATIOS:
        form, times = "{:+.4g}", 1.0
    shown = form.format(one.value * times)
    if one.low is None or one.high is None:
        return shown, UNDEFINED
    return shown, f"[{form.format(one.low * times)}, {form.format(one.high * times)}]"


def _beside(pair: ArmPair) -> str:
    """Format cost, time and tokens: geometric means of ratios over scenarios, or differences if one is 0.

    The cost of a pass is the ratio of both arms' own.
    """
    known = {each.metric: each for each in (*pair.others, pair.ruling.contrast)}
    return ", ".join(f"{name} {_shown(known.get(metric))}" for name, metric in _BESIDE.items())


def _shown(one: Contrast | None) -> str:
    if one is None or one.value is None:
        return UNKNOWN
    value, limits = _value(one)
    return value if limits == UNDEFINED else f"{value} {limits}"


def _p(p: float | None) -> str:
    """Format a p value; it is never 0."""
    if p is None:
        return UNDEFINED
    return f"<{_LEAST_P}" if p < _LEAST_P else f"{p:.2g}"


def _flips(what: str, pair: ArmPair, flips: tuple[Flip, ...]) -> Iterator[Text]:
    for flip in flips[:_MOST_FLIPS]:
        yield _indented(f"  {what}: {flip.scenario}: {_rate(flip.before)} -> {_rate(flip.after)} ({_name(pair)})")
    if len(flips) > _MOST_FLIPS:
        yield _indented(f"  and {len(flips) - _MOST_FLIPS} more {what}; --json has all")


def _indented(text: str) -> Text:
    """Return one line with its indentation."""
    return Text(" " * (len(text) - len(text.lstrip())) + plain(text))


_PANELS = ("judged by", "judged", "passed", "score", "difference", "flips", "USD")
_CONTROLS = ("judge", "control", "on", "holds", "found", "USD")
_VERDICT = {True: "yes", False: "NO", None: "undecided"}


def judge_summary(made: JudgingSummary, console: Console) -> None:
    """Print the panels, the trials that they part on, and the controls."""
    flips = [cell for panel in made.panels for cell in panel.flips]
    parts: list[RenderableType] = [_folding_table(_PANELS, [_panel(each) for each in made.panels])]
    parts += [_line(f"passes by one and not by the other: {cell}") for cell in flips]
    if made.probes:
        parts.append(_folding_table(_CONTROLS, [row for probe in made.probes for row in _controls(probe)]))
    console.print(Group(*parts))


def _panel(each: PanelSummary) -> tuple[str, ...]:
    judges = f" ({', '.join(each.judges)})" if each.panel == "experiment" and each.judges else ""
    compared = each.compared > 0
    return (
        f"{each.panel}{judges}",
        f"{each.judged} of {each.trials}",
        str(each.passed),
        number(each.mean_score),
        number(each.difference),
        str(len(each.flips)) if compared else UNDEFINED,
        usd(each.usd),
    )


def _controls(probe: JudgeControl) -> list[tuple[str, ...]]:
    """Return one row for each control; the first shows the judge's cost."""
    found = [(control.kind.replace("_", " "), _VERDICT[control.holds], control.why) for control in probe.controls]
    if probe.error:
        found.append((UNDEFINED, _VERDICT[None], probe.error))
    return [
        (probe.judge, kind, probe.subject, verdict, why, usd(probe.usage.usd) if first == 0 else "")
        for first, (kind, verdict, why) in enumerate(found)
    ]


def _folding_table(headings: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in headings:
        table.add_column(_line(heading), overflow="fold")
    for row in rows:
        table.add_row(*(_line(value) for value in row))
    return table
