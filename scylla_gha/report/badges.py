"""Badges of runs and of readiness as SVG; they are made here, so no third party sees a name."""

import datetime
from typing import Final
from xml.sax.saxutils import escape

from scylla_gha.model import Record
from scylla_gha.model.analysis import OVERALL, Verdict
from scylla_gha.model.readiness import ReadinessReport
from scylla_gha.model.report import ArmSummary, Report
from scylla_gha.report.numbers import UNDEFINED
from scylla_gha.report.summary import HEADINGS, arm_row, marked, overall
from scylla_gha.report.view import report_view

_HEIGHT: Final = 20
# Widths in Verdana of 11 pixels, rounded.
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
# White text has a contrast of at least 4.5 on each; blue and orange differ for colour-blind people too.
_COLOURS: Final[dict[str, str]] = {"better": "#0b5fa5", "worse": "#b3400a", "equivalent": "#2b7a5b"}
_GREY: Final = "#59636e"
_BLUE: Final = "#0b5fa5"
WIDEST: Final = 15.0  # points to either side, beyond which the badge is grey
OLDEST_DAYS: Final = 90


def badge_path(experiment: str, kind: str) -> str:
    """Return the path of a badge on the results branch."""
    return f"badges/{experiment}-{kind}.svg"


def badges(report: Report) -> dict[str, str]:
    """Return the badges of a report by kind: `verdict`, `pass-rate` and `cost-of-pass` of its decisive arm."""
    values = badge_values(report)
    return {
        "verdict": badge(report.experiment, values["verdict"], _COLOURS.get(overall(report), _NEUTRAL)),
        "pass-rate": badge("pass rate", values["pass-rate"], _NEUTRAL),
        "cost-of-pass": badge("cost of a pass", values["cost-of-pass"], _NEUTRAL),
    }


def badge_values(report: Report) -> dict[str, str]:
    """Return the words of the badges by kind."""
    verdict, arm = overall(report), decisive_arm(report)
    row = dict(zip(HEADINGS, arm_row(report_view(report), arm), strict=True)) if arm else {}
    return {
        "verdict": marked(verdict, verdict.replace("_", " ")),
        "pass-rate": row.get("pass", UNDEFINED),
        "cost-of-pass": row.get("USD/pass", UNDEFINED),
    }


def decisive_arm(report: Report) -> ArmSummary | None:
    """Return the arm with the overall verdict, the first of several; the only arm if nothing is compared."""
    arms = {arm.arm: arm for arm in report.arms}
    verdicts: dict[Verdict, str] = {}
    for comparison in report.answer:
        verdicts.setdefault(comparison.verdict, comparison.arm)
    name = next((verdicts[verdict] for verdict in OVERALL if verdict in verdicts), None)
    if name is not None:
        return arms.get(name)
    return report.arms[0] if len(report.arms) == 1 else None


def badge(label: str, value: str, colour: str) -> str:
    """Return a badge: a label on grey and a value on a colour."""
    left, right = (
        round(sum(_WIDTHS.get(letter, _CHARACTER) for letter in text)) + 2 * _PADDING for text in (label, value)
    )
    name = escape(f"{label}: {value}", {'"': "&quot;"})
    text = 'y="14" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img" '
        f'aria-label="{name}"><title>{name}</title>'
        f'<rect width="{left}" height="{_HEIGHT}" fill="#1f2328"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" {text} textLength="{left - 2 * _PADDING}">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" {text} textLength="{right - 2 * _PADDING}">{escape(value)}</text>'
        "</g></svg>\n"
    )


class ReadinessBadge(Record):
    """Badge of a measurement (`badges/readiness.json`).

    Attributes:
        half_width: half of the 95 % interval in points; None: there is none.
        stale_on: day from which the badge is to be shown in grey.
        is_grey: it has no score, or too wide an interval.
    """

    schema_version: int = 1
    score: float | None
    half_width: float | None
    model: str | None
    date: datetime.date
    stale_on: datetime.date
    is_grey: bool


def readiness_badge(report: ReadinessReport, today: datetime.date) -> ReadinessBadge:
    """Return the badge of a measurement; it is grey if the measurement is too old today, or too uncertain."""
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
    """Return the words of the badge: score, half-width, model and date."""
    text = "n/a" if shown.score is None else f"{shown.score:.0f}"
    width = f" ± {shown.half_width:.0f}" if shown.half_width is not None and shown.score is not None else ""
    return f"{text}{width}, {shown.model or 'no model'}, {shown.date.isoformat()}"


def badge_svg(shown: ReadinessBadge) -> str:
    """Return the badge as SVG."""
    return badge("readiness", badge_text(shown), _GREY if shown.is_grey else _BLUE)
