"""Judging of the stored trials of a run, by its own or other judges, with their controls and a comparison.

The controls use the gateway and the prompt of trials, and judges know as little. Each judge is asked about the
reference solution of a scenario and about a wrong solution, also with the items in reverse order; and, on request,
about the same trial again. A control is a record with a key; a stored control is not asked again.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import click

from scylla_gha.config.keys import canary_key, repeat_key
from scylla_gha.config.library import Library
from scylla_gha.config.materials import PromptTexts, prompt_texts, read_prompt_texts
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, FixtureError, IncompleteError, ToolError
from scylla_gha.evaluate.context import JudgeOverrides, RunContext, RunSettings
from scylla_gha.evaluate.model_access import (
    RecordingOptions,
    confirm_spending,
    guard_checks,
    open_services,
    require_credentials,
)
from scylla_gha.evaluate.run_experiment import run_all_cells
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import Session
from scylla_gha.judge import JudgedChange, github_state, judge_evidence, judged_change
from scylla_gha.judge.panel import (
    Ask,
    ask,
    canary_control,
    has_known_answers,
    order_swap_control,
    repeat_control,
    unique_judges,
)
from scylla_gha.judge.prompt import BlindInput, render_prompt
from scylla_gha.model import slug
from scylla_gha.model.judgment import (
    ControlResult,
    Judge,
    JudgeAnswer,
    JudgeControl,
    JudgingSummary,
    Judgment,
    PanelSummary,
    Score,
)
from scylla_gha.model.plan import Cell
from scylla_gha.model.trial import Trial
from scylla_gha.prepare import PreparedScenario
from scylla_gha.prepare.workspace import Workspace, materialise_diff, scratch, snapshot
from scylla_gha.providers import provider_name
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store import file_digest, read_record, write_record
from scylla_gha.store.run_folder import find_judgment, lock_run, traffic_of
from scylla_gha.system.future_wait import run_at_once

JudgmentsByCell = Mapping[str, Judgment | None]  # None: not judged
StoredTrials = Sequence[tuple[Cell, Trial]]
_FINAL_MESSAGE: Final = "Done."  # the agent's final message, the same in both known answers
_KILLED: Final = "the harness was killed during the control"

JudgedTrial = tuple[Cell, Trial, Judgment | None]  # a trial with its judgment
AskQuestions = Callable[[Ask, Judge], tuple[ControlResult, ...]]


class JudgingOptions(NamedTuple):
    """Options of the command `judge`."""

    repeat: int | None  # questions about each trial
    controls: bool  # judge the known answers too
    yes: bool
    exposed: bool  # keys may be exposed in the sandbox


@dataclass(frozen=True, slots=True)
class ControlTarget:
    """Controls of all judges on one subject: a judged trial, or (None) the known answers of a scenario."""

    controls: tuple[JudgeControl, ...]
    judged: JudgedTrial | None = None


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
    for judge in judges:
        provider_name(judge, library.models())
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
                f"{rubric}: lacks {missing[0]}.yaml; give a rubric for each scenario of the trials, or "
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
    """Judge the trials without a judgment by the judges of the settings, and run the controls of these judges.

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
            click.echo(f"note: skipped {counted(len(skipped), 'control')} not in the recording: {example}", err=True)
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
        IncompleteError: a trial has no judgment.
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
    """Summarise a panel's judgments, and compare them with those of the experiment's own panel, if given."""
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


def control_targets(
    settings: RunSettings, judged_trials: Sequence[JudgedTrial], times: int | None, *, with_known_answers: bool
) -> list[ControlTarget]:
    """Return the controls of a run's judges.

    Args:
        settings: settings of the run.
        judged_trials: the trials with their judgments.
        times: number of questions about each trial; None: no repeated questions.
        with_known_answers: whether to ask about the known answers of the trials' scenarios.
    """
    if not settings.judges:
        return []
    texts = settings.overrides.wording or read_prompt_texts(settings.library.roots)
    scenarios = dict.fromkeys(cell.scenario for cell, _, _ in judged_trials) if with_known_answers else {}
    targets = [
        _known_answer_target(settings, name, texts) for name in scenarios if has_known_answers(settings.scenario(name))
    ]
    answered = [judged for judged in judged_trials if judged[2] and judged[2].answers]
    return targets + [_repeat_target(settings, judged, times, texts) for judged in answered if times]


def pending_controls(
    settings: RunSettings, targets: Iterable[ControlTarget], replay: Path | None
) -> list[ControlTarget]:
    """Return the targets with their undecided controls; in a replay, only with recorded controls."""

    def is_pending(control: JudgeControl) -> bool:
        stored = read_record(_control_file(settings, control), JudgeControl)
        is_decided = stored is not None and stored.key == control.key and stored.error is None
        return not is_decided and (replay is None or (replay / f"{_recording_name(control)}.jsonl").is_file())

    pending = (ControlTarget(tuple(filter(is_pending, target.controls)), target.judged) for target in targets)
    return [target for target in pending if target.controls]


def run_controls(context: RunContext, targets: Sequence[ControlTarget]) -> None:
    """Ask the questions of all targets and store the results. A provider error leaves a control undecided.

    Raises:
        KeyboardInterrupt: the user interrupted; finished controls are stored.
    """
    works = [functools.partial(_run_target, context, target) for target in targets]
    run_at_once(works, context.settings.options.workers, context.state.cancel.set)


def stored_controls(settings: RunSettings, targets: Iterable[ControlTarget]) -> tuple[JudgeControl, ...]:
    """Return the stored results of the controls."""
    paths = (_control_file(settings, control) for target in targets for control in target.controls)
    return tuple(control for path in paths if (control := read_record(path, JudgeControl)))


