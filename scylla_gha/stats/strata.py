"""Stratified permutation: values change arms within their stratum only.

It answers "on these strata alone". It tests that there is no effect in any stratum, and so finds differences between
strata that average out: 13-24 % false alarms where the question is about strata like these. For that, take `signflip`.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from scylla_gha.stats.arrays import Floats, on_grid, rows, vector
from scylla_gha.stats.pvalue import SLACK, Alternative, Test, count_extreme, least_p_drawn
from scylla_gha.stats.resampling import USUAL, Resampling, random_choices

Stratum: TypeAlias = tuple[ArrayLike, ArrayLike]  # the values of the first arm, and of the second
_EXACT_SLACK: Final = 1e-9  # of whole and half successes, which are apart by far more


def stratified_p(strata: Sequence[Stratum], alternative: Alternative = "two-sided", how: Resampling = USUAL) -> Floats:
    """The p of each row: many comparisons at once, drawn alike for all, with p = (b + 1) / (m + 1).

    The statistic is the mean over strata of mean first - mean second. It takes 8 bytes per row and draw. A stratum in
    which an arm has no value takes no part; without any other, p = 1.

    Args:
        strata: of each, the two arms' values, shapes (rows, n) and (rows, m); n and m may differ between strata.
        alternative: to "no effect in any stratum".
        how: draws and seed.
    """
    usable = [(rows(one, "the first arm"), rows(other, "the second arm")) for one, other in strata]
    if len({len(arm) for both in usable for arm in both}) > 1:
        raise ValueError("all strata and both arms must have the same number of rows")
    sizes = [(one.shape[1], other.shape[1]) for one, other in usable]
    count = len(usable[0][0]) if usable else 0
    parts = [_scaled(one, other) for one, other in usable if one.shape[1] and other.shape[1]]
    if not parts:
        return np.ones(count)
    whole = np.hstack(parts)
    grid = on_grid(whole, whole.shape[1])
    drawn, observed, expected, at = np.zeros((count, how.draws)), np.zeros(count), np.zeros(count), 0
    for number, (n, m) in enumerate(size for size in sizes if all(size)):
        values = grid[:, at : at + n + m]
        drawn += values @ random_choices(n, m, how.draws, how.seed, number)
        observed += values[:, :n].sum(axis=1)
        expected += values.sum(axis=1) * n / (n + m)
        at += n + m
    drawn -= expected[:, None]
    extreme = count_extreme(drawn, observed - expected, SLACK * np.abs(whole).sum(axis=1), alternative)
    return np.asarray((extreme + 1) / (how.draws + 1))


def _scaled(one: Floats, other: Floats) -> Floats:
    """The sum of the first arm's of these is the difference of the means, but for what dealing leaves as it is."""
    both = np.hstack([one, other]) * (1 / one.shape[1] + 1 / other.shape[1])
    return np.asarray(both - both.mean(axis=1, keepdims=True))


def stratified_test(
    strata: Sequence[Stratum], alternative: Alternative = "two-sided", how: Resampling = USUAL
) -> Test | None:
    """`stratified_p` of one comparison; None where no stratum has values of both arms.

    Args:
        strata: of each, the two arms' values.
        alternative: to "no effect in any stratum".
        how: draws and seed.
    """
    found = [(vector(one, "the first arm"), vector(other, "the second arm")) for one, other in strata]
    usable = [(one, other) for one, other in found if one.size and other.size]
    if not usable:
        return None
    mean = math.fsum(float(one.mean() - other.mean()) for one, other in usable) / len(usable)
    p = float(stratified_p(usable, alternative, how)[0])
    return Test(mean, p, least_p_drawn(how.draws), f"stratified permutation, {how.draws} draws", len(usable))


def stratified_binary_test(counts: ArrayLike, alternative: Alternative = "two-sided") -> Test | None:
    """Of successes: exact, by convolving the hypergeometric distributions of the strata.

    The statistic is the successes of the first arm less what chance would give it (the numerator of
    Cochran-Mantel-Haenszel); where strata are alike in size it orders outcomes as `stratified_test` does. Two-sided
    means as far from 0, on either side.

    Args:
        counts: shape (strata, 4): successes and trials of the first arm, successes and trials of the second.
        alternative: to "no effect in any stratum".

    Raises:
        ValueError: another shape, or successes that do not lie in 0..trials.
    """
    table = np.asarray(counts, dtype=np.int64)
    if table.size == 0:
        return None
    if table.ndim != 2 or table.shape[1] != 4:  # noqa: PLR2004 strata, and four counts of each
        raise ValueError("counts must have the shape (strata, 4)")
    if np.any(table[:, [0, 2]] < 0) or np.any(table[:, [0, 2]] > table[:, [1, 3]]):
        raise ValueError("successes must lie in 0..trials")
    table = table[(table[:, 1] > 0) & (table[:, 3] > 0)]
    if not len(table):
        return None
    chance, lowest, expected = np.ones(1), 0, 0.0
    for won, n, also_won, m in table.tolist():
        chance = np.convolve(chance, _hypergeometric(won + also_won, n, m))
        lowest += max(0, won + also_won - m)
        expected += (won + also_won) * n / (n + m)
    observed = float(table[:, 0].sum()) - expected
    offsets = np.arange(lowest, lowest + chance.size) - expected
    p = _tail(offsets, chance, observed, alternative)
    least = min(_tail(offsets, chance, float(end), alternative) for end in (offsets[0], offsets[-1]))
    return Test(observed, p, least, "stratified permutation, exact", len(table))


@lru_cache(maxsize=4096)  # of few trials there are few such tables, and thousands of strata share them
def _hypergeometric(successes: int, n: int, m: int) -> Floats:
    """How probably the n trials of the first arm get each possible number of the successes; read-only."""
    k = np.arange(max(0, successes - m), min(successes, n) + 1)

    def log_choose(top: int, bottom: Floats) -> Floats:
        return np.asarray(gammaln(top + 1) - gammaln(bottom + 1) - gammaln(top - bottom + 1))

    logs = log_choose(n, k.astype(np.float64)) + log_choose(m, (successes - k).astype(np.float64))
    chance = np.exp(logs - logs.max())
    found = np.asarray(chance / chance.sum())
    found.flags.writeable = False
    return found


def _tail(offsets: NDArray[np.floating], chance: Floats, observed: float, alternative: Alternative) -> float:
    """Probability of what is at least as extreme; in (0, 1]."""
    if alternative == "two-sided":
        offsets, observed = np.abs(offsets), abs(observed)
    elif alternative == "less":
        offsets, observed = -offsets, -observed
    return min(1.0, max(math.fsum(chance[offsets >= observed - _EXACT_SLACK].tolist()), math.ulp(0.0)))
