"""What a plan may cost, and what of models and money stands in its keys."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.plan import CostRange, EstimateShare, Plan
from scylla_gha.model.variant import SystemPrompt, Treatment
from scylla_gha.plan.budget import refuse_above_budget
from scylla_gha.plan.cells import AgentInfo, plan_cells
from tests.support.library import write_model, write_prices, write_scenario, write_tier
from tests.support.records import FREE, make_experiment, make_model, make_plan


def with_budget(budget: float | None, likely: float | None) -> Plan:
    usd = CostRange(low=None if likely is None else 0.0, likely=likely, high=None if likely is None else 99.0)
    guess = FREE.model_copy(update={"agents": EstimateShare(usd=usd, minutes=FREE.minutes)})
    return make_plan(experiment=make_experiment(budget_usd=budget), estimate=guess)


@pytest.mark.parametrize(
    ("budget", "likely", "expected"),
    [
        (1.0, 1.01, "the likely cost, $1.01, is above the budget of $1.00; plan fewer cells"),
        (1.0, None, "the cost cannot be estimated (a model's price is unknown), so budget_usd cannot be kept"),
    ],
)
def test_a_plan_above_its_budget_is_refused(budget: float, likely: float | None, expected: str) -> None:
    with pytest.raises(RefusedError) as caught:
        refuse_above_budget(with_budget(budget, likely))
    assert expected in str(caught.value)
    assert caught.value.exit_code == 6


@pytest.mark.parametrize(
    ("role", "agents", "judges", "expected"),
    [
        ("agent", 1.5, 0.0, "the likely cost of the agents, $1.50, is above the budget of $1.00"),
        ("judge", 0.0, 1.5, "the likely cost of the judges, $1.50, is above the budget of $1.00; plan fewer cells"),
        ("judge", 0.0, None, "the cost of the judges cannot be estimated (a model's price is unknown), so role_budget"),
        ("judge", 9.0, 1.0, None),
        ("agent", 1.0, 9.0, None),
    ],
)
def test_the_budgets_of_roles_are_for_their_own_costs(
    role: str, agents: float, judges: float | None, expected: str | None
) -> None:
    shares = [
        EstimateShare(usd=CostRange(low=usd, likely=usd, high=usd), minutes=FREE.minutes) for usd in (agents, judges)
    ]
    guess = FREE.model_copy(update={"agents": shares[0], "judges": shares[1]})
    made = make_plan(experiment=make_experiment(role_budget_usd={role: 1.0}), estimate=guess)
    if expected is None:
        refuse_above_budget(made)
        return
    with pytest.raises(RefusedError) as caught:
        refuse_above_budget(made)
    assert expected in str(caught.value)


def test_agents_and_judges_count_together_for_the_experiment() -> None:
    share = EstimateShare(usd=CostRange(low=0.6, likely=0.6, high=0.6), minutes=FREE.minutes)
    guess = FREE.model_copy(update={"agents": share, "judges": share})
    with pytest.raises(RefusedError, match=r"the likely cost, \$1\.20, is above the budget of \$1\.00"):
        refuse_above_budget(make_plan(experiment=make_experiment(budget_usd=1.0), estimate=guess))


@pytest.mark.parametrize(("budget", "likely"), [(1.0, 1.0), (1.0, 0.0), (None, 1e9), (None, None)])
def test_a_plan_within_its_budget_is_not_refused(budget: float | None, likely: float | None) -> None:
    refused = False
    try:
        refuse_above_budget(with_budget(budget, likely))
    except RefusedError:
        refused = True
    assert not refused


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """With the model `m`, and two lists of prices for it."""
    write_scenario(tmp_path)
    write_tier(tmp_path, bare=Treatment(system_prompt=SystemPrompt(replace="")))
    write_model(tmp_path, make_model())
    for name in ("then", "now"):
        write_prices(tmp_path, name, "m", cache="1000.0")
    return Library((tmp_path,))


def planned(library: Library, **given: Any) -> Plan:
    fields = {"agents": ("cli", "nop"), "variants": ("T0/*",), "models": ("m",), "baseline": "nop", **given}
    agents = {"cli": AgentInfo("2.0", uses_model=True), "nop": AgentInfo("1", uses_model=False)}
    return plan_cells(make_experiment(**fields), library, agents)


def keys(library: Library, **given: Any) -> dict[str, str]:
    return {cell.arm: cell.key for cell in planned(library, **given).cells}


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
    own, then = planned(library).estimate.usd.likely, planned(library, prices="then").estimate.usd.likely
    assert own is not None
    assert then is not None
    assert then > 100 * own


def test_a_price_list_that_is_not_there_is_named(library: Library) -> None:
    with pytest.raises(ConfigError, match=r"price list 'them': not found in config/prices/ .*did you mean \"then\"\?"):
        planned(library, prices="them")
