import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.pass_k import (
    Average,
    Solved,
    all_table,
    any_table,
    average,
    pass_all_k,
    pass_at_k,
    pass_share_k,
    share_table,
    solved,
)
from tests.support.numbers import FIXED


@FIXED
@given(st.integers(1, 7), st.data())
def test_tables_are_what_drawing_all_subsets_gives(n: int, data: st.DataObject) -> None:
    k, c = data.draw(st.integers(1, n)), data.draw(st.integers(0, n))
    draws = [sum(one < c for one in drawn) for drawn in combinations(range(n), k)]
    assert any_table(n, k)[c] == pytest.approx(sum(hits > 0 for hits in draws) / len(draws))
    assert all_table(n, k)[c] == pytest.approx(sum(hits == k for hits in draws) / len(draws))
    assert share_table(n, k, 0.5)[c] == pytest.approx(sum(hits >= k / 2 for hits in draws) / len(draws))


@FIXED
@given(st.integers(1, 300), st.data())
def test_all_is_no_more_likely_than_one_and_one_no_more_than_any(n: int, data: st.DataObject) -> None:
    k, c = data.draw(st.integers(1, n)), data.draw(st.integers(0, n))
    every, some = float(pass_all_k(n, c, k)), float(pass_at_k(n, c, k))
    assert 0 <= every <= c / n <= some <= 1
    assert every <= float(pass_share_k(n, c, k, 0.5)) <= some
    assert pass_share_k(n, c, k, 1.0) == pass_all_k(n, c, k)
    assert pass_share_k(n, c, k, 1 / k) == pass_at_k(n, c, k)


@FIXED
@given(st.integers(1, 60), st.data())
def test_shares_are_tails_of_the_hypergeometric(n: int, data: st.DataObject) -> None:
    k, c = data.draw(st.integers(1, n)), data.draw(st.integers(0, n))
    share = data.draw(st.sampled_from([0.25, 0.5, 0.75]))
    expected = stats.hypergeom.sf(math.ceil(share * k) - 1, n, c, k)
    assert float(pass_share_k(n, c, k, share)) == pytest.approx(expected, abs=1e-9)


def test_one_try_has_the_rate_of_success_without_any_rounding() -> None:
    assert any_table(10, 1).tolist() == all_table(10, 1).tolist() == [c / 10 for c in range(11)]


def test_a_share_that_is_a_whole_number_but_for_rounding_is_that_number() -> None:
    assert 0.07 * 100 > 7
    assert share_table(100, 100, 0.07)[7] == 1.0


def test_groups_of_all_sizes_are_looked_up_together_and_too_small_ones_are_unknown() -> None:
    found = pass_at_k([[5, 2], [3, 0]], [[1, 2], [0, 0]], 3)
    assert found == pytest.approx(np.array([[0.6, np.nan], [0.0, np.nan]]), nan_ok=True)


def test_unknown_groups_are_counted_and_not_averaged() -> None:
    assert average(pass_at_k([4, 4, 2], [4, 0, 2], 4)) == Average(0.5, 2, 3)
    assert average(pass_at_k([2], [2], 4)) == Average(None, 0, 1)
    assert average([]) == Average(None, 0, 0)


@pytest.mark.parametrize(("n", "c"), [(3, 4), (3, -1), (2.5, 1), (3, 0.5)])
def test_what_is_no_count_is_refused(n: float, c: float) -> None:
    with pytest.raises(ValueError, match="whole numbers with 0 <= c <= n"):
        pass_at_k(n, c, 1)


def test_no_try_and_a_share_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="k must be at least 1 and n at least 0, not 0 and 3"):
        pass_at_k(3, 1, 0)
    for share in (0.0, 1.5):
        with pytest.raises(ValueError, match="share must be above 0 and at most 1"):
            pass_share_k(3, 1, 2, share)


def test_nobody_can_write_into_a_table_that_others_share() -> None:
    with pytest.raises(ValueError, match="read-only"):
        any_table(4, 2)[0] = 1.0


def test_solved_ever_and_always_leave_out_what_was_never_tried() -> None:
    assert solved([3, 3, 3, 3, 0], [0, 1, 2, 3, 0]) == Solved(0.75, 0.25, 4)
    assert solved([], []) == solved(0, 0) == Solved(None, None, 0)
