"""Costs of a plan, and what of models and money stands in its keys."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.analysis import has_statistics
from scylla_gha.config.library import Library
from scylla_gha.config.model_names import sdk_models
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.plan import CostRange, EstimateShare, Plan
from scylla_gha.model.variant import SystemPrompt, Treatment
from scylla_gha.plan.budget import refuse_above_budget
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.checks import model_notes, power_notes, reject_impossible_gate, require_statistics
from scylla_gha.plan.selection import CellSelection
from scylla_gha.store import write_lines
from scylla_gha.store.run_folder import RunFolder
from tests.support.agents import BUILT_IN, cli_agent
from tests.support.frames import table
from tests.support.library import write_model, write_prices, write_scenario, write_tier
from tests.support.records import FREE, make_cell, make_experiment, make_model, make_model_arm, make_plan

SOLD = "claude-opus-5"  # an id that the SDK knows


TODAY = datetime.date(2026, 11, 22)


def plan_with(model: str, **experiment: Any) -> Plan:
    arm = make_model_arm(model=model)
    return make_plan(make_cell(arm.id), arms=(arm,), experiment=make_experiment(**experiment))


def notes(root: Path, made: Plan) -> tuple[str, ...]:
    return model_notes(made, Library((root,)), TODAY)


def test_without_models_nothing_is_noted_nor_looked_up(tmp_path: Path) -> None:
    sdk_models.cache_clear()
    assert notes(tmp_path, make_plan()) == ()
    assert sdk_models.cache_info().currsize == 0


def test_a_trials_budget_that_buys_fewer_than_three_requests_is_noted(tmp_path: Path) -> None:
    write_model(tmp_path, make_model(id=SOLD, provider="anthropic"))
    assert notes(tmp_path, plan_with(SOLD, limits={"usd": 100.0})) == ()
    (note,) = notes(tmp_path, plan_with(SOLD, limits={"usd": 0.5}))
    assert note.startswith(f"{SOLD}: a request may cost up to $")
    assert "limits.usd of $0.50 buys fewer than three" in note


@pytest.mark.parametrize(
    ("model", "note"),
    [
        ({"id": SOLD}, None),
        ({"id": "claude-opus-6"}, "claude-opus-6: is not in the anthropic SDK's list of models; check the id"),
        ({"id": SOLD, "price": None}, f"{SOLD}: has no known price, so its cost is unknown"),
        ({"id": SOLD, "retires": datetime.date(2026, 11, 30)},
         f"{SOLD}: retires on 2026-11-30; its measurements cannot be repeated after that day"),
        ({"id": SOLD, "retires": TODAY}, f"{SOLD}: retires on 2026-11-22; its measurements cannot be repeated"),
        ({"id": SOLD, "retires": datetime.date(2026, 11, 21)}, f"{SOLD}: was retired on 2026-11-21; requests to it"),
        ({"id": SOLD, "retires": datetime.date(2027, 1, 1)}, None),
    ],
)  # fmt: skip
def test_what_is_to_be_known_of_a_model_is_noted(tmp_path: Path, model: dict[str, Any], note: str | None) -> None:
    write_model(tmp_path, make_model(**{"provider": "anthropic", **model}))
    found = notes(tmp_path, plan_with(model["id"]))
    assert len(found) == (note is not None)
    assert all(note is not None and each.startswith(note) for each in found)


def test_a_model_that_only_the_sdk_knows_has_an_unknown_cost(tmp_path: Path) -> None:
    assert notes(tmp_path, plan_with(SOLD)) == (f"{SOLD}: has no file in config/models/, so its cost is unknown",)


@pytest.mark.parametrize("where", ["agent", "judge"])
def test_a_model_that_nobody_knows_is_refused_with_a_hint(tmp_path: Path, where: str) -> None:
    write_model(tmp_path, make_model(id=SOLD))
    wrong = "claude-opuss-5"
    made = plan_with(wrong) if where == "agent" else plan_with(SOLD, judges=(SOLD, wrong))
    with pytest.raises(ConfigError) as caught:
        notes(tmp_path, made)
    assert str(caught.value).startswith("experiment demo: the model 'claude-opuss-5' is in neither config/models/ nor ")
    assert "; the nearest are claude-opus-5, " in str(caught.value)


def test_under_a_price_list_the_notes_are_of_its_prices(tmp_path: Path) -> None:
    for name in (SOLD, "claude-sonnet-5"):
        write_model(tmp_path, make_model(id=name, provider="anthropic"))
    write_prices(tmp_path, "then", SOLD)
    made = plan_with(SOLD, judges=(SOLD, "claude-sonnet-5"), prices="then")
    assert notes(tmp_path, made) == (
        f"{SOLD}: has no known cache price, so the cost of requests that use the cache is unknown",
        "claude-sonnet-5: has no known price, so its cost is unknown",
    )


WHOLE = CellSelection()


def planned(scenarios: int = 12, **given: object) -> Plan:
    cells = [make_cell(arm, at, f"{number:03d}-s") for arm in ("nop", "oracle") for number in range(scenarios)
             for at in (1, 2, 3)]  # fmt: skip
    return make_plan(*cells, experiment=make_experiment(**given))


def test_the_usual_variances_stand_in_where_no_rows_are(tmp_path: Path) -> None:
    (note,) = power_notes(planned(), RunFolder(tmp_path))
    assert "by typical variation, because" in note


def test_rows_of_the_same_run_are_the_pilot(tmp_path: Path) -> None:
    write_lines(tmp_path / "results.jsonl", table({"nop": ["FFF"] * 11 + ["FFP"], "oracle": ["PPP"] * 12}))
    (note,) = power_notes(planned(), RunFolder(tmp_path))
    assert note.endswith("by the variances of stored rows)")


@pytest.mark.parametrize("content", ["", '{"schema_version": 0}\n'])
def test_rows_that_are_no_help_are_no_hindrance(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.jsonl").write_text(content)
    assert "by typical variation" in power_notes(planned(), RunFolder(tmp_path))[0]


def test_a_gate_that_nothing_can_pass_is_refused_with_what_it_takes(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"oracle can never pass it: .* needs at least 6 scenarios") as caught:
        reject_impossible_gate(planned(5, gate="better"), RunFolder(tmp_path), WHOLE)
    assert caught.value.exit_code == 6
    reject_impossible_gate(planned(6, gate="better"), RunFolder(tmp_path), WHOLE)
    reject_impossible_gate(planned(1), RunFolder(tmp_path), WHOLE)
    reject_impossible_gate(planned(5, gate="better"), RunFolder(tmp_path), CellSelection(only=("*",)))


def test_a_pilot_that_hardly_varies_makes_a_gate_possible(tmp_path: Path) -> None:
    plan, folder = planned(60, gate="not_worse", margin=0.05), RunFolder(tmp_path)
    with pytest.raises(RefusedError, match=r"it passes with a chance of only \d %"):
        reject_impossible_gate(planned(gate="not_worse", margin=0.02), folder, WHOLE)
    write_lines(folder.results, table({"nop": ["FFF"] * 12, "oracle": ["FFF"] * 12}))
    reject_impossible_gate(plan, folder, WHOLE)


def test_the_statistics_are_here() -> None:
    assert has_statistics()
    require_statistics()


@pytest.mark.parametrize(
    ("budgets", "agents", "judges", "fault"),
    [
        ({"budget_usd": 1.0}, 1.01, 0.0, "the likely cost, $1.01, is above the budget of $1.00; plan fewer cells"),
        ({"budget_usd": 1.0}, None, 0.0,
         "the cost cannot be estimated (the price of a model is unknown), so budget_usd cannot be enforced"),
        ({"budget_usd": 1.0}, 0.6, 0.6, "the likely cost, $1.20, is above the budget of $1.00"),
        ({"budget_usd": 1.0}, 1.0, 0.0, None),
        ({"budget_usd": 1.0}, 0.0, 0.0, None),
        ({}, 1e9, 0.0, None),
        ({}, None, 0.0, None),
        ({"role_budget_usd": {"agent": 1.0}}, 1.5, 0.0,
         "the likely cost of the agents, $1.50, is above the budget of $1.00"),
        ({"role_budget_usd": {"judge": 1.0}}, 0.0, 1.5,
         "the likely cost of the judges, $1.50, is above the budget of $1.00; plan fewer cells"),
        ({"role_budget_usd": {"judge": 1.0}}, 0.0, None,
         "the cost of the judges cannot be estimated (the price of a model is unknown), so role_budget"),
        ({"role_budget_usd": {"judge": 1.0}}, 9.0, 1.0, None),
        ({"role_budget_usd": {"agent": 1.0}}, 1.0, 9.0, None),
    ],
)  # fmt: skip
def test_a_plan_is_refused_if_a_likely_cost_is_above_its_budget_or_unknown(
    budgets: dict[str, Any], agents: float | None, judges: float | None, fault: str | None
) -> None:
    shares = [
        EstimateShare(usd=CostRange(low=usd, likely=usd, high=usd), minutes=FREE.minutes) for usd in (agents, judges)
    ]
    estimate = FREE.model_copy(update={"agents": shares[0], "judges": shares[1]})
    plan = make_plan(experiment=make_experiment(**budgets), estimate=estimate)
    if fault is None:
        refuse_above_budget(plan)
        return
    with pytest.raises(RefusedError) as caught:
        refuse_above_budget(plan)
    assert fault in str(caught.value)
    assert caught.value.exit_code == 6


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """With the model `m`, and two lists of prices for it."""
    write_scenario(tmp_path)
    write_tier(tmp_path, bare=Treatment(system_prompt=SystemPrompt(replace="")))
    write_model(tmp_path, make_model())
    for name in ("then", "now"):
        write_prices(tmp_path, name, "m", cache="1000.0")
    return Library((tmp_path,))


def planned_with(library: Library, **given: Any) -> Plan:
    fields = {"agents": ("cli", "nop"), "variants": ("T0/*",), "models": ("m",), "baseline": "nop", **given}
    agents = {"cli": cli_agent("2.0"), "nop": BUILT_IN}
    return plan_cells(make_experiment(**fields), library, agents)


def keys(library: Library, **given: Any) -> dict[str, str]:
    return {cell.arm: cell.key for cell in planned_with(library, **given).cells}


CLI = "t0-00-bare.cli.m"


@pytest.mark.parametrize(
    "given",
    [
        {"model_settings": {"agent": {"temperature": 0.0}}},
        {"model_settings": {"agent": {"temperature": 0.5}}},
        {"model_settings": {"agent": {"max_tokens": 8192}}},
        {"prices": "then"},
        {"prices": "now"},
    ],
)
def test_settings_and_prices_are_in_the_keys_of_those_who_use_a_model(library: Library, given: dict[str, Any]) -> None:
    before, after = keys(library), keys(library, **given)
    assert before[CLI] != after[CLI]
    assert before["nop"] == after["nop"]


@pytest.mark.parametrize(
    "given",
    [{"model_settings": {"judge": {"temperature": 0.0}}}, {"role_budget_usd": {"agent": 1.0}}, {"judges": ("m", "n")}],
)
def test_what_is_of_judges_and_budgets_is_in_no_trials_key(library: Library, given: dict[str, Any]) -> None:
    assert keys(library, **given) == keys(library)


def test_an_experiment_is_estimated_at_the_prices_that_it_names(library: Library) -> None:
    own, then = planned_with(library).estimate.usd.likely, planned_with(library, prices="then").estimate.usd.likely
    assert own is not None
    assert then is not None
    assert then > 100 * own


def test_a_price_list_that_is_not_there_is_named(library: Library) -> None:
    with pytest.raises(ConfigError, match=r"price list 'them': not found in config/prices/ .*did you mean \"then\"\?"):
        planned_with(library, prices="them")


def test_a_model_of_a_provider_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path, make_model(id="gpt", provider="antropic"))
    with pytest.raises(
        ConfigError, match=r'gpt has the provider \'antropic\'; did you mean "anthropic"\?; there are: an'
    ):
        notes(tmp_path, plan_with("gpt"))
