"""Render README.md and the badges of a results branch: latest verdicts, trends, and links to runs.

Links are relative to the branch's root, so they work on every server and in every fork. Badges are drawn here as SVG
files, so no third party learns a name.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape as escape_xml

from scylla_gha.counting import counted, dollars
from scylla_gha.model import Record
from scylla_gha.model.analysis import OVERALL, Verdict
from scylla_gha.model.publication import RunIndexEntry
from scylla_gha.model.readiness import ReadinessReport
from scylla_gha.model.report import ArmSummary, History, Point, Report, Series
from scylla_gha.report.document import UNDEFINED, Markdown, Table, code, escape, link, render
from scylla_gha.report.summary import HEADINGS, arm_row, marked, overall
from scylla_gha.report.view import PASS, ReportView, report_view

_HEIGHT: Final = 20  # pixels
# Widths of characters in pixels, in Verdana of 11 pixels
_CHARACTER: Final = 6.8
_WIDTHS: Final = {
    **dict.fromkeys("ijl|'!", 3.2),
    **dict.fromkeys("ft.,:;()[] ", 4.1),
    **dict.fromkeys("r-/", 4.9),
    **dict.fromkeys("csz?", 5.8),
    **dict.fromkeys("ABCDEFGHKLMNOPQRSTUVXYZ✓✗≈w", 8.4),
    **dict.fromkeys("mW%", 11.0),
}
_PADDING: Final = 6
_NEUTRAL: Final = "#59636e"
# White text has a contrast of at least 4.5 on each colour; colour-blind people can tell blue from orange.
_COLOURS: Final[dict[str, str]] = {"better": "#0b5fa5", "worse": "#b3400a", "equivalent": "#2b7a5b"}
_GREY: Final = "#59636e"
_BLUE: Final = "#0b5fa5"
WIDEST: Final = 15.0  # half-width of an interval in points above which the badge is grey
OLDEST_DAYS: Final = 90
_MOST_EXPERIMENTS: Final = 50
_MOST_RUNS: Final = 10
_BADGES: Final = {
    "verdict": "verdict",
    "pass-rate": "pass rate",
    "cost-of-pass": "cost of a pass",
    "readiness": "readiness",
}


def badge_path(experiment: str, kind: str) -> str:
    """Return the path of a badge on the results branch."""
    return f"badges/{experiment}-{kind}.svg"


def badges(report: Report) -> dict[str, str]:
    """Return the SVG badges of a report by kind: `verdict`, and `pass-rate` and `cost-of-pass` of its decisive arm."""
    values = badge_values(report)
    return {
        "verdict": badge(report.experiment, values["verdict"], _COLOURS.get(overall(report), _NEUTRAL)),
        "pass-rate": badge("pass rate", values["pass-rate"], _NEUTRAL),
        "cost-of-pass": badge("cost of a pass", values["cost-of-pass"], _NEUTRAL),
    }


def badge_values(report: Report) -> dict[str, str]:
    """Return the texts of the badges by kind."""
    verdict, arm = overall(report), decisive_arm(report)
    row = dict(zip(HEADINGS, arm_row(report_view(report), arm), strict=True)) if arm else {}
    return {
        "verdict": marked(verdict, verdict.replace("_", " ")),
        "pass-rate": row.get("pass", UNDEFINED),
        "cost-of-pass": row.get("USD/pass", UNDEFINED),
    }


def decisive_arm(report: Report) -> ArmSummary | None:
    """Return the first arm with the overall verdict; without comparisons the only arm, or None if there are several."""
    arms = {arm.arm: arm for arm in report.arms}
    verdicts: dict[Verdict, str] = {}
    for comparison in report.answer:
        verdicts.setdefault(comparison.verdict, comparison.arm)
    name = next((verdicts[verdict] for verdict in OVERALL if verdict in verdicts), None)
    if name is not None:
        return arms.get(name)
    return report.arms[0] if len(report.arms) == 1 else None


def skill_badge(figures: str) -> str:
    """Return the badge of a skill as SVG; it is grey if `figures` is empty."""
    return badge("skill", figures or "not measured at this version", _BLUE if figures else _GREY)


def badge(label: str, value: str, colour: str) -> str:
    """Return a badge as SVG: a label on dark grey beside a value on `colour`."""
    left, right = (
        round(sum(_WIDTHS.get(letter, _CHARACTER) for letter in text)) + 2 * _PADDING for text in (label, value)
    )
    name = escape_xml(f"{label}: {value}", {'"': "&quot;"})
    text = 'y="14" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img" '
        f'aria-label="{name}"><title>{name}</title>'
        f'<rect width="{left}" height="{_HEIGHT}" fill="#1f2328"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" {text} textLength="{left - 2 * _PADDING}">{escape_xml(label)}</text>'
        f'<text x="{left + right / 2:g}" {text} textLength="{right - 2 * _PADDING}">{escape_xml(value)}</text>'
        "</g></svg>\n"
    )


class ReadinessBadge(Record):
    """Badge of a readiness measurement (`badges/readiness.json`).

    Attributes:
        half_width: half of the 95 % interval in points; None: no interval.
        stale_on: day from which the badge is shown in grey.
        is_grey: True if the badge has no score or interval, too wide an interval, or was stale when it was made.
    """

    schema_version: int = 1
    score: float | None
    half_width: float | None
    model: str | None
    date: datetime.date
    stale_on: datetime.date
    is_grey: bool


def readiness_badge(report: ReadinessReport, today: datetime.date) -> ReadinessBadge:
    """Return the badge of a readiness measurement; it is grey if the measurement is too old or too uncertain."""
    score = report.head or report.score
    half = (score.high - score.low) / 2 if score and score.high is not None and score.low is not None else None
    stale_on = report.at.date() + datetime.timedelta(days=OLDEST_DAYS)
    is_grey = score is None or score.score is None or half is None or half > WIDEST or today >= stale_on
    return ReadinessBadge(
        score=score.score if score else None,
        half_width=half,
        model=report.model,
        date=report.at.date(),
        stale_on=stale_on,
        is_grey=is_grey,
    )


def badge_text(shown: ReadinessBadge) -> str:
    """Return the text of the badge: score, half-width, model and date."""
    text = "n/a" if shown.score is None else f"{shown.score:.0f}"
    width = f" ± {shown.half_width:.0f}" if shown.half_width is not None and shown.score is not None else ""
    return f"{text}{width}, {shown.model or 'no model'}, {shown.date.isoformat()}"


def badge_svg(shown: ReadinessBadge) -> str:
    """Return the badge as SVG."""
    return badge("readiness", badge_text(shown), _GREY if shown.is_grey else _BLUE)


@dataclass(frozen=True, slots=True)
class ExperimentSection:
    """An experiment's part of the page; `badges` are titles and paths, `readiness` is the score as text."""

    name: str
    badges: Sequence[tuple[str, str]]
    readiness: str
    chart: str
    runs: Table


