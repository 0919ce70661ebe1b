"""Checked input arrays, and exact sums of floats, which do not depend on their order or on threads."""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Limits: TypeAlias = tuple[Floats, Floats]  # lower, upper; NaN: unknown
_BITS: Final = 52
NOISE_BITS: Final = 43  # a few roundings of a double, and far below what is measured


def vector(values: ArrayLike, name: str = "values") -> Floats:
    """Return finite numbers in one dimension.

    Raises:
        ValueError: more than one dimension, or a number that is NaN or infinite (leave unknown values out).
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    return finite(array, name)


def finite(array: Floats, name: str) -> Floats:
    """Return the array, after checking that its numbers are finite.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity; leave unknown values out")
    return array


def pair(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return two vectors of one length.

    Raises:
        ValueError: the lengths differ, or `vector` refuses one of them.
    """
    first, second = vector(x, "x"), vector(y, "y")
    if first.shape != second.shape:
        raise ValueError(f"x has {first.size} values and y has {second.size}; give pairs")
    return first, second


def table_of(values: ArrayLike, name: str) -> Floats:
    """Return a table in which NaN is allowed.

    Raises:
        ValueError: other than two dimensions, or an infinite value.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():  # noqa: PLR2004 rows and columns
        raise ValueError(f"{name} must have two dimensions and no infinity")
    return table


def is_constant(array: Floats) -> Bools:
    """Mark the rows whose values differ only by rounding; NaN is ignored."""
    low = np.min(np.where(np.isnan(array), np.inf, array), axis=-1, initial=np.inf)
    high = np.max(np.where(np.isnan(array), -np.inf, array), axis=-1, initial=-np.inf)
    return np.asarray(high - low <= 2.0**-NOISE_BITS * np.maximum(np.abs(low), np.abs(high)))


def on_grid(values: Floats, total: int) -> Floats:
    """Round each row to a grid so coarse that sums with integer weights are exact.

    A value moves by less than `total * 2**-51` of the row's largest, about 1e-14 for a weight of 50. Exact sums do not
    depend on their order, so BLAS, its threads and the processor give the same bits, and equal sums are equal.
    Source: the pre-rounding of Demmel & Nguyen 2013, reproducible summation.

    Args:
        values: shape (..., n).
        total: upper bound of the sum of the absolute weights.
    """
    top = np.max(np.abs(values), axis=-1, initial=0.0, keepdims=True)
    _, size = np.frexp(top)
    shift = _BITS - (size + int(np.ceil(np.log2(max(total, 1)))))
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, shift)), -shift))
