import datetime
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.installed_packages import sdk_models
from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.plan.notes import model_notes
from tests.support.library import write_model, write_prices
from tests.support.records import make_cell, make_experiment, make_model, make_model_arm, make_plan

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
    assert "limits.usd of $0.5 buys fewer than three" in note


def test_a_model_that_all_know_needs_no_note(tmp_path: Path) -> None:
    write_model(tmp_path, make_model(id=SOLD, provider="anthropic"))
    assert notes(tmp_path, plan_with(SOLD)) == ()


@pytest.mark.parametrize(
    ("model", "note"),
    [
        ({"id": "claude-opus-6"}, "claude-opus-6: is not in the anthropic SDK's list of models; check the id"),
        ({"id": "gpt", "provider": "another"}, None),
        ({"id": SOLD, "price": None}, f"{SOLD}: has no known price, so its cost is unknown"),
        ({"id": SOLD, "retires": datetime.date(2026, 11, 30)},
         f"{SOLD}: retires on 2026-11-30; what is measured with it cannot be measured again later"),
        ({"id": SOLD, "retires": TODAY}, f"{SOLD}: retires on 2026-11-22; what is measured with it cannot be measured"),
        ({"id": SOLD, "retires": datetime.date(2026, 11, 21)}, f"{SOLD}: is retired since 2026-11-21; requests to it"),
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
    assert "experiment demo: there is no model 'claude-opuss-5'; did you mean \"claude-opus-5\"?" in str(caught.value)


def test_under_a_price_list_the_notes_are_of_its_prices(tmp_path: Path) -> None:
    for name in (SOLD, "claude-sonnet-5"):
        write_model(tmp_path, make_model(id=name, provider="anthropic"))
    write_prices(tmp_path, "then", SOLD)
    made = plan_with(SOLD, judges=(SOLD, "claude-sonnet-5"), prices="then")
    assert notes(tmp_path, made) == (
        f"{SOLD}: has no known price of the cache, so the cost of what uses it is unknown",
        "claude-sonnet-5: has no known price, so its cost is unknown",
    )
