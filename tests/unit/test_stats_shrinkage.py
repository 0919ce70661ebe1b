import numpy as np
import pytest
from scipy.special import expit

from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.shrinkage import ShrunkenRates, shrink

# Rates of the rows of `simulated(10, 8, 6, 1)` by variational Bayes: BinomialBayesMixedGLM of statsmodels.
VARIATIONAL = [0.6207, 0.7601, 0.6176, 0.4103, 0.6096, 0.6200, 0.5238, 0.5960, 0.5846, 0.5846]


def simulated(rows: int, columns: int, tries: int, seed: int, spread: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Successes, tries and true chances; a tenth of the cells is missing."""
    rng = np.random.default_rng(seed)
    truth = expit(0.3 + rng.normal(0, spread, size=(rows, 1)) + rng.normal(0, 1, size=columns))
    n = np.where(rng.random((rows, columns)) < 0.1, 0, tries).astype(np.float64)
    return rng.binomial(n.astype(np.int64), truth).astype(np.float64), n, truth


def fitted(y: Floats, n: Floats) -> ShrunkenRates:
    found = shrink(y, n)
    assert found is not None
    assert found.converged
    return found


def test_rates_are_nearer_to_the_truth_than_raw_ones_and_limits_cover_it() -> None:
    better, held = [], []
    for seed in range(20):
        y, n, truth = simulated(20, 15, 3, seed)
        found, true = fitted(y, n), truth.mean(axis=1)
        raw = y.sum(axis=1) / n.sum(axis=1)
        better.append(np.sqrt(np.mean((raw - true) ** 2)) - np.sqrt(np.mean((found.rate - true) ** 2)))
        held.append(np.mean((found.low <= true) & (true <= found.high)))
    assert np.mean(better) > 0.01
    assert np.mean(np.array(better) > 0) >= 0.9
    assert 0.9 <= np.mean(held) <= 0.99


def test_rates_are_those_of_variational_bayes_but_for_how_far_they_shrink() -> None:
    found = fitted(*simulated(10, 8, 6, 1)[:2])
    assert np.corrcoef(found.rate, VARIATIONAL)[0, 1] > 0.999
    assert found.rate == pytest.approx(VARIATIONAL, abs=0.03)


def test_rates_lie_within_limits_that_narrow_with_tries() -> None:
    y, n, _ = simulated(8, 8, 4, 3)
    few, many = fitted(y, n), fitted(y * 10, n * 10)
    assert np.all((few.low > 0) & (few.low < few.rate) & (few.rate < few.high) & (few.high < 1))
    assert np.all(many.high - many.low < few.high - few.low)


def test_failures_mirror_successes_and_the_order_of_rows_does_not_matter() -> None:
    for y, n, _ in (simulated(9, 7, 5, 4), simulated(7, 12, 5, 4)):
        found, mirrored = fitted(y, n), fitted(n - y, n)
        assert mirrored.rate == pytest.approx(1 - found.rate, abs=1e-4)
        assert mirrored.low == pytest.approx(1 - found.high, abs=1e-4)
        assert fitted(y[::-1], n[::-1]).rate == pytest.approx(found.rate[::-1], abs=1e-6)


def test_a_row_without_tries_gets_the_average_and_the_widest_limits() -> None:
    y, n, _ = simulated(9, 7, 5, 5)
    y[4], n[4] = 0, 0
    found = fitted(y, n)
    assert found.rate.min() < found.rate[4] < found.rate.max()
    assert (found.high - found.low).argmax() == 4


def test_rows_that_do_not_differ_shrink_to_one_rate() -> None:
    y = np.tile([0.0, 1, 2, 3, 4, 5, 5], (12, 1))
    found = fitted(y, np.full(y.shape, 5.0))
    assert np.ptp(found.rate) < 1e-9
    assert found.rate[0] == pytest.approx(y.mean() / 5, abs=0.05)


def test_separated_rows_are_far_apart_and_finite() -> None:
    y = np.zeros((8, 8))
    y[:4] = 50
    found = shrink(y, np.full((8, 8), 50.0))
    assert found is not None
    assert np.isfinite(found.low).all()
    assert found.rate[:4].min() > 0.99
    assert found.rate[4:].max() < 0.01


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_if_all_fail_or_all_succeed_there_is_nothing_to_shrink_to(value: float) -> None:
    assert shrink(np.full((8, 8), value), np.full((8, 8), 5.0)) is None


@pytest.mark.parametrize(("rows", "columns", "name"), [(5, 9, "5 rows"), (9, 5, "5 columns"), (0, 0, "0 rows")])
def test_too_few_levels_are_refused(rows: int, columns: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} with a try: their spread cannot be estimated from fewer than 6"):
        shrink(np.ones((rows, columns)), np.full((rows, columns), 2.0))


def test_a_level_without_a_try_does_not_count() -> None:
    n = np.full((6, 6), 2.0)
    n[0] = 0
    with pytest.raises(ValueError, match="5 rows with a try"):
        shrink(np.zeros((6, 6)), n)


@pytest.mark.parametrize(("y", "n"), [([1, 2], [2, 2]), ([[3]], [[2]]), ([[1, 1]], [[2]]), ([[np.nan]], [[2]])])
def test_invalid_pairs_of_tables_are_refused(y: list[float], n: list[float]) -> None:
    with pytest.raises(ValueError, match="two tables of one shape"):
        shrink(y, n)
