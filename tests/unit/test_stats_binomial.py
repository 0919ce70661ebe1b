import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from scylla_gha.stats.binomial import (
    clopper_pearson_limits,
    wilson_effective,
    wilson_limits,
    zero_events_upper,
)
from scylla_gha.stats.proportion import wilson
from tests.support.numbers import FIXED, counts

LIMITS = {"wilson": wilson_limits, "beta": clopper_pearson_limits}
COUNTS = [(k, n) for n in (1, 2, 5, 10, 47, 470) for k in range(0, n + 1, max(1, n // 7))]


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_those_of_statsmodels(name: str, confidence: float) -> None:
    for k, n in COUNTS:
        low, high = proportion_confint(k, n, alpha=1 - confidence, method=name)
        # At the edges it leaves a rounding above 0.
        low, high = 0.0 if k == 0 else low, 1.0 if k == n else high
        assert LIMITS[name](k, n, confidence) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize("name", LIMITS)
def test_arrays_give_what_scalars_give_and_nothing_is_nan(name: str) -> None:
    k, n = (np.array(column) for column in zip(*COUNTS, (0, 0), strict=True))
    low, high = LIMITS[name](k, n)
    assert [(float(a), float(b)) for a, b in zip(low[:-1], high[:-1], strict=True)] == [
        tuple(float(x) for x in LIMITS[name](int(one), int(of))) for one, of in COUNTS
    ]
    assert math.isnan(low[-1])
    assert math.isnan(high[-1])
    assert LIMITS[name]([], [])[0].size == 0


@FIXED
@given(counts(), st.sampled_from(sorted(LIMITS)))
def test_limits_hold_the_rate_and_mirror(count: tuple[int, int], name: str) -> None:
    k, n = count
    low, high = (float(limit) for limit in LIMITS[name](k, n))
    assert 0 <= low <= k / n <= high <= 1
    other = LIMITS[name](n - k, n)
    assert (1 - other[1], 1 - other[0]) == pytest.approx((low, high), abs=1e-12)
    if name == "wilson":
        assert (low, high) == pytest.approx(wilson(k, n), abs=1e-14)


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (1, 0)])
def test_what_is_no_proportion_is_refused(k: int, n: int) -> None:
    for limits in LIMITS.values():
        with pytest.raises(ValueError, match=r"successes must lie in 0\.\.n"):
            limits(k, n)


def test_clopper_pearson_never_covers_less_than_it_says() -> None:
    n = 12
    low, high = clopper_pearson_limits(np.arange(n + 1), n)
    for rate in np.linspace(0.005, 0.995, 199):
        chance = stats.binom.pmf(np.arange(n + 1), n, rate)
        assert chance[(low <= rate) & (rate <= high)].sum() >= 0.95


def test_effective_wilson_is_wilson_with_many_clusters_and_wider_with_few() -> None:
    assert wilson_effective(0.7, 10, 1e9) == pytest.approx(wilson(7, 10), abs=1e-6)
    few, many = wilson_effective(0.7, 10, 4), wilson_effective(0.7, 10, 40)
    assert few[0] < many[0] < 0.7 < many[1] < few[1]
    assert wilson_effective(1.0, 5, 4)[1] == 1
    assert wilson_effective(0.0, 5, 4)[0] == 0


@pytest.mark.parametrize(("n", "df"), [(0, 4), (math.nan, 4), (10, 0)])
def test_effective_wilson_without_trials_or_clusters_is_nan(n: float, df: float) -> None:
    assert np.isnan(wilson_effective(0.5, n, df)).all()


def test_upper_limit_of_what_was_never_seen() -> None:
    assert zero_events_upper(0) is None
    assert zero_events_upper(1) == pytest.approx(0.95)
    assert zero_events_upper(300) == pytest.approx(3 / 300, rel=0.01)
    assert zero_events_upper(10**9) == pytest.approx(clopper_pearson_limits(0, 10**9, 0.9)[1])
