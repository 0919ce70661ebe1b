"""Plan of a workflow file: its jobs and steps, or why it cannot be run here.

See https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scylla_gha.hub.operations.plain_yaml import LONGEST_NUMBER, list_of, mapping_of, read_document, text_of
from scylla_gha.hub.operations.workflow_expressions import ExpressionError, check_condition, check_text
from scylla_gha.hub.operations.workflow_files import step_name, triggers_of
from scylla_gha.hub.operations.workflow_filters import filter_fault
from scylla_gha.hub.workflow_records import WorkflowJob, WorkflowPlan, WorkflowStep

_WORKFLOW_KEYS: Final = frozenset(
    {"name", "run-name", "on", "env", "defaults", "jobs", "permissions", "concurrency", "true"}
)
_JOB_KEYS: Final = frozenset({"name", "needs", "runs-on", "if", "env", "defaults", "steps", "timeout-minutes",
                              "continue-on-error", "permissions", "concurrency", "outputs"})  # fmt: skip
_STEP_KEYS: Final = frozenset({"id", "name", "run", "uses", "with", "env", "if", "shell", "working-directory",
                               "timeout-minutes", "continue-on-error"})  # fmt: skip
# Keys of GitHub's that are not known here, with what they are.
_UNSUPPORTED: Final[Mapping[str, str]] = {
    "strategy": "a matrix (strategy)",
    "container": "a container",
    "services": "services",
    "uses": "a reusable workflow (uses)",
    "environment": "an environment",
    "snapshot": "a snapshot",
}
_ACTION: Final = re.compile(r"actions/(?P<name>checkout|setup-[a-z]+)@\S+")
_CHECKOUT_INPUTS: Final = frozenset({"fetch-depth", "fetch-tags", "persist-credentials", "clean", "show-progress"})
_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_RUNNER: Final = re.compile(r"ubuntu-[a-z0-9.-]+")
_MOST_STEPS: Final = 300
_MOST_MINUTES: Final = 1e9
_MOST_CHARACTERS: Final = 500_000  # of all texts, which anchors can repeat


class WorkflowError(Exception):
    """Workflow that is not valid, or that is not supported here; the message says where and what."""


def plan_workflow(content: bytes) -> WorkflowPlan:
    """Return the plan of a workflow file.

    Raises:
        WorkflowError: it is not valid on GitHub, or the runner does not support it.
    """
    try:
        document = read_document(content)
    except ValueError as error:
        raise WorkflowError(f"You have an error in your yaml syntax: {error}") from None
    if not isinstance(document, dict):
        raise WorkflowError("The workflow is not a mapping")
    _check_keys("the workflow", document, _WORKFLOW_KEYS)
    for event, filters in triggers_of(document).items():
        if fault := filter_fault(event, filters):
            raise WorkflowError(fault)
    if not triggers_of(document):
        raise WorkflowError("No event triggers defined in `on`")
    entries = mapping_of(document.get("jobs"))
    if not entries:
        raise WorkflowError("No jobs defined in `jobs`")
    reader = _PlanReader(_defaults("the workflow", document))
    jobs = [reader.job(text_of(key), mapping_of(job)) for key, job in entries.items()]
    return WorkflowPlan(env=reader.env("the workflow", document), jobs=tuple(_in_order(jobs)))


def _check_keys(where: str, mapping: Mapping[Any, Any], known: frozenset[str]) -> None:
    for name in (text_of(key).lower() if isinstance(key, bool) else text_of(key) for key in mapping):
        if name in _UNSUPPORTED and name not in known:
            raise WorkflowError(f"{where}: {_UNSUPPORTED[name]} is not supported here")
        if name not in known:
            raise WorkflowError(f"{where}: Unexpected value '{name}'")


def _defaults(where: str, mapping: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return `defaults.run`."""
    defaults = mapping_of(mapping.get("defaults"))
    _check_keys(f"{where}: defaults", defaults, frozenset({"run"}))
    run = mapping_of(defaults.get("run"))
    _check_keys(f"{where}: defaults.run", run, frozenset({"shell", "working-directory"}))
    return run


