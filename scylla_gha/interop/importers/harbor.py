"""Harbor job folders: one folder per trial, whose `result.json` holds rewards, exception, phases, tokens and cost.

The arm is agent and model, the scenario the task; repetitions are counted in the order in which the trials started.
The score is the reward called `reward`, or the only one; passed is a reward of 1. What ran into a fault and has no
reward is failed where the fault is the agent's (see `blame`), and unknown where it is not. A timeout counts by its
reward, as in Harbor. The cost, the tokens (of which the input counts cached ones) and the time of the agent's phase are
kept.
"""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.sources import SourceRow, SourceTable, Value, outcome_of_exception, table_of
from scylla_gha.model.trial import Outcome

_RESULT = "result.json"


def read_harbor(path: Path) -> SourceTable:
    """The trials of a job, or of all jobs below a folder.

    Raises:
        ConfigError: there is no trial, or a file is not a Harbor result.
    """
    folders = sorted({config.parent for config in path.rglob("config.json") if config.parent != path})
    found = [(folder / _RESULT, _read(folder / _RESULT)) for folder in folders if (folder / _RESULT).exists()]
    trials = [(place, one) for place, one in found if "task_name" in one and "trial_name" in one]
    unended = sum(_is_trial(folder) and not (folder / _RESULT).exists() for folder in folders)
    if not trials:
        raise ConfigError(f"{path}: holds no Harbor trial (a folder with config.json and a {_RESULT} that has a "
                          "task_name); give the job's folder")  # fmt: skip
    trials.sort(key=lambda each: (str(each[1].get("started_at") or ""), str(each[0])))
    notes = [f"Left out: {counted(unended, 'trial folder')} without {_RESULT}."] if unended else []
    return table_of((SourceRow(str(place), dict(_row(one))) for place, one in trials), notes)


def _is_trial(folder: Path) -> bool:
    return "trial_name" in _read(folder / "config.json")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{path}: not JSON: {error}; take the trial's folder away to go on") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: not a JSON object; take the trial's folder away to go on")
    return cast("dict[str, Any]", found)


def _part(value: dict[str, Any], name: str) -> dict[str, Any]:
    """An object inside, empty where it is null."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


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
    yield from _spent(_part(trial, "agent_result"))
    yield "sandbox", _part(config, "environment").get("type")
    yield "workspace_digest", trial.get("task_checksum")
    yield from _worth(trial)


def _model(agent: dict[str, Any], config: dict[str, Any]) -> str | None:
    known = _part(agent, "model_info")
    named = "/".join(str(part) for part in (known.get("provider"), known.get("name")) if part)
    return named or _part(config, "agent").get("model_name")


def _spent(usage: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    whole, cached, out = (usage.get(name) for name in ("n_input_tokens", "n_cache_tokens", "n_output_tokens"))
    yield "usd", usage.get("cost_usd")
    yield "input_tokens", whole - cached if isinstance(whole, int) and isinstance(cached, int) else None
    yield "cache_read_tokens", cached
    yield "output_tokens", out
    yield "total_tokens", whole + out if isinstance(whole, int) and isinstance(out, int) else None


def _worth(trial: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    rewards, fault = _part(_part(trial, "verifier_result"), "rewards"), _part(trial, "exception_info")
    reward = rewards.get("reward", next(iter(rewards.values())) if len(rewards) == 1 else None)
    outcome = Outcome.COMPLETED
    if fault:
        outcome = outcome_of_exception(str(fault.get("exception_type")), str(fault.get("exception_message")))
        yield "reason", f"{fault.get('exception_type')}: {fault.get('exception_message')}"[:500]
    yield "outcome", outcome.value
    yield "score", reward
    yield from ((f"rewards.{name}", value) for name, value in rewards.items())
    if isinstance(reward, int | float):
        yield "passed", reward >= 1
    elif not rewards:
        yield "passed", False if fault and outcome.measures_agent else None


def _seconds(phase: dict[str, Any]) -> float | None:
    try:
        began, ended = (datetime.datetime.fromisoformat(phase[end]) for end in ("started_at", "finished_at"))
        return (ended - began).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None
