from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scylla_gha.stats.consistency import (
    ScoreConsistency,
    cv_consistencies,
    cv_consistency,
    outcome_consistency,
    score_consistency,
)
from tests.support.numbers import FIXED

SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=12)


@FIXED
@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=12))
def test_it_is_one_less_the_coefficient_of_variation(values: list[float]) -> None:
    expected = min(1.0, max(0.0, 1 - float(stats.variation(values, ddof=1))))
    assert cv_consistency(values) == pytest.approx(expected, abs=1e-9)
    assert cv_consistency(values[::-1]) == pytest.approx(expected, abs=1e-9)


@FIXED
@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=12), st.floats(0.01, 1000))
def test_it_does_not_depend_on_the_unit(values: list[float], unit: float) -> None:
    assert cv_consistency([unit * value for value in values]) == pytest.approx(cv_consistency(values), abs=1e-9)


@pytest.mark.parametrize("values", [[], [0.5], [0, 0, 0], [1, -1], [0.1, 0.2, -0.3]])
def test_too_few_values_and_a_mean_of_nothing_are_undefined(values: list[float]) -> None:
    assert cv_consistency(values) is None


@pytest.mark.parametrize("value", [0.1, 0.3, -2.0])
def test_equal_values_are_wholly_consistent_whatever_their_rounding(value: float) -> None:
    assert cv_consistency([value] * 7) == 1.0


@FIXED
@given(st.integers(2, 9), st.data())
def test_outcomes_agree_as_often_as_pairs_of_them_do(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    pairs = list(combinations([i < c for i in range(n)], 2))
    assert float(outcome_consistency(n, c)) == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
    assert outcome_consistency(n, c) == outcome_consistency(n, n - c)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_outcome_consistency_is_without_bias(p: float) -> None:
    c = np.arange(6)
    assert stats.binom.pmf(c, 5, p) @ outcome_consistency(5, c) == pytest.approx(p * p + (1 - p) ** 2)


def test_outcomes_of_one_try_are_unknown() -> None:
    assert outcome_consistency([0, 1, 2], [0, 1, 2]) == pytest.approx(np.array([np.nan, np.nan, 1]), nan_ok=True)
    with pytest.raises(ValueError, match="0 <= c <= n"):
        outcome_consistency(2, 3)


@FIXED
@given(SCORES, SCORES)
def test_scores_are_compared_within_their_group_alone(first: list[float], second: list[float]) -> None:
    found = score_consistency([*first, *second], ["b"] * len(first) + ["a"] * len(second))
    expected = 1 - np.std(first, ddof=1) - np.std(second, ddof=1)
    assert found is not None
    assert found.value == pytest.approx(max(0.0, expected), abs=1e-9)
    assert found.groups == 2


def test_groups_of_one_say_nothing_and_a_clamp_is_said() -> None:
    assert score_consistency([0.1, 0.9, 0.4, 0.4], [1, 2, 3, 3]) == ScoreConsistency(1.0, clamped=False, groups=1)
    assert score_consistency([0, 1], [1, 1]) == ScoreConsistency(0.0, clamped=True, groups=1)
    assert score_consistency([0.1, 0.9], [1, 2]) is None
    assert score_consistency([], []) is None


def test_scores_outside_their_range_and_missing_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scores must lie in \[0, 1\]"):
        score_consistency([0.5, 1.5], [1, 1])
    with pytest.raises(ValueError, match="2 scores and 1 labels"):
        score_consistency([0.5, 0.5], [1])


def test_of_many_groups_it_is_that_of_each() -> None:
    groups = [[1.0, 2.0, 4.0], [3.0], [0.5, 0.5], [0.1, 9.0], [1.0, -1.0]]
    sizes, means = [len(one) for one in groups], [float(np.mean(one)) for one in groups]
    within = [float(np.var(one) * len(one)) for one in groups]
    found = cv_consistencies(sizes, means, within)
    each = [cv_consistency(one) for one in groups]
    assert [None if np.isnan(one) else float(one) for one in found] == [
        one if one is None else pytest.approx(one) for one in each
    ]
