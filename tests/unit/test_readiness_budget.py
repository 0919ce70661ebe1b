"""Budget of a measurement: a default for each side, and what a smaller one buys."""

import pytest

from scylla_gha.errors import RefusedError
from scylla_gha.model.plan import CostRange
from scylla_gha.readiness.side_budget import SideBudget

SIDES = ("", "names", "docs", "merging", "types")


def cost(likely: float | None) -> CostRange:
    return CostRange(low=likely and likely / 3, likely=likely, high=likely and likely * 3)


def test_the_default_is_a_dollar_a_side_and_a_chosen_budget_holds_for_all() -> None:
    assert SideBudget(None, SIDES, 12).usd == 5
    assert SideBudget(None, ("", "head"), 12).usd == 2
    assert SideBudget(1.5, SIDES, 12).usd == 1.5
    assert SideBudget(None, SIDES, 12).line(cost(1.55)) == (
        "budget $5.00, $1.00 a side; 5 sides (the code, names, docs, merging, types) with up to 12 anchors a "
        "dimension: likely $1.55 (up to $4.65)"
    )
    assert SideBudget(2, ("",), 12).line(cost(None)).endswith("anchors a dimension: of unknown cost")


@pytest.mark.parametrize(
    ("budget", "likely", "advice"),
    [
        (None, 5.01, "above the budget of $5.00; give --budget 5.1, or: --anchors 11 fits"),
        (1.2, 1.55, "give --budget 1.6, or: --anchors 9 fits"),
        (1.0, 15.5, "give --budget 16, or: 8 anchors, the fewest, cost about $11.00; fewer --dimensions cost less"),
        (0.0001, 0.031, "give --budget 0.031, or: 8 anchors, the fewest, cost about $0.02;"),
    ],
)
def test_what_costs_more_is_refused_with_what_the_budget_buys(budget: float | None, likely: float, advice: str) -> None:
    with pytest.raises(RefusedError) as refused:
        SideBudget(budget, SIDES, 12).require(cost(likely))
    assert str(refused.value).startswith("5 sides with up to 12 anchors a dimension: the likely cost, $")
    assert advice in str(refused.value)


@pytest.mark.parametrize("likely", [None, 0.0, 4.99, 5.0])
def test_what_the_budget_covers_is_not_refused(likely: float | None) -> None:
    SideBudget(None, SIDES, 12).require(cost(likely))
    assert SideBudget(None, SIDES, 12).line(cost(likely)).startswith("budget $5.00")
