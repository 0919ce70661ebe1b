"""`scylla-gha evaluate` and `scylla-gha run`."""

from collections.abc import Callable
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.pipeline.model_access import gateway_for_run
from scylla_gha.pipeline.report import print_report
from scylla_gha.pipeline.run_experiment import (
    approve_run,
    evaluate_cells,
    open_run,
    print_dry_run,
    require_complete_report,
    require_complete_run,
    run_all_cells,
    store_plan,
)
from scylla_gha.plan.cells import CellSelection
from scylla_gha.prepare.keep import Keep


def _run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of commands that run agents."""
    for option in (
        options.exposed("agents work"), options.keep, options.replay, options.record,
        options.yes("paid requests, nor before --fresh runs trials again"), options.fresh, options.jobs("trials"),
        options.runs, options.selection, options.experiment,
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@_run_options
@options.as_json
@click.option("--dry-run", is_flag=True, help="Print the plan and its estimate; start nothing and write nothing.")
def evaluate(
    experiment: str, choice: CellSelection, runs: Path, jobs: int, *, fresh: bool, yes: bool, as_json: bool,
    dry_run: bool, record: Path | None, replay: bool, keep: Keep, allow_exposed_keys: bool,
) -> None:  # fmt: skip
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


@click.command()
@_run_options
def run(
    experiment: str, choice: CellSelection, runs: Path, jobs: int, *, fresh: bool, yes: bool, record: Path | None,
    replay: bool, keep: Keep, allow_exposed_keys: bool,
) -> None:  # fmt: skip
    """Run the agents of EXPERIMENT on its cells, without judging.

    \b
    scylla-gha run quickstart --only '001-*'
    """  # noqa: D301
    folder = options.run_folder(runs, experiment, replay=replay)
    recording = options.recording(experiment, record, replay=replay)
    context = open_run(experiment, options.library(), choice, folder, recording, fresh=fresh)
    context.judging, context.keep = False, keep
    approve_run(context, choice, recording, jobs, yes=yes, exposed=allow_exposed_keys)
    store_plan(context, experiment, choice)
    with gateway_for_run(context, recording):
        run_all_cells(context, jobs)
    require_complete_run(context)
