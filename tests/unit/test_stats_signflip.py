import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.pvalue import Alternative
from scylla_gha.stats.resampling import Resampling
from scylla_gha.stats.signflip import MOST_EXACT, sign_flip_count, sign_flip_p, sign_flip_test
from tests.support.numbers import FIXED, values

SIDES = st.sampled_from(["two-sided", "greater", "less"])
MANY = np.random.default_rng(4).normal(0.2, 1, (150, 47))


@FIXED
@given(values(1, 8), SIDES)
def test_exact_p_is_that_of_all_assignments(d: list[float], alternative: Alternative) -> None:
    signs = product([1, -1], repeat=len(d))
    sums = np.array([math.fsum(s * x for s, x in zip(one, d, strict=True)) for one in signs])
    observed, slack = math.fsum(d), 1e-12 * math.fsum(map(abs, d))
    if alternative == "two-sided":
        sums, observed = abs(sums), abs(observed)
    expected = np.mean(sums <= observed + slack) if alternative == "less" else np.mean(sums >= observed - slack)
    found = sign_flip_test(d, alternative)
    assert found is not None
    assert found.p == pytest.approx(expected)
    assert 0 < found.least_p <= found.p <= 1
    assert sign_flip_count(d, alternative) == round(expected * 2 ** len(d))


@settings(FIXED, max_examples=20)
@given(st.lists(st.integers(-40, 40), min_size=2, max_size=9))
def test_exact_p_is_that_of_scipy(d: list[int]) -> None:
    found = sign_flip_test(d)
    expected = stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=10_000, vectorized=False)
    assert found is not None
    assert found.p == pytest.approx(expected.pvalue)


@FIXED
@given(values(1, 30))
def test_order_and_sign_do_not_matter_to_two_sides(d: list[float]) -> None:
    how = Resampling(draws=499)
    if len(d) <= MOST_EXACT:
        assert sign_flip_test(d, how=how) == sign_flip_test(d[::-1], how=how) or sum(d) != sum(d[::-1])
    one, other = sign_flip_test(d, how=how), sign_flip_test([-x for x in d], how=how)
    assert one is not None
    assert other is not None
    assert one.p == other.p
    assert 0 < one.least_p <= one.p <= 1


def test_rounding_breaks_no_tie() -> None:
    found = sign_flip_test([0.1, 0.2, -0.3])  # sums to 5.6e-17: as good as 0
    assert found is not None
    assert found.p == 1
    tied = sign_flip_test([0.7, 0.1, 0.3, 0.3 - 1e-17])
    assert tied is not None
    assert tied.p == 2 / 16


def test_many_differences_are_drawn_and_come_near_the_normal() -> None:
    found = sign_flip_test(MANY[0], how=Resampling(seed=1))
    assert found is not None
    assert found.method == "sign-flip, 9999 draws"
    assert found.least_p == 1e-4
    assert found.p == pytest.approx(stats.ttest_1samp(MANY[0], 0).pvalue, abs=0.02)
    assert (found.p * 10_000) % 1 == pytest.approx(0, abs=1e-9)


def test_zeros_and_missing_ones_take_no_part() -> None:
    plain = sign_flip_test([1, 2, 3, 4, 5, 6])
    assert plain is not None
    assert plain.p == plain.least_p == 2 / 64
    zeros = sign_flip_test([1, 2, 3, 4, 5, 6] + [0] * 40)
    assert zeros is not None
    assert (zeros.p, zeros.least_p, zeros.n, zeros.method) == (2 / 64, 2 / 64, 46, "sign-flip, exact")
    p, least = sign_flip_p(np.array([[1, 2, 3, 4, 5, 6, math.nan, 0], [math.nan] * 8, [0] * 8]))
    assert p.tolist() == [2 / 64, 1, 1]
    assert least.tolist() == [2 / 64, 1, 1]


def test_nothing_has_no_p() -> None:
    assert sign_flip_test([]) is None
    assert sign_flip_p(np.zeros((0, 5)))[0].size == 0
    assert sign_flip_p(np.zeros((3, 0)))[0].tolist() == [1, 1, 1]
    one = sign_flip_test([3.0])
    assert one is not None
    assert one.p == one.least_p == 1
    with pytest.raises(ValueError, match="an infinity"):
        sign_flip_p([1.0, math.inf])
    with pytest.raises(ValueError, match="up to 16 differences, not 17"):
        sign_flip_count([1] * 17)


def test_rows_are_as_if_alone_and_threads_change_no_byte() -> None:
    plans = [Resampling(draws=2_000, seed=9, threads=threads) for threads in (1, 2)]
    one, two = (sign_flip_p(MANY, how=how)[0] for how in plans)
    assert one.tobytes() == two.tobytes()
    assert one[5] == sign_flip_p(MANY[5], how=plans[0])[0][0]
    assert one.tobytes() == sign_flip_p(MANY * 3.7, how=plans[0])[0].tobytes()
    assert (one != sign_flip_p(MANY, how=Resampling(draws=2_000, seed=10))[0]).any()


def test_false_alarms_are_as_rare_as_the_level_says() -> None:
    p, _ = sign_flip_p(np.random.default_rng(8).standard_t(3, (2_000, 12)))
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.015)
