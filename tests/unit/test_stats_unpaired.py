"""Against scipy, with ties and without."""

import numpy as np
import pytest
from scipy import stats

from scylla_gha.stats.unpaired import kruskal_wallis, mann_whitney_p

RNG = np.random.default_rng(8)
SAMPLES = {
    "numbers": [RNG.normal(0.2 * at, 1, 9 + at) for at in range(4)],
    "ties": [RNG.integers(0, 3, 12).astype(float) for _ in range(3)],
    "passes": [np.array([1.0, 0, 1, 1, 1, 0, 1]), np.array([0.0, 0, 0, 1, 0])],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_kruskal_wallis(name: str) -> None:
    found, expected = kruskal_wallis(SAMPLES[name]), stats.kruskal(*SAMPLES[name])
    assert found is not None
    assert (found.h, found.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))


@pytest.mark.parametrize("name", SAMPLES)
def test_mann_whitney(name: str) -> None:
    one, other = SAMPLES[name][:2]
    expected = stats.mannwhitneyu(one, other, method="asymptotic").pvalue
    assert mann_whitney_p(one, other) == pytest.approx(expected)
    assert mann_whitney_p(other, one) == pytest.approx(expected)


def test_where_nothing_differs_or_nothing_is_there_there_is_no_p() -> None:
    assert mann_whitney_p([1, 1], [1]) is mann_whitney_p([], [1]) is None
    assert kruskal_wallis([[1, 1], [1]]) is kruskal_wallis([[1, 2], []]) is None