def trend_path(experiment: str) -> str:
    """Return the path of an experiment's trend chart on the branch."""
    return f"charts/{experiment}.svg"


def branch_readme(
    entries: Iterable[RunIndexEntry], files: Collection[str], branch: str, readiness: Mapping[str, str] | None = None
) -> str:
    """Return README.md of a results branch.

    Args:
        entries: the runs, in any order.
        files: paths of the badges and charts that the branch has.
        branch: name of the branch.
        readiness: texts of the newest readiness scores, by experiment.
    """
    scores = readiness or {}
    root = "../" * (2 + branch.count("/"))  # GitHub resolves links against OWNER/REPO/blob/BRANCH
    newest_first = sorted(entries, key=lambda entry: (entry.published_at, str(entry.name)), reverse=True)
    pulls = [entry for entry in newest_first if entry.origin.pull is not None]
    runs: dict[str, list[RunIndexEntry]] = {}
    for entry in newest_first:
        if entry.origin.pull is None:
            runs.setdefault(entry.name.experiment, []).append(entry)
    shown = dict(list(runs.items())[:_MOST_EXPERIMENTS])
    latest = [_row(experiment_runs[0], root) for experiment_runs in shown.values()]
    return render(
        "branch_readme.md.j2",
        {
            "latest": Table(_HEADINGS, latest, len(runs) - len(shown), "experiment", "v1/index"),
            "experiments": [
                _section(name, _table(rows, root), files, scores.get(name, "")) for name, rows in shown.items()
            ],
            "pulls": _table(pulls, root),
        },
    )


