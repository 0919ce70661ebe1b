"""Judging of the stored trials of a run, by its own or other judges, with their controls and a comparison."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from scylla_gha.config.library import Library
from scylla_gha.config.materials import prompt_texts
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, IncompleteError
from scylla_gha.evaluate.context import JudgeOverrides, RunSettings
from scylla_gha.evaluate.judge_controls import (
    ControlTarget,
    JudgedTrial,
    control_targets,
    pending_controls,
    run_controls,
    stored_controls,
)
from scylla_gha.evaluate.model_access import (
    RecordingOptions,
    confirm_spending,
    guard_checks,
    open_services,
    require_credentials,
)
from scylla_gha.evaluate.run_experiment import run_all_cells
from scylla_gha.model.judgment import JudgingSummary, Judgment, PanelSummary, Score
from scylla_gha.model.plan import Cell
from scylla_gha.model.trial import Trial
from scylla_gha.plan.checks import require_judges
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.run_folder import find_judgment, lock_run

JudgmentsByCell = Mapping[str, Judgment | None]  # None: not judged
StoredTrials = Sequence[tuple[Cell, Trial]]


class JudgingOptions(NamedTuple):
    """Options of the command `judge`."""

    repeat: int | None  # questions about each trial
    controls: bool  # judge the known answers too
    yes: bool
    exposed: bool  # keys may be exposed in the sandbox


def judge_overrides(
    library: Library, scenarios: Iterable[str], judges: tuple[str, ...], prompt: Path | None, rubric: Path | None
) -> JudgeOverrides:
    """Read overrides for judging.

    Args:
        library: library of the scenarios.
        scenarios: ids of the scenarios of the trials to judge.
        judges: models, also by aliases.
        prompt: a folder with `system_prompt.md` and `user_template.md`.
        rubric: file with the rubric of the only scenario, or a folder with `<scenario>.yaml` for each scenario.

    Raises:
        ConfigError: a file is missing or invalid.
    """
    judges = tuple(library.model_ids(judges).values()) if judges else ()
    require_judges(judges, library.models() if judges else {}, "--judge")
    labels = [f"judges {', '.join(judges)}"] if judges else []
    labels += [f"prompt {prompt.name}"] if prompt else []
    labels += [f"rubric {rubric.stem}"] if rubric else []
    scenario_ids = list(dict.fromkeys(scenarios))
    files = _rubrics(rubric, scenario_ids) if rubric else {}
    return JudgeOverrides(
        judges=tuple(dict.fromkeys(judges)),
        wording=prompt_texts(prompt) if prompt else None,
        scenarios={name: library.scenario(name).with_rubric(file) for name, file in files.items()},
        name="; ".join(labels),
    )


def _rubrics(rubric: Path, scenarios: list[str]) -> dict[str, Path]:
    if rubric.is_dir():
        missing = [name for name in scenarios if not (rubric / f"{name}.yaml").is_file()]
        if missing:
            raise ConfigError(
                f"{rubric}: has no {missing[0]}.yaml; give a rubric for each scenario of the trials, or "
                "choose trials with --only"
            )
        return {name: rubric / f"{name}.yaml" for name in scenarios}
    if len(scenarios) > 1:
        raise ConfigError(
            f"{rubric}: is the rubric of one scenario, but the trials are of {len(scenarios)}: "
            f"{', '.join(scenarios[:5])}; choose one with --only, or give a folder with a "
            "<scenario>.yaml for each"
        )
    return dict.fromkeys(scenarios, rubric)


def judge_trials(
    settings: RunSettings, trials: StoredTrials, recording: RecordingOptions, options: JudgingOptions
) -> JudgingSummary:
    """Judge the trials that have no judgment by the judges of the settings, and run the controls of these judges.

    Raises:
        RefusedError: the cost is not confirmed, the sandbox exposes keys, or another command works in the folder.
        ToolError: there is neither a key nor a recording.
    """

    def targets() -> list[ControlTarget]:
        judged = judged_trials(settings, trials)
        return control_targets(settings, judged, options.repeat, with_known_answers=options.controls)

    pending = pending_controls(settings, targets(), None)
    unjudged = any(judgment is None or judgment.error for _, _, judgment in judged_trials(settings, trials))
    if pending or unjudged:
        judging = settings.plan.experiment.model_copy(update={"judges": settings.judges})
        require_credentials({}, judging, settings.library, recording)
        guard_checks(settings.plan, recording, SANDBOXES[settings.plan.sandbox], allowed=options.exposed)
        questions = sum(len(target.controls) for target in pending)
        confirm_spending(settings, recording, yes=options.yes, controls=questions)
    lock_run(settings.folder.root)
    with open_services(settings, recording) as context:
        run_all_cells(context)
        all_targets = targets()
        run_controls(context, pending_controls(settings, all_targets, recording.replay))
    if recording.replay:
        skipped = [control for target in pending_controls(settings, all_targets, None) for control in target.controls]
        if skipped:
            example = f"{skipped[0].judge} on {skipped[0].subject}, ..."
            click.echo(f"left out: {counted(len(skipped), 'control')} not in the recording: {example}", err=True)
    return _summary(settings, trials, all_targets)


def judged_trials(settings: RunSettings, trials: StoredTrials) -> list[JudgedTrial]:
    """Return the trials with the judgments by the judges of the settings."""
    return [
        (cell, trial, find_judgment(settings.folder.cell(cell.id), settings.key(cell, trial))) for cell, trial in trials
    ]


def _summary(settings: RunSettings, trials: StoredTrials, targets: Sequence[ControlTarget]) -> JudgingSummary:
    experiment = settings.plan.experiment
    own = {
        cell.id: find_judgment(settings.folder.cell(cell.id), settings.own_key(cell, trial)) for cell, trial in trials
    }
    panels = [summarise_panels("experiment", experiment.judges, own)]
    if settings.overrides:
        others = {cell.id: judgment for cell, _, judgment in judged_trials(settings, trials)}
        panels.append(summarise_panels(settings.overrides.name, settings.judges, others, own))
    return JudgingSummary(experiment=experiment.id, panels=tuple(panels), probes=stored_controls(settings, targets))


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
        raise IncompleteError(
            f"{len(unjudged)} of {counted(len(judged), 'trial')} could not be judged: {unjudged[0]}; "
            "run the same command again to fill them"
        )


def summarise_panels(
    panel: str, judges: Sequence[str], judgments: JudgmentsByCell, own: JudgmentsByCell | None = None
) -> PanelSummary:
    """Summarise a panel's judgments, and compare them with those of the experiment's own panel, if they are given."""
    results, own_results = _results(judgments), _results(own or {})
    scores, own_scores = _scores(results), _scores(own_results)
    gaps = [abs(score - own_scores[cell]) for cell, score in scores.items() if cell in own_scores]
    costs = [judgment.usage.usd for judgment in judgments.values() if judgment]
    known = [cost for cost in costs if cost is not None]
    return PanelSummary(
        panel=panel,
        judges=tuple(judges),
        trials=len(judgments),
        judged=len(results),
        passed=sum(result.passed for result in results.values()),
        mean_score=_mean(list(scores.values())),
        compared=len(gaps),
        difference=_mean(gaps),
        flips=tuple(
            cell for cell in results if cell in own_results and results[cell].passed != own_results[cell].passed
        ),
        usd=sum(known) if len(known) == len(costs) else None,
    )


def _results(judgments: JudgmentsByCell) -> dict[str, Score]:
    return {cell: judgment.result for cell, judgment in judgments.items() if judgment and judgment.result}


def _scores(results: Mapping[str, Score]) -> dict[str, float]:
    return {cell: result.score for cell, result in results.items() if result.score is not None}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
