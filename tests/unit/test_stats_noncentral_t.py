import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.noncentral_t import noncentral_t_sf
from tests.support.numbers import FIXED


@FIXED
@given(st.floats(-8, 30), st.sampled_from([1, 2, 4, 7.5, 30, 46, 400]), st.floats(-6, 14))
def test_it_is_that_of_scipy(t: float, df: float, nc: float) -> None:
    expected = float(stats.nct.sf(t, df, nc))
    if math.isfinite(expected):
        assert noncentral_t_sf(t, df, nc) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("df", [1, 4, 46, 10_000])
@pytest.mark.parametrize("t", [-3.0, 0.0, 0.5, 3.0, 40.0])
def test_without_an_effect_it_is_student_t(t: float, df: float) -> None:
    assert noncentral_t_sf(t, df, 0.0) == pytest.approx(float(stats.t.sf(t, df)), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(("t", "df", "nc"), [(2.8, 4, 12), (2.8, 4, 60), (1.96, 1e5, 40), (12.7, 1, 900), (2, 3, -30)])
def test_it_holds_in_the_far_tails(t: float, df: float, nc: float) -> None:
    found = noncentral_t_sf(t, df, nc)
    u = np.sqrt(stats.chi2.ppf((np.arange(200_000) + 0.5) / 200_000, df) / df)
    assert found == pytest.approx(stats.norm.cdf(nc - t * u).mean(), abs=2e-6)


@pytest.mark.parametrize("df", [1e6, 1e7])
@pytest.mark.parametrize("t", [-1.0, 1.96, 4.0])
def test_with_many_degrees_of_freedom_it_is_the_normal(t: float, df: float) -> None:
    assert noncentral_t_sf(t, df, 2.8) == pytest.approx(float(stats.norm.sf(t - 2.8)), abs=3 / df)


@pytest.mark.parametrize("df", [1, 5, 200])
def test_more_effect_is_more_power_and_more_t_less(df: float) -> None:
    by_effect = [noncentral_t_sf(2.5, df, nc) for nc in np.linspace(-3, 30, 60)]
    by_t = [noncentral_t_sf(t, df, 2.0) for t in np.linspace(-10, 60, 60)]
    assert (np.diff(by_effect) >= -1e-12).all()
    assert (np.diff(by_t) <= 1e-12).all()
    assert 0 <= min(by_t) <= max(by_t) <= 1


@pytest.mark.parametrize(("t", "df", "nc"), [(1.0, 0, 1.0), (1.0, -1, 1.0), (math.nan, 3, 1.0), (1.0, 3, math.inf)])
def test_what_is_no_distribution_is_nan(t: float, df: float, nc: float) -> None:
    assert math.isnan(noncentral_t_sf(t, df, nc))
