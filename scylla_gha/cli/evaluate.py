"""Commands that run agents or judges: `scylla-gha evaluate`, `run` and `judge`."""

from collections.abc import Callable
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.config.library import ConfigSources
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.context import RunOptions, RunSettings, stored_trials
from scylla_gha.evaluate.judge_run import (
    JudgingOptions,
    judge_overrides,
    judge_trials,
    judged_trials,
    require_all_judged,
)
from scylla_gha.evaluate.model_access import open_services
from scylla_gha.evaluate.run_experiment import (
    approve_run,
    evaluate_cells,
    open_run,
    print_dry_run,
    require_complete_report,
    require_complete_run,
    run_all_cells,
    store_plan,
)
from scylla_gha.model.judgment import JudgingSummary
from scylla_gha.plan import PlanRequest, refuse_changed_fixtures
from scylla_gha.plan.selection import CellSelection
from scylla_gha.prepare import Keep
from scylla_gha.store.run_folder import stored_plan


def _run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of commands that run agents."""
    for option in (
        options.exposed("agents work"),
        options.keep,
        options.replay,
        options.record,
        options.yes("paid requests, nor before --fresh runs trials again"),
        options.fresh,
        options.jobs("trials"),
        options.runs,
        options.selection,
        options.experiment,
    ):
        command = option(command)
    return command


@click.command()
@_run_options
@options.as_json
@click.option("--dry-run", is_flag=True, help="Print the plan and its estimate; start nothing and write nothing.")
def evaluate(
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

    Stored trials and judgments with the same key are reused, so the same command resumes a run after an
    interruption. Options such as --model and --scenario override the experiment; if its baseline is then not one of the
    arms, the first arm is the baseline.

    \b
    scylla-gha evaluate
    scylla-gha evaluate hello-claude --model claude-opus-5 --repetitions 5
    """  # noqa: D301
    from scylla_gha.evaluate.report_run import print_report

    folder = options.run_folder(runs, experiment, replay=replay)
    request = PlanRequest(experiment, options.library(), choice, folder)
    if dry_run:
        print_dry_run(request, jobs)
        return
    recording = options.recording(experiment, record, replay=replay)
    how = RunOptions(jobs, fresh=fresh, keep=keep)
    settings = open_run(request, recording, how)
    approve_run(settings, choice, recording, yes=yes, exposed=allow_exposed_keys)
    plan = store_plan(settings, request)
    context, report = evaluate_cells(settings, recording, plan)
    print_report(report, folder, as_json=as_json)
    require_complete_report(context, report, choice)


@click.command()
@_run_options
def run(
    experiment: str,
    choice: CellSelection,
    runs: Path,
    jobs: int,
    *,
    fresh: bool,
    yes: bool,
    record: Path | None,
    replay: bool,
    keep: Keep,
    allow_exposed_keys: bool,
) -> None:
    """Run the agents of EXPERIMENT on its cells, without judging.

    \b
    scylla-gha run quickstart --only '001-*'
    """  # noqa: D301
    folder = options.run_folder(runs, experiment, replay=replay)
    recording = options.recording(experiment, record, replay=replay)
    how = RunOptions(jobs, fresh=fresh, judging=False, keep=keep)
    request = PlanRequest(experiment, options.library(), choice, folder)
    settings = open_run(request, recording, how)
    approve_run(settings, choice, recording, yes=yes, exposed=allow_exposed_keys)
    store_plan(settings, request)
    with open_services(settings, recording) as context:
        run_all_cells(context)
    require_complete_run(context)


@click.command()
@options.experiment
@options.globs
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="MODEL",
    help="Judge model to use instead of the experiment's; may be repeated.",
)
@click.option(
    "--prompt",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with another system_prompt.md and user_template.md for the judges.",
)
@click.option(
    "--rubric",
    type=click.Path(path_type=Path, exists=True),
    help="Another rubric for the only scenario, or a folder with <scenario>.yaml for each.",
)
@click.option(
    "--repeat",
    type=click.IntRange(2, 100),
    show_default="once",
    help="Number of questions to each judge about the same trial.",
)
@click.option(
    "--controls/--no-controls",
    default=True,
    show_default=True,
    help="Also judge a known correct and a known wrong answer of each scenario.",
)
@options.runs
@options.jobs("judgments")
@options.yes("paid requests")
@options.as_json
@options.record
@options.replay
@options.exposed("checks run")
def judge(
    experiment: str,
    only: tuple[str, ...],
    runs: Path,
    jobs: int,
    *,
    judges: tuple[str, ...],
    prompt: Path | None,
    rubric: Path | None,
    repeat: int | None,
    controls: bool,
    record: Path | None,
    yes: bool,
    as_json: bool,
    replay: bool,
    allow_exposed_keys: bool,
) -> None:
    """Judge the stored trials of EXPERIMENT; no agent is started. Judgments under the same key are reused.

    A judgment by other judges, or with another prompt or rubric, is stored beside the judgment that the report uses,
    and compared with it.

    \b
    scylla-gha judge hello-claude
    scylla-gha judge hello-claude --judge claude-opus-5 --judge claude-sonnet-5 --repeat 3 --only '*--r01'
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    plan, library = stored_plan(folder), options.library()
    trials = stored_trials(plan, folder, only)
    refuse_changed_fixtures({cell.scenario for cell, _ in trials}, library)
    overrides = judge_overrides(library, (cell.scenario for cell, _ in trials), judges, prompt, rubric)
    part = plan.model_copy(update={"cells": tuple(cell for cell, _ in trials)})
    settings = RunSettings(part, folder, ConfigSources(library), {}, RunOptions(jobs), overrides)
    if repeat and not settings.judges:
        raise ConfigError(f"{experiment} has no judges; name some with --judge")
    recording = options.recording(experiment, record, replay=replay)
    judging = JudgingOptions(repeat, controls, yes, allow_exposed_keys)
    summary = judge_trials(settings, trials, recording, judging)
    _print_summary(summary, as_json=as_json)
    require_all_judged(judged_trials(settings, trials))


def _print_summary(summary: JudgingSummary, *, as_json: bool) -> None:
    if as_json:
        click.echo(summary.model_dump_json())
        return
    from rich.console import Console

    from scylla_gha.report.terminal import judge_summary

    judge_summary(summary, Console())
