import numpy as np
import pytest
from scipy.special import expit, logit
from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM  # type: ignore[import-untyped]

from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.shrinkage import Shrunk, shrink


def simulated(rows: int, columns: int, tries: int, seed: int, spread: float = 0.5) -> tuple[Floats, Floats, Floats]:
    """Successes, tries and true chances; a tenth of the cells is missing."""
    rng = np.random.default_rng(seed)
    truth = expit(0.3 + rng.normal(0, spread, size=(rows, 1)) + rng.normal(0, 1, size=columns))
    n = np.where(rng.random((rows, columns)) < 0.1, 0, tries).astype(np.float64)
    return rng.binomial(n.astype(np.int64), truth).astype(np.float64), n, truth


def fitted(y: Floats, n: Floats, confidence: float = 0.95) -> Shrunk:
    found = shrink(y, n, confidence)
    assert found is not None
    assert found.converged
    return found


def test_rates_are_nearer_to_the_truth_than_raw_ones_and_limits_hold_it() -> None:
    better, held = [], []
    for seed in range(20):
        y, n, truth = simulated(20, 15, 3, seed)
        found, true = fitted(y, n), truth.mean(axis=1)
        raw = y.sum(axis=1) / n.sum(axis=1)
        better.append(np.sqrt(np.mean((raw - true) ** 2)) - np.sqrt(np.mean((found.rows.rate - true) ** 2)))
        held.append(np.mean((found.rows.low <= true) & (true <= found.rows.high)))
    assert np.mean(better) > 0.01
    assert np.mean(np.array(better) > 0) >= 0.9
    assert 0.9 <= np.mean(held) <= 0.99


def test_spreads_are_recovered() -> None:
    found = [fitted(*simulated(40, 30, 10, seed)[:2]) for seed in range(8)]
    assert np.mean([one.rows.spread for one in found]) == pytest.approx(0.5, abs=0.06)
    assert np.mean([one.columns.spread for one in found]) == pytest.approx(1.0, abs=0.15)
    assert np.mean([one.mean for one in found]) == pytest.approx(0.3, abs=0.2)


def test_effects_are_those_of_variational_bayes_in_statsmodels() -> None:
    y, n, _ = simulated(10, 8, 6, 1)
    found = fitted(y, n)
    rows, columns = np.nonzero(n)
    tries = n[rows, columns].astype(np.int64)
    at, wins = np.repeat(np.arange(rows.size), tries), []
    for successes, total in zip(y[rows, columns].astype(int), tries, strict=True):
        wins += [1.0] * successes + [0.0] * (total - successes)
    random = np.hstack([np.eye(10)[rows[at]], np.eye(8)[columns[at]]])
    model = BinomialBayesMixedGLM(np.array(wins), np.ones((at.size, 1)), random, np.repeat([0, 1], [10, 8]), vcp_p=0.5)
    effects = model.fit_vb(rng=1).random_effects()["Mean"].to_numpy()
    ours = np.concatenate([found.rows.effect, found.columns.effect])
    assert np.corrcoef(effects, ours)[0, 1] > 0.999


def test_the_mode_is_where_the_posterior_is_flat() -> None:
    y, n, _ = simulated(9, 7, 5, 2)
    found = fitted(y, n)
    left = y - n * found.rates
    assert left.sum() == pytest.approx(0, abs=1e-2)
    assert left.sum(axis=1) == pytest.approx(found.rows.effect / found.rows.spread**2, abs=1e-2)
    assert left.sum(axis=0) == pytest.approx(found.columns.effect / found.columns.spread**2, abs=1e-2)


def test_all_rates_lie_within_their_limits_and_the_more_tries_the_narrower() -> None:
    y, n, _ = simulated(8, 8, 4, 3)
    few, many, sure = fitted(y, n), fitted(y * 10, n * 10), fitted(y, n, 0.99)
    for part in (few.rows, few.columns):
        assert np.all((part.low < part.rate) & (part.rate < part.high) & (part.low > 0) & (part.high < 1))
        assert np.all(part.sd > 0)
    assert np.all(many.rows.high - many.rows.low < few.rows.high - few.rows.low)
    assert np.all(sure.rows.low < few.rows.low)
    assert few.rates.mean(axis=1) == pytest.approx(few.rows.rate)
    assert few.rates.mean(axis=0) == pytest.approx(few.columns.rate)


def test_failures_mirror_successes_and_rows_may_change_places_with_columns() -> None:
    y, n, _ = simulated(9, 7, 5, 4)
    found, mirrored, turned = fitted(y, n), fitted(n - y, n), fitted(y.T, n.T)
    assert mirrored.rows.rate == pytest.approx(1 - found.rows.rate, abs=1e-4)
    assert mirrored.rows.low == pytest.approx(1 - found.rows.high, abs=1e-4)
    assert turned.columns.rate == pytest.approx(found.rows.rate, abs=1e-4)
    assert fitted(y[::-1], n[::-1]).rows.rate == pytest.approx(found.rows.rate[::-1], abs=1e-6)


def test_a_row_never_tried_gets_the_average_and_the_widest_limits() -> None:
    y, n, _ = simulated(9, 7, 5, 5)
    y[4], n[4] = 0, 0
    found = fitted(y, n)
    assert found.rows.effect[4] == pytest.approx(0, abs=1e-6)
    widths = found.rows.high - found.rows.low
    assert widths.argmax() == 4
    assert found.rows.sd[4] == pytest.approx(found.rows.spread, rel=1e-3)


def test_rows_that_do_not_differ_shrink_to_one_rate() -> None:
    y = np.tile([0.0, 1, 2, 3, 4, 5, 5], (12, 1))
    found = fitted(y, np.full(y.shape, 5.0))
    assert np.ptp(found.rows.rate) < 1e-9
    assert found.rows.spread < 0.2
    assert logit(found.rows.rate[0]) == pytest.approx(logit(y.mean() / 5), abs=0.2)


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_where_all_fail_or_all_succeed_there_is_nothing_to_shrink_to(value: float) -> None:
    assert shrink(np.full((8, 8), value), np.full((8, 8), 5.0)) is None


def test_separated_rows_come_out_far_apart_and_finite() -> None:
    y = np.zeros((8, 8))
    y[:4] = 50
    found = shrink(y, np.full((8, 8), 50.0))
    assert found is not None
    assert 5 < found.rows.spread <= 10
    assert np.isfinite(found.rates).all()
    assert found.rates[:4].min() > 0.99
    assert found.rates[4:].max() < 0.01


@pytest.mark.parametrize(("rows", "columns", "name"), [(5, 9, "5 rows"), (9, 5, "5 columns"), (0, 0, "0 rows")])
def test_too_few_levels_are_refused(rows: int, columns: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} with a try: their spread cannot be told from fewer than 6"):
        shrink(np.ones((rows, columns)), np.full((rows, columns), 2.0))


def test_a_level_without_a_try_does_not_count() -> None:
    n = np.full((6, 6), 2.0)
    n[0] = 0
    with pytest.raises(ValueError, match="5 rows with a try"):
        shrink(np.zeros((6, 6)), n)


@pytest.mark.parametrize(("y", "n"), [([1, 2], [2, 2]), ([[3]], [[2]]), ([[1, 1]], [[2]]), ([[np.nan]], [[2]])])
def test_what_is_no_pair_of_tables_is_refused(y: list[float], n: list[float]) -> None:
    with pytest.raises(ValueError, match="two tables of one shape"):
        shrink(y, n)
