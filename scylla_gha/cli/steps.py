"""Single steps of an evaluation: `scylla-gha prepare`, `cell`, `collect`, `aggregate` and `report`."""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.config.library import ConfigSources
from scylla_gha.counting import counted
from scylla_gha.errors import BudgetError, ConfigError, IncompleteError
from scylla_gha.publish import actions_output
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import WavePaths, lock_run, stored_plan

if TYPE_CHECKING:
    from scylla_gha.evaluate.shard_worker import ShardCells, ShardOutcome
    from scylla_gha.model.report import Report


@click.command()
@click.argument("scenario")
@options.as_json
def prepare(scenario: str, *, as_json: bool) -> None:
    """Make a workspace of SCENARIO like that of a trial, and print its path. It is never removed.

    \b
    cd "$(scylla-gha prepare 001-hello-world)"
    """  # noqa: D301
    from scylla_gha.prepare import prepare_scenario, prepare_workspace
    from scylla_gha.prepare.tools import cache_root

    library = options.library()
    prepared = prepare_scenario(library.scenario(scenario), library, cache_root())
    repo = str(prepare_workspace(prepared, Path(tempfile.mkdtemp(prefix="scylla-gha-"))).repo)
    start = prepared.start
    facts = {"workspace": repo, "commit": start.commit, "workspace_digest": start.manifest.tree}
    click.echo(json.dumps(facts) if as_json else repo)


@click.command()
@options.experiment
@options.shard
@options.runs
@actions_output.option
@click.option("--jobs", type=click.IntRange(1, 256), show_default="as planned", help="Number of cells at once.")
@click.option(
    "--minutes",
    type=click.FloatRange(0),
    show_default="as planned",
    help="Minutes after which no further cell is started.",
)
@actions_output.done
@options.head
@options.yes("paid requests")
@options.exposed("agents work")
def cell(
    experiment: str,
    number: int,
    runs: Path,
    *,
    github: bool,
    jobs: int | None,
    minutes: float | None,
    done: tuple[Path, ...],
    head: Path | None,
    yes: bool,
    allow_exposed_keys: bool,
) -> None:
    """Run and judge the cells of one shard of EXPERIMENT, and write their rows to runs/EXPERIMENT/shards/NNN/.

    The plan is the stored one; if its keys are not valid on this machine, nothing is run. Faults of cells are part of
    their rows. They do not fail the command; neither do cells that were not started for lack of time.

    \b
    scylla-gha cell quickstart --shard 0
    """  # noqa: D301
    from scylla_gha.evaluate.shard_worker import ShardOptions, ShardWriter, load_shard, run_shard
    from scylla_gha.plan import refuse_changed_fixtures
    from scylla_gha.plan.reuse_results import reusable

    started = time.monotonic()
    job = actions_output.actions_job() if github else None
    folder, library = options.run_folder(runs, experiment), options.library()
    cells = load_shard(folder, number)
    refuse_changed_fixtures({cell.scenario for cell in cells.plan.cells}, library)
    paths = WavePaths(folder.root).shard(number)
    lock_run(folder.root, shared=True)
    lock_run(paths.root)
    actions_output.hidden_fixture_tokens()
    if job is not None:  # first, so that the rows can be uploaded even after an error
        facts = {"experiment": folder.root.name, "number": cells.shard.name, "rows": paths.root}
        actions_output.write_job_outputs(job, facts)
    reused = reusable(done, cells.plan, library) if done else {}
    writer = ShardWriter(cells, job.attempt if job else 1, paths, reused)
    deadline = started + 60 * (cells.packing.minutes if minutes is None else minutes)
    shard_options = ShardOptions(jobs or cells.packing.lanes, deadline, yes=yes or github, exposed=allow_exposed_keys)
    outcome = run_shard(cells, folder, ConfigSources.of(library, head), writer, shard_options)
    if job is not None:
        actions_output.write_job_outputs(job, {"count": writer.count, "unstarted": len(outcome.cells)})
    click.echo(str(paths.rows))
    _report_missing(cells, outcome, github=github)


def _report_missing(cells: "ShardCells", outcome: "ShardOutcome", *, github: bool) -> None:
    """Report cells without a row; fail only if a re-run of the job could add them."""
    if not outcome.cells and not outcome.is_budget_spent:
        return
    shard = cells.shard
    missing = f"shard {shard.name}: no row of {len(outcome.cells)} of {counted(len(shard.cells), 'cell')}"
    if outcome.is_budget_spent:
        raise BudgetError(f"{missing}: its share of a budget is spent; raise --budget-usd of the plan, and run again")
    if outcome.fault:
        raise IncompleteError(f"{missing}: {outcome.fault}; correct that, and re-run the failed jobs")
    reason = next(iter(outcome.cells.values()))
    message = f"{missing}: {reason}; the next wave, or another run of the experiment, adds them"
    if github:
        actions_output.annotate("notice", message, cells.packing.experiment)
    else:
        click.echo(message, err=True)


