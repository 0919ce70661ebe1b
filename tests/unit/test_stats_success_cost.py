import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.proportion import cost_per_success
from scylla_gha.stats.success_cost import (
    macro_success_cost_interval,
    rate_variance_floor,
    success_cost,
    success_cost_interval,
)
from tests.support.numbers import FIXED, known

COST, WON = [0.5, 0.7, 0.4, 0.9, 1.0], [1, 0, 1, 1, 1]


def attempts() -> st.SearchStrategy[list[tuple[float, int]]]:
    return st.lists(st.tuples(st.integers(1, 80).map(lambda i: i / 16), st.integers(0, 1)), min_size=2, max_size=12)


@FIXED
@given(attempts(), st.sampled_from([0.25, 3.0]))
def test_costs_times_a_factor_are_the_cost_of_a_success_times_it(pairs: list[tuple[float, int]], by: float) -> None:
    cost, won = ([float(v) for v in column] for column in zip(*pairs, strict=True))
    more = [by * c for c in cost]
    one, other = success_cost_interval(cost, won), success_cost_interval(more, won)
    assert one is not None
    assert other is not None
    if one.status == "infinite":
        assert success_cost(cost, won) is success_cost(more, won) is None
        assert other.low == pytest.approx(by * (one.low or 0))
        return
    assert success_cost(more, won) == pytest.approx(by * (success_cost(cost, won) or 0))
    assert known(other) == pytest.approx(tuple(by * limit for limit in known(one)))
    low, estimate, high = known(one)
    assert low < estimate < high
    assert known(success_cost_interval(cost[::-1], won[::-1])) == pytest.approx((low, estimate, high))


def test_never_to_have_failed_is_no_certainty() -> None:
    low, estimate, high = known(success_cost_interval([1.0] * 5, [1] * 5))
    assert estimate == 1
    assert low < 0.72
    assert high > 1.35
    floor = rate_variance_floor(5, 5)
    assert floor == pytest.approx((5.5 / 6) * (0.5 / 6) / 5)
    assert rate_variance_floor(0, 5) == pytest.approx(floor)


def test_without_a_success_it_is_infinite_with_a_lower_limit() -> None:
    found = success_cost_interval([2.0] * 5, [0] * 5)
    assert found is not None
    assert (found.estimate, found.high, found.status) == (None, None, "infinite")
    assert found.low == pytest.approx(2 / (1 - 0.05 ** (1 / 5)))
    assert success_cost_interval([0.0], [0]) is not None
    assert success_cost([2.0], [0]) is None


def test_without_a_success_clusters_count_and_not_attempts() -> None:
    one = macro_success_cost_interval([2.0] * 12, [0] * 12, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    alone = success_cost_interval([2.0] * 12, [0] * 12)
    assert one is not None
    assert alone is not None
    assert one.n == 3
    assert (one.low or 0) < (alone.low or 0)
    assert one.low == pytest.approx(2 / (1 - 0.05 ** (1 / 3)))


def test_nothing_is_unknown_and_one_attempt_is_a_point() -> None:
    assert success_cost([], []) is success_cost_interval([], []) is macro_success_cost_interval([], [], []) is None
    one = success_cost_interval([2.0], [1])
    assert one is not None
    assert (one.estimate, one.low, one.status) == (2, None, "point")
    free = success_cost_interval([0.0, 0.0], [1, 0])
    assert free is not None
    assert (free.estimate, free.status) == (0, "point")


def test_equal_clusters_give_the_pooled_cost() -> None:
    cost, won, labels = COST * 2, [*WON, 0, 0, 1, 0, 1], [0] * 5 + [1] * 5
    low, estimate, high = known(macro_success_cost_interval(cost, won, labels))
    assert estimate == pytest.approx(success_cost(cost, won)) == pytest.approx(cost_per_success(sum(cost), sum(won)))
    assert low < estimate < high


def test_one_cluster_is_its_own_population() -> None:
    assert macro_success_cost_interval(COST, WON, ["only"] * 5) == success_cost_interval(COST, WON)


def test_clusters_of_one_are_plain_attempts() -> None:
    one, other = macro_success_cost_interval(COST, WON, range(5)), success_cost_interval(COST, WON)
    assert known(one) == pytest.approx(known(other))


@pytest.mark.parametrize(("cost", "won"), [([-1.0], [1]), ([1.0], [0.5]), ([1.0], [1, 0]), ([float("nan")], [1])])
def test_what_is_no_attempt_is_refused(cost: list[float], won: list[float]) -> None:
    with pytest.raises(ValueError, match=r"below 0|pairs|NaN"):
        success_cost(cost, won)
