"""Arms compared with themselves: verdicts on equal arms are seldom false."""

import math

import numpy as np
import pytest

from scylla_gha.analysis.contrasts import compare, rule
from scylla_gha.analysis.frame import Pairing
from scylla_gha.analysis.simulated import AATestOptions, aa_test, halves, verdicts_on
from scylla_gha.model.result import Result
from scylla_gha.stats.resampling import Resampling
from tests.support.frames import frame, group, table

EXPERIMENTS, ALLOWED = 400, 0.05
# One-sided 95 %: a true rate of exactly 5 % shows more than this in one of twenty seeds.
SLACK = 1.645 * math.sqrt(ALLOWED * (1 - ALLOWED) / EXPERIMENTS)


def drawn(scenarios: int, repetitions: int, seed: int, arms: int = 1) -> list[Result]:
    """Arms whose chance to pass is that of the scenario alone."""
    rng = np.random.default_rng(seed)
    chance = rng.random(scenarios)
    letters = {f"a{arm}": ["".join("P" if hit else "F" for hit in rng.random(repetitions) < p) for p in chance]
               for arm in range(arms)}  # fmt: skip
    return table(dict(letters))


def test_of_400_experiments_without_an_effect_at_most_5_percent_have_a_false_verdict() -> None:
    rng = np.random.default_rng(20)
    chance = rng.random((EXPERIMENTS, 10))
    one, other = (rng.binomial(5, chance) / 5 for _ in range(2))
    found = [ruling.verdict for ruling in verdicts_on(one, other, AATestOptions(family=1, margin=0.05))]
    false = sum(verdict in {"better", "worse"} for verdict in found) / EXPERIMENTS
    assert 0.01 < false <= ALLOWED + SLACK, "nor is the verdict so silent that it never speaks"


def test_many_pairs_at_once_have_the_verdicts_that_a_report_gives_each() -> None:
    made = frame(drawn(8, 4, seed=3, arms=2))
    rows = np.array([made.columns["passed"][made.rows_of(at)].reshape(8, 4).mean(axis=1) for at in range(2)])
    (contrast,) = compare(made, [Pairing("a1", "a0", (1,), (0,))], "one", Resampling())
    (found,) = verdicts_on(rows[1:], rows[:1], AATestOptions(family=1, margin=0.05))
    expected = rule(contrast, 0.05)
    assert (found.verdict, found.why) == (expected.verdict, expected.why)
    assert (found.contrast.p, found.contrast.low) == (contrast.p, contrast.low)


def test_halves_are_equal_parts_and_leave_out_one_of_an_odd_number() -> None:
    given = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 0, np.nan], [1, np.nan, np.nan, np.nan, np.nan]], dtype=np.float64)
    one, other = halves(given, 300, np.random.default_rng(1))
    assert one.shape == other.shape == (300, 3)
    np.testing.assert_allclose(one[:, 1] + other[:, 1], 1.0)
    assert set(np.unique(one[:, 0])) == {0.0, 0.5, 1.0}
    assert set(np.unique((one + other)[:, 0])) == {1.0, 1.5}
    assert np.isnan(one[:, 2]).all()
    assert np.isnan(other[:, 2]).all()


def test_each_arm_is_compared_with_itself() -> None:
    found = aa_test(frame(drawn(12, 6, seed=5, arms=3)), "demo", AATestOptions(family=2, margin=0.05, resamples=200))
    assert [one.arm for one in found.arms] == ["a0", "a1", "a2"]
    assert {(one.scenarios, one.repetitions) for one in found.arms} == {(12, (6, 6))}
    assert found.over_all is not None
    assert found.over_all.verdicts == 600
    assert found.over_all.false == sum(one.resampled.false for one in found.arms)
    assert found.over_all.low <= found.over_all.false_share <= found.over_all.high
    assert found.over_all.false_share <= ALLOWED
    assert found.meaning.startswith("verdicts on rows like these are reliable")


def test_the_same_seed_gives_the_same_and_the_family_makes_it_stricter() -> None:
    made = frame(drawn(20, 8, seed=8))
    first, again = (aa_test(made, "demo", AATestOptions(1, 0.05, 300)) for _ in range(2))
    strict = aa_test(made, "demo", AATestOptions(20, 0.05, 300))
    assert first == again
    assert first.over_all is not None
    assert strict.over_all is not None
    assert strict.over_all.false <= first.over_all.false


def test_a_change_during_the_run_shows_in_odd_against_even_repetitions() -> None:
    rows = table({"arm": ["PFPFPF"] * 8})
    (one,) = aa_test(frame(rows), "demo", AATestOptions(1, 0.05, 50)).arms
    assert one.as_run == "better"
    assert one.resampled.false_share < 0.5


def test_an_arm_that_always_does_the_same_is_never_found_to_differ() -> None:
    (one,) = aa_test(frame(table({"arm": ["PPPP"] * 60})), "demo", AATestOptions(1, 0.05, 20)).arms
    assert (one.resampled.false, one.resampled.equivalent_share, one.resampled.flip_rate) == (0, 1.0, 0.0)


def test_arms_without_repetitions_are_left_out() -> None:
    rows = [*group("once", "001-a", "P"), *group("once", "002-b", "F")]
    found = aa_test(frame(rows, "once", "never"), "demo", AATestOptions(1, 0.05))
    assert (found.arms, found.left_out, found.over_all) == ((), ("once", "never"), None)
    assert "run more repetitions" in found.meaning
    assert aa_test(frame([]), "demo", AATestOptions(1, 0.05)).over_all is None


@pytest.mark.parametrize(
    ("resamples", "said"),
    [(4, "too few halves to be sure"), (400, "are reliable")],
)
def test_few_halves_do_not_prove_reliability(resamples: int, said: str) -> None:
    found = aa_test(frame(drawn(12, 6, seed=5)), "demo", AATestOptions(2, 0.05, resamples))
    assert said in found.meaning
