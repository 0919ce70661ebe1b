import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.concordance import average_ranks, kendall_w
from tests.support.numbers import FIXED

TABLES = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(st.integers(0, 5), min_size=raters, max_size=raters), min_size=2, max_size=9)
)


@FIXED
@given(TABLES)
def test_ranks_are_those_of_scipy(table: list[list[int]]) -> None:
    assert average_ranks(table) == pytest.approx(stats.rankdata(table, axis=0))
    first = [row[0] for row in table]
    assert average_ranks(first) == pytest.approx(stats.rankdata(first))


@FIXED
@given(TABLES.filter(lambda table: any(len(set(column)) > 1 for column in zip(*table, strict=True))))
def test_w_is_friedmans_statistic_over_its_largest(table: list[list[int]]) -> None:
    found = kendall_w(table)
    assert found is not None
    assert -1e-12 <= found <= 1 + 1e-12
    assert kendall_w(table[::-1]) == pytest.approx(found)
    if len(table) > 2:  # friedmanchisquare takes three or more, and treats units as its columns
        statistic = stats.friedmanchisquare(*np.array(table)).statistic
        assert found == pytest.approx(statistic / (len(table[0]) * (len(table) - 1)))


def test_alike_is_one_and_turned_round_is_none() -> None:
    assert kendall_w([[1, 10], [2, 20], [3, 30]]) == 1.0
    assert kendall_w([[1, 3], [2, 2], [3, 1]]) == 0.0


@pytest.mark.parametrize("ratings", [np.empty((0, 3)), [[1, 2]], [[1], [2]], [[1, 1], [1, 1]], [[1, np.nan], [2, 3]]])
def test_too_little_and_no_order_at_all_are_undefined(ratings: list[list[float]]) -> None:
    assert kendall_w(ratings) is None


def test_units_that_not_all_rated_are_left_out() -> None:
    assert kendall_w([[1.0, 1.0], [2.0, 2.0], [9.0, np.nan]]) == 1.0


def test_ranks_of_the_unknown_and_ratings_in_one_dimension_are_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        average_ranks([1, np.nan])
    with pytest.raises(ValueError, match="two dimensions"):
        kendall_w([1, 2, 3])
