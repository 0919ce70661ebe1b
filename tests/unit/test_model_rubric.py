from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.records import make_category, make_item, make_rubric


def test_items_come_in_the_order_of_the_categories() -> None:
    first = make_category(make_item(id="Q2"), make_item(id="Q1"), id="q", weight=0.5)
    second = make_category(make_item(id="A1"), id="a", weight=0.5)
    assert [item.id for item in make_rubric(first, second).items] == ["Q2", "Q1", "A1"]


def test_a_trial_passes_at_grade_b_unless_the_rubric_says_otherwise() -> None:
    assert make_rubric().pass_threshold == 0.60


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"id": "f1"}, "id"),
        ({"id": "FF1"}, "id"),
        ({"id": "F"}, "id"),
        ({"points": 0.0}, "points"),
        ({"type": "boolean"}, "type"),
        ({"text": ""}, "text"),
    ],
)
def test_item_refuses(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        make_item(**given)


@pytest.mark.parametrize("weight", [0.0, -0.1, 1.1])
def test_category_weight_is_a_share(weight: float) -> None:
    with pytest.raises(ValidationError, match="weight"):
        make_category(weight=weight)


def test_category_has_items() -> None:
    with pytest.raises(ValidationError, match="items"):
        make_category(items=())


@pytest.mark.parametrize("threshold", [0.0, 1.01])
def test_threshold_that_all_or_none_would_reach_is_refused(threshold: float) -> None:
    with pytest.raises(ValidationError, match="pass_threshold"):
        make_rubric(pass_threshold=threshold)
