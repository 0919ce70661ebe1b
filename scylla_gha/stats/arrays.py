"""What comes in, checked; and sums of floats that are exact, so that neither order nor threads can change a bit."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Limits: TypeAlias = tuple[Floats, Floats]  # the lower, the upper; NaN: not known
Bools: TypeAlias = NDArray[np.bool_]
_BITS = 52
_NOISE_BITS = 43  # a few roundings of a double, and far below what is measured
_NOISE = 2.0**-_NOISE_BITS


def vector(values: ArrayLike, name: str = "values") -> Floats:
    """Finite numbers in one dimension.

    Raises:
        ValueError: more than one dimension, or a number that is NaN or infinite (leave out what is unknown before).
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {found.ndim}")
    return finite(found, name)


def rows(values: ArrayLike, name: str = "values") -> Floats:
    """Finite numbers in two dimensions; one dimension becomes a single row.

    Raises:
        ValueError: other dimensions, or a number that is NaN or infinite.
    """
    found = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if found.ndim != 2:  # noqa: PLR2004 rows and columns
        raise ValueError(f"{name} must have one or two dimensions, not {found.ndim}")
    return finite(found, name)


def finite(found: Floats, name: str) -> Floats:
    """The same array.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    if not np.isfinite(found).all():
        raise ValueError(f"{name} holds NaN or an infinity; leave out what is unknown")
    return found


def pair(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Two vectors of one length.

    Raises:
        ValueError: the lengths differ, or as `vector` says.
    """
    first, second = vector(x, "x"), vector(y, "y")
    if first.shape != second.shape:
        raise ValueError(f"x has {first.size} values and y has {second.size}; give pairs")
    return first, second


def differences(x: ArrayLike, y: ArrayLike) -> Floats:
    """Of pairs, x - y, rounded at 1e-13 of the largest value.

    So 4/5 - 3/5 and 2/5 - 1/5 are equal, as they should be.

    Raises:
        ValueError: the lengths differ.
    """
    first, second = pair(x, y)
    top = max(np.max(np.abs(first), initial=0.0), np.max(np.abs(second), initial=0.0))
    shift = _NOISE_BITS - int(np.frexp(top)[1])
    return np.ldexp(np.rint(np.ldexp(first - second, shift)), -shift)


def flat(found: Floats) -> Bools:
    """Which rows have no spread but for rounding; NaN is passed over."""
    low = np.min(np.where(np.isnan(found), np.inf, found), axis=-1, initial=np.inf)
    high = np.max(np.where(np.isnan(found), -np.inf, found), axis=-1, initial=-np.inf)
    return np.asarray(high - low <= _NOISE * np.maximum(np.abs(low), np.abs(high)))


def on_grid(values: Floats, total: int) -> Floats:
    """Round each row to a grid so coarse that sums with integer weights are exact.

    A value moves by less than `total * 2**-51` of the row's largest, some 1e-14 for a weight of 50. Exact
    sums do not depend on order, so BLAS, its threads and the processor cannot change a bit, and equal sums are equal.
    Source: the pre-rounding of Demmel & Nguyen 2013, reproducible summation.

    Args:
        values: shape (..., n).
        total: upper bound of the sum of the absolute weights.
    """
    top = np.max(np.abs(values), axis=-1, initial=0.0, keepdims=True)
    _, size = np.frexp(top)
    shift = _BITS - (size + int(np.ceil(np.log2(max(total, 1)))))
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, shift)), -shift))
