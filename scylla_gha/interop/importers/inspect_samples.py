"""Inspect's JSON logs: one log per task and model, a sample per scenario and epoch.

A sample's id is the scenario (after its task if logs of several tasks are read), its epoch the repetition, and the
log's model the arm (or the arm that `scylla-gha export` wrote into its metadata). The score is that of the scorer
called `score`, or of the only one: C is 1, P 0.5, I and N are 0. A sample passed if the scorer called `passed`, or else
the score, is 1; of several scorers, `--map score=scores.NAME` with --passed-if chooses one.

| sample | outcome |
|---|---|
| no error, no limit | completed |
| an error | by `outcome_of_exception`; failed if it is the agent's, else unknown |
| limit of time or working time | timeout |
| limit of messages, tokens, cost, context, or one of the task's own | budget_exceeded |
| limit by the operator | cancelled |
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

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

_LETTERS: Final = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_LIMITS: Final = {"time": Outcome.TIMEOUT, "working": Outcome.TIMEOUT, "operator": Outcome.CANCELLED}
_TOKENS: Final = (
    ("input_tokens", "input_tokens"), ("output_tokens", "output_tokens"), ("total_tokens", "total_tokens"),
    ("cache_read_tokens", "input_tokens_cache_read"), ("cache_write_tokens", "input_tokens_cache_write"),
    ("usd", "total_cost"),
)  # fmt: skip
_Object = dict[str, Any]


def read_inspect(path: Path) -> SourceTable:
    """Read the samples of a log, or of all logs in a folder.

    Raises:
        ConfigError: a file is not an Inspect log in JSON, or there is none.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise ConfigError(f"{path}: holds no .json; `inspect log convert --to json` makes them of .eval files")
    logs = [(file, _log(file)) for file in files]
    several = len({_task(log) for _, log in logs}) > 1
    notes = [f"{file.name}: the log's status is {log.get('status')!r}, so samples may be missing."
             for file, log in logs if log.get("status") != "success"]  # fmt: skip
    return table_of((row for file, log in logs for row in _samples(file, log, several=several)), notes)


def _log(path: Path) -> _Object:
    log = read_json_object(path.read_bytes(), path, "; `inspect log convert --to json` makes it of .eval")
    if not isinstance(log.get("eval"), dict):
        raise ConfigError(f"{path}: not an Inspect log: it has no object `eval`")
    return log


def _task(log: _Object) -> str:
    return str(log["eval"].get("task"))


def _arm(spec: _Object) -> Value:
    metadata = spec.get("metadata")
    return (metadata.get("arm") if isinstance(metadata, dict) else None) or spec.get("model")


def _samples(path: Path, log: _Object, *, several: bool) -> Iterator[SourceRow]:
    for index, sample in enumerate(log.get("samples") or ()):
        if not isinstance(sample, dict) or "id" not in sample:
            raise ConfigError(f"{path}: samples[{index}] has no id; is it a log of Inspect?")
        name = f"{_task(log)}/{sample['id']}" if several else str(sample["id"])
        cell = {"scenario": name, "arm": _arm(log["eval"]), "model": log["eval"].get("model"),
                "repetition": sample.get("epoch", 1), "category": log["eval"].get("task")}  # fmt: skip
        yield SourceRow(f"{path}: samples[{index}]", {**cell, **dict(_sample(sample))})


def _sample(sample: _Object) -> Iterator[tuple[str, Value]]:
    yield "seconds", sample.get("total_time")
    yield "started_at", sample.get("started_at")
    yield from _usage(sample.get("model_usage") or {})
    outcome = Outcome.COMPLETED
    error, limit = sample.get("error"), sample.get("limit")
    if error:
        message = str(error.get("message") if isinstance(error, dict) else error)
        outcome = outcome_of_exception(message.split("(", 1)[0].split(":", 1)[0], message)
        yield "reason", message[:500]
    elif limit:
        kind = str(limit.get("type") if isinstance(limit, dict) else limit)
        outcome = _LIMITS.get(kind, Outcome.BUDGET_EXCEEDED)
        yield "reason", f"limit: {kind}"
    yield "outcome", outcome.value
    failed = outcome.measures_agent and outcome is not Outcome.COMPLETED
    yield from _scores(sample.get("scores") or {}, failed=failed)


def _scores(scores: _Object, *, failed: bool) -> Iterator[tuple[str, Value]]:
    values = {name: _value(score.get("value") if isinstance(score, dict) else score) for name, score in scores.items()}
    yield from ((f"scores.{name}", value) for name, value in values.items())
    names = values.keys() - {"passed"}
    score = values.get("score", values[next(iter(names))] if len(names) == 1 else None)
    verdict = values.get("passed", score)
    if isinstance(score, int | float):
        yield "score", float(score)
    if isinstance(verdict, int | float):
        yield "passed", verdict >= 1
    elif not values:
        yield "passed", False if failed else None


def _value(value: Value) -> Value:
    return _LETTERS.get(value, value) if isinstance(value, str) else value


def _usage(usage: _Object) -> Iterator[tuple[str, Value]]:
    """Yield the sums over all models that the sample used; a sum is unknown if one part is."""
    for ours, theirs in _TOKENS:
        parts = [model.get(theirs) for model in usage.values() if isinstance(model, dict)]
        known = [part for part in parts if isinstance(part, int | float)]
        yield ours, sum(known) if known and len(known) == len(parts) else None
