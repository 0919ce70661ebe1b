"""Keys of trials, judgments and judge controls: digests of everything that can change the stored records.

A stored record is reused if and only if its key has not changed. This is the only module that computes keys; the
digests that it combines belong to what they cover (`ScenarioFolder`, `Variant`, `PromptTexts`, images, tools).
"""

import dataclasses
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scylla_gha.config.materials import PromptTexts, read_prompt_texts
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.model import digest
from scylla_gha.model.experiment import Experiment, ModelKnobs, SandboxName
from scylla_gha.model.judgment import Judge
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Trial

KEY_VERSION: Final = 1  # raise it when the meaning of a key's parts changes; then no stored trial is reused
CONTROLS_VERSION: Final = 1  # raise it when the questions of the controls change


def group_key(  # noqa: PLR0913 each argument is a part of the key
    experiment: Experiment,
    folder: ScenarioFolder,
    arm: Arm,
    *,
    toolbox: str,
    sandbox: SandboxName,
    limits_resources: bool,
    image: str | None,
) -> str:
    """Return the key of a scenario and an arm; it covers everything that can change what the agent does.

    Args:
        experiment: its limits, model settings and prices are covered.
        folder: the scenario; its task is covered, and its solution if the arm is a built-in agent.
        arm: agent, version, manifest, model, variant, and mode if the scenario has GitHub.
        toolbox: digest of the tools on PATH.
        sandbox: name of the agent's sandbox.
        limits_resources: whether that sandbox enforces limits on memory, disk, processes and CPUs.
        image: digest of the sandbox's image; None or empty: no image.
    """
    return digest(
        [
            KEY_VERSION,
            folder.task_digest,
            folder.solution_digest if arm.variant is None else None,
            toolbox,
            arm.agent,
            arm.version,
            arm.model,
            _variant_digest(arm),
            experiment.limits.timeout_seconds or folder.scenario.task.timeout_seconds,
            experiment.limits.keyed(limits_resources=limits_resources),
            sandbox,
            # Prices too: a limit in USD depends on them, and all rows of a table need the same price list.
            [experiment.model_settings.agent.configured(), experiment.prices] if arm.model else None,
            *([image] if image else []),
            *([{"mode": arm.mode.digest}] if arm.mode else []),
            *([{"manifest": arm.manifest}] if arm.manifest else []),
            *([{"github": experiment.github}] if folder.github and experiment.github != "hub" else []),
        ]
    )


def _variant_digest(arm: Arm) -> str | None:
    """Return the digest of an arm's variant; an alias of another sub-test differs from it, so it is sampled anew."""
    variant = arm.variant
    if variant is None or variant.alias_of is None:
        return variant.digest if variant else None
    return digest([variant.digest, variant.id])


def trial_key(group: str, repetition: int, epoch: str) -> str:
    """Return the key of one repetition of a group in an epoch."""
    return hashlib.sha256(f"{group}:{repetition}:{epoch}".encode()).hexdigest()


def judgment_key(trial: Trial, judging_digest: str, panel_digest: str, image_digest: str | None = None) -> str:
    """Return the key of a judgment; it covers the trial, its diff, the checks and rubric, the panel, and the image.

    The trial's key covers the sandbox and its limits.
    """
    diff = trial.last.diff
    parts = [trial.key, diff.sha256 if diff else None, judging_digest, panel_digest]
    return digest(parts if image_digest is None else [*parts, image_digest])


def judging_digest(scenario: str, panel: str, image: str | None = None) -> str:
    """Return a digest of everything that `judgment_key` covers except the trial.

    Args:
        scenario: digest of the scenario's checks, rubric and progress steps.
        panel: digest of the panel; empty if there is none.
        image: digest of the image in which the checks run.
    """
    return digest([scenario, panel, image])


def judges_digest(judges: tuple[Judge, ...], prompts: PromptTexts) -> str:
    """Return a digest of the judges, their settings and their prompt texts."""
    return digest([[dataclasses.asdict(judge) for judge in judges], prompts.digest])


def panel_digest(
    models: Iterable[str],
    roots: Iterable[Path],
    settings: ModelKnobs = ModelKnobs(),
    prompts: PromptTexts | None = None,
) -> str:
    """Return a digest of the judges, their prompt texts and their model settings; empty if there are no judges.

    Args:
        models: the judges' model ids.
        roots: folders of configuration; the first one with prompt texts is used.
        settings: model settings; the gateway adds those that a model accepts to the requests.
        prompts: texts that replace those of `roots`.
    """
    judges = tuple(Judge(model) for model in models)
    if not judges:
        return ""
    panel = judges_digest(judges, prompts or read_prompt_texts(roots))
    return digest([panel, settings.configured()]) if settings.configured() else panel


def canary_key(judge: Judge, prompts: PromptTexts, folder: ScenarioFolder) -> str:
    """Return the key of a judge's controls on the known answers of a scenario."""
    known = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder.solution, folder.wrong[0])]
    questions = [folder.task_digest, folder.judging_digest, known]
    return digest(["known", CONTROLS_VERSION, dataclasses.asdict(judge), prompts.digest, questions])


def repeat_key(judge: Judge, prompts: PromptTexts, folder: ScenarioFolder, trial: Trial, times: int) -> str:
    """Return the key of the control that asks a judge `times` times about the same trial."""
    judged = judgment_key(trial, folder.judging_digest, "")
    settings = dataclasses.asdict(judge)
    return digest(["again", CONTROLS_VERSION, settings, prompts.digest, folder.task_digest, judged, times])
