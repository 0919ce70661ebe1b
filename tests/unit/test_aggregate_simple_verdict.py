"""The simple verdict, for which NumPy is not needed, claims no more than the full statistics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from scylla_gha.aggregate import simple_verdict
from scylla_gha.analysis.contrasts import compare, rule
from scylla_gha.analysis.frame import Pairing, build_frame
from scylla_gha.stats import difference_interval, sign_flip_bound, student_t_975
from scylla_gha.stats.resampling import DEFAULT_RESAMPLING, sign_flip_p
from tests.support.records import make_cell, make_result

COUNTS = st.integers(1, 4).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize("df", [1, 2, 3, 5, 8, 29, 120])
def test_the_quantile_is_students(df: int) -> None:
    assert student_t_975(df) == pytest.approx(float(stdtrit(df, 0.975)), rel=1e-9)


@given(st.lists(st.integers(-4, 4).map(lambda d: d / 4), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_p_is_exact_or_above_it(d: list[float]) -> None:
    moved = np.array([[each for each in d if each] or [0.0]])
    exact = float(sign_flip_p(moved, most_exact=20)[0][0])
    bound = sign_flip_bound(d)
    assert bound == pytest.approx(exact) if moved.shape[1] <= 16 else bound >= exact


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=2, max_size=24), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_a_simple_verdict_claims_no_more_than_the_full_statistics(
    found: list[tuple[tuple[int, int], tuple[int, int]]], family: int
) -> None:
    passed = {f"{at:03d}-s": {"one": one, "two": two} for at, (one, two) in enumerate(found, 100)}
    rows = [
        make_result(make_cell(arm, scenario=name, repetition=n + 1), passed=n < counts[0])
        for name, arms in passed.items() for arm, counts in arms.items() for n in range(counts[1])
    ]  # fmt: skip
    arms = {name: at for at, name in enumerate(("one", "two"))}
    pairs = [Pairing("one", "two", (arms["one"],), (arms["two"],))] * family
    (contrast, *_) = compare(build_frame(rows, arms), pairs, "verdicts", DEFAULT_RESAMPLING)
    ruling = rule(contrast, 0.05)
    verdict, _ = simple_verdict("one", "two", passed, family)
    assert verdict in {"not_enough_data", ruling.verdict}


def test_simple_verdicts_are_not_always_undecided() -> None:
    passed = {f"{at:03d}-s": {"one": (1, 1), "two": (0, 1)} for at in range(6)}
    assert simple_verdict("one", "two", passed, 1)[0] == "better"
    assert simple_verdict("two", "one", passed, 1)[0] == "worse"
    assert simple_verdict("one", "two", passed, 2)[0] == "not_enough_data"
    mixed = {f"{at:03d}-s": {"one": (3, 3), "two": (at % 2, 3)} for at in range(20)}
    assert simple_verdict("one", "two", mixed, 1)[0] == "better"
    one = simple_verdict("one", "two", {"000-s": passed["000-s"]}, 1)
    assert one == (
        "not_enough_data",
        "the arms share 1 scenario, too few for an interval; install the extra `report` for full statistics",
    )
    assert difference_interval([1.0] * 6) == (pytest.approx(2 * 0.025 ** (1 / 6) - 1), 1.0)
