"""Changes and drift are found where they are, and hardly ever where they are not."""

import numpy as np
import pytest

from scylla_gha.analysis.frame import Groups
from scylla_gha.analysis.history import SHORT, Track, changes, drift, residuals, shared_scenarios


def track(means: list[list[float]], repetitions: int = 10) -> Track:
    """Groups with the spread that passes and failures have."""
    mean = np.array(means, dtype=np.float64)
    n = np.where(np.isnan(mean), 0, repetitions).astype(np.int64)
    groups = Groups(n, mean, repetitions * mean * (1 - mean))
    return Track(tuple(f"r{at}" for at in range(len(means))), "pass_rate", groups, shared_scenarios(groups))


def drawn(rates: list[float], seed: int, scenarios: int = 12, repetitions: int = 10) -> Track:
    rng = np.random.default_rng(seed)
    return track(
        (rng.binomial(repetitions, [[rate] * scenarios for rate in rates]) / repetitions).tolist(), repetitions
    )


def test_a_step_is_found_where_it_is() -> None:
    (found,) = changes(drawn([0.7] * 8 + [0.4] * 6, seed=1), seed=0)
    assert (found.kind, found.run, found.side) == ("change", "r8", "down")
    assert found.before == pytest.approx(0.7, abs=0.05)
    assert found.after == pytest.approx(0.4, abs=0.05)
    assert found.p is not None
    assert 0 < found.p <= 0.05


def test_a_set_without_a_value_is_passed_over() -> None:
    given = [[0.7 + at % 2 / 50] for at in range(6)] + [[np.nan]] + [[0.3 + at % 2 / 50] for at in range(6)]
    (found,) = changes(track(given), seed=0)
    assert found.run == "r7"


@pytest.mark.parametrize("length", [0, 1, SHORT - 1])
def test_a_short_series_has_no_change(length: int) -> None:
    assert list(changes(track([[float(at % 2)] for at in range(length)] or [[np.nan]]), seed=0)) == []


def test_a_slow_drift_is_found_by_its_sum() -> None:
    found = drift(drawn([0.7] * 4 + [0.7 - 0.03 * at for at in range(12)], seed=2), baseline=0)
    assert found
    assert (found[0].kind, found[0].side, found[0].p) == ("drift", "down", None)


def test_without_a_change_residuals_are_standard_and_signals_rare() -> None:
    tracks = [drawn([0.6] * 20, seed) for seed in range(100)]
    z = np.concatenate([found[1] for one in tracks if (found := residuals(one, 0))])
    assert z.mean() == pytest.approx(0.0, abs=3 / np.sqrt(z.size))
    assert z.std() == pytest.approx(1.0, abs=0.06)
    assert sum(bool(drift(one, 0)) for one in tracks) <= 12


def test_the_baseline_runs_have_no_residual() -> None:
    found = residuals(drawn([0.6] * 6, seed=3), baseline=2)
    assert found is not None
    assert list(found[0]) == [3, 4, 5]


@pytest.mark.parametrize("means", [[[1.0, 0.0]] * 8, [[np.nan, np.nan]] * 8], ids=["no spread", "no rows"])
def test_where_nothing_varies_there_is_nothing_to_tell_drift_by(means: list[list[float]]) -> None:
    assert drift(track(means), 0) is None


def test_one_repetition_each_tells_nothing_of_chance() -> None:
    assert drift(track([[1.0, 0.0], [0.0, 1.0]], repetitions=1), 0) is None


def test_scenarios_are_those_that_all_sets_with_rows_have() -> None:
    found = track([[0.5, 0.5, np.nan], [np.nan] * 3, [0.5, np.nan, 0.5]])
    assert found.shared.tolist() == [True, False, False]