def _in_order(jobs: Sequence[WorkflowJob]) -> list[WorkflowJob]:
    """Return jobs behind those that they need."""
    names = [job.name for job in jobs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise WorkflowError(f"Two jobs of the name '{twice[0]}' are not supported here")
    waiting, ordered = list(jobs), list[WorkflowJob]()
    keys = {job.key for job in jobs}
    for job in jobs:
        if missing := [key for key in job.needs if key not in keys]:
            raise WorkflowError(f"Job '{job.key}' depends on unknown job '{missing[0]}'")
    while waiting:
        done = {job.key for job in ordered}
        ready = next((job for job in waiting if done.issuperset(job.needs)), None)
        if ready is None:
            raise WorkflowError("The workflow must contain at least one job with no dependencies: jobs need each other")
        waiting.remove(ready)
        ordered.append(ready)
    return ordered


class _PlanReader:
    """Reader of the jobs of one file, whose size is limited."""

    def __init__(self, defaults: Mapping[Any, Any]) -> None:
        self._defaults = defaults
        self._steps = 0
        self._characters = 0

    def job(self, key: str, job: Mapping[Any, Any]) -> WorkflowJob:
        where = f"jobs.{key}"
        if not _ID.fullmatch(key):
            raise WorkflowError(f"{where}: The identifier is invalid")
        _check_keys(where, job, _JOB_KEYS)
        self._check_runner(where, job.get("runs-on"))
        defaults = {**self._defaults, **_defaults(where, job)}
        steps = list_of(job.get("steps"))
        if not steps:
            raise WorkflowError(f"{where}: Required property is missing: steps")
        name = text_of(job.get("name")) or key
        if "${{" in name:
            raise WorkflowError(f"{where}.name: expressions in the name of a job are not supported here")
        return WorkflowJob(
            key=key,
            name=name,
            needs=tuple(text_of(need) for need in _listed(job.get("needs"))),
            env=self.env(where, job),
            condition=self._condition(where, job),
            minutes=_minutes(where, job),
            continue_on_error=_flag(where, job),
            outputs=self._texts(f"{where}.outputs", job.get("outputs")),
            steps=tuple(self._step(f"{where}.steps[{at}]", mapping_of(step), defaults)
                        for at, step in enumerate(steps)),
        )  # fmt: skip

    def env(self, where: str, mapping: Mapping[Any, Any]) -> dict[str, str]:
        return self._texts(f"{where}.env", mapping.get("env"))

    def _check_runner(self, where: str, runner: object) -> None:
        labels = [text_of(label) for label in _listed(runner)]
        if len(labels) != 1 or not _RUNNER.fullmatch(labels[0]):
            raise WorkflowError(f"{where}.runs-on: only ubuntu runners are supported here, not {labels}")

    def _step(self, where: str, step: Mapping[Any, Any], defaults: Mapping[Any, Any]) -> WorkflowStep:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise WorkflowError(f"More than {_MOST_STEPS} steps in all are not supported here")
        _check_keys(where, step, _STEP_KEYS)
        if ("run" in step) == ("uses" in step):
            raise WorkflowError(f"{where}: a step must define either a `uses` or a `run` key, and not both")
        script = self._text(f"{where}.run", step["run"]) if "run" in step else None
        shell = text_of(step.get("shell", defaults.get("shell"))) or None
        if shell not in (None, "bash", "sh", "python"):
            raise WorkflowError(f"{where}.shell: {shell!r} is not supported here; bash, sh and python are")
        folder = step.get("working-directory", defaults.get("working-directory"))
        return WorkflowStep(
            name=step_name(step),
            id=text_of(step.get("id")) or None,
            script=script,
            action=None if script is not None else _action(where, step),
            shell=shell,  # type: ignore[arg-type]
            folder=None if folder is None else self._text(f"{where}.working-directory", folder),
            env=self.env(where, step),
            condition=self._condition(where, step),
            minutes=_minutes(where, step),
            continue_on_error=_flag(where, step),
        )

    def _condition(self, where: str, mapping: Mapping[Any, Any]) -> str | None:
        if "if" not in mapping:
            return None
        condition = mapping["if"]
        text = str(condition).lower() if isinstance(condition, bool) else text_of(condition)
        try:
            check_condition(text)
        except ExpressionError as error:
            raise WorkflowError(f"{where}.if: {error}") from None
        return text

    def _texts(self, where: str, mapping: object) -> dict[str, str]:
        if mapping is not None and not isinstance(mapping, dict):
            raise WorkflowError(f"{where}: A mapping was expected")
        return {text_of(name): self._text(f"{where}.{text_of(name)}", text)
                for name, text in mapping_of(mapping).items()}  # fmt: skip

    def _text(self, where: str, scalar: object) -> str:
        if isinstance(scalar, dict | list):
            raise WorkflowError(f"{where}: A scalar was expected")
        if isinstance(scalar, int) and abs(scalar) > LONGEST_NUMBER:
            raise WorkflowError(f"{where}: The number is too large")
        text = "" if scalar is None else str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
        self._characters += len(text)
        if self._characters > _MOST_CHARACTERS:
            raise WorkflowError("The workflow is too large to be run here")
        try:
            check_text(text)
        except ExpressionError as error:
            raise WorkflowError(f"{where}: {error}") from None
        return text


def _listed(value: object) -> list[Any]:
    return list_of(value) if isinstance(value, list) else [] if value is None else [value]


def _minutes(where: str, mapping: Mapping[Any, Any]) -> float | None:
    minutes = mapping.get("timeout-minutes")
    if minutes is not None and (
        isinstance(minutes, bool) or not isinstance(minutes, int | float) or not 0 < minutes < _MOST_MINUTES
    ):
        raise WorkflowError(f"{where}.timeout-minutes: a number above 0 is expected")
    return None if minutes is None else float(minutes)


def _flag(where: str, mapping: Mapping[Any, Any]) -> bool:
    flag = mapping.get("continue-on-error", False)
    if not isinstance(flag, bool):
        raise WorkflowError(f"{where}.continue-on-error: only true and false are supported here")
    return flag


def _action(where: str, step: Mapping[Any, Any]) -> Any:  # noqa: ANN401 a literal of `WorkflowStep.action`
    """Return what an action of `uses` is for the runner."""
    name = text_of(step.get("uses"))
    matched = _ACTION.fullmatch(name)
    if matched is None:
        raise WorkflowError(f"{where}.uses: the action {name} is not supported here; "
                            "actions/checkout and actions/setup-* are")  # fmt: skip
    if matched["name"] != "checkout":
        return "none"
    if others := sorted({text_of(key) for key in mapping_of(step.get("with"))} - _CHECKOUT_INPUTS):
        raise WorkflowError(f"{where}.with: {others[0]} of actions/checkout is not supported here")
    return "checkout"
