"""Command that measures how well an agent can work in a code base: `scylla-gha readiness`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.model.readiness import DIMENSIONS, Dimension

if TYPE_CHECKING:
    from scylla_gha.model.readiness import ReadinessReport
    from scylla_gha.readiness.session import ReadinessRequest

_WHY = "why"
_MOST_ANCHORS = 99


def _dimensions(_: click.Context, __: click.Parameter, value: str) -> tuple[Dimension, ...]:
    """Read numbers or names of dimensions, separated by commas."""
    known: dict[str, Dimension] = {str(number): name for number, name in enumerate(DIMENSIONS, 1)}
    known |= {name: name for name in DIMENSIONS}
    words = [word.strip() for word in value.split(",")]
    unknown = [word for word in words if word not in known]
    if unknown:
        listed = ", ".join(f"{number} {name}" for number, name in enumerate(DIMENSIONS, 1))
        raise click.BadParameter(f"{unknown[0]!r} is not a dimension; there are: {listed}")
    chosen = {known[word] for word in words}
    return tuple(name for name in DIMENSIONS if name in chosen)


@click.command()
@click.argument("words", nargs=-1, metavar="[why] [DIR]")
@click.option(
    "--budget",
    "--budget-usd",
    type=click.FloatRange(0, min_open=True),
    help="Budget of all sessions in USD (default: 1 for each side: the code, --head, and each copy that "
    "`why` changes).",
)
@click.option(
    "--dimensions",
    callback=_dimensions,
    default="1,2,3,4",
    show_default=True,
    metavar="LIST",
    help="Numbers or names of the dimensions to measure.",
)
@click.option(
    "--anchors",
    type=click.IntRange(8, _MOST_ANCHORS),
    default=12,
    show_default=True,
    help="Number of anchors of each dimension: each is one session of an agent.",
)
@click.option(
    "--head", metavar="BRANCH", help="Branch, tag or hash whose code is compared with the measured one (default: none)."
)
@click.option("--setup", metavar="COMMAND", help="Command that installs what the tests need (default: it is detected).")
@click.option(
    "--tests",
    metavar="GLOB",
    multiple=True,
    help="Files of tests to run, such as 'tests/unit/*'; may be repeated (default: all tests).",
)
@click.option("--model", default="claude-haiku-5-5", show_default=True, help="Model of the agent.")
@click.option("--agent", default="claude-code", show_default=True, metavar="NAME[@VERSION]", help="Agent to measure.")
@options.sandbox("auto", "Sandbox of the agent, of the checks, and of the project's tests.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample of anchors.")
@click.option(
    "--closed-book/--no-closed-book",
    default=True,
    show_default=True,
    help="Also ask each question once without tools, to see what the model knows by heart.",
)
@options.as_json
@click.option("--verbose", is_flag=True, help="Print the tool calls of each session too.")
@click.option("--keep-suite", is_flag=True, help="Copy the generated scenarios into the repository; ask no agent.")
@options.yes("paid requests")
@options.exposed("agents work")
@options.jobs("sessions")
@options.runs
def readiness(words: tuple[str, ...], **values: object) -> None:
    """Measure how well an agent can work in the code base of DIR (default: the current folder).

    Four tasks with known answers are made from the code of the last commit: Intent Clarity (1), Modification
    Confidence (2), Cross-File Coherence (3), Semantic Completeness (4). With `why`, the same is measured on changed
    copies of the code, to show the effect of names, documentation, types and structure. Your files are not
    changed. The same command resumes a run without paying twice.

    Exit codes: 0 measured; 5 unavailable (no agent CLI, key or sandbox), with a list of the questions; 6 not confirmed,
    or the estimate is above the budget; 8 and 9 as for `evaluate`.

    \b
    scylla-gha readiness
    scylla-gha readiness --dimensions 1,3 --budget 0.5
    scylla-gha readiness --head my-refactoring
    scylla-gha readiness why
    """  # noqa: D301
    from scylla_gha.config.installed_packages import require_extra
    from scylla_gha.config.library import Library

    require_extra("tree_sitter", "numpy", "scipy", what="readiness")
    from scylla_gha.readiness.session import ReadinessRequest, keep_suite, measure_readiness

    has_twins = bool(words) and words[0] == _WHY
    folders = words[1:] if has_twins else words
    if len(folders) > 1:
        raise click.UsageError(f"give one folder to measure, not {len(folders)}")
    as_json, verbose, keep = (bool(values.pop(name)) for name in ("as_json", "verbose", "keep_suite"))
    folder = Path(folders[0] if folders else ".")
    values |= {"model": next(iter(Library.here(folder).model_ids([str(values["model"])]).values()))}
    request = ReadinessRequest(folder=folder, has_twins=has_twins, **values)  # type: ignore[arg-type]
    if keep:
        for path in keep_suite(request, options.report):
            click.echo(path)
        return
    report, failure = measure_readiness(request, options.report)
    _show(report, request, as_json=as_json, verbose=verbose)
    if failure is not None:
        raise failure


def _show(report: "ReadinessReport", request: "ReadinessRequest", *, as_json: bool, verbose: bool) -> None:
    from scylla_gha.readiness.session import trace_lines
    from scylla_gha.report.readiness_text import readiness_lines

    if as_json:
        click.echo(report.model_dump_json())
    else:
        click.echo("\n".join(readiness_lines(report)))
    if verbose:
        for line in trace_lines(request):
            options.report(line)
    options.report(f"page: {request.run.report('html')}")
