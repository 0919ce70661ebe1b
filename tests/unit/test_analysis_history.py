"""Arms over time: verdicts against a pinned set, changes of level, and drift."""

import numpy as np
import pytest

from scylla_gha.analysis.frame import Groups
from scylla_gha.analysis.history import (
    SHORT,
    Pin,
    ResultSet,
    Track,
    changes,
    drift,
    history,
    residuals,
    shared_scenarios,
)
from scylla_gha.model.report import Series
from tests.support.frames import row, table


def sets(*passed: list[str], arm: str = "arm") -> list[ResultSet]:
    return [ResultSet(f"r{at}", f"r{at}", "", tuple(table({arm: one}))) for at, one in enumerate(passed)]


def series(*passed: list[str], pin: str = "r0", margin: float = 0.05) -> Series:
    (found,) = history(sets(*passed), ["arm"], Pin(pin, margin)).series
    return found


def test_each_set_is_compared_with_the_pinned_one() -> None:
    found = series(["PPPP"] * 8, ["FFFF"] * 8, ["PPPP"] * 8)
    assert [one.rate for one in found.points] == [1.0, 0.0, 1.0]
    assert [(one.difference, one.verdict) for one in found.points] == [
        (None, None), (-1.0, "worse"), (0.0, "not_enough_data"),
    ]  # fmt: skip
    assert [one.not_worse for one in found.points] == [None, False, False]
    assert found.points[1].trials == 32


def test_equal_arms_over_many_scenarios_are_not_worse() -> None:
    assert series(["PP"] * 60, ["PP"] * 60).points[1].not_worse is True


def test_any_set_may_be_the_pinned_one() -> None:
    found = series(["FFFF"] * 8, ["PPPP"] * 8, pin="r1")
    assert [one.verdict for one in found.points] == ["worse", None]


def test_a_step_in_the_series_is_found() -> None:
    high, low = ["PPPF", "PPFP", "PFPP", "PPPP"] * 3, ["FFPF", "FPFF", "PFFF", "FFFF"] * 3
    found = series(*[high] * 3, high[::-1], ["PPPP", *high[1:]], *[low] * 4, ["FFFF", *low[1:]])
    assert [(one.kind, one.metric, one.run, one.side) for one in found.shifts] == [
        ("change", "pass_rate", "r5", "down"), ("drift", "pass_rate", "r5", "down"),
    ]  # fmt: skip
    (note,) = found.notes
    assert "p of at most 0.05 / 3" in note
    assert "neighbours are similar" in note


def test_too_few_sets_say_so() -> None:
    found = history(sets(["PF"], ["PF"]), ["arm"], Pin("r0", 0.05))
    assert found.notes == ("2 result sets are too few to find changes of level; 9 are needed",)
    alone = history(sets(["PF"]), ["arm"], Pin("r0", 0.05))
    assert alone.notes[0].startswith("1 result set is too few")
    assert alone.series[0].shifts == ()


def test_a_change_of_scenarios_is_not_a_change_of_the_agent() -> None:
    easy = ["PPPP", "PPPF", "PPFP"]
    found = series(*[[*easy, "-"]] * 5, *[[*easy, "FFFF"]] * 5)
    assert found.shifts == ()
    assert found.points[0].rate != found.points[9].rate
    assert "from the 3 of 4 that all of them have" in found.notes[0]


def test_sets_without_the_arm_are_counted() -> None:
    mine, other = sets(["PF"], ["PF"]), sets(["PF"], arm="other")[0]
    other = ResultSet("r9", "r9", "", other.rows)
    (found,) = history([*mine, other], ["arm"], Pin("r0", 0.05)).series
    assert (found.points[2].trials, found.points[2].rate, found.points[2].verdict) == (0, None, None)
    assert "this arm has no judged trial in 1 of 3 result sets" in found.notes


def test_a_cost_that_is_not_known_whole_is_none() -> None:
    rows = (row("arm", "001-a", 1, usd=1.0), row("arm", "001-a", 2, usd=None))
    whole = (row("arm", "001-a", 1, usd=1.0), row("arm", "002-b", 1, usd=3.0, seconds=4.0))
    given = [ResultSet("r0", "r0", "", rows), ResultSet("r1", "r1", "", whole)]
    points = history(given, ["arm"], Pin("r0", 0.05)).series[0].points
    assert [one.usd for one in points] == [None, pytest.approx(2.0)]
    assert points[1].seconds == pytest.approx(3.0)


def test_without_repetitions_drift_is_not_looked_for() -> None:
    assert any(note.startswith("no search for drift") for note in series(["P", "F"], ["F", "P"]).notes)


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


def test_a_step_is_found_at_its_place() -> None:
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
def test_without_variation_drift_is_not_estimated(means: list[list[float]]) -> None:
    assert drift(track(means), 0) is None


def test_one_repetition_each_tells_nothing_of_chance() -> None:
    assert drift(track([[1.0, 0.0], [0.0, 1.0]], repetitions=1), 0) is None


def test_scenarios_are_those_that_all_sets_with_rows_have() -> None:
    found = track([[0.5, 0.5, np.nan], [np.nan] * 3, [0.5, np.nan, 0.5]])
    assert found.shared.tolist() == [True, False, False]
