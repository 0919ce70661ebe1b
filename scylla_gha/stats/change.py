"""E-divisive: where the distribution of a series changes, by energy statistics and permutations.

A split at t is scored against every stretch that follows it, not only against all that does, so a passing excursion is
found as well as a lasting shift. The best split is kept when its p is at most the level; then both parts are searched,
until the best one is not. Nothing is assumed of the distribution, but that values of one stretch are exchangeable.
Source: Matteson & James 2014, Journal of the American Statistical Association 109:334 (the exponent is 1).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Bools, Floats, Ints, flat, vector

SHORTEST: Final = 3  # values of a stretch
DRAWS: Final = 199  # with the series itself 200
_BATCH: Final = 50  # permutations at once, so that what they need stays in the processor's cache
_SLACK: Final = 1e-9  # of a statistic: equal, but for rounding
_STREAM: Final = 4  # a stream of random numbers of its own


@dataclass(frozen=True, slots=True)
class Change:
    """`at`: the first value of the new stretch, counted from 0. `p` is that of its own step, given those before it."""

    at: int
    p: float
    statistic: float


@dataclass(frozen=True, slots=True)
class _Split:
    at: int
    statistic: float


def change_points(
    values: ArrayLike, level: float = 0.05, draws: int = DRAWS, seed: int = 0, shortest: int = SHORTEST
) -> tuple[Change, ...]:
    """All changes whose p is at most the level, in the order of time; the first false one comes about at the level.

    Args:
        values: in the order of time.
        level: of each step.
        draws: permutations of each step; 1 / (draws + 1) is the smallest p.
        seed: the same one gives the same p.
        shortest: values of a stretch, at least 2.

    Raises:
        ValueError: a value that is NaN or infinite, no draw, or a shortest stretch below 2.
    """
    x = _checked(values, draws, shortest)
    rng = np.random.default_rng([seed, _STREAM])
    bounds, found = [0, x.size], []
    while best := _best(x, bounds, shortest):
        p = _p(x, bounds, best.statistic, rng, _Test(draws, shortest, level))
        if p > level:
            break
        found.append(Change(best.at, p, best.statistic))
        bounds = sorted([*bounds, best.at])
    return tuple(sorted(found, key=lambda change: change.at))


def best_change(values: ArrayLike, draws: int = DRAWS, seed: int = 0, shortest: int = SHORTEST) -> Change | None:
    """One step: the best split and its p, however large; None where the series is too short or all equal.

    Raises:
        ValueError: as for `change_points`.
    """
    x = _checked(values, draws, shortest)
    best = _best(x, [0, x.size], shortest)
    if best is None:
        return None
    rng = np.random.default_rng([seed, _STREAM])
    return Change(best.at, _p(x, [0, x.size], best.statistic, rng, _Test(draws, shortest, 1.0)), best.statistic)


def divide(values: ArrayLike, count: int, shortest: int = SHORTEST) -> tuple[int, ...]:
    """The best `count` splits without a test, in the order of time; fewer where the series holds no more.

    Raises:
        ValueError: as for `change_points`.
    """
    x = _checked(values, 1, shortest)
    bounds = [0, x.size]
    while len(bounds) < count + 2 and (best := _best(x, bounds, shortest)):
        bounds = sorted([*bounds, best.at])
    return tuple(bounds[1:-1])


def _checked(values: ArrayLike, draws: int, shortest: int) -> Floats:
    if draws < 1 or shortest < 2:  # noqa: PLR2004 a distance within takes two
        raise ValueError(f"draws must be at least 1 and shortest at least 2, not {draws} and {shortest}")
    return vector(values)


def _best(x: Floats, bounds: list[int], shortest: int) -> _Split | None:
    """The best split of any stretch; None where all are too short or without any change."""
    found = []
    for start, end in pairwise(bounds):
        if end - start >= 2 * shortest and not flat(x[start:end]):
            statistic, at = _scan(x[start:end, None], shortest)
            found.append(_Split(start + int(at[0]), float(statistic[0])))
    return max(found, key=lambda split: split.statistic, default=None)


@dataclass(frozen=True, slots=True)
class _Test:
    draws: int
    shortest: int
    level: float  # beyond which the exact p does not matter


def _p(x: Floats, bounds: list[int], observed: float, rng: np.random.Generator, test: _Test) -> float:
    """Add-one p of the best split, values permuted within their stretch; cut short when it is above the level."""
    least, reached, done = observed * (1 - _SLACK), 0, 0
    while done < test.draws and reached + 1 <= test.level * (test.draws + 1):
        batch = min(_BATCH, test.draws - done)
        reached += int((_permuted(x, bounds, batch, rng, test.shortest) >= least).sum())
        done += batch
    return (reached + 1) / (done + 1)


def _permuted(x: Floats, bounds: list[int], batch: int, rng: np.random.Generator, shortest: int) -> Floats:
    """The best statistic of each of so many permutations."""
    best = np.full(batch, -np.inf)
    for start, end in pairwise(bounds):
        if end - start >= 2 * shortest:
            shuffled = rng.permuted(np.tile(x[start:end, None], batch), axis=0)
            best = np.maximum(best, _scan(shuffled, shortest)[0])
    return best


def _scan(x: Floats, shortest: int) -> tuple[Floats, Ints]:
    """Of each series (a column of x) the largest statistic over splits t and ends e, and its t.

    With w the sum of distances of all pairs in a stretch, the statistic of [0, t) against [t, e) is
    2 / e * (w[0, e) - (e - 1) * (w[0, t) / (t - 1) + w[t, e) / (e - t - 1))), so for each e the smallest of the last
    sum is looked for; w[t, e) grows by the distances of its next value.
    """
    n, count = x.shape
    within = np.zeros((n, count))  # w[t, e), by t
    head = np.zeros((n, count))  # w[0, t) / (t - 1), by t
    best, where = np.full(count, -np.inf), np.zeros(count, dtype=np.int64)
    tails = np.maximum(np.arange(n, 0, -1.0) - 1, 1.0)[:, None]  # e - t - 1 for e = n
    for end in range(2, n + 1):
        apart = np.abs(x[: end - 1] - x[end - 1])
        within[: end - 1] += np.cumsum(apart[::-1], axis=0)[::-1]
        if end < n:
            head[end] = within[0] / (end - 1)
        if end >= 2 * shortest:
            last = end - shortest + 1
            sums = within[shortest:last] / tails[n - end + shortest : n - end + last] + head[shortest:last]
            at = sums.argmin(axis=0)
            low = np.take_along_axis(sums, at[None], axis=0)[0]
            statistic = 2 / end * (within[0] - (end - 1) * low)
            better: Bools = statistic > best
            best, where = np.where(better, statistic, best), np.where(better, at + shortest, where)
    return best, where
