"""Harbor job folders: one folder per trial, whose `result.json` holds rewards, exception, phases, tokens and cost.

The arm is agent and model, the scenario is the task; repetitions are numbered in the order in which the trials started.
The score is the reward called `reward`, or the only one; a trial passed if its reward is 1. A trial with an exception
and no reward failed if the exception is the agent's (`outcome_of_exception`), and is unknown otherwise. A timeout
counts by its reward, as in Harbor. Cost, tokens (Harbor's input tokens include cached ones) and time are those of the
agent's phase.
"""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.tables import (
    SourceRow,
    SourceTable,
    Value,
    outcome_of_exception,
    read_json_object,
    table_of,
)
from scylla_gha.model.trial import Outcome

_RESULT: Final = "result.json"


def read_harbor(path: Path) -> SourceTable:
    """Read the trials of a job, or of all jobs below a folder.

    Raises:
        ConfigError: there is no trial, or a file is not a Harbor result.
    """
    folders = sorted({config.parent for config in path.rglob("config.json") if config.parent != path})
    results = [(folder / _RESULT, _read(folder / _RESULT)) for folder in folders if (folder / _RESULT).exists()]
    trials = [(file, trial) for file, trial in results if "task_name" in trial and "trial_name" in trial]
    unended = sum("trial_name" in _read(folder / "config.json") and not (folder / _RESULT).exists()
                  for folder in folders)  # fmt: skip
    if not trials:
        raise ConfigError(f"{path}: holds no Harbor trial (a folder with config.json and a {_RESULT} that has a "
                          "task_name); give the job's folder")  # fmt: skip
    trials.sort(key=lambda trial: (str(trial[1].get("started_at") or ""), str(trial[0])))
    notes = [f"Left out: {counted(unended, 'trial folder')} without {_RESULT}."] if unended else []
    return table_of((SourceRow(str(file), dict(_row(trial))) for file, trial in trials), notes)


def _read(path: Path) -> dict[str, Any]:
    return read_json_object(path.read_bytes(), path, "; remove the trial's folder to go on")


def _part(value: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an inner object, empty if it is null."""
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _row(trial: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    agent, config = _part(trial, "agent_info"), _part(trial, "config")
    model = _model(agent, config)
    yield "scenario", trial["task_name"]
    yield "arm", ".".join(part for part in (agent.get("name") or _part(config, "agent").get("name"), model) if part)
    yield "category", trial.get("source")
    yield "agent", agent.get("name")
    yield "agent_version", agent.get("version")
    yield "model", model
    yield "started_at", trial.get("started_at")
    yield "seconds", _seconds(_part(trial, "agent_execution"))
    yield from _usage(_part(trial, "agent_result"))
    yield "sandbox", _part(config, "environment").get("type")
    yield "workspace_digest", trial.get("task_checksum")
    yield from _verdict(trial)


def _model(agent: dict[str, Any], config: dict[str, Any]) -> str | None:
    info = _part(agent, "model_info")
    name = "/".join(str(part) for part in (info.get("provider"), info.get("name")) if part)
    return name or _part(config, "agent").get("model_name")


def _usage(usage: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    total, cached, output = (usage.get(name) for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens"))
    yield "usd", usage.get("cost_usd")
    yield "input_tokens", total - cached if isinstance(total, int) and isinstance(cached, int) else None
    yield "cache_read_tokens", cached
    yield "output_tokens", output
    yield "total_tokens", total + output if isinstance(total, int) and isinstance(output, int) else None


def _verdict(trial: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    rewards, exception = _part(_part(trial, "verifier_result"), "rewards"), _part(trial, "exception_info")
    reward = rewards.get("reward", next(iter(rewards.values())) if len(rewards) == 1 else None)
    outcome = Outcome.COMPLETED
    if exception:
        kind, message = str(exception.get("exception_type")), str(exception.get("exception_message"))
        outcome = outcome_of_exception(kind, message)
        yield "reason", f"{kind}: {message}"[:500]
    yield "outcome", outcome.value
    yield "score", reward
    yield from ((f"rewards.{name}", value) for name, value in rewards.items())
    if isinstance(reward, int | float):
        yield "passed", reward >= 1
    elif not rewards:
        yield "passed", False if exception and outcome.measures_agent else None


def _seconds(phase: dict[str, Any]) -> float | None:
    try:
        start, end = (datetime.datetime.fromisoformat(phase[name]) for name in ("started_at", "finished_at"))
        return (end - start).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None
