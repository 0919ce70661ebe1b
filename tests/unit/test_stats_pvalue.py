import numpy as np
import pytest

from scylla_gha.stats.pvalue import (
    Alternative,
    count_extreme,
    least_p_drawn,
    least_p_sign_flip,
    mc_p_value,
)


def test_a_drawn_p_is_never_zero() -> None:
    assert mc_p_value(0, 9_999) == 1e-4 == least_p_drawn(9_999)
    assert mc_p_value(9_999, 9_999) == 1
    for extreme in (-1, 10):
        with pytest.raises(ValueError, match=rf"extreme must lie in 0\.\.9, not {extreme}"):
            mc_p_value(extreme, 9)


@pytest.mark.parametrize(("n", "least"), [(0, 1), (1, 1), (5, 0.0625), (6, 0.03125), (10, 2 / 1024)])
def test_five_differences_can_never_reach_five_percent(n: int, least: float) -> None:
    assert least_p_sign_flip(n) == least
    assert least_p_sign_flip(n, "greater") == pytest.approx(max(least / 2, 0.5**n))


@pytest.mark.parametrize(("alternative", "expected"), [("two-sided", 4), ("greater", 3), ("less", 3)])
def test_ties_within_the_slack_count(alternative: Alternative, expected: int) -> None:
    observed = {"two-sided": 2.0, "greater": 1.0, "less": 1.0}[alternative]
    drawn = np.array([[-3.0, -2.0, 0.0, 1.0 - 1e-15, 2.0 - 1e-15, 5.0]])
    assert count_extreme(drawn, np.array([observed]), np.array([1e-12]), alternative).tolist() == [
        expected if alternative != "less" else 4
    ]