_HEADINGS: Final = ("experiment", "verdict", "passed", "USD ↓", "evaluated", "published", "run")


def _section(name: str, runs: Table, files: Collection[str], readiness: str) -> ExperimentSection:
    badges = [(title, badge_path(name, kind)) for kind, title in _BADGES.items()]
    chart = trend_path(name)
    return ExperimentSection(
        name,
        [(title, path) for title, path in badges if path in files],
        readiness,
        chart if chart in files else "",
        runs,
    )


def _table(runs: Sequence[RunIndexEntry], root: str) -> Table:
    return Table(
        _HEADINGS, [_row(entry, root) for entry in runs[:_MOST_RUNS]], len(runs) - _MOST_RUNS, "run", "v1/index"
    )


def _row(entry: RunIndexEntry, root: str) -> tuple[str, ...]:
    counts, name = entry.counts, entry.name
    part = "" if entry.complete else f" of {counted(counts.planned, 'planned cell')}"
    costs = f"{dollars(entry.usd)} + judges {dollars(entry.judge_usd)}"
    page = Markdown(f"[{name.run}]({root}actions/runs/{name.run})") if name.run.isdecimal() else escape(name.run)
    return (
        link(name.experiment, entry.folder),
        verdict_words(entry.verdicts),
        f"{entry.passed}/{counts.judged}{part}",
        costs,
        _evaluated(entry, root),
        f"{entry.published_at:%Y-%m-%d %H:%M} UTC",
        page,
    )


def verdict_words(verdicts: Mapping[Verdict, int]) -> str:
    """Return a single verdict in words; the number of each kind if there are several."""
    if not verdicts:
        return UNDEFINED
    if sum(verdicts.values()) > 1:
        return ", ".join(f"{count} {verdict.replace('_', ' ')}" for verdict, count in verdicts.items())
    (verdict,) = verdicts
    return marked(verdict, verdict.replace("_", " "))


def _evaluated(entry: RunIndexEntry, root: str) -> Markdown:
    """Return the branch or pull request, and the commit."""
    origin = entry.origin
    pull = f"[pull request {origin.pull}]({root}pull/{origin.pull})" if origin.pull is not None else ""
    where = pull or (escape(origin.branch) if origin.branch else "")
    return Markdown(" ".join(filter(None, (where, code(origin.head[:7]) if origin.head else ""))) or UNDEFINED)


def history_of_reports(reports: Sequence[tuple[str, Report]]) -> History:
    """Return the pass rates of the newest report's arms over all reports, without a search for changes.

    Args:
        reports: unique names of the runs and their reports, oldest first.
    """
    views = [(name, report_view(report)) for name, report in reports]
    arms = [arm.arm for arm in reports[-1][1].arms]
    series = [Series(arm=arm, points=tuple(_point(name, view, arm) for name, view in views), shifts=()) for arm in arms]
    return History(baseline=reports[0][0], margin=0.0, series=tuple(series))


def _point(name: str, view: ReportView, arm: str) -> Point:
    summary = next((summary for summary in view.report.arms if summary.arm == arm), None)
    if summary is None:
        return Point(run=name, epoch="", trials=0, scenarios=0, rate=None, usd=None, seconds=None)
    judged = sum(row.passed.get(arm, (0, 0))[1] > 0 for row in view.report.scenarios)
    rate = view.measure(arm, PASS)
    value, low, high = (
        (rate.value, rate.low, rate.high) if rate else (summary.pass_rate, summary.pass_low, summary.pass_high)
    )
    return Point(
        run=name,
        epoch="",
        trials=summary.counts.judged,
        scenarios=judged,
        rate=value,
        rate_low=low,
        rate_high=high,
        usd=None,
        seconds=summary.mean_seconds,
    )