def _known_answer_target(settings: RunSettings, scenario: str, texts: PromptTexts) -> ControlTarget:
    folder, judges = settings.scenario(scenario), unique_judges(settings.judges)
    keys = {judge.model: canary_key(judge, texts, folder) for judge in judges}
    return ControlTarget(tuple(JudgeControl(key=key, judge=judge, scenario=scenario) for judge, key in keys.items()))


def _known_answer_questions(context: RunContext, scenario: str) -> AskQuestions:
    prepared = context.prepared_scenario(scenario)
    patches = (prepared.folder.solution, prepared.folder.wrong[0])
    limit = context.settings.plan.experiment.limits.diff_bytes
    judging_context = context.judging_context(scenario)
    good, bad = (judge_evidence(_answer(prepared, patch, limit), prepared, judging_context) for patch in patches)

    def ask_questions(asked: Ask, judge: Judge) -> tuple[ControlResult, ...]:
        once = functools.cache(asked)  # both controls use the answer about the wrong solution
        results = [canary_control(once, judge, good, bad)] if good.items else []
        results += [order_swap_control(once, judge, bad)] if len(bad.items) > 1 else []
        return tuple(results)

    return ask_questions


def _answer(prepared: PreparedScenario, patch: Path, limit: int) -> JudgedChange:
    """Return a known answer in the form of an agent's change."""
    with scratch() as root:
        workspace = Workspace(root)
        materialise_diff(prepared.start, patch.read_bytes(), workspace.repo)
        return JudgedChange(*snapshot(prepared.start, workspace, limit), _FINAL_MESSAGE)


def _repeat_target(settings: RunSettings, judged: JudgedTrial, times: int, texts: PromptTexts) -> ControlTarget:
    cell, trial, _ = judged
    folder = settings.scenario(cell.scenario)
    controls = tuple(
        JudgeControl(
            key=repeat_key(judge, texts, folder, trial, times),
            judge=judge.model,
            scenario=cell.scenario,
            cell=cell.id,
            times=times,
        )
        for judge in unique_judges(settings.judges)
    )
    return ControlTarget(controls, judged)


def _repeated_questions(context: RunContext, judged: JudgedTrial, times: int) -> AskQuestions:
    cell, trial, judgment = judged
    prepared, folder = context.prepared_scenario(cell.scenario), context.settings.folder.cell(cell.id)
    with github_state(trial.last, prepared, folder) as github:
        answer = judged_change(trial, folder, github)
    if answer is None or judgment is None or context.panel is None:
        return lambda _, __: ()
    blind = judge_evidence(answer, prepared, context.judging_context(cell.scenario), judgment.checks)
    shown = render_prompt(blind, context.panel.wording).digest
    answers = [a for a in judgment.answers if a.prompt_digest == shown and a.error is None and not a.diff_alone]
    first = {stored.judge: stored for stored in answers}
    return lambda asked, judge: (repeat_control(asked, judge, blind, times, first.get(judge.model)),)


def _run_target(context: RunContext, target: ControlTarget) -> None:
    """Ask all judges of a target at once."""
    if context.state.cancel.is_set:
        return
    try:
        first = target.controls[0]
        ask_questions = (
            _repeated_questions(context, target.judged, first.times)
            if target.judged
            else _known_answer_questions(context, first.scenario)
        )
    except (FixtureError, ToolError, OSError) as error:
        for control in target.controls:
            path = _control_file(context.settings, control)
            earlier = read_record(path, JudgeControl) or control
            write_record(path, earlier.model_copy(update={"error": str(error)[:1000]}))
        return
    works = [functools.partial(_run_control, context, control, ask_questions) for control in target.controls]
    run_at_once(works, len(works), context.state.cancel.set)


def _run_control(context: RunContext, control: JudgeControl, ask_questions: AskQuestions) -> None:
    """Ask one judge; keep the earlier result if the new one is undecided."""
    path = _control_file(context.settings, control)
    earlier = read_record(path, JudgeControl) or control
    write_record(path, earlier.model_copy(update={"error": _KILLED}))
    faults: list[str] = []
    controls: tuple[ControlResult, ...] = ()
    try:
        controls = _ask(context, control, ask_questions, faults)
    except ToolError as error:
        faults.append(str(error)[:1000])
    decided = {control.kind: control for control in (*earlier.controls, *controls) if control.holds is not None}
    controls = tuple(decided.get(control.kind, control) for control in controls or earlier.controls)
    changes = {
        "controls": controls,
        "error": faults[0] if faults else None,
        "usage": summarise_traffic(traffic_of(path)).usage,
        "traffic": file_digest(traffic_of(path)) if traffic_of(path).exists() else None,
    }
    write_record(path, control.model_copy(update=changes))


def _ask(
    context: RunContext, control: JudgeControl, ask_questions: AskQuestions, faults: list[str]
) -> tuple[ControlResult, ...]:
    """Ask one judge in its own gateway session; append the errors of unanswered questions to `faults`."""
    assert context.panel is not None  # noqa: S101 there are judges, and the gateway runs
    journal = traffic_of(_control_file(context.settings, control))
    with context.panel.open_session(
        Session(cell=control.subject, role="judge", journal=journal, recording=_recording_name(control))
    ) as panel:

        def asked(judge: Judge, blind: BlindInput) -> JudgeAnswer:
            if context.state.cancel.is_set:
                raise KeyboardInterrupt
            answer = ask(panel, judge, blind)
            faults.extend([answer.error] if answer.error else [])
            return answer

        return ask_questions(asked, Judge(control.judge))


def _control_file(settings: RunSettings, control: JudgeControl) -> Path:
    return settings.folder.probe(control.subject, control.judge, control.key)


def _recording_name(control: JudgeControl) -> str:
    return f"{control.subject}--{slug(control.judge)}--controls"
