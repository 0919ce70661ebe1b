"""The report in GitHub Actions: its page on the run's page, its figures as outputs, and what is missing."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.cli import actions
from scylla_gha.gha.facts import Facts
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.report import Comparison, Report
from scylla_gha.render.headline import overall

_WHOLE: Final = "report.md, in the artifact of the report"
_MOST: Final = 300  # characters of a reason


def publish_on_run(run: Facts, report: Report, page: str) -> None:
    """Write the step summary and the outputs, and annotate what is missing."""
    actions.summarise(run, page, _WHOLE)
    actions.give(run, outputs(report))
    actions.say_all("warning", list(_missing(report)), report.experiment, _WHOLE)


def outputs(report: Report) -> dict[str, str]:
    """The figures by name, empty where unknown: of the arm that the verdict is of, and what all arms cost.

    With several arms, that is the one which does worst of those with the verdict.
    """
    one = _decisive(report)
    contrast = _contrast(report, one.arm) if one else None
    arm = one.arm if one else report.arms[0].arm if len(report.arms) == 1 else None
    costs = [each.usd for each in report.arms]
    return {
        "verdict": overall(report),
        "arm": arm or "",
        "pass_rate": _number(next((each.pass_rate for each in report.arms if each.arm == arm), None)),
        "delta": _number(contrast.value if contrast else None),
        "low": _number(contrast.low if contrast else None),
        "high": _number(contrast.high if contrast else None),
        "agent_usd": _number(None if None in costs else sum(cost for cost in costs if cost is not None)),
        "judge_usd": _number(report.judge_usd),
        "missing": str(report.counts.planned - report.counts.judged),
    }


def _decisive(report: Report) -> Comparison | None:
    verdict = overall(report)
    return min((one for one in report.comparisons if one.verdict == verdict), key=lambda one: _size(report, one),
               default=None)  # fmt: skip


def _size(report: Report, one: Comparison) -> float:
    contrast = _contrast(report, one.arm)
    return contrast.value if contrast and contrast.value is not None else float("inf")


def _contrast(report: Report, arm: str) -> Contrast | None:
    rulings = report.analysis.rulings if report.analysis else ()
    return next((ruling.contrast for ruling in rulings if ruling.arm == arm), None)


def _missing(report: Report) -> Iterator[str]:
    for one in report.excluded:
        yield f"{one.cell}: {one.outcome}: {one.reason[:_MOST]}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
