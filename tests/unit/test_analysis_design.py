import pytest

from scylla_gha.analysis.design import (
    USUAL_BASIS,
    Price,
    Wanted,
    can_show,
    lacking,
    pair_variances,
    power,
    price_of,
    smallest_effect,
)
from scylla_gha.model.design import Power
from tests.support.frames import fault, frame, row, table


def made(effect: float = 0.1, arms: int = 2, scenarios: int = 47, price: Price | None = None) -> Power:
    return power(Wanted("demo", arms, scenarios, 5, effect), (), price or Price(), USUAL_BASIS)


@pytest.mark.parametrize(
    ("scenarios", "repetitions", "points"),
    [(10, 5, 31.5), (20, 5, 20.9), (47, 1, 25.3), (47, 3, 15.9), (47, 10, 10.8), (100, 5, 8.9), (200, 5, 6.3)],
)
def test_the_usual_variances_give_the_table_of_the_literature(scenarios: int, repetitions: int, points: float) -> None:
    (one,) = [each for each in made().designs if (each.scenarios, each.repetitions) == (scenarios, repetitions)]
    assert one.smallest_effect == pytest.approx(points / 100, abs=0.0006)


def test_five_scenarios_see_nothing_whatever_a_t_test_would_say() -> None:
    assert {one.smallest_effect for one in made().designs if one.scenarios == 5} == {None}
    assert not can_show(5, 1)
    assert can_show(6, 1)
    assert "it takes 6 scenarios" in lacking(5, 1)


def test_more_comparisons_than_draws_can_tell() -> None:
    assert can_show(47, 113)
    assert not can_show(47, 501)
    assert "compare fewer arms" in lacking(47, 501)


def test_what_is_above_a_hundred_points_is_no_effect() -> None:
    assert smallest_effect(4.0, 6, 1) is None
    assert smallest_effect(0.0, 6, 1) == 0.0


def test_the_cheapest_design_that_sees_it_is_marked() -> None:
    found = made(effect=0.2, price=Price(usd=2.0, minutes=0.5))
    assert found.cheapest is not None
    assert found.cheapest.usd == min(one.usd or 0 for one in found.designs if one.sees)
    assert (found.cheapest.smallest_effect or 1) <= 0.2
    assert found.cheapest.usd == 2.0 * found.cheapest.scenarios * found.cheapest.repetitions
    assert found.cheapest.trials == 2 * found.cheapest.scenarios * found.cheapest.repetitions
    assert made(effect=0.001).cheapest is None


def test_without_a_price_there_are_no_dollars() -> None:
    assert {(one.usd, one.minutes) for one in made().designs} == {(None, None)}


@pytest.mark.parametrize(
    ("scenarios", "effect", "said"),
    [
        (5, 0.1, "the 5 scenarios at hand can show no effect: with 5 scenarios"),
        (20, 0.1, "the 20 scenarios at hand cannot show 10 points, however often they are repeated"),
        (100, 0.1, "the 100 scenarios at hand show 10 points with 4 repetitions"),
    ],
)
def test_it_says_what_the_scenarios_at_hand_can_do(scenarios: int, effect: float, said: str) -> None:
    assert made(effect, scenarios=scenarios).at_hand.startswith(said)


def test_variances_are_those_of_each_pair() -> None:
    rows = table({"base": ["PPFF", "PPPF", "FFFF"], "arm": ["PPPP", "PFPF", "FFFP"], "once": ["P", "P", "F"]})
    (one,) = pair_variances(frame(rows), "base")
    assert (one.arm, one.scenarios) == ("arm", 3)
    assert one.within == pytest.approx((0 + 1 + 0.75) / 9)
    assert one.within_baseline == pytest.approx((1 + 0.75 + 0) / 9)
    assert one.between >= 0
    assert pair_variances(frame(rows), "nobody") == ()


def test_of_several_arms_the_hardest_to_tell_decides() -> None:
    rows = table({"base": ["PPPP", "FFFF"] * 4, "calm": ["PPPP", "FFFP"] * 4, "wild": ["PFPF", "FPFP"] * 4})
    found = pair_variances(frame(rows), "base")
    both, wild = (power(Wanted("demo", 3, 20, 5, 0.1), some, Price(), "") for some in (found, found[1:]))
    assert found[1].arm == "wild"
    assert both.designs == wild.designs


def test_costs_are_of_a_repetition_by_all_arms_and_unknown_is_unknown() -> None:
    rows = [
        row("a", "001-a", 1, usd=1.0, judge_usd=0.5, seconds=60.0),
        row("a", "001-a", 2, usd=2.0, judge_usd=0.5, seconds=120.0),
        row("b", "001-a", 1, usd=4.0, judge_usd=0.0, seconds=30.0),
        fault("b", "001-a", 2),
    ]
    found = price_of(frame(rows), ("a", "b"))
    assert (found.usd, found.minutes) == (pytest.approx(2.0 + 4.0), pytest.approx(1.5 + 0.5))
    unknown = price_of(frame([*rows, row("b", "002-b", 1, usd=None)]), ("a", "b"))
    assert unknown.usd is None
    assert unknown.minutes is not None
    assert price_of(frame(rows), ("a", "c")) == Price()
