"""The same units under two conditions: what was lost, what was gained, and whether one outweighs the other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, chdtrc


@dataclass(frozen=True, slots=True)
class Flips:
    """Pairs by what became of them. `regressions` held before and no longer do; `fixes` the other way round."""

    both: int
    regressions: int
    fixes: int
    neither: int

    @property
    def rate(self) -> float | None:
        """Share of the pairs that flipped; None without pairs."""
        n = self.both + self.regressions + self.fixes + self.neither
        return (self.regressions + self.fixes) / n if n else None


def flips(before: ArrayLike, after: ArrayLike) -> Flips:
    """Count pairs.

    Args:
        before: true or false per unit.
        after: of the same units, in the same order.

    Raises:
        ValueError: the shapes differ, or a value is not 0 or 1.
    """
    first, second = np.asarray(before), np.asarray(after)
    if first.shape != second.shape:
        raise ValueError(f"before has {first.size} values and after has {second.size}; give pairs")
    if not (np.isin(first, (0, 1)).all() and np.isin(second, (0, 1)).all()):
        raise ValueError("values must be true or false; leave out pairs that are not known")
    held, holds = first.astype(np.bool_), second.astype(np.bool_)
    return Flips(
        int((held & holds).sum()), int((held & ~holds).sum()), int((~held & holds).sum()), int((~held & ~holds).sum())
    )


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided p that both kinds of flip are as likely: twice the binomial tail, at most 1; 1 without flips.

    The pairs must be independent: repetitions of one unit are not.

    Raises:
        ValueError: a count below 0.
    """
    _check(b, c)
    return min(1.0, 2 * float(bdtr(min(b, c), b + c, 0.5))) if b + c else 1.0


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A statistic with one degree of freedom, and its p."""

    statistic: float
    p: float


def mcnemar_chi2(b: int, c: int, *, continuity: bool = True) -> ChiSquare | None:
    """(|b - c| - 1)^2 / (b + c), or without the 1; None without flips. With fewer than 25 flips take the exact test.

    Source: McNemar 1947; the correction is Edwards' of 1948.

    Raises:
        ValueError: a count below 0.
    """
    _check(b, c)
    if b + c == 0:
        return None
    gap = max(0, abs(b - c) - int(continuity))
    statistic = gap * gap / (b + c)
    return ChiSquare(statistic, float(chdtrc(1, statistic)))


def _check(b: int, c: int) -> None:
    if b < 0 or c < 0:
        raise ValueError(f"counts must be at least 0, not {b} and {c}")
