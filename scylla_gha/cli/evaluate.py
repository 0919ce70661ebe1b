"""`scylla-gha evaluate`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.pipeline.report import print_report
from scylla_gha.pipeline.run_experiment import (
    approve_run,
    evaluate_cells,
    open_run,
    print_dry_run,
    require_complete_report,
    store_plan,
)
from scylla_gha.plan.cells import CellSelection
from scylla_gha.prepare.keep import Keep


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs("trials")
@options.fresh
@options.yes("paid requests, nor before --fresh runs trials again")
@options.as_json
@options.record
@options.replay
@options.keep
@options.exposed("agents work")
@click.option("--dry-run", is_flag=True, help="Print the plan and its estimate; start nothing and write nothing.")
def command(
    experiment: str,
    choice: CellSelection,
    runs: Path,
    jobs: int,
    *,
    fresh: bool,
    yes: bool,
    as_json: bool,
    dry_run: bool,
    record: Path | None,
    replay: bool,
    keep: Keep,
    allow_exposed_keys: bool,
) -> None:
    """Plan, run, judge and report EXPERIMENT (an id, or a YAML file).

    Trials and judgments that are stored under the same key are reused, so the same command resumes a run after an
    interruption. Options such as --model and --scenario override the experiment; if its baseline is then not among the
    arms, the first arm is the baseline.

    \b
    scylla-gha evaluate
    scylla-gha evaluate hello-claude --model claude-opus-5 --repetitions 5
    """  # noqa: D301
    folder, library = options.run_folder(runs, experiment, replay=replay), options.library()
    if dry_run:
        print_dry_run(experiment, library, choice, folder, jobs)
        return
    recording = options.recording(experiment, record, replay=replay)
    context = open_run(experiment, library, choice, folder, recording, fresh=fresh)
    context.keep = keep
    approve_run(context, choice, recording, jobs, yes=yes, exposed=allow_exposed_keys)
    plan = store_plan(context, experiment, choice)
    report = evaluate_cells(context, recording, plan, jobs)
    print_report(report, folder, as_json=as_json)
    require_complete_report(context, report, choice)
