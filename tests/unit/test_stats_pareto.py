import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.pareto import pareto_resampled, pareto_set
from scylla_gha.stats.resampling import Resampling
from tests.support.numbers import FIXED

POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@FIXED
@given(POINTS)
def test_who_is_in_is_beaten_by_none_and_who_is_out_by_one_who_is_in(points: list[tuple[int, int]]) -> None:
    gain, price = np.array(points, dtype=np.float64).T
    found = pareto_set(gain, price)
    assert found.any()
    for one, (up, down) in enumerate(points):
        beaten = [
            found[other]
            for other, (high, low) in enumerate(points)
            if high >= up and low <= down and (high, low) != (up, down)
        ]
        assert found[one] == (not beaten)
        assert found[one] or any(beaten)


@FIXED
@given(POINTS)
def test_no_order_matters(points: list[tuple[int, int]]) -> None:
    gain, price = np.array(points, dtype=np.float64).T
    assert pareto_set(gain[::-1], price[::-1]).tolist() == pareto_set(gain, price)[::-1].tolist()


def test_equal_candidates_are_in_together_and_unknown_ones_neither_in_nor_in_the_way() -> None:
    assert pareto_set([1, 1, 0], [2, 2, 3]).tolist() == [True, True, False]
    assert pareto_set([1, 9, np.nan], [2, np.nan, 0]).tolist() == [True, False, False]


def test_every_further_place_is_a_set_of_its_own() -> None:
    assert pareto_set([[1, 2], [2, 1]], [[1, 1], [1, 1]]).tolist() == [[False, True], [True, False]]


def test_nothing_has_an_empty_set() -> None:
    assert pareto_set([], []).tolist() == []
    found = pareto_resampled(np.empty((0, 4)), np.empty((0, 4)))
    assert (found.member.tolist(), found.share.tolist()) == ([], [])
    nowhere = pareto_resampled(np.empty((2, 0)), np.empty((2, 0)))
    assert nowhere.member.tolist() == [False, False]
    assert np.isnan(nowhere.share).all()


def test_shares_tell_the_clear_from_the_lucky() -> None:
    rng = np.random.default_rng(1)
    base = rng.random(40)
    gain = np.stack([base, base, base - 0.5])
    price = np.stack([base + rng.normal(0, 0.1, 40), base + rng.normal(0, 0.1, 40), base + 1])
    found = pareto_resampled(gain, price, Resampling(draws=499))
    assert found.share[2] == 0.0
    assert found.share[0] + found.share[1] == pytest.approx(1.0)
    assert 0 < found.share[0] < 1
    again = pareto_resampled(gain, price, Resampling(draws=499))
    assert found.share.tobytes() == again.share.tobytes()


def test_one_unit_gives_certainty_that_it_does_not_have() -> None:
    found = pareto_resampled([[1], [0]], [[1], [1]], Resampling(draws=9))
    assert (found.member.tolist(), found.share.tolist()) == ([True, False], [1.0, 0.0])


def test_a_candidate_without_a_price_is_unknown() -> None:
    found = pareto_resampled([[1, 1], [0, 1]], [[np.nan, np.nan], [1.0, 1.0]], Resampling(draws=9))
    assert found.member.tolist() == [False, True]
    assert np.isnan(found.share[0])
    assert found.share[1] == 1.0


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="one shape"):
        pareto_set([1, 2], [1])
    with pytest.raises(ValueError, match="one shape"):
        pareto_set(1, 2)
    with pytest.raises(ValueError, match="one shape"):
        pareto_resampled([[1, 2]], [[1]])
