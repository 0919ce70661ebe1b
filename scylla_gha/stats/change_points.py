"""Changes of level in a series (E-divisive), and slow drift (CUSUM).

E-divisive finds where the distribution of a series changes, by energy statistics and permutations.
A split at t is scored against every stretch that follows it, not only against all that does, so a passing excursion is
found as well as a lasting shift. The best split is kept if its p is at most the level; then both parts are searched,
until the best one is not. The only assumption is that values of one stretch are exchangeable.
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

SHORTEST: Final = 3  # values of a stretch
DRAWS: Final = 199  # with the series itself 200
_BATCH: Final = 50  # permutations at once, so that what they need stays in the processor's cache
_SLACK: Final = 1e-9  # of a statistic: equal, but for rounding
_STREAM: Final = 4  # a stream of random numbers of its own


@dataclass(frozen=True, slots=True)
class Change:
    """A change point: `at` is the index of the first value after it, `p` is given the changes found before it."""

    at: int
    p: float


@dataclass(frozen=True, slots=True)
class _Split:
    at: int
    statistic: float


def change_points(
    values: ArrayLike, level: float = 0.05, draws: int = DRAWS, seed: int = 0, shortest: int = SHORTEST
) -> tuple[Change, ...]:
    """Find all changes whose p is at most the level, in the order of time; a stable series has one at that rate.

    Args:
        values: in the order of time.
        level: of each step.
        draws: permutations of each step; 1 / (draws + 1) is the smallest p.
        seed: the same one gives the same p.
        shortest: values of a stretch, at least 2.

    Raises:
        ValueError: a value that is NaN or infinite, no draw, or a shortest stretch below 2.
    """
    if draws < 1 or shortest < 2:  # noqa: PLR2004 a distance within takes two
        raise ValueError(f"draws must be at least 1 and shortest at least 2, not {draws} and {shortest}")
    x = vector(values)
    rng = np.random.default_rng([seed, _STREAM])
    bounds, changes = [0, x.size], []
    while best := _best(x, bounds, shortest):
        p = _p(x, bounds, best.statistic, rng, _PermutationTest(draws, shortest, level))
        if p > level:
            break
        changes.append(Change(best.at, p))
        bounds = sorted([*bounds, best.at])
    return tuple(sorted(changes, key=lambda change: change.at))


def _best(x: Floats, bounds: list[int], shortest: int) -> _Split | None:
    """Find the best split of any stretch; None if all are too short or constant."""
    splits = []
    for start, end in pairwise(bounds):
        if end - start >= 2 * shortest and not is_constant(x[start:end]):
            statistic, at = _scan(x[start:end, None], shortest)
            splits.append(_Split(start + int(at[0]), float(statistic[0])))
    return max(splits, key=lambda split: split.statistic, default=None)


@dataclass(frozen=True, slots=True)
class _PermutationTest:
    draws: int
    shortest: int
    level: float  # above it the exact p does not matter


def _p(x: Floats, bounds: list[int], observed: float, rng: np.random.Generator, test: _PermutationTest) -> float:
    """Compute the add-one p of the best split, values permuted within their stretch; stop once above the level."""
    least, reached, done = observed * (1 - _SLACK), 0, 0
    while done < test.draws and reached + 1 <= test.level * (test.draws + 1):
        batch = min(_BATCH, test.draws - done)
        reached += int((_permuted(x, bounds, batch, rng, test.shortest) >= least).sum())
        done += batch
    return (reached + 1) / (done + 1)


def _permuted(x: Floats, bounds: list[int], batch: int, rng: np.random.Generator, shortest: int) -> Floats:
    """Return the best statistic of each permutation."""
    best = np.full(batch, -np.inf)
    for start, end in pairwise(bounds):
        if end - start >= 2 * shortest:
            shuffled = rng.permuted(np.tile(x[start:end, None], batch), axis=0)
            best = np.maximum(best, _scan(shuffled, shortest)[0])
    return best


def _scan(x: Floats, shortest: int) -> tuple[Floats, Ints]:
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
        if end >= 2 * shortest:
            last = end - shortest + 1
            sums = within[shortest:last] / tails[n - end + shortest : n - end + last] + head[shortest:last]
            at = sums.argmin(axis=0)
            low = np.take_along_axis(sums, at[None], axis=0)[0]
            statistic = 2 / end * (within[0] - (end - 1) * low)
            better: Bools = statistic > best
            best, where = np.where(better, statistic, best), np.where(better, at + shortest, where)
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
    """Compute both sums of standardised residuals; empty without residuals.

    Raises:
        ValueError: a residual that is NaN or infinite.
    """
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
    """Find the first sum above h; None without any. `since` tells where the drift probably began."""
    signals = [Signal(at, _since(series, at), side) for series, side in _sides(sums) for at in _first(series, h)]
    return min(signals, key=lambda signal: (signal.at, signal.side == "down"), default=None)


def _sides(sums: Cusum) -> tuple[tuple[Floats, Literal["up", "down"]], ...]:
    return (sums.upper, "up"), (sums.lower, "down")


def _first(sums: Floats, h: float) -> list[int]:
    return [int(at) for at in np.flatnonzero(sums > h)[:1]]


def _since(sums: Floats, at: int) -> int:
    zeros = np.flatnonzero(sums[:at] == 0)
    return int(zeros[-1]) + 1 if zeros.size else 0
