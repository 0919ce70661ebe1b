"""Changes of level in a series (E-divisive), and slow drift (CUSUM).

E-divisive finds where the distribution of a series changes, by energy statistics and permutations.
A split at t is scored against every stretch that begins at t, not only the whole rest of the series, so that temporary
shifts are found as well as lasting ones. The best split is kept if its p is at most the level; then both parts are
searched, until the best split has a larger p. The only assumption is that values of one stretch are exchangeable.
Source: Matteson & James 2014, Journal of the American Statistical Association 109:334 (the exponent is 1).

CUSUM is a sum that grows while values stay on one side of a target. In units of sigma, `k` (half the drift that
matters) is subtracted from each value, and a sum above `h` is a signal. With the usual k = 0.5 and h = 5 a stationary
normal series gives a false signal once in some 465 values.
Source: Montgomery, Introduction to Statistical Quality Control, ch. 9.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Bools, Floats, Ints, is_constant, vector

_SHORTEST: Final = 3  # values of a stretch
_DRAWS: Final = 999  # with the series itself 1,000
_BATCH: Final = 50  # permutations at once, so that what they need stays in the processor's cache
_SLACK: Final = 1e-9  # of a statistic: equal, but for rounding
_STREAM: Final = 4  # number of this module's stream of random numbers


@dataclass(frozen=True, slots=True)
class Change:
    """A change point: `at` is the index of the first value after it, `p` is given the changes found before it."""

    at: int
    p: float


def change_points(values: ArrayLike, level: float = 0.05, *, draws: int = _DRAWS, seed: int = 0) -> tuple[Change, ...]:
    """Find all changes with p at most `level`, in order of time; a stable series has a false change at that rate.

    Args:
        values: values in chronological order.
        level: level of each step.
        draws: permutations of each step; 1 / (draws + 1) is the smallest p.
        seed: seed of the permutations.

    Raises:
        ValueError: a value that is NaN or infinite, or no draw.
    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1, not {draws}")
    x = vector(values)
    rng = np.random.default_rng([seed, _STREAM])
    bounds, changes = [0, x.size], []
    while (best := _best_split(x, bounds)) is not None:
        statistic, at = best
        p = _permutation_p(x, bounds, statistic, rng, draws=draws, level=level)
        if p > level:
            break
        changes.append(Change(at, p))
        bounds = sorted([*bounds, at])
    return tuple(sorted(changes, key=lambda change: change.at))


def _best_split(x: Floats, bounds: list[int]) -> tuple[float, int] | None:
    """Find the largest statistic of any stretch, and its index; None if all stretches are too short or constant."""
    splits = []
    for start, end in pairwise(bounds):
        if end - start >= 2 * _SHORTEST and not is_constant(x[start:end]):
            statistic, at = _scan(x[start:end, None])
            splits.append((float(statistic[0]), start + int(at[0])))
    return max(splits, key=lambda split: split[0], default=None)


def _permutation_p(
    x: Floats, bounds: list[int], observed: float, rng: np.random.Generator, *, draws: int, level: float
) -> float:
    """Compute the add-one p of the best split, values permuted within their stretch; stop once above the level."""
    least, reached, done = observed * (1 - _SLACK), 0, 0
    while done < draws and reached + 1 <= level * (draws + 1):
        batch = min(_BATCH, draws - done)
        best = np.full(batch, -np.inf)
        for start, end in pairwise(bounds):
            if end - start >= 2 * _SHORTEST:
                shuffled = rng.permuted(np.tile(x[start:end, None], batch), axis=0)
                best = np.maximum(best, _scan(shuffled)[0])
        reached += int((best >= least).sum())
        done += batch
    return (reached + 1) / (done + 1)


def _scan(x: Floats) -> tuple[Floats, Ints]:
    """Find the largest statistic over splits t and ends e of each series (a column of x), and its t.

    With w the sum of distances of all pairs in a stretch, the statistic of [0, t) against [t, e) is
    2 / e * (w[0, e) - (e - 1) * (w[0, t) / (t - 1) + w[t, e) / (e - t - 1))), so for each e the smallest of the last
    sum is needed; w[t, e) grows by the distances of its next value.
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
        if end >= 2 * _SHORTEST:
            first, last = _SHORTEST, end - _SHORTEST + 1
            sums = within[first:last] / tails[n - end + first : n - end + last] + head[first:last]
            at = sums.argmin(axis=0)
            low = np.take_along_axis(sums, at[None], axis=0)[0]
            statistic = 2 / end * (within[0] - (end - 1) * low)
            better: Bools = statistic > best
            best, where = np.where(better, statistic, best), np.where(better, at + first, where)
    return best, where


@dataclass(frozen=True, slots=True)
class Cusum:
    """The upward and the downward sum after each value, in sigmas and never below 0."""

    upper: Floats
    lower: Floats


@dataclass(frozen=True, slots=True)
class Signal:
    """`at`: index of the value that brought a sum above h; `since`: index of the first value of that run."""

    at: int
    since: int
    side: Literal["up", "down"]


def cusum(residuals: ArrayLike, k: float = 0.5) -> Cusum:
    """Compute both sums of standardised residuals (finite); empty without residuals."""
    z = vector(residuals, "residuals")
    return Cusum(_running_sum(z - k), _running_sum(-z - k))


def _running_sum(steps: Floats) -> Floats:
    """Compute S_i = max(0, S_(i-1) + step)."""
    total, sums = 0.0, np.empty_like(steps)
    for at, step in enumerate(steps):  # a loop, as a difference of long sums would not be exactly 0
        total = max(0.0, total + float(step))
        sums[at] = total
    return sums


def first_signal(sums: Cusum, h: float = 5.0) -> Signal | None:
    """Find the first sum above h; None if there is none. `since` tells where the drift probably began."""
    above = np.flatnonzero((sums.upper > h) | (sums.lower > h))
    if not above.size:
        return None
    at, is_up = int(above[0]), bool(sums.upper[above[0]] > h)
    zeros = np.flatnonzero((sums.upper if is_up else sums.lower)[:at] == 0)
    return Signal(at, int(zeros[-1]) + 1 if zeros.size else 0, "up" if is_up else "down")
