import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.permutation import MOST_EXACT, all_choices, permutation_p, permutation_test
from scylla_gha.stats.pvalue import Alternative
from scylla_gha.stats.resampling import Resampling
from tests.support.numbers import FIXED, values

SOME = st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=5)


def gap(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(abs(x.mean(axis=axis) - y.mean(axis=axis)))


@settings(FIXED, max_examples=40)
@given(SOME, SOME)
def test_exact_p_is_that_of_scipy(x: list[float], y: list[float]) -> None:
    found = permutation_test(x, y)
    expected = stats.permutation_test((x, y), gap, alternative="greater", n_resamples=10_000, vectorized=True)
    assert found is not None
    assert found.p == pytest.approx(expected.pvalue)
    assert found.statistic == pytest.approx(np.mean(x) - np.mean(y))


@FIXED
@given(values(1, 6), values(1, 6), st.sampled_from(["two-sided", "greater", "less"]))
def test_p_does_not_know_the_order_and_mirrors(x: list[float], y: list[float], alternative: Alternative) -> None:
    mirrored: dict[Alternative, Alternative] = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
    found, swapped = permutation_test(x, y, alternative), permutation_test(y, x, mirrored[alternative])
    turned = permutation_test(x[::-1], y[::-1], alternative)
    assert found is not None
    assert swapped is not None
    assert turned is not None
    assert found.p == swapped.p == turned.p
    assert 0 < found.p <= 1
    assert found.least_p <= found.p


def test_all_ways_to_deal_are_there_once() -> None:
    found = all_choices(3, 4)
    assert found.shape == (7, 35)
    assert (found.sum(axis=0) == 3).all()
    assert np.unique(found, axis=1).shape == found.shape


def test_many_values_are_drawn_with_add_one() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.8, 1, 20), rng.normal(0, 1, 15)
    found = permutation_test(x, y, how=Resampling(seed=2))
    assert found is not None
    assert found.method == "permutation, 9999 draws"
    assert found.p == pytest.approx(stats.ttest_ind(x, y).pvalue, abs=0.02)
    far = permutation_test(x + 100, y)
    assert far is not None
    assert far.p == far.least_p == 1e-4


def test_rows_are_as_if_alone_and_threads_change_no_byte() -> None:
    rng = np.random.default_rng(2)
    for size in (4, MOST_EXACT):
        x, y = rng.normal(size=(200, size)), rng.normal(size=(200, size))
        one, two = (permutation_p(x, y, how=Resampling(1_999, threads=threads))[0] for threads in (1, 2))
        assert one.tobytes() == two.tobytes()
        assert one[7] == permutation_p(x[7], y[7], how=Resampling(1_999))[0][0]


def test_equal_values_and_nothing() -> None:
    same = permutation_test([0.1 + 0.2] * 3, [0.3] * 3)
    assert same is not None
    assert same.p == 1
    assert permutation_test([], [1.0]) is None
    assert permutation_p(np.zeros((2, 0)), np.zeros((2, 3)))[0].tolist() == [1, 1]
    assert permutation_p(np.zeros((0, 2)), np.zeros((0, 3)))[0].size == 0
    one = permutation_test([1.0], [2.0])
    assert one is not None
    assert one.p == one.least_p == 1
    with pytest.raises(ValueError, match="x has 1 rows and y has 2"):
        permutation_p([[1.0]], [[1.0], [2.0]])
