"""Two by two counts: Fisher's exact test, and a rate as seen by a judge who errs."""

from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from scylla_gha.stats.arrays import Floats, Ints

Alternative = Literal["two-sided", "greater", "less"]
_SLACK: Final = 1e-7  # of a chance: what is as likely as the observed, but for rounding
_SIDE: Final = 2


def fisher_exact(table: ArrayLike, alternative: Alternative = "two-sided") -> float:
    """P of [[a, b], [c, d]] given its margins; 1 where a row or a column is empty.

    `greater`: a is larger than chance has it. Two-sided: all tables that are no more likely than the one observed.
    Source: Fisher 1935, The Design of Experiments, ch. II.

    Raises:
        ValueError: not two by two counts.
    """
    counts = np.asarray(table)
    if counts.shape != (_SIDE, _SIDE) or np.any(counts < 0) or np.any(counts % 1):
        raise ValueError("a table must be two rows of two counts")
    (a, b), (c, d) = counts.astype(np.int64).tolist()
    lowest, chances = _chances(a + b, c + d, a + c)
    at = a - lowest
    if alternative == "greater":
        found = chances[at:].sum()
    elif alternative == "less":
        found = chances[: at + 1].sum()
    else:
        found = chances[chances <= chances[at] * (1 + _SLACK)].sum()
    return min(1.0, float(found))


def _chances(first: int, second: int, column: int) -> tuple[int, Floats]:
    """The hypergeometric chances of the upper left count, from its lowest value up; they sum to 1."""
    lowest = max(0, column - second)
    k = np.arange(lowest, min(first, column) + 1, dtype=np.int64)
    logs = _log_choose(first, k) + _log_choose(second, column - k)
    chances = np.exp(logs - logs.max())
    return lowest, chances / chances.sum()


def _log_choose(n: int, k: Ints) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def rogan_gladen(observed: float, sensitivity: float, specificity: float) -> float | None:
    """The true rate behind a rate that a judge saw: (p + sp - 1) / (se + sp - 1), clamped to [0, 1].

    None where the judge is no better than chance (se + sp <= 1): nothing can be told then. Report it beside the raw
    rate. Source: Rogan & Gladen 1978, American Journal of Epidemiology 107:71.

    Args:
        observed: share that the judge called positive.
        sensitivity: share of the truly positive that it calls positive.
        specificity: share of the truly negative that it calls negative.

    Raises:
        ValueError: one of them lies outside [0, 1].
    """
    for name, value in (("observed", observed), ("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must lie in [0, 1], not {value}")
    better = sensitivity + specificity - 1
    return min(1.0, max(0.0, (observed + specificity - 1) / better)) if better > 1e-12 else None  # noqa: PLR2004 rounding
