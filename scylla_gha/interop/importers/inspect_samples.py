"""Read Inspect's JSON logs: a log per task and model, with a sample per scenario and epoch.

The scenario is the sample's id (TASK/ID with logs of several tasks), the repetition is its epoch, and the arm is the
log's model (or the arm that `scylla-gha export` wrote into its metadata). The score is the value of the scorer
`score`, or of the only scorer. A sample passed if the scorer `passed` gives 1; without that scorer, if the score is 1.
With several scorers, or with a scorer whose value is an object, choose a value by `--map score=scores.NAME` or
`--map score=scores.NAME.KEY` with --passed-if. If a task was retried (several logs with one `task_id`), the last
successful log counts.

Values are read as Inspect's metrics read them (`value_to_float` of inspect_ai 0.3.285, 2026-11-27):

| value | score |
|---|---|
| C, P, I, N | 1, 0.5, 0, 0 |
| true, yes (in any case); false, no | 1; 0 |
| a number, or a number as text | that number |
| any other text | 0, and Inspect warns |
| NaN (the scorer left the sample out) and infinities | unknown |
| a list or an object | unknown: Inspect counts 0 and warns; choose a key with --map |

| sample | outcome |
|---|---|
| no error, no limit | completed |
| an error | by `outcome_of_exception`; failed if the agent caused it, else unknown |
| limit of time or working time | timeout |
| limit of messages, tokens, cost or context, or a custom limit of the task | budget_exceeded |
| limit by the operator | cancelled |
"""

import math
from collections.abc import Iterator, Sequence
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

_LETTERS: Final = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS: Final = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_MANIFESTS: Final = {"listing.json", "eval-set.json", "logs.json"}  # files that Inspect writes beside its logs
_LIMITS: Final = {"time": Outcome.TIMEOUT, "working": Outcome.TIMEOUT, "operator": Outcome.CANCELLED}
_TOKENS: Final = (
    ("input_tokens", "input_tokens"),
    ("output_tokens", "output_tokens"),
    ("total_tokens", "total_tokens"),
    ("cache_read_tokens", "input_tokens_cache_read"),
    ("cache_write_tokens", "input_tokens_cache_write"),
    ("usd", "total_cost"),
)
_Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class InspectLog:
    """A log file: its specification (`eval`), status and samples."""

    file: Path
    spec: _Object
    status: str
    samples: list[Value]

    @property
    def task(self) -> str:
        """Name of the task."""
        return str(self.spec.get("task"))

    @property
    def arm(self) -> str | None:
        """The arm that `scylla-gha export` wrote, or the model; None if neither is a name."""
        metadata = self.spec.get("metadata")
        exported = text_of(metadata.get("arm")) if isinstance(metadata, dict) else None
        return exported or text_of(self.spec.get("model"))


