"""Badge of a readiness measurement: score, half-width of its interval, model and date, as JSON and as SVG."""

import datetime
from typing import Final

from scylla_gha.model import Record
from scylla_gha.model.readiness_score import ReadinessReport
from scylla_gha.report.badges import badge

_GREY: Final = "#59636e"
_BLUE: Final = "#0b5fa5"
WIDEST: Final = 15.0  # points to either side, beyond which the badge is grey
OLDEST_DAYS: Final = 90


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
