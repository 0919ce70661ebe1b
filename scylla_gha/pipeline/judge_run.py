"""Judging of the stored trials of a run, with controls of the judges, and a comparison of panels."""

from collections.abc import Sequence
from typing import NamedTuple

import click

from scylla_gha.counting import counted
from scylla_gha.errors import IncompleteError
from scylla_gha.judge.overrides import summarise_panels
from scylla_gha.model.judgment import JudgingSummary
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import Trial
from scylla_gha.pipeline.confirm import confirm_spending
from scylla_gha.pipeline.context import RunContext, stored_trial
from scylla_gha.pipeline.judge_controls import (
    ControlTarget,
    JudgedTrial,
    control_targets,
    pending_controls,
    run_controls,
    stored_controls,
)
from scylla_gha.pipeline.model_access import RecordingOptions, gateway_for_run, guard_checks, require_credentials
from scylla_gha.pipeline.run_experiment import run_all_cells
from scylla_gha.plan.cells import select_cells
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.run_folder import RunFolder, find_judgment, lock_run

StoredTrials = Sequence[tuple[Cell, Trial]]


class JudgingOptions(NamedTuple):
    """Options of `judge`: judgments at once, questions about a trial, whether to judge known answers, confirmations."""

    jobs: int
    repeat: int | None
    controls: bool
    yes: bool
    exposed: bool


def stored_trials(plan: Plan, folder: RunFolder, only: tuple[str, ...]) -> StoredTrials:
    """Return the stored trials of the cells that match `only`.

    Raises:
        ConfigError: no planned cell matches.
    """
    cells = select_cells(plan.cells, only)
    pairs = ((cell, stored_trial(cell, folder.cell(cell.id), plan.not_before)) for cell in cells)
    return [(cell, trial) for cell, trial in pairs if trial]


def judge_trials(
    context: RunContext, trials: StoredTrials, recording: RecordingOptions, options: JudgingOptions
) -> JudgingSummary:
    """Judge the trials that have no judgment under the key of the context's judges, and run their controls.

    Raises:
        RefusedError: the cost is not confirmed, the sandbox exposes keys, or another command works in the folder.
        ToolError: there is neither a key nor a recording.
    """

    def targets() -> list[ControlTarget]:
        judged = judged_trials(context, trials)
        return control_targets(context, judged, options.repeat, with_known_answers=options.controls)

    pending = pending_controls(context, targets(), None)
    unjudged = any(judgment is None or judgment.error for _, _, judgment in judged_trials(context, trials))
    if pending or unjudged:
        require_credentials({}, context.judges, recording)
        guard_checks(context.plan, recording, SANDBOXES[context.plan.sandbox], allowed=options.exposed)
        questions = sum(len(target.controls) for target in pending)
        confirm_spending(context, recording, yes=options.yes, controls=questions)
    lock_run(context.folder.root)
    with gateway_for_run(context, recording):
        run_all_cells(context, options.jobs)
        all_targets = targets()
        run_controls(context, pending_controls(context, all_targets, recording.replay), options.jobs)
    if recording.replay:
        _print_skipped(pending_controls(context, all_targets, None))
    return _summary(context, trials, all_targets)


def judged_trials(context: RunContext, trials: StoredTrials) -> list[JudgedTrial]:
    """Return the trials with the judgments of the context's judges."""
    return [
        (cell, trial, find_judgment(context.folder.cell(cell.id), context.key(cell, trial))) for cell, trial in trials
    ]


def _print_skipped(targets: Sequence[ControlTarget]) -> None:
    names = [f"{control.judge} on {control.subject}" for target in targets for control in target.controls]
    if names:
        click.echo(f"left out: {counted(len(names), 'control')} not in the recording: {names[0]}, ...", err=True)


def _summary(context: RunContext, trials: StoredTrials, targets: Sequence[ControlTarget]) -> JudgingSummary:
    experiment = context.plan.experiment
    own = {cell.id: find_judgment(context.folder.cell(cell.id), context.own_key(cell, trial)) for cell, trial in trials}
    panels = [summarise_panels("experiment", experiment.judges, own)]
    if context.overrides:
        others = {cell.id: judgment for cell, _, judgment in judged_trials(context, trials)}
        panels.append(summarise_panels(context.overrides.name, context.judges, others, own))
    return JudgingSummary(experiment=experiment.id, panels=tuple(panels), probes=stored_controls(context, targets))


def require_all_judged(judged: Sequence[JudgedTrial]) -> None:
    """Check that all trials have a judgment.

    Raises:
        IncompleteError: a trial has none.
    """
    unjudged = [
        f"{cell.id}: {judgment.error if judgment else 'not reached'}"
        for cell, _, judgment in judged
        if not judgment or judgment.error
    ]
    if unjudged:
        raise IncompleteError(f"{len(unjudged)} of {counted(len(judged), 'trial')} could not be judged: {unjudged[0]}; "
                              "run the same command again to fill them")  # fmt: skip
