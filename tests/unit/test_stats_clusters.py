from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.formula.api import ols  # type: ignore[import-untyped]

from scylla_gha.stats.clusters import (
    clustered,
    effective_n,
    icc1,
    macro_interval,
    macro_rate,
)
from scylla_gha.stats.mean import t_interval
from scylla_gha.stats.proportion import wilson
from tests.support.numbers import FIXED

LABELS = ["a", "a", "b", "c", "c", "c"]
VALUES = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]


def labelled() -> st.SearchStrategy[list[tuple[float, int]]]:
    return st.lists(st.tuples(st.integers(-20, 20).map(float), st.integers(0, 4)), min_size=2, max_size=25)


def test_values_come_together_by_label_in_any_order() -> None:
    found = clustered(VALUES, LABELS)
    assert found.sizes.tolist() == [2, 1, 3]
    assert found.means.tolist() == pytest.approx([0.5, 1, 2 / 3])
    assert found.within.tolist() == pytest.approx([0.5, 0, 2 / 3])
    assert clustered(VALUES[::-1], LABELS[::-1]).sums.tolist() == found.sums.tolist()
    assert clustered([], []).sizes.size == 0


def test_every_value_needs_a_label() -> None:
    with pytest.raises(ValueError, match="2 values and 1 labels; give one label per value"):
        clustered([1, 2], ["a"])


@FIXED
@given(labelled())
def test_icc_is_that_of_the_analysis_of_variance(given: list[tuple[float, int]]) -> None:
    frame = pd.DataFrame(given, columns=["x", "label"])
    sizes = frame.groupby("label").size().to_numpy()
    found = icc1(frame["x"], frame["label"])
    if len(sizes) < 2 or len(sizes) == len(frame) or frame["x"].nunique() == 1:
        assert found is None
        return
    table = sm.stats.anova_lm(ols("x ~ C(label)", frame).fit())
    between, within = table["mean_sq"].to_numpy()
    usual = (len(frame) - (sizes**2).sum() / len(frame)) / (len(sizes) - 1)
    total = between + (usual - 1) * within
    assert found is None if total <= 0 else found == pytest.approx((between - within) / total, abs=1e-9)


@pytest.mark.parametrize(
    ("values", "labels", "expected"),
    [
        ([], [], None),
        ([1, 1, 0, 0], "aabb", 2),
        ([1, 0, 1, 0], "aabb", 4),
        ([1, 1, 1, 1], "aabb", 2),
        ([1, 0, 1], "abc", 3),
        ([1, 0, 1], "aaa", 1),
    ],
    ids=["nothing", "alike", "as independent", "all equal", "no repetition", "one cluster"],
)
def test_effective_n_lies_between_clusters_and_trials(values: list[float], labels: str, expected: float | None) -> None:
    assert effective_n(values, list(labels)) == (None if expected is None else pytest.approx(expected))


def test_macro_mean_weighs_clusters_alike() -> None:
    found = macro_interval(VALUES, LABELS)
    plain = t_interval([0.5, 1, 2 / 3])
    assert found is not None
    assert found == plain
    assert found.n == 3
    assert macro_interval([], []) is None


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([1, 0, 1, 0, 1, 1, 1, 0] * 4, [i // 4 for i in range(32)]),
        ([1, 1, 1, 1, 1, 0], list("aabbcc")),
        ([1, 1, 1, 1, 1, 1], list("aabbcc")),
        ([0, 0, 0, 0], list("aabb")),
        ([1, 0, 0, 0, 0, 1], list("abbbbc")),
    ],
    ids=["in the middle", "near the edge", "never failed", "never passed", "unequal sizes"],
)
def test_a_rate_stays_in_its_range(values: list[float], labels: list[Any]) -> None:
    found, swapped = macro_rate(values, labels), macro_rate([1 - v for v in values], labels)
    plain = macro_interval(values, labels)
    assert found is not None
    assert swapped is not None
    assert plain is not None
    assert (found.status, found.estimate) == ("ok", plain.estimate)
    assert 0 <= (found.low or 0) <= (found.estimate or 0) <= (found.high or 0) <= 1
    assert found.high != found.low
    assert (found.low, found.high) == pytest.approx((1 - (swapped.high or 0), 1 - (swapped.low or 0)))


def test_many_clusters_without_repetitions_have_the_limits_of_wilson() -> None:
    found = macro_rate([1.0] * 700 + [0.0] * 300, range(1_000))
    assert found is not None
    assert (found.low, found.high) == pytest.approx(wilson(700, 1_000), abs=1e-4)


def test_the_effective_n_of_unequal_clusters_is_that_of_their_mean() -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(400), np.arange(400) % 9 + 1)
    means = []
    sizes = []
    for _ in range(60):
        won = (rng.random(labels.size) < rng.beta(1, 1, 400)[labels]).astype(float)
        means.append(clustered(won, labels).means.mean())
        sizes.append(effective_n(won, labels) or 0)
    assert np.mean(sizes) == pytest.approx(0.25 / np.var(means), rel=0.4)


def test_a_rate_of_one_cluster_is_a_point_and_of_nothing_unknown() -> None:
    found = macro_rate([1, 0], ["a", "a"])
    assert found is not None
    assert (found.estimate, found.status) == (0.5, "point")
    assert macro_rate([], []) is None
    with pytest.raises(ValueError, match="values must be 0 or 1"):
        macro_rate([0.5], ["a"])
