"""Minimal valid records; every field can be given instead."""

import datetime
from typing import Any

from scylla_gha.model.experiment import Experiment
from scylla_gha.model.judgment import CheckResult, Judgment, Score
from scylla_gha.model.plan import Arm, Cell, CostRange, Estimate, EstimateShare, Plan
from scylla_gha.model.report import ArmSummary, Counts, Report
from scylla_gha.model.result import Result
from scylla_gha.model.scenario import (
    Category,
    Checkpoint,
    FixtureSource,
    Item,
    ProgressStep,
    Rubric,
    Scenario,
    ScenarioTask,
    Validation,
)
from scylla_gha.model.traffic import ModelInfo, ModelPrice
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Trial
from scylla_gha.model.variant import Treatment, Variant

WHEN = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
DAY = datetime.date(2026, 1, 2)
NOTHING = EstimateShare(usd=CostRange(low=0.0, likely=0.0, high=0.0), minutes=CostRange(low=0.0, likely=0.0, high=0.0))
FREE = Estimate(agents=NOTHING.model_copy(update={"minutes": CostRange(low=1.0, likely=2.0, high=3.0)}), judges=NOTHING,
                basis="none")  # fmt: skip
COUNTS = Counts(planned=2, ran=2, judged=2, scored=2)


def make_checkpoint(**given: Any) -> Checkpoint:
    """A file that must exist, unless another kind of condition is given."""
    kind = (
        {} if {"run", "file", "changes", "uses", "github", "git", "unchanged"} & given.keys() else {"file": "done.txt"}
    )
    return Checkpoint.model_validate({"id": "done", "what": "It is done", **kind, **given})


def make_scenario(**given: Any) -> Scenario:
    """A scenario with one required checkpoint, `done`."""
    defaults = {
        "id": "001-one",
        "title": "One",
        "category": "new_features",
        "size": "small",
        "difficulty": "trivial",
        "source": FixtureSource(fixture="one", hash="0" * 40),
        "task": ScenarioTask(prompt_file="prompt.md", timeout_seconds=600),
        "validation": Validation(rubric_file="rubric.yaml", timeout_seconds=20),
        "checkpoints": (make_checkpoint(),),
        "progress": (ProgressStep(step="Done", checkpoint="done"),),
        "tiers": ("T0",),
    }
    return Scenario.model_validate({**defaults, **given})


def make_item(**given: Any) -> Item:
    """A binary item, scored by the checkpoint `done`."""
    return Item.model_validate({"id": "F1", "text": "Done", "type": "binary", "checks": ("done",), **given})


def make_category(*items: Item, **given: Any) -> Category:
    """A category that is the whole rubric."""
    return Category.model_validate({"id": "all", "weight": 1.0, "items": items or (make_item(),), **given})


def make_rubric(*categories: Category, **given: Any) -> Rubric:
    """A rubric of one category with one item."""
    return Rubric.model_validate({"categories": categories or (make_category(),), **given})


def make_check(**given: Any) -> CheckResult:
    """A checkpoint that holds, or not, wholly."""
    holds = given.get("holds", True)
    return CheckResult.model_validate({"id": "done", "holds": holds, "value": float(holds), "evidence": "", **given})


def make_experiment(**given: Any) -> Experiment:
    """One scenario, the two built-in agents, one repetition."""
    defaults = {
        "id": "demo",
        "question": "Which is better?",
        "scenarios": ("*",),
        "agents": ("oracle", "nop"),
        "repetitions": 1,
        "baseline": "nop",
    }
    return Experiment.model_validate({**defaults, **given})


def make_arm(**given: Any) -> Arm:
    """A built-in agent's arm."""
    return Arm.model_validate({"id": "nop", "agent": "nop", "version": "1", **given})


def make_model_arm(**given: Any) -> Arm:
    """An arm of an agent that uses the model `m`."""
    variant = Variant(id="T0/00-empty", treatment=Treatment())
    return make_arm(**{"id": "t0-00-empty.cli.m", "agent": "cli", "model": "m", "variant": variant, **given})


def make_cell(arm: str = "nop", repetition: int = 1, scenario: str = "001-one") -> Cell:
    """A cell with the id and a key that follow from its parts."""
    name = f"{scenario}--{arm}--r{repetition:02d}"
    return Cell(id=name, scenario=scenario, arm=arm, repetition=repetition, key=f"key-of-{name}")


def make_plan(*cells: Cell, **given: Any) -> Plan:
    """A plan of the cells, with an arm for each that they name."""
    planned = cells or (make_cell("oracle"), make_cell("nop"))
    arms = tuple(make_arm(id=name, agent=name) for name in dict.fromkeys(cell.arm for cell in planned))
    defaults = {"experiment": make_experiment(), "arms": arms, "cells": planned, "estimate": FREE}
    return Plan.model_validate({**defaults, **given})


