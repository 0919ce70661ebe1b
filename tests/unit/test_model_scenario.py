from typing import Any

import pytest

from scylla_gha.model.scenario import DiffCondition, Validation, size_of
from tests.support.records import make_category, make_checkpoint, make_item, make_rubric, make_scenario

SHA = "0123456789abcdef0123456789abcdef01234567"

ONE_KIND = "give exactly one of run, file, changes, answer, uses, github, git and unchanged"


@pytest.mark.parametrize(
    ("lines", "size"),
    [(0, "small"), (99, "small"), (100, "medium"), (499, "medium"), (500, "large"), (5000, "large")],
)
def test_size_follows_the_bounds_of_the_paper(lines: int, size: str) -> None:
    assert size_of(lines) == size


@pytest.mark.parametrize(
    "given",
    [
        {"run": "true", "exit": 3, "stdout": ""},
        {"run": "true", "graduated": True, "guard": True},
        {"file": "a", "absent": True},
        {"changes": DiffCondition(only=("src/**",), max_files=1)},
    ],
)
def test_checkpoint_is_required_unless_it_says_otherwise(given: dict[str, Any]) -> None:
    assert make_checkpoint(**given).required


def test_what_a_scenario_need_not_say() -> None:
    scenario, checkpoint = make_scenario(title="x"), make_checkpoint()
    assert (scenario.runs_per_tier, scenario.progress[0].weight) == (10, 1.0)
    assert (checkpoint.required, checkpoint.guard, checkpoint.exit) == (True, False, 0)
    assert Validation(rubric_file="r").timeout_seconds == 60


def test_items_come_in_the_order_of_the_categories() -> None:
    first = make_category(make_item(id="Q2"), make_item(id="Q1"), id="q", weight=0.5)
    second = make_category(make_item(id="A1"), id="a", weight=0.5)
    assert [item.id for item in make_rubric(first, second).items] == ["Q2", "Q1", "A1"]


def test_a_trial_passes_at_grade_b_unless_the_rubric_says_otherwise() -> None:
    assert make_rubric().pass_threshold == 0.60