def read_inspect(path: Path) -> SourceTable:
    """Read the samples of a log, or of all logs in a folder.

    Raises:
        ConfigError: a file is not an Inspect log in JSON, or there is none.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    manifests = [file.name for file in files if path.is_dir() and file.name in _MANIFESTS]
    files = [file for file in files if file.name not in manifests]
    if not files:
        raise ConfigError(f"{path}: contains no JSON log; convert .eval files with `inspect log convert --to json`")
    notes = [f"Left out: {', '.join(manifests)}, which Inspect writes beside its logs."] if manifests else []
    logs, superseded = _last_of_each_task([_log(file) for file in files])
    notes += superseded
    notes += [
        f"{log.file.name}: the log's status is {log.status!r}, so samples may be missing."
        for log in logs
        if log.status != "success"
    ]
    several = len({log.task for log in logs}) > 1
    rows = [row for log in logs for row in _samples(log, several=several)]
    return trials_table(rows, [*notes, *_score_notes(logs)])


def _log(path: Path) -> InspectLog:
    log = read_json_object(
        path.read_bytes(), path, "; convert .eval files with `inspect log convert --to json`", keep_non_finite=True
    )
    spec, samples = log.get("eval"), log.get("samples")
    if not isinstance(spec, dict):
        raise ConfigError(
            f"{path}: not an Inspect log: it has no object `eval`; for results of another tool, write an object "
            "per line for each trial into a .jsonl file, also for trials that ended in an error"
        )
    if samples is not None and not isinstance(samples, list):
        raise ConfigError(f"{path}: not an Inspect log: `samples` is not a list")
    if samples and not any(isinstance(sample, dict) and "id" in sample for sample in samples):
        raise ConfigError(f"{path}: not an Inspect log: none of its samples has an id")
    inspect_log = InspectLog(path, spec, str(log.get("status")), samples or [])
    if inspect_log.arm is None:
        raise ConfigError(f"{path}: eval.model is not a name; write the model's name into it")
    return inspect_log


def _last_of_each_task(logs: Sequence[InspectLog]) -> tuple[list[InspectLog], list[str]]:
    """Return the last successful log of each task and arm, and notes on the logs that are left out."""
    chosen: dict[tuple[str, str | None], InspectLog] = {}
    for log in sorted(logs, key=lambda log: (str(log.spec.get("created") or ""), log.file.name)):
        task = text_of(log.spec.get("task_id")) or f"file {log.file.name}"
        earlier = chosen.get((task, log.arm))
        if earlier is None or log.status == "success" or earlier.status != "success":
            chosen[task, log.arm] = log
    counting = {log.file for log in chosen.values()}
    notes = [
        f"{log.file.name}: left out, because another log of its task {log.spec['task_id']} is used."
        for log in logs
        if log.file not in counting
    ]
    return [log for log in logs if log.file in counting], notes


def _samples(log: InspectLog, *, several: bool) -> Iterator[SourceRow]:
    for index, value in enumerate(log.samples):
        sample = value if isinstance(value, dict) else {}
        name = str(sample.get("id") or "") or f"sample {index}"
        cell = {
            "scenario": f"{log.task}/{name}" if several else name,
            "arm": log.arm,
            "model": log.spec.get("model"),
            "repetition": sample.get("epoch", 1),
            "category": log.spec.get("task"),
        }
        yield SourceRow(f"{log.file}: samples[{index}]", {**cell, **dict(_sample(sample))})


def _sample(sample: _Object) -> Iterator[tuple[str, Value]]:
    yield "seconds", sample.get("total_time")
    yield "started_at", sample.get("started_at")
    yield from _usage(inner_object(sample, "model_usage"))
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
    yield from _scores(_raw_scores(sample), failed=failed)


def _raw_scores(sample: _Object) -> dict[str, Value]:
    scores = inner_object(sample, "scores")
    return {name: score.get("value") if isinstance(score, dict) else score for name, score in scores.items()}


def _scores(raw: dict[str, Value], *, failed: bool) -> Iterator[tuple[str, Value]]:
    values = {name: _value(value) for name, value in raw.items()}
    for name in raw:
        yield f"scores.{name}", values[name]
        yield from ((f"scores.{name}.{key}", _value(inner)) for key, inner in inner_object(raw, name).items())
    names = values.keys() - {"passed"}
    chosen = "score" if "score" in values else next(iter(names)) if len(names) == 1 else None
    score = values.get(chosen) if chosen else None
    verdict = values.get("passed", score)
    if is_number(score) or isinstance(score, float):
        yield "score", score
    if is_number(verdict):
        yield "passed", verdict >= 1
    elif not values or (chosen and not isinstance(raw[chosen], dict)):
        yield "passed", False if failed and not values else None


def _value(value: Value) -> Value:
    """Return a scorer's value as a number, NaN included; None for lists, objects and null."""
    if isinstance(value, bool | int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    if value in _LETTERS:
        return _LETTERS[value]
    try:
        number = float(value)
    except ValueError:
        number = _WORDS.get(value.lower(), 0.0)
    return number if math.isfinite(number) else 0.0


def _score_notes(logs: Sequence[InspectLog]) -> Iterator[str]:
    """Yield notes on scorers that need a choice, and on texts that count as 0."""
    raw = [_raw_scores(sample) for log in logs for sample in log.samples if isinstance(sample, dict)]
    keys = {f"scores.{name}.{key}": None for scores in raw for name in scores for key in inner_object(scores, name)}
    if keys:
        names = ", ".join(list(keys)[:10])
        yield f"Scorers have several values: choose one by --map score=COLUMN and --passed-if; columns: {names}."
    words = sum(isinstance(value, str) and _is_other_text(value) for scores in raw for value in scores.values())
    if words:
        yield f"{counted(words, 'score is', 'scores are')} text without a value and count as 0, as in Inspect."


def _is_other_text(value: str) -> bool:
    try:
        return value not in _LETTERS and not math.isfinite(float(value))
    except ValueError:
        return value.lower() not in _WORDS


def _usage(usage: _Object) -> Iterator[tuple[str, Value]]:
    """Yield the sample's totals over all models; a total is unknown if any model's value is unknown."""
    for ours, theirs in _TOKENS:
        parts = [model.get(theirs) for model in usage.values() if isinstance(model, dict)]
        numbers = [part for part in parts if is_number(part)]
        yield ours, sum(numbers) if numbers and len(numbers) == len(parts) else None