def make_attempt(**given: Any) -> Attempt:
    """A completed attempt that cost nothing."""
    defaults = {
        "number": 1,
        "outcome": Outcome.COMPLETED,
        "reason": "ended by itself",
        "retryable": False,
        "started_at": WHEN,
        "seconds": 2.0,
        "usage": NO_USAGE,
    }
    return Attempt.model_validate({**defaults, **given})


def make_trial(cell: Cell, *attempts: Attempt, **given: Any) -> Trial:
    """The cell's trial, of one completed attempt."""
    defaults = {"cell": cell.id, "key": cell.key, "sandbox": "host", "versions": {}}
    return Trial.model_validate({**defaults, "attempts": attempts or (make_attempt(),), **given})


def make_score(**given: Any) -> Score:
    """A perfect score."""
    defaults = {"score": 1.0, "grade": "A", "passed": True, "why": "score 1.00, threshold 0.60", "progress": 1.0}
    return Score.model_validate({**defaults, **given})


def make_judgment(cell: Cell, **given: Any) -> Judgment:
    """The judgment of the cell's trial: passed."""
    defaults = {"cell": cell.id, "key": "judgment", "trial_key": cell.key, "result": make_score()}
    return Judgment.model_validate({**defaults, **given})


def make_result(cell: Cell | None = None, **given: Any) -> Result:
    """The row of a passed, free trial of a built-in agent."""
    of = cell or make_cell()
    defaults = {
        "experiment": "demo", "cell": of.id, "key": of.key, "epoch": "", "scenario": of.scenario,
        "category": "new_features", "size": "small", "difficulty": "trivial", "arm": of.arm, "agent": of.arm,
        "agent_version": "1", "model": None, "variant": None, "repetition": of.repetition,
        "outcome": Outcome.COMPLETED, "reason": "ended by itself", "measures_agent": True, "judged": True,
        "passed": True, "score": 1.0, "grade": "A", "progress": 1.0,
        "items_na": 0, "items_unjudged": 0, "broken_guards": 0,
        "attempts": 1, "seconds": 2.0, "usd": 0.0, "judge_usd": 0.0, "input_tokens": 0, "output_tokens": 0,
        "cache_read_tokens": 0, "cache_write_tokens": 0, "turns": None, "tool_calls": 0,
        "failed_tool_calls": 0, "blocked_calls": None, "unread_calls": None, "delivered": None,
        "delivery_unverified": None, "files_changed": 1,
        "lines_changed": 1, "base_commit": "0" * 40, "workspace_digest": "start", "sandbox": "host",
    }  # fmt: skip
    return Result.model_validate({**defaults, **given})


def make_excluded_result(cell: Cell, outcome: Outcome, **given: Any) -> Result:
    """The row of a trial that does not measure the agent."""
    nothing = {"measures_agent": False, "judged": False, "passed": None, "score": None, "grade": None, "progress": None}
    return make_result(cell, outcome=outcome, **nothing, **given)


def make_summary(**given: Any) -> ArmSummary:
    """An arm of two trials that passed both."""
    defaults = {
        "arm": "oracle", "counts": COUNTS, "passed": 2, "pass_rate": 1.0, "pass_low": 0.342, "pass_high": 1.0,
        "mean_score": 1.0, "mean_progress": 1.0, "grades": {"A": 2}, "outcomes": {"completed": 2}, "usd": 0.5,
        "cost_of_pass": 0.25, "mean_seconds": 12.345, "tokens": 1234567,
    }  # fmt: skip
    return ArmSummary.model_validate({**defaults, **given})


def make_report(**given: Any) -> Report:
    """A report of nothing."""
    defaults = {
        "experiment": "demo", "question": "Which is better?", "toolkit_version": "0.1.0",
        "counts": Counts(planned=0, ran=0, judged=0, scored=0), "arms": (), "scenarios": (), "comparisons": (),
        "excluded": (), "judge_usd": 0.0, "warnings": (), "estimate": FREE,
    }  # fmt: skip
    return Report.model_validate({**defaults, **given})


def make_model(**given: Any) -> ModelInfo:
    """A model whose five prices, in USD per million tokens, are 1, 10, 0.1, 2 and 4."""
    price = ModelPrice(input=1.0, output=10.0, cache_read=0.1, cache_write_5m=2.0, cache_write_1h=4.0, date=DAY,
                  source="a price list")  # fmt: skip
    return ModelInfo.model_validate(
        {"id": "m", "provider": "anthropic", "context_tokens": 1000, "price": price, **given}
    )
