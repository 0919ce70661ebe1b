"""Output of commands to GitHub Actions with `--github`: job outputs, the step summary, annotations."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from scylla_gha.errors import ScyllaError
from scylla_gha.github_api.actions import (
    JobFacts,
    Level,
    add_summary,
    annotation,
    job_facts,
    mask_command,
    set_outputs,
)
from scylla_gha.github_com import fixture_environment, tokens_of
from scylla_gha.model import known_sum, one_line
from scylla_gha.model.report import Report
from scylla_gha.providers import provider_environment
from scylla_gha.report.document import clipped
from scylla_gha.report.summary import overall

option = click.option(
    "--github", is_flag=True, help="Write the outputs, summary and annotations of a step in GitHub Actions."
)
done = click.option(
    "--done",
    multiple=True,
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="File or folder of rows to reuse instead of running cells; may be repeated.",
)
_MOST_REFUSAL: Final = 2000  # characters
_MOST_REASON: Final = 300
_MOST: Final = 10  # annotations of a level that GitHub shows of a step
_WHOLE: Final = "report.md, in the artifact of the report"


def actions_job() -> JobFacts:
    """Return the facts of this job.

    Raises:
        ConfigError: this is not a step of a workflow.
    """
    return job_facts(os.environ)


def hidden_fixture_tokens() -> dict[str, str]:
    """Return the command's environment with all fixture tokens; in Actions, hide them in the log from now on.

    Raises:
        ConfigError: the list of tokens is malformed.
    """
    environ = fixture_environment(provider_environment())
    if environ.get("GITHUB_ACTIONS") == "true":
        for token in tokens_of(environ):  # Actions hides only whole lines of a secret
            click.echo(mask_command(token), err=True)
    return environ


def annotate(level: Level, message: str, title: str = "", file: str = "", line: int = 0) -> None:
    """Show a message on the run's page and, if `file` is given, at its line in the pull request."""
    click.echo(
        annotation(level, message, title, file, line), err=True
    )  # standard output is for data; the runner reads both


def annotate_all(level: Level, messages: Sequence[str], title: str, where: str) -> None:
    """Show the first messages, and the number of the others; `where` tells where all messages are."""
    for message in messages[:_MOST]:
        annotate(level, message, title)
    if len(messages) > _MOST:
        annotate("notice", f"{len(messages) - _MOST:,} more of {len(messages):,}: {where}", title)


def write_job_outputs(run: JobFacts, values: Mapping[str, object]) -> None:
    """Set this step's outputs; None (unknown) becomes empty."""
    set_outputs(run.outputs, {name: "" if value is None else str(value) for name, value in values.items()})


@contextmanager
def refusals(run: JobFacts | None) -> Iterator[None]:
    """Store an expected error's message in the output `refusal`, for a job that may post it; raise the error again."""
    try:
        yield
    except ScyllaError as why:
        if run is not None:
            write_job_outputs(run, {"refusal": clipped(one_line(str(why)), _MOST_REFUSAL)})
        raise


def summarise(run: JobFacts, markdown: str, whole: str) -> None:
    """Show Markdown on the run's page; `whole` tells where the uncut text is."""
    if run.summary is not None and not add_summary(run.summary, markdown, whole):
        annotate(
            "notice",
            f"the step summary is cut at 1 MiB and names the missing parts; the whole page is in {whole}",
        )


def publish_on_run(run: JobFacts, report: Report, page: str) -> None:
    """Write the step summary and the outputs, and a warning for each excluded cell."""
    summarise(run, page, _WHOLE)
    write_job_outputs(run, outputs(report))
    missing = [f"{cell.cell}: {cell.outcome}: {cell.reason[:_MOST_REASON]}" for cell in report.excluded]
    annotate_all("warning", missing, report.experiment, _WHOLE)


def outputs(report: Report) -> dict[str, str]:
    """Return the outputs by name, empty if unknown: figures of the decisive arm, and the costs of all arms.

    The decisive arm is the worst of the arms with the overall verdict.
    """
    verdict = overall(report)
    rulings = report.analysis.answers or report.analysis.rulings if report.analysis else ()
    contrasts = {ruling.arm: ruling.contrast for ruling in rulings}

    def difference(arm: str) -> float:
        contrast = contrasts.get(arm)
        return float("inf") if contrast is None or contrast.value is None else contrast.value

    candidates = [comparison.arm for comparison in report.answer if comparison.verdict == verdict]
    arm = min(candidates, key=difference) if candidates else report.arms[0].arm if len(report.arms) == 1 else None
    contrast = contrasts.get(arm) if candidates and arm else None
    return {
        "verdict": verdict,
        "arm": arm or "",
        "pass_rate": _number(next((summary.pass_rate for summary in report.arms if summary.arm == arm), None)),
        "delta": _number(contrast.value if contrast else None),
        "low": _number(contrast.low if contrast else None),
        "high": _number(contrast.high if contrast else None),
        "agent_usd": _number(known_sum(*(summary.usd for summary in report.arms))),
        "judge_usd": _number(report.judge_usd),
        "missing": str(report.counts.planned - report.counts.judged),
    }


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
