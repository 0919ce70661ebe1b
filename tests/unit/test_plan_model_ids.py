"""Experiments that name models by an alias."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.variant import Treatment
from scylla_gha.plan.budget import refuse_above_budget
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.checks import alias_notes, require_known_models, with_model_ids
from scylla_gha.plan.selection import CellSelection
from tests.support.agents import cli_agent
from tests.support.library import write_model, write_scenario, write_tier
from tests.support.records import make_experiment, make_model

SONNET, HAIKU = "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"
AGENT = {"claude-code": cli_agent("2.1.197")}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for model in (SONNET, HAIKU):
        write_model(tmp_path, make_model(id=model))
    write_scenario(tmp_path)
    write_tier(tmp_path, empty=Treatment())
    return Library((tmp_path,))


def experiment(**fields: Any) -> Any:
    names = {"agents": ("claude-code",), "models": ("claude-sonnet-4-5",), "variants": ("T0/*",)}
    return make_experiment(**{**names, "baseline": "t0-00-empty.claude-code.claude-sonnet-4-5", **fields})


def test_arms_and_baseline_have_the_id_that_an_alias_stands_for(library: Library) -> None:
    plan = plan_cells(experiment(judges=("claude-haiku-4-5", SONNET)), library, AGENT)
    assert {arm.model for arm in plan.arms} == {SONNET}
    assert all(arm.id.endswith(f".{SONNET}") for arm in plan.arms)
    assert plan.experiment.baseline in {arm.id for arm in plan.arms}
    assert plan.experiment.judges == (HAIKU, SONNET)


@pytest.mark.parametrize("name", ["claude-haiku-4-5", "us.anthropic.claude-haiku-4-5-20251001-v1:0", HAIKU])
def test_a_model_of_the_command_line_is_resolved_too_and_its_keys_are_the_same(library: Library, name: str) -> None:
    chosen = plan_cells(experiment(), library, AGENT, CellSelection(models=(name,)))
    by_id = plan_cells(experiment(models=(HAIKU,), baseline=f"t0-00-empty.claude-code.{HAIKU}"), library, AGENT)
    assert [cell.key for cell in chosen.cells] == [cell.key for cell in by_id.cells]


def test_the_alias_is_shown_with_its_id(library: Library) -> None:
    notes = list(alias_notes(experiment(judges=(HAIKU, SONNET)), library))
    assert notes == [f"claude-sonnet-4-5: stands for {SONNET}; requests, keys, prices and records use that id"]


def test_two_names_of_one_judge_are_refused(library: Library) -> None:
    with pytest.raises(ConfigError, match=f"judges: claude-sonnet-4-5 and {SONNET} are the same model, {SONNET}; name"):
        with_model_ids(experiment(judges=("claude-sonnet-4-5", SONNET)), library)


@pytest.mark.parametrize("name", ["claude-sonet-4-5", "sonnet", "us.anthropic.claude-sonnet-4-5-20990101-v1:0"])
def test_a_model_that_is_not_known_is_named_with_the_nearest_ones(library: Library, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        require_known_models([name], library.models(), "--model")
    assert str(caught.value).startswith(
        f"--model: the model {name!r} is in neither config/models/ nor the anthropic SDK"
    )
    assert "the nearest are " in str(caught.value)
    assert "claude-sonnet-" in str(caught.value).partition("the nearest are ")[2]


def test_a_budget_that_cannot_be_kept_names_the_models_without_a_price(library: Library, tmp_path: Path) -> None:
    write_model(tmp_path, make_model(id=HAIKU, price=None))
    plan = plan_cells(experiment(models=("claude-haiku-4-5",), budget_usd=1.0,
                                 baseline="t0-00-empty.claude-code.claude-haiku-4-5"), library, AGENT)  # fmt: skip
    with pytest.raises(RefusedError, match=f"the price of {HAIKU} is unknown"):
        refuse_above_budget(plan)
