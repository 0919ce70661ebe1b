"""Read Harbor job folders: a folder per trial, whose `result.json` has rewards, exception, phases, tokens and cost.

The arm is agent and model, the scenario is the task; repetitions are numbered in the order in which the trials started.
The score is the reward `reward`, or the only reward; a trial passed if its reward is at least 1. A trial with an
exception and no reward failed if the agent caused the exception (`outcome_of_exception`); otherwise its verdict is
unknown. A timeout counts by its reward, as in Harbor. Cost, tokens (Harbor's input tokens include cached tokens) and
time belong to the agent's phase.

A trial without a usable `result.json` counts too, with the names in `config.json`. If the file cannot be read, the
trial has no score. If the file is missing, the trial did not end: its outcome is `cancelled`.
"""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.tables import (
    SourceRow,
    SourceTable,
    Value,
    is_number,
    outcome_of_exception,
    read_json_object,
    text_of,
    trials_table,
)
from scylla_gha.lenient_json import inner_object
from scylla_gha.model.trial import Outcome

_RESULT: Final = "result.json"
_UNKNOWN: Final = "unknown"
_Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HarborTrial:
    """A trial's folder with the content of its two files; `fault`: why there is no result (None: there is one)."""

    folder: Path
    config: _Object
    result: _Object
    fault: str | None
    ended: bool

    @property
    def task_part(self) -> str:
        """Part of the trial's name before its id: the beginning of the task's name."""
        name = text_of(self.config.get("trial_name")) or text_of(self.result.get("trial_name")) or self.folder.name
        return name.rpartition("__")[0] or name


def read_harbor(path: Path) -> SourceTable:
    """Read the trials of a job, or of all jobs below a folder.

    Raises:
        ConfigError: there is no trial.
    """
    folders = sorted({config.parent for config in path.rglob("config.json") if config.parent != path})
    trials = [trial for trial in map(_trial, folders) if trial is not None]
    if not trials:
        raise ConfigError(
            f"{path}: contains no Harbor trial (a folder with a config.json that has a trial_name, and a "
            f"{_RESULT}); give the job's folder"
        )
    trials.sort(key=lambda trial: (str(trial.result.get("started_at") or ""), str(trial.folder)))
    tasks = {trial.task_part: name for trial in trials if (name := text_of(trial.result.get("task_name")))}
    rows = (SourceRow(str(trial.folder / _RESULT), dict(_row(trial, tasks))) for trial in trials)
    return trials_table(rows, _notes(trials))


def _notes(trials: list[HarborTrial]) -> Iterator[str]:
    unread = [trial for trial in trials if trial.fault and trial.ended]
    if unread:
        names = "; ".join(f"{trial.folder.name}: {trial.fault}" for trial in unread[:5])
        yield f"{counted(len(unread), 'trial has', 'trials have')} no readable {_RESULT}, and so no score: {names}."
    unended = sum(not trial.ended for trial in trials)
    if unended:
        yield f"{counted(unended, 'trial folder has', 'trial folders have')} no {_RESULT}: counted as cancelled."


def _trial(folder: Path) -> HarborTrial | None:
    """Return the trial of a folder; None for the folder of a job."""
    config, config_fault = _read(folder / "config.json")
    if not (folder / _RESULT).exists():
        unended = HarborTrial(folder, config, {}, f"the trial did not end: there is no {_RESULT}", ended=False)
        return unended if "trial_name" in config else None
    result, fault = _read(folder / _RESULT)
    if "trial_name" in result and "task_name" in result:
        return HarborTrial(folder, config, result, None, ended=True)
    is_trial = "trial_name" in config or (config_fault is not None and not any(folder.glob("*/config.json")))
    reason = fault or "task_name or trial_name is missing"
    return HarborTrial(folder, config, result, reason, ended=True) if is_trial else None


def _read(path: Path) -> tuple[_Object, str | None]:
    """Return a file's JSON object and None; an empty object and the reason if it cannot be read."""
    try:
        return read_json_object(path.read_bytes(), path.name, keep_non_finite=True), None
    except (ConfigError, OSError) as error:
        return {}, str(error)


def _row(trial: HarborTrial, tasks: dict[str, str]) -> Iterator[tuple[str, Value]]:
    result = trial.result
    agent, config = inner_object(result, "agent_info"), inner_object(result, "config") or trial.config
    model = _model(agent, config)
    name = text_of(agent.get("name")) or text_of(inner_object(config, "agent").get("name"))
    yield "scenario", text_of(result.get("task_name")) or tasks.get(trial.task_part) or trial.task_part
    yield "arm", ".".join(part for part in (name, model) if part) or _UNKNOWN
    yield "category", result.get("source")
    yield "agent", name
    yield "agent_version", agent.get("version")
    yield "model", model
    yield "started_at", result.get("started_at")
    yield "seconds", _seconds(inner_object(result, "agent_execution"))
    yield from _usage(inner_object(result, "agent_result"))
    yield "sandbox", inner_object(config, "environment").get("type")
    yield "workspace_digest", result.get("task_checksum")
    yield from _verdict(trial)


def _model(agent: _Object, config: _Object) -> str | None:
    info = inner_object(agent, "model_info")
    name = "/".join(part for part in (text_of(info.get("provider")), text_of(info.get("name"))) if part)
    return name or text_of(inner_object(config, "agent").get("model_name"))


def _usage(usage: _Object) -> Iterator[tuple[str, Value]]:
    total, cached, output = (usage.get(name) for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens"))
    yield "usd", usage.get("cost_usd")
    yield "input_tokens", total - cached if is_number(total) and is_number(cached) else None
    yield "cache_read_tokens", cached
    yield "output_tokens", output
    yield "total_tokens", total + output if is_number(total) and is_number(output) else None


def _verdict(trial: HarborTrial) -> Iterator[tuple[str, Value]]:
    rewards = inner_object(inner_object(trial.result, "verifier_result"), "rewards")
    exception = inner_object(trial.result, "exception_info")
    reward = rewards.get("reward", next(iter(rewards.values())) if len(rewards) == 1 else None)
    outcome = Outcome.COMPLETED if trial.ended else Outcome.CANCELLED
    if exception:
        kind, message = str(exception.get("exception_type")), str(exception.get("exception_message"))
        outcome = outcome_of_exception(kind, message)
        yield "reason", f"{kind}: {message}"[:500]
    elif trial.fault:
        yield "reason", trial.fault[:500]
    yield "outcome", outcome.value
    yield "score", reward
    yield from ((f"rewards.{name}", value) for name, value in rewards.items())
    if is_number(reward):
        yield "passed", reward >= 1
    elif len(rewards) == 1 or "reward" in rewards:
        yield "passed", None
    elif not rewards:
        yield "passed", False if exception and outcome.measures_agent else None


def _seconds(phase: _Object) -> float | None:
    try:
        start, end = (datetime.datetime.fromisoformat(phase[name]) for name in ("started_at", "finished_at"))
        return (end - start).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None
