import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.stats.arrays import is_constant, on_grid, pair, table_of, vector
from tests.support.numbers import FIXED, values


@pytest.mark.parametrize("bad", [[1.0, math.nan], [math.inf], [None]])
def test_what_is_unknown_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="cost contains NaN or infinity; leave unknown values out"):
        vector(bad, "cost")


def test_dimensions_are_checked() -> None:
    with pytest.raises(ValueError, match="cost must have one dimension, not 2"):
        vector([[1.0]], "cost")
    with pytest.raises(ValueError, match="ratings must have two dimensions and no infinity"):
        table_of([[math.inf]], "ratings")
    with pytest.raises(ValueError, match="x has 1 values and y has 2; give pairs"):
        pair([1], [1, 2])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([0.1 + 0.2, 0.3], True),
        ([1.0, 1.0 + 1e-9], False),
        ([5.0], True),
        ([], True),
        ([0.0, 0.0], True),
        ([1.0, math.nan, 1.0], True),
        ([math.nan], True),
    ],
)
def test_constant_rows_vary_by_rounding_alone(found: list[float], expected: bool) -> None:
    assert bool(is_constant(np.array(found))) is expected


@FIXED
@given(values(1, 40), st.integers(0, 99))
def test_sums_on_the_grid_are_exact_in_any_order(given: list[float], seed: int) -> None:
    grid = on_grid(np.array(given), len(given))
    exact = sum((Fraction(float(x)) for x in grid), Fraction(0))
    shuffled = np.random.default_rng(seed).permutation(grid)
    assert Fraction(float(grid.sum())) == exact == Fraction(float(shuffled.cumsum()[-1]))
    largest = max(abs(x) for x in given)
    assert np.allclose(grid, given, rtol=0, atol=len(given) * 2.0**-51 * largest)


def test_the_grid_of_a_row_does_not_depend_on_the_others() -> None:
    alone, large = np.array([0.1, 0.7]), np.array([1e9, 3.0])
    together = on_grid(np.stack([alone, large, np.zeros(2)]), 2)
    assert (together[0] == on_grid(alone, 2)).all()
    assert (together[2] == 0).all()
    assert on_grid(np.zeros((0, 3)), 3).shape == (0, 3)
