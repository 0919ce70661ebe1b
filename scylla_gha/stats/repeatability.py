"""How repeatable outcomes are: consistency of repetitions, pass@k and pass^k."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats, vector
from scylla_gha.stats.clusters import Clusters, Labels, clustered


def cv_consistencies(groups: Clusters) -> Floats:
    """Compute 1 - sd / |mean| of each group, with n - 1 in the sd, clamped to [0, 1].

    The Scylla paper's measure (section 5.1). It is too high for small n, and it changes if a constant is added. NaN
    with fewer than two values or a mean of 0.
    """
    n, mean = groups.sizes.astype(np.float64), groups.means
    usable = (n > 1) & (mean != 0)
    sd = np.sqrt(groups.within / np.where(usable, n - 1, np.nan))
    return np.asarray(np.clip(1 - sd / np.abs(np.where(usable, mean, np.nan)), 0.0, 1.0))


def outcome_consistency(n: ArrayLike, c: ArrayLike) -> Floats:
    """Compute the chance that two of n tries, c of them successes, have the same outcome.

    [C(c, 2) + C(n - c, 2)] / C(n, 2), unbiased for p^2 + (1 - p)^2. Of the shape that n and c share; NaN if n < 2.

    Raises:
        ValueError: not 0 <= c <= n.
    """
    total, hits = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(c, dtype=np.float64))
    if not np.all((hits >= 0) & (hits <= total)):
        raise ValueError("n and c must be numbers with 0 <= c <= n")
    misses, pairs = total - hits, np.where(total > 1, total * (total - 1), np.nan)
    return np.asarray((hits * (hits - 1) + misses * (misses - 1)) / pairs)


def score_consistency(scores: ArrayLike, labels: Labels) -> float | None:
    """Compute 1 - 2 * (mean over groups of the sd within), for scores in [0, 1], whose sd is about 1/2 at most.

    Groups with one score are ignored; None without a group of two. At least 0: with n - 1, the sd of few scores may be
    above 1/2.

    Args:
        scores: one per try.
        labels: its group, as `clustered` takes it.

    Raises:
        ValueError: a score outside [0, 1], or lengths that differ.
    """
    x = vector(scores, "scores")
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        raise ValueError("scores must lie in [0, 1]")
    groups = clustered(x, labels)
    enough = groups.sizes > 1
    if not enough.any():
        return None
    return max(0.0, 1 - 2 * float(np.sqrt(groups.within[enough] / (groups.sizes[enough] - 1)).mean()))


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats:
    """Compute for each group of n tries with c successes how often one of k tries succeeds, without bias.

    1 - C(n - c, k) / C(n, k). Of the shape that n and c share; NaN if n < k.
    Source: Chen et al. 2021, arXiv:2107.03374.

    Raises:
        ValueError: not 0 <= c <= n, no whole numbers, or k below 1.
    """
    return _look_up(n, c, lambda size: _any_table(size, k))


def pass_all_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats:
    """Compute for each group how often all of k tries succeed, C(c, k) / C(n, k); otherwise as `pass_at_k`.

    Source: Yao et al. 2024, arXiv:2406.12045.
    """
    return _look_up(n, c, lambda size: _all_table(size, k))


@lru_cache(maxsize=1024)
def _any_table(n: int, k: int) -> Floats:
    return _table(n, k, lambda c: math.comb(n, k) - math.comb(n - c, k))


@lru_cache(maxsize=1024)
def _all_table(n: int, k: int) -> Floats:
    return _table(n, k, lambda c: math.comb(c, k))


def _table(n: int, k: int, favourable: Callable[[int], int]) -> Floats:
    """Compute the chances for c = 0..n from whole numbers, so that only the last step rounds; read-only."""
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    draws = math.comb(n, k)
    chances = np.array([favourable(c) / draws if draws else math.nan for c in range(n + 1)])
    chances.flags.writeable = False
    return chances


def _look_up(n: ArrayLike, c: ArrayLike, table: Callable[[int], Floats]) -> Floats:
    sizes, hits = np.broadcast_arrays(np.asarray(n), np.asarray(c))
    whole = np.all((sizes % 1 == 0) & (hits % 1 == 0))
    if not (whole and np.all((hits >= 0) & (hits <= sizes))):
        raise ValueError("n and c must be whole numbers with 0 <= c <= n")
    chances = np.full(sizes.shape, np.nan)
    for size in np.unique(sizes):
        same = sizes == size
        chances[same] = table(int(size))[hits[same].astype(np.int64)]
    return chances


@dataclass(frozen=True, slots=True)
class Solved:
    """Number of groups with at least one try, of those solved at least once, and of those always solved."""

    ever: int
    always: int
    groups: int


def solved(n: ArrayLike, c: ArrayLike) -> Solved:
    """Count groups ever and always solved. Both depend on n: compare under the same n only."""
    sizes, hits = np.broadcast_arrays(np.asarray(n), np.asarray(c))
    tried = sizes > 0
    return Solved(int((hits[tried] > 0).sum()), int((hits == sizes)[tried].sum()), int(tried.sum()))
