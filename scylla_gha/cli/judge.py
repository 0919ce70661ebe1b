"""`scylla-gha judge`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.config.library import ConfigSources
from scylla_gha.errors import ConfigError
from scylla_gha.judge.overrides import judge_overrides
from scylla_gha.model.judgment import JudgingSummary
from scylla_gha.pipeline.context import RunContext
from scylla_gha.pipeline.judge_run import (
    JudgingOptions,
    judge_trials,
    judged_trials,
    require_all_judged,
    stored_trials,
)
from scylla_gha.pipeline.report import stored_plan
from scylla_gha.plan.build import refuse_changed_fixtures
from scylla_gha.process import Cancel


@click.command()
@options.experiment
@options.globs
@click.option("--judge", "judges", multiple=True, metavar="MODEL",
              help="Judge model to use instead of the experiment's; may be repeated.")  # fmt: skip
@click.option("--prompt", type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="Folder with another system_prompt.md and user_template.md for the judges.")  # fmt: skip
@click.option("--rubric", type=click.Path(path_type=Path, exists=True),
              help="Another rubric for the only scenario, or a folder with <scenario>.yaml for each.")  # fmt: skip
@click.option("--repeat", type=click.IntRange(2, 100), show_default="once",
              help="Number of times that each judge is asked about the same trial.")  # fmt: skip
@click.option("--controls/--no-controls", default=True, show_default=True,
              help="Also judge a known right and a known wrong answer of each scenario.")  # fmt: skip
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

    A judgment by other judges, with another prompt or rubric, is stored beside the one that the report uses, and
    compared with it.

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
    context = RunContext(part, folder, ConfigSources(library), {}, Cancel(), overrides=overrides)
    if repeat and not context.judges:
        raise ConfigError(f"{experiment} has no judges to ask again; name some with --judge")
    recording = options.recording(experiment, record, replay=replay)
    judging = JudgingOptions(jobs, repeat, controls, yes, allow_exposed_keys)
    summary = judge_trials(context, trials, recording, judging)
    _print(summary, as_json=as_json)
    require_all_judged(judged_trials(context, trials))


def _print(summary: JudgingSummary, *, as_json: bool) -> None:
    if as_json:
        click.echo(summary.model_dump_json())
        return
    from rich.console import Console

    from scylla_gha.report.terminal import judge_summary

    judge_summary(summary, Console())
