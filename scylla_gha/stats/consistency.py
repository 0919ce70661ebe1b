"""How alike repetitions come out."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, flat, vector


def cv_consistency(values: ArrayLike) -> float | None:
    """1 - sd / |mean|, with n - 1 in the sd, clamped to [0, 1]; None with fewer than two values or a mean of 0.

    The Scylla paper's measure (section 5.1). Of successes and failures it tells the rate once more, in other words;
    `outcome_consistency` is for these. It is too high for small n, and it changes when a constant is added.
    """
    x = vector(values)
    mean = float(x.mean()) if x.size else 0.0
    if x.size < 2 or math.isclose(mean, 0.0, abs_tol=1e-12 * float(np.abs(x).max())):  # noqa: PLR2004 an sd takes two
        return None
    if flat(x):
        return 1.0
    return min(1.0, max(0.0, 1 - float(x.std(ddof=1)) / abs(mean)))


def cv_consistencies(sizes: ArrayLike, means: ArrayLike, within: ArrayLike) -> Floats:
    """`cv_consistency` of many groups, from how many values each has, their mean, and their squared offsets from it.

    NaN where it is None. Of the shape of all three.
    """
    n, mean, square = (np.asarray(one, dtype=np.float64) for one in (sizes, means, within))
    usable = (n > 1) & (mean != 0)
    sd = np.sqrt(square / np.where(usable, n - 1, np.nan))
    return np.asarray(np.clip(1 - sd / np.abs(np.where(usable, mean, np.nan)), 0.0, 1.0))


def outcome_consistency(n: ArrayLike, c: ArrayLike) -> Floats:
    """The chance that two of n tries, c of them successes, come out alike: [C(c, 2) + C(n - c, 2)] / C(n, 2).

    Without bias for p^2 + (1 - p)^2, so as often above it as below. Of the shape that n and c share; NaN where n < 2.

    Raises:
        ValueError: not 0 <= c <= n.
    """
    total, hits = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(c, dtype=np.float64))
    if not np.all((hits >= 0) & (hits <= total)):
        raise ValueError("n and c must be numbers with 0 <= c <= n")
    misses, pairs = total - hits, np.where(total > 1, total * (total - 1), np.nan)
    return np.asarray((hits * (hits - 1) + misses * (misses - 1)) / pairs)


@dataclass(frozen=True, slots=True)
class ScoreConsistency:
    """`clamped`: the value was below 0. `groups`: those with two or more scores, the only ones that count."""

    value: float
    clamped: bool
    groups: int


def score_consistency(scores: ArrayLike, labels: ArrayLike) -> ScoreConsistency | None:
    """1 - 2 * (mean over groups of the sd within), for scores in [0, 1], whose sd is about 1/2 at most.

    Args:
        scores: one per try.
        labels: its group; of any type that sorts.

    Returns:
        None where no group has two scores. With n - 1, the sd of few scores may be above 1/2: clamped, and said.

    Raises:
        ValueError: a score outside [0, 1], or lengths that differ.
    """
    x, names = vector(scores, "scores"), np.asarray(labels)
    if x.shape != names.shape:
        raise ValueError(f"there are {x.size} scores and {names.size} labels; give one label per score")
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        raise ValueError("scores must lie in [0, 1]")
    unique, places = np.unique(names, return_inverse=True)
    sizes = np.bincount(places, minlength=unique.size)
    means = np.bincount(places, weights=x, minlength=unique.size) / np.maximum(sizes, 1)
    squares = np.bincount(places, weights=(x - means[places]) ** 2, minlength=unique.size)
    enough = sizes > 1
    if not enough.any():
        return None
    value = 1 - 2 * float(np.sqrt(squares[enough] / (sizes[enough] - 1)).mean())
    return ScoreConsistency(max(0.0, value), value < 0, int(enough.sum()))
