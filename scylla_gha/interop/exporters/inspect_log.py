"""Inspect logs (`EvalLog`, version 2, JSON): one log per arm; a scenario is a sample, a repetition an epoch.

`inspect view` and `inspect log convert` read them. A missing cell has no sample, but `total_samples` counts it. A trial
that does not measure the agent has an error and no score. Unknown numbers are left out: for Inspect a null token count
is an error, and a missing one is unknown.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from scylla_gha.interop.exporters.inspect_sample import inspect_sample
from scylla_gha.interop.exporters.rows import ArmRows, json_bytes, rows_by_arm
from scylla_gha.model import digest, slug
from scylla_gha.model.cell_records import CellRecord
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result

_VERSION: Final = 2
_NO_MODEL: Final = "none/none"  # Inspect's own name
Json = dict[str, object]


def inspect_logs(
    plan: Plan, results: Iterable[Result], created: datetime.datetime, records: Mapping[str, CellRecord]
) -> dict[str, bytes]:
    """Return a log for each arm of the plan, by file name.

    Args:
        plan: the plan.
        results: its rows; at most one per cell.
        records: of the rows' trials, by cell; rows without one have no messages.
        created: the time of the logs, with its zone.

    Raises:
        ConfigError: a row that is not of the plan, or two of one cell.
    """
    return {
        _file_name(plan, arm, created): json_bytes(_log(plan, arm, created.isoformat(), records), indent=1) + b"\n"
        for arm in rows_by_arm(plan, results)
    }


def _file_name(plan: Plan, arm: ArmRows, created: datetime.datetime) -> str:
    """Return a name as Inspect expects it: time, task and id, joined by underscores."""
    time = created.isoformat(timespec="seconds").replace(":", "-")
    task = f"{slug(plan.experiment.id)}-{slug(arm.arm.id) or 'arm'}"
    return f"{time}_{task}_{_task_id(plan, arm)}.json"


def _task_id(plan: Plan, arm: ArmRows) -> str:
    return digest([plan.experiment.id, arm.arm.id])[:22]


def _log(plan: Plan, arm: ArmRows, created: str, records: Mapping[str, CellRecord]) -> Json:
    return {
        "version": _VERSION,
        "status": "success" if len(arm.rows) == len(arm.cells) else "cancelled",
        "eval": _spec(plan, arm, created),
        "plan": {"name": arm.arm.id, "steps": []},
        "results": _results(arm),
        "stats": {"started_at": created, "completed_at": created},
        "samples": [inspect_sample(row, arm.arm.model, records.get(row.cell)) for row in arm.rows],
    }


def _spec(plan: Plan, arm: ArmRows, created: str) -> Json:
    scenarios = list(dict.fromkeys(planned.cell.scenario for planned in arm.cells))
    of_run = [plan.experiment.id, plan.epoch, sorted(cell.key for cell in plan.cells)]
    variant = arm.arm.variant.id if arm.arm.variant else None
    return {
        "eval_id": digest([*of_run, arm.arm.id])[:22],
        "run_id": digest(of_run)[:22],
        "task_id": _task_id(plan, arm),
        "created": created,
        "task": plan.experiment.id,
        "task_attribs": {},
        "task_args": {"variant": variant} if variant else {},
        "solver": arm.arm.agent,
        "dataset": {"name": plan.experiment.id, "samples": len(scenarios), "sample_ids": scenarios},
        "model": arm.arm.model or _NO_MODEL,
        "config": {"epochs": max((planned.cell.repetition for planned in arm.cells), default=0)},
        "metadata": {"arm": arm.arm.id, "variant": variant, "agent": arm.arm.agent, "version": arm.arm.version},
    }


def _results(arm: ArmRows) -> Json:
    passed = [float(row.passed) for row in arm.rows if row.measures_agent and row.passed is not None]
    scores = [row.score for row in arm.rows if row.measures_agent and row.score is not None]
    return {
        "total_samples": len(arm.cells),
        "completed_samples": sum(row.measures_agent for row in arm.rows),
        "scores": [_metric("passed", "accuracy", passed, arm), _metric("score", "mean", scores, arm)],
    }


def _metric(score: str, name: str, values: Sequence[float], arm: ArmRows) -> Json:
    metric = {name: {"name": name, "value": sum(values) / len(values)}} if values else {}
    unscored = len(arm.rows) - len(values)
    return {
        "name": score,
        "scorer": score,
        "scored_samples": len(values),
        "unscored_samples": unscored,
        "metrics": metric,
    }
