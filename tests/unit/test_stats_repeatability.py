"""Consistency of repetitions, pass@k and pass^k."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.means import (
    Solved,
    clustered,
    cv_consistencies,
    outcome_consistency,
    pass_all_k,
    pass_at_k,
    score_consistency,
    solved,
)
from tests.support.numbers import FIXED

SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=12)


@FIXED
@given(st.integers(2, 9), st.data())
def test_outcomes_agree_as_often_as_pairs_of_them_do(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    pairs = list(combinations([i < c for i in range(n)], 2))
    assert float(outcome_consistency(n, c)) == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_outcome_consistency_is_unbiased(p: float) -> None:
    c = np.arange(6)
    assert stats.binom.pmf(c, 5, p) @ outcome_consistency(5, c) == pytest.approx(p * p + (1 - p) ** 2)


def test_outcome_consistency_of_one_try_is_unknown() -> None:
    assert outcome_consistency([0, 1, 2], [0, 1, 2]) == pytest.approx(np.array([np.nan, np.nan, 1]), nan_ok=True)
    with pytest.raises(ValueError, match="0 <= c <= n"):
        outcome_consistency(2, 3)


@FIXED
@given(SCORES, SCORES)
def test_scores_are_compared_within_their_group_alone(first: list[float], second: list[float]) -> None:
    found = score_consistency([*first, *second, 0.7], ["b"] * len(first) + ["a"] * len(second) + ["alone"])
    expected = 1 - np.std(first, ddof=1) - np.std(second, ddof=1)
    assert found == pytest.approx(max(0.0, expected), abs=1e-9)


def test_scores_without_a_group_of_two_are_unknown_and_those_out_of_range_refused() -> None:
    assert score_consistency([0.1, 0.9], [1, 2]) is score_consistency([], []) is None
    with pytest.raises(ValueError, match=r"scores must lie in \[0, 1\]"):
        score_consistency([0.5, 1.5], [1, 1])


def test_the_paper_s_consistency_is_one_less_the_coefficient_of_variation() -> None:
    values, labels = [0.4, 0.6, 0.5, 1, 0, 0, 0, 0.3, 0.0, 0.0], list("aaabbbbcdd")
    found = cv_consistencies(clustered(values, labels))
    assert found == pytest.approx([1 - 0.1 / 0.5, 0.0, np.nan, np.nan], nan_ok=True)


@pytest.mark.parametrize(("n", "k"), [(5, 1), (5, 3), (6, 6), (4, 2)])
def test_pass_at_k_and_pass_all_k_are_what_drawing_all_subsets_gives(n: int, k: int) -> None:
    for c in range(n + 1):
        drawn = [sum(chosen) for chosen in combinations([i < c for i in range(n)], k)]
        assert pass_at_k(n, c, k) == pytest.approx(np.mean([hits > 0 for hits in drawn]))
        assert pass_all_k(n, c, k) == pytest.approx(np.mean([hits == k for hits in drawn]))


def test_groups_of_all_sizes_are_looked_up_together_and_too_small_ones_are_unknown() -> None:
    found = pass_at_k([[5, 2], [3, 0]], [[1, 2], [0, 0]], 3)
    assert found == pytest.approx(np.array([[0.6, np.nan], [0.0, np.nan]]), nan_ok=True)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (2.5, 1, 1), (3, 0.5, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n: float, c: float, k: int) -> None:
    with pytest.raises(ValueError, match=r"whole numbers with 0 <= c <= n|k must be at least 1"):
        pass_at_k(n, c, k)


def test_groups_that_were_never_tried_are_neither_solved_nor_counted() -> None:
    assert solved([3, 3, 3, 3, 0], [0, 1, 2, 3, 0]) == Solved(3, 1, 4)
    assert solved([], []) == solved(0, 0) == Solved(0, 0, 0)
