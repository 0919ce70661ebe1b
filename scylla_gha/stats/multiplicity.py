"""The p values of a family, adjusted for its size: Holm for claims, Benjamini-Hochberg for looking around.

All take a sequence in which None or NaN is a test that gave no p, and return an array with NaN there. `family` counts
the tests that were planned, where those without p are still to be paid for; by default they are not counted.
"""

from collections.abc import Callable, Sequence

import numpy as np

from scylla_gha.stats.arrays import Floats


def _adjust(p: Sequence[float | None] | Floats, family: int | None, adjust: Callable[[Floats, int], Floats]) -> Floats:
    """Adjust the known ones, in rising order.

    Raises:
        ValueError: a p is not in [0, 1], or the family is smaller than the number of known p.
    """
    given = np.array(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(given))
    values = given[known]
    if np.any((values < 0) | (values > 1)):
        raise ValueError("each p must lie in [0, 1]")
    size = known.size if family is None else family
    if size < known.size:
        raise ValueError(f"a family of {size} cannot hold {known.size} tests")
    order = known[np.argsort(values, kind="stable")]
    given[order] = np.minimum(1.0, adjust(given[order], size))
    return given


def bonferroni(p: Sequence[float | None] | Floats, family: int | None = None) -> Floats:
    """Times the size of the family."""
    return _adjust(p, family, lambda rising, size: rising * size)


def holm(p: Sequence[float | None] | Floats, family: int | None = None) -> Floats:
    """Holds the chance of any false claim; never above Bonferroni's. Source: Holm 1979."""
    return _adjust(p, family, lambda rising, size: np.maximum.accumulate(rising * (size - np.arange(rising.size))))


def benjamini_hochberg(p: Sequence[float | None] | Floats, family: int | None = None) -> Floats:
    """Holds the expected share of false ones among the claims. Source: Benjamini & Hochberg 1995, JRSS B 57:289."""

    def step_up(rising: Floats, size: int) -> Floats:
        scaled = rising * size / (np.arange(rising.size) + 1)
        return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1])

    return _adjust(p, family, step_up)


def rejected(adjusted: Floats, alpha: float = 0.05) -> int:
    """How many adjusted p are at most alpha; NaN is none."""
    return int(np.count_nonzero(adjusted <= alpha))
