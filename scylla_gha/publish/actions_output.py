"""Output of commands to GitHub Actions with `--github`: job outputs, the step summary, annotations."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from scylla_gha.errors import ScyllaError
from scylla_gha.github.actions import JobFacts, Level, add_summary, annotation, job_facts, set_outputs
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.report import Comparison, Report
from scylla_gha.report.numbers import clipped, plain
from scylla_gha.report.summary import overall

option = click.option(
    "--github", is_flag=True, help="Write the outputs, summary and annotations of a step in GitHub Actions."
)
done = click.option("--done", multiple=True, metavar="PATH", type=click.Path(path_type=Path),
                    help="File or folder of rows to reuse instead of running cells; may be repeated.")  # fmt: skip
_MOST_REFUSAL: Final = 2000
_MOST: Final = 10  # annotations of a level that GitHub shows of a step


def actions_job() -> JobFacts:
    """Return the facts of this job.

    Raises:
        ConfigError: this is not a step of a workflow.
    """
    return job_facts(os.environ)


def annotate(level: Level, message: str, title: str = "") -> None:
    """Show a message on the run's page."""
    click.echo(annotation(level, message, title), err=True)  # the runner reads both streams, and data goes to the other


def annotate_all(level: Level, messages: Sequence[str], title: str, where: str) -> None:
    """Show the first messages, and the number of the others; `where` names where all can be read."""
    for message in messages[:_MOST]:
        annotate(level, message, title)
    if len(messages) > _MOST:
        annotate("notice", f"{len(messages) - _MOST:,} more of {len(messages):,}: {where}", title)


def write_job_outputs(run: JobFacts, values: Mapping[str, object]) -> None:
    """Set this step's outputs; None (unknown) becomes empty."""
    set_outputs(run.outputs, {name: "" if value is None else str(value) for name, value in values.items()})


@contextmanager
def refusals(run: JobFacts | None) -> Iterator[None]:
    """Set an expected failure's message as the output `refusal`, for a job that may post it, and raise it again."""
    try:
        yield
    except ScyllaError as why:
        if run is not None:
            write_job_outputs(run, {"refusal": clipped(plain(str(why)), _MOST_REFUSAL)})
        raise


def summarise(run: JobFacts, markdown: str, whole: str) -> None:
    """Show Markdown on the run's page; `whole` names where the uncut text is."""
    if run.summary is not None and not add_summary(run.summary, markdown, whole):
        annotate(
            "notice",
            f"the step summary is cut at 1 MiB and names the missing parts; the whole page is in {whole}",
        )


_WHOLE: Final = "report.md, in the artifact of the report"
_MAX_REASON: Final = 300  # characters of a reason


def publish_on_run(run: JobFacts, report: Report, page: str) -> None:
    """Write the step summary and the outputs, and annotate what is missing."""
    summarise(run, page, _WHOLE)
    write_job_outputs(run, outputs(report))
    annotate_all("warning", list(_missing(report)), report.experiment, _WHOLE)


def outputs(report: Report) -> dict[str, str]:
    """Return the outputs by name, empty if unknown: figures of the decisive arm, and the costs of all arms.

    Of several arms, the decisive one is the worst of those with the overall verdict.
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
    return min(
        (comparison for comparison in report.comparisons if comparison.verdict == verdict),
        key=lambda one: _size(report, one),
        default=None,
    )


def _size(report: Report, one: Comparison) -> float:
    contrast = _contrast(report, one.arm)
    return contrast.value if contrast and contrast.value is not None else float("inf")


def _contrast(report: Report, arm: str) -> Contrast | None:
    rulings = report.analysis.rulings if report.analysis else ()
    return next((ruling.contrast for ruling in rulings if ruling.arm == arm), None)


def _missing(report: Report) -> Iterator[str]:
    for cell in report.excluded:
        yield f"{cell.cell}: {cell.outcome}: {cell.reason[:_MAX_REASON]}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
