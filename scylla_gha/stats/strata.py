"""Difference of two samples in the same strata: an interval and a permutation test that are about these strata alone.

The repetitions in a stratum are the random units; the strata are fixed, with equal weights. Values lie in 0..1.
Under the hypothesis of no effect the two samples of a stratum can be exchanged, so the test is exact for any number of
strata and any distribution. Source: Good 2005, Permutation, Parametric and Bootstrap Tests of Hypotheses, section 3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, vector
from scylla_gha.stats.means import t_quantile
from scylla_gha.stats.resampling import DEFAULT_RESAMPLING, Resampling

_TIE: Final = 1e-9
_INNER: Final = 0.90  # confidence of the interval that two one-sided tests at 0.05 give
_MOST_SPLITS: Final = 1e15
_TWO: Final = 2
_ASSUMED_DEVIATION: Final = 0.5  # of one repetition, for the least variance


@dataclass(frozen=True, slots=True)
class StratifiedDifference:
    """Mean over strata of first mean less second mean, with limits at 95 % and at 90 %, and a p value.

    Attributes:
        least_p: the least p that so many repetitions can give.
        strata: number of strata with values of both samples.
    """

    value: float
    low: float
    high: float
    inner_low: float
    inner_high: float
    p: float
    least_p: float
    strata: int


def stratified_difference(
    samples: Sequence[tuple[ArrayLike, ArrayLike]], how: Resampling = DEFAULT_RESAMPLING
) -> StratifiedDifference | None:
    """Compare two samples in each stratum; None if no stratum has both.

    The variance within strata is pooled. It is at least the variance if one of all repetitions differed by a half,
    since repetitions that are all alike do not prove that they always are.

    Args:
        samples: values of the first and of the second sample, for each stratum.
        how: draws and seed of the test.
    """
    pairs = [(vector(first), vector(second)) for first, second in samples]
    pairs = [(first, second) for first, second in pairs if first.size and second.size]
    if not pairs:
        return None
    value = float(np.mean([first.mean() - second.mean() for first, second in pairs]))
    error, df = _error(pairs)
    half, inner = (t_quantile(df, confidence) * error if df else math.nan for confidence in (0.95, _INNER))
    p, least = _permutation_p(pairs, how)
    limits = (max(-1.0, value - half), min(1.0, value + half), max(-1.0, value - inner), min(1.0, value + inner))
    return StratifiedDifference(value, *limits, p, least, len(pairs))


def _error(pairs: Sequence[tuple[Floats, Floats]]) -> tuple[float, int]:
    """Return the standard error of the mean difference, and its degrees of freedom; 0 without repetitions."""
    variance = 0.0
    df = sum(values.size - 1 for pair in pairs for values in pair)
    for side in (0, 1):
        values = [pair[side] for pair in pairs]
        n = sum(sample.size for sample in values)
        side_df = n - len(values)
        squares = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in values)
        within = squares / side_df if side_df else 0.0
        within = max(within, _ASSUMED_DEVIATION**2 / n)
        variance += within * sum(1 / sample.size for sample in values) / len(values) ** 2
    return math.sqrt(variance), df


def _permutation_p(pairs: Sequence[tuple[Floats, Floats]], how: Resampling) -> tuple[float, float]:
    """Return the two-sided p of the summed differences over random exchanges within strata, and the least p."""
    rng = np.random.default_rng([how.seed, len(pairs)])
    drawn = np.zeros(how.draws)
    seen, splits = 0.0, 1.0
    for first, second in pairs:
        pooled, n, total = np.concatenate([first, second]), first.size, first.size + second.size
        seen += first.mean() - second.mean()
        splits = min(_MOST_SPLITS, splits * math.comb(total, n))
        if np.ptp(pooled) > _TIE:
            order = rng.random((how.draws, total)).argsort(axis=1)
            chosen = pooled[order[:, :n]].sum(axis=1)
            drawn += chosen / n - (pooled.sum() - chosen) / second.size
    extreme = int((np.abs(drawn) >= abs(seen) - _TIE).sum())
    least = max(_TWO / splits, 1 / (how.draws + 1))
    return max((extreme + 1) / (how.draws + 1), min(1.0, least)), min(1.0, least)