@click.command()
@options.experiment
@options.runs
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder into which download-artifact put the artifacts of jobs, a folder for each, or the files of "
    "the only one (default: rows are made from the run's trials).",
)
@click.option("--prefix", default="", metavar="TEXT", help="Text before the names of artifacts (default: none).")
@click.option(
    "--since",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Attempt of this workflow run that made the plan (default 1); artifacts of earlier attempts are "
    "ignored, since the plan reuses their rows.",
)
@click.option(
    "--attempt",
    type=click.IntRange(1),
    envvar="GITHUB_RUN_ATTEMPT",
    show_envvar=True,
    help="Attempt of this workflow run; later attempts' artifacts are refused (default: none is refused).",
)
def collect(experiment: str, runs: Path, source: Path | None, *, prefix: str, since: int, attempt: int | None) -> None:
    """Write results.jsonl of EXPERIMENT: one flat row per trial.

    With --from, each artifact is checked, and then accepted or refused as a whole; refused.json and the
    report list refused artifacts.

    \b
    scylla-gha collect quickstart
    scylla-gha collect quickstart --from artifacts
    """  # noqa: D301
    from scylla_gha.collect import collect as collect_rows
    from scylla_gha.collect.artifacts import collect_from
    from scylla_gha.github_api.actions import escape_command

    folder = options.run_folder(runs, experiment)
    plan = stored_plan(folder)
    if source is None:
        collect_rows(plan, folder, options.library())
    else:
        intake = collect_from(plan, folder, source, attempt, prefix=prefix, since=since)
        total = f"{counted(intake.rows, 'row')} of {counted(intake.artifacts, 'artifact')}"
        click.echo(f"{total}, {intake.reused} reused", err=True)
        for refusal in intake.refused:
            click.echo(escape_command(f"refused: {refusal.artifact}: {refusal.reason}"), err=True)
        if intake.missing:
            click.echo(f"missing: {counted(len(intake.missing), 'cell')}", err=True)
    click.echo(str(folder.results))


@click.command()
@options.experiment
@options.runs
def aggregate(experiment: str, runs: Path) -> None:
    """Write report.json of EXPERIMENT from its results.jsonl.

    \b
    scylla-gha aggregate quickstart
    """  # noqa: D301
    from scylla_gha.evaluate.report_run import aggregate_run

    folder = options.run_folder(runs, experiment)
    aggregate_run(stored_plan(folder), folder)
    click.echo(str(folder.report("json")))


@click.command()
@options.experiment
@options.runs
@options.as_json
@actions_output.option
@click.option(
    "--artifact",
    default="",
    metavar="NAME",
    help="With --github: artifact of the report that the summary names (default: none).",
)
@options.results_branch
def report(
    experiment: str,
    runs: Path,
    *,
    as_json: bool,
    github: bool,
    artifact: str,
    results_branch: str,
) -> None:
    """Print the report of EXPERIMENT; exit with 10 if its gate does not hold.

    It writes report.md and report.html from report.json.

    \b
    scylla-gha report quickstart
    """  # noqa: D301
    from scylla_gha.evaluate.report_run import print_report, render_report
    from scylla_gha.model.plan import Plan
    from scylla_gha.model.report import Report
    from scylla_gha.report.summary import require_gate

    job = actions_output.actions_job() if github else None
    folder = options.run_folder(runs, experiment)
    stored = read_record(folder.report("json"), Report)
    if stored is None:
        raise ConfigError(
            f"{folder.report('json')}: there is no report; run `scylla-gha evaluate {experiment}` first, "
            "or `scylla-gha aggregate` if rows exist already"
        )
    render_report(stored, folder)
    if job is not None:
        actions_output.publish_on_run(job, stored, _step_summary(stored, artifact, results_branch))
    if job is None or as_json:  # the table has untrusted text, and the runner obeys commands in a step's log
        print_report(stored, folder, as_json=as_json)
    plan = read_record(folder.plan, Plan)
    if plan is not None:
        require_gate(plan.experiment, stored)


def _step_summary(stored: "Report", artifact: str, branch: str) -> str:
    from scylla_gha.publish.post import run_page_from
    from scylla_gha.report import SummaryLinks, step_summary

    return step_summary(stored, SummaryLinks(run_page_from(os.environ), artifact, branch))
