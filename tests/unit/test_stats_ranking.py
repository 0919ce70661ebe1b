import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.ranking import Stability, best_share, kendall_tau, rank_stability, resampled_means
from scylla_gha.stats.resampling import Resampling
from tests.support.numbers import FIXED

FEW = Resampling(draws=199)
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12)


@FIXED
@given(PAIRS)
def test_tau_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    found = kendall_tau(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(stats.kendalltau(x, y).statistic)
        assert kendall_tau(y, x) == pytest.approx(found)


def test_too_few_have_no_order() -> None:
    assert kendall_tau([], []) is None
    assert kendall_tau([1], [1]) is None


@FIXED
@given(st.integers(0, 1000), st.integers(1, 6), st.integers(1, 9))
def test_means_are_of_what_is_known_and_resamples_centre_on_them(seed: int, candidates: int, units: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((candidates, units)) < 0.2, np.nan, rng.random((candidates, units)))
    plain, drawn = resampled_means(table, FEW)
    for one, row in enumerate(table):
        known = row[~np.isnan(row)]
        if known.size:
            assert plain[one] == pytest.approx(known.mean())
            assert np.nanmin(drawn[one]) >= known.min() - 1e-12
            assert np.nanmax(drawn[one]) <= known.max() + 1e-12
        else:
            assert np.isnan(plain[one])
            assert np.isnan(drawn[one]).all()


def test_equal_candidates_share_the_first_place_though_their_units_come_in_another_order() -> None:
    values = np.random.default_rng(2).random(30)
    assert best_share([values, values], FEW).tolist() == [0.5, 0.5]
    plain, _ = resampled_means([values, values[::-1]], FEW)
    assert plain[0] == plain[1]


@FIXED
@given(st.integers(0, 1000), st.integers(1, 6))
def test_shares_sum_to_one(seed: int, candidates: int) -> None:
    table = np.random.default_rng(seed).random((candidates, 7))
    found = best_share(table, FEW)
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    assert found.tobytes() == best_share(table, FEW).tobytes()
    assert best_share(table[::-1], FEW) == pytest.approx(found[::-1])


def test_a_clear_winner_wins_and_an_unknown_candidate_does_not_take_part() -> None:
    found = best_share([[1.0, 2.0, 3.0], [9.0] * 3, [np.nan] * 3], FEW)
    assert found[:2].tolist() == [0.0, 1.0]
    assert np.isnan(found[2])


@pytest.mark.parametrize("shape", [(0, 3), (0, 0)])
def test_nobody_wins_among_none(shape: tuple[int, int]) -> None:
    assert best_share(np.empty(shape), FEW).tolist() == []
    assert rank_stability(np.empty(shape), FEW) is None


def test_without_units_nothing_is_known() -> None:
    assert np.isnan(best_share(np.empty((2, 0)), FEW)).all()
    assert rank_stability(np.empty((2, 0)), FEW) is None


def test_an_order_far_apart_is_firm_and_one_of_noise_is_not() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(6, 30))
    firm, loose = rank_stability(noise + 10 * np.arange(6)[:, None], FEW), rank_stability(noise, FEW)
    assert firm == Stability(1.0, 1.0, 6)
    assert loose is not None
    assert loose.mean < 0.8
    assert loose.low < loose.mean
    assert loose == rank_stability(noise, FEW)


def test_resamples_that_leave_a_candidate_without_a_value_are_left_out() -> None:
    found = rank_stability([[1.0, np.nan, np.nan], [2.0, 2.0, 3.0], [np.nan] * 3], FEW)
    assert found == Stability(1.0, 1.0, 2)


@pytest.mark.parametrize("table", [[[1, 2]], [[1, 2], [2, 1]], [[1, 2], [np.nan, np.nan]]])
def test_one_candidate_and_equal_ones_have_no_order(table: list[list[float]]) -> None:
    assert rank_stability(table, FEW) is None


def test_a_resample_in_which_all_are_equal_counts_as_no_agreement() -> None:
    found = rank_stability([[0, 1], [0, 2]], Resampling(draws=999))
    assert found is not None
    assert found.mean == pytest.approx(0.75, abs=0.05)


def test_what_is_no_table_is_refused() -> None:
    for table in ([1, 2], [[np.inf, 1]]):
        with pytest.raises(ValueError, match="two dimensions"):
            best_share(table, FEW)
