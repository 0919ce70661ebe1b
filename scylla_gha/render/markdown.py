"""The report as Markdown."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.model.report import Report
from scylla_gha.render.text import COUNTS_NOTE, HEADINGS, arm_row, plain, totals

_MOST_EXCLUDED: Final = 50
# GitHub turns these into mentions and links after Markdown, so a backslash does not help: github/cmark-gfm issue 181.
_REFERENCE: Final = re.compile(r"([@#]|:(?=//)|\bwww(?=\.)|\bGH(?=-[0-9]))", re.IGNORECASE)
_METHOD: Final = """\
A trial **passes** when the agent completed, its score reaches the scenario's threshold, and every required checkpoint
holds. The **score** is the weighted sum of the rubric's categories, each the points achieved of those that apply;
weights of categories that do not apply are shared out among the others. **Time** is the mean wall time of a trial,
**USD** the model cost of all its attempts, **USD/pass** that cost over the passes. The interval is Wilson's, at 95 %.
Rates are over judged trials: faults of provider, sandbox, fixture or judge are excluded, counted, and listed.
`?` is unknown, `-` is undefined; neither is 0."""


def markdown(report: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {escape(report.experiment)}"
    yield f"\n{escape(report.question)}\n"
    yield f"**{totals(report)}** (scylla-gha {report.toolkit_version})\n"
    yield from _verdicts(report)
    yield from _table(HEADINGS, (arm_row(arm) for arm in report.arms))
    yield f"\n{COUNTS_NOTE}"
    yield "\n## Scenarios: passed of judged\n"
    arms = [arm.arm for arm in report.arms]
    rows = ((row.scenario, *(f"{row.passed[arm][0]}/{row.passed[arm][1]}" for arm in arms)) for row in report.scenarios)
    yield from _table(("scenario", *arms), rows)
    yield from _excluded(report)
    if report.warnings:
        yield "\n## Warnings\n"
        yield from (f"- {escape(warning)}" for warning in report.warnings)
    yield f"\n## How this was computed\n\n{_METHOD}"


def _verdicts(report: Report) -> Iterator[str]:
    for one in report.comparisons:
        yield f"- `{one.arm}` against `{one.baseline}`: **{one.verdict}** ({escape(one.why)})"
    if report.comparisons:
        yield ""


def _excluded(report: Report) -> Iterator[str]:
    if not report.excluded:
        return
    yield f"\n## Not in the rates: {len(report.excluded)}\n"
    shown = report.excluded[:_MOST_EXCLUDED]
    yield from _table(("cell", "outcome", "reason"), ((one.cell, one.outcome, one.reason) for one in shown))
    if len(report.excluded) > len(shown):
        yield f"\nand {len(report.excluded) - len(shown)} more, in report.json"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    yield from (f"| {' | '.join(escape(value) for value in row)} |" for row in rows)


def escape(text: str) -> str:
    """One line of Markdown that shows `text` and does nothing else: no table cell, HTML, link or mention."""
    line = re.sub(r"([\\`*_\[\]<>|&~])", r"\\\1", plain(text))
    return _REFERENCE.sub(r"\1<!-- -->", line)
