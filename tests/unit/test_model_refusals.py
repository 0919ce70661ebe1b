"""Values that the records of `scylla_gha.model` refuse, each with the words of its fault."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.model.experiment import RetrySettings, TrialLimits
from scylla_gha.model.judgment import JudgeControl, JudgeScore
from scylla_gha.model.plan import MOST_SHARDS, Shard
from scylla_gha.model.report import Comparison
from scylla_gha.model.result import Result
from scylla_gha.model.sandbox import ImageRecipe, Isolation, NetworkAccess
from scylla_gha.model.scenario import DiffCondition, FixtureSource, ProgressStep, ScenarioTask
from scylla_gha.model.traffic import ModelPrice, Rates
from scylla_gha.model.trial import Inventory, Observed, Trial
from scylla_gha.model.variant import McpServer, SubAgent, SubTest, SystemPrompt, Treatment
from tests.support.delivery import make_inventory
from tests.support.records import (
    make_category,
    make_cell,
    make_check,
    make_checkpoint,
    make_experiment,
    make_item,
    make_result,
    make_rubric,
    make_scenario,
    make_score,
)
from tests.unit.test_model_pricing import PRICE

Make = Callable[..., object]
SHA = "0123456789abcdef0123456789abcdef01234567"
ONE_KIND = "give exactly one of run, file, changes, answer, uses, github, git and unchanged"
ONE_PLACE = "give exactly one of fixture and repo"
ONE_PROOF = "exactly one of checkpoint and item"
ONE_PROMPT = "exactly one of replace, append and blocks"
ONLY_SCORED = "a scored item needs a value, and any other item must have none"


def of(kind: Any, **own: Any) -> Make:
    """Return a maker of records with these fields, which the given ones override."""
    return lambda **given: kind.model_validate({**own, **given})


source, step = of(FixtureSource, fixture="a", hash=SHA), of(ProgressStep, step="x")
task = of(ScenarioTask, prompt_file="p", timeout_seconds=86_400)
server = of(McpServer, description="A clock", command="python3")
judged = of(JudgeScore, id="Q1", evidence="")
price, isolation = of(ModelPrice, **PRICE.model_dump()), of(Isolation, network="none", keys="hidden", files="own")
shard = of(Shard, number=0, cells=("a",), minutes=1.0)
limits, retry = of(TrialLimits), of(RetrySettings)


def sub_agent(**given: Any) -> SubAgent:
    return SubAgent.model_validate(
        {"name": "reader", "description": "Reads", "prompt": "You read.", **given}, strict=False
    )


def without(kind: Any, fields: dict[str, Any], name: str) -> Make:
    return lambda: kind.model_validate({key: value for key, value in fields.items() if key != name})


def each(make: Make, name: str, *values: object, fault: str = "") -> list[tuple[Make, dict[str, Any], str]]:
    return [(make, {name: value}, fault or name) for value in values]


REFUSED: list[tuple[Make, dict[str, Any], str]] = [
    (source, {"fixture": None}, ONE_PLACE),
    (source, {"repo": "https://example.org/r.git"}, ONE_PLACE),
    *each(source, "hash", "main", SHA[:7], SHA.upper(), SHA + "0", SHA + "\n"),
    *each(source, "fixture", "../etc", "a/b", "/", ".", "A"),
    *each(make_scenario, "id", "001", "001-", "01-a", "0001-a", "001-a/../../b", "001-A", "001-a b", "001-a\n",
          "x001-a", "001-" + "a" * 117),
    *each(make_scenario, "category", "bugs"),
    *each(make_scenario, "tiers", (), ("T7",)),
    *each(make_scenario, "checkpoints", ()),
    *each(make_scenario, "progress", ()),
    *each(make_scenario, "runs_per_tier", 0),
    *each(make_scenario, "title", ""),
    *each(make_scenario, "human_baseline_usd", 0.0),
    (make_checkpoint, {"file": None}, ONE_KIND),
    (make_checkpoint, {"file": "a", "run": "true"}, ONE_KIND),
    (make_checkpoint, {"run": "true", "changes": DiffCondition()}, ONE_KIND),
    (make_checkpoint, {"file": "a", "exit": 1}, "need `run`"),
    (make_checkpoint, {"file": "a", "stdout": "x"}, "need `run`"),
    (make_checkpoint, {"file": "a", "stdout": ""}, "need `run`"),
    (make_checkpoint, {"file": "a", "stdout_matches": "x"}, "need `run`"),
    (make_checkpoint, {"changes": DiffCondition(), "graduated": True}, "need `run`"),
    (make_checkpoint, {"run": "true", "absent": True}, "need `file`"),
    (make_checkpoint, {"changes": DiffCondition(), "matches": "x"}, "need `file`"),
    (make_checkpoint, {"run": "true", "guard": True, "required": False}, "a guard is always required"),
    (step, {}, ONE_PROOF),
    (step, {"checkpoint": "a", "item": "F1"}, ONE_PROOF),
    *each(task, "timeout_seconds", 0, 24 * 3600 + 1),
    *each(make_item, "id", "f1", "FF1", "F"),
    *each(make_item, "points", 0.0),
    *each(make_item, "type", "boolean"),
    *each(make_item, "text", ""),
    *each(make_category, "weight", -0.1, 1.1),
    *each(make_category, "items", ()),
    *each(make_rubric, "pass_threshold", 0.0, 1.01),
    *each(make_experiment, "id", "Not A Slug", "a/b"),
    *each(make_experiment, "question", ""),
    *each(make_experiment, "scenarios", ()),
    *each(make_experiment, "agents", ()),
    *each(make_experiment, "repetitions", 0, 10_000),
    *each(make_experiment, "budget_usd", 0.0),
    *each(make_experiment, "baseline", ""),
    *each(make_experiment, "max_age_days", 0.0),
    *each(make_experiment, "judges", ("m",), fault="(?s)judges\n.*a panel needs at least two judges"),
    *each(make_experiment, "judges", ("m", "n", "m"), fault="(?s)judges\n.*m is listed twice; a panel needs different"),
    *each(make_experiment, "role_budget_usd", {"agent": 0.0}, fault="role_budget_usd.agent"),
    *each(make_experiment, "role_budget_usd", {"judges": 1.0}, fault="role_budget_usd.judges"),
    *each(make_experiment, "model_settings", {"agent": {"temperature": 1.5}}, fault="settings.agent.temperature"),
    *each(make_experiment, "model_settings", {"judge": {"max_tokens": 0}}, fault="settings.judge.max_tokens"),
    *each(make_experiment, "model_settings", {"agents": {}}, fault="model_settings.agents"),
    *((limits, {name: 0}, name) for name in ("timeout_seconds", "turns", "requests", "usd", "file_mb", "diff_mb",
                                             "diff_files", "memory_mb", "disk_mb", "processes", "cpus")),
    *each(retry, "attempts", 0, 11),
    *each(retry, "backoff_seconds", -1.0),
    (of(SystemPrompt), {}, ONE_PROMPT),
    (of(SystemPrompt), {"replace": "", "append": "x"}, ONE_PROMPT),
    *each(of(SystemPrompt), "append", ""),
    *each(of(SubTest, description="d"), "id", "00", "0-a", "00-A", "00-a/b", "00-a b", "00-a\n", "000-a"),
    *each(of(Treatment), "setting_sources", ("global",), fault="'user', 'project' or 'local'"),
    *each(server, "command", ""),
    *each(server, "description", ""),
    *each(server, "url", "http://x"),
    *each(server, "env", {"A": 1}),
    *each(sub_agent, "name", "Reader", "a.b"),
    *each(sub_agent, "prompt", ""),
    *each(sub_agent, "description", ""),
    *each(sub_agent, "tools", [""]),
    *each(sub_agent, "hooks", {}),
    *each(of(Observed), "source", "rumour", fault="'start event', 'first request', 'hook events' or 'search of PATH'"),
    *((without(Inventory, make_inventory().model_dump(), name), {}, name)
      for name in ("tools", "skills", "agents", "prompt_lines", "models")),
    *((price, {kind: -0.1}, kind) for kind in Rates.model_fields),
    *((without(ModelPrice, PRICE.model_dump(), kind), {}, rf"(?s){kind}\n.*Field required")
      for kind in Rates.model_fields),
    *((price, {kind: None}, kind) for kind in ("input", "output")),
    *each(price, "cache_write", 3.75, fault=r"(?s)cache_write\n.*Extra inputs"),
    *each(make_cell, "repetition", 0),
    *each(shard, "number", MOST_SHARDS, -1),
    *each(shard, "cells", ()),
    *each(shard, "minutes", -1.0),
    *each(shard, "budget_usd", 0.0),
    *each(make_check, "value", -0.01, 1.01, float("nan")),
    *each(make_score, "score", -0.01, 1.01, float("nan")),
    *each(make_score, "grade", "E", "a"),
    *each(make_score, "passed", None),
    (judged, {"state": "scored", "value": None}, ONLY_SCORED),
    (judged, {"state": "na", "value": 0.0}, ONLY_SCORED),
    (judged, {"state": "missing", "value": 0.5}, ONLY_SCORED),
    *each(of(JudgeControl, key="k", judge="opus", scenario="001-one"), "times", 0, fault="greater than or equal to 1"),
    *each(make_result, "score", 1.01),
    *each(make_result, "progress", -0.1),
    *each(make_result, "grade", "E"),
    (lambda: Result.model_validate_json(make_result().model_dump_json().replace('"completed"', '"success"')), {},
     "outcome"),
    *each(of(Comparison, arm="a", baseline="b", why="p"), "verdict", "significant",
          fault="'better', 'worse', 'equivalent' or 'not_enough_data'"),
    *each(of(Trial, cell="c", key="k", sandbox="host", versions={}), "attempts", ()),
    *((of(NetworkAccess), {"hosts": (host,)}, "hosts")
      for host in ("127.0.0.1", "192.0.2.1:80", "[::1]", "Pkg.test", "*")),
    *each(of(ImageRecipe, id="base", release="bookworm"), "packages", ()),
    *((isolation, {name: "some"}, name) for name in ("network", "keys", "files")),
]  # fmt: skip


@pytest.mark.parametrize(("make", "given", "fault"), REFUSED, ids=lambda part: "" if callable(part) else str(part)[:40])
def test_a_record_refuses(make: Make, given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        make(**given)


@pytest.mark.parametrize(
    "make",
    [source, task, server, price, isolation, shard, limits, retry, sub_agent, partial(step, item="F1")],
)
def test_without_the_wrong_value_the_record_is_made(make: Make) -> None:
    assert make() is not None
