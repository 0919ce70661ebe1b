"""How often one of k tries succeeds, and how often all of them do, from n tries with c successes: without bias.

All three are chances of a draw without replacement, so they are tables over c = 0..n, made once per n and k from
whole numbers: no table holds a rounding but the last one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from scylla_gha.stats.arrays import Floats

Table: TypeAlias = Callable[[int], Floats]  # n -> the value for each c = 0..n


@lru_cache(maxsize=1024)
def any_table(n: int, k: int) -> Floats:
    """pass@k for c = 0..n, shape (n + 1,), read-only; NaN where n < k.

    1 - C(n - c, k) / C(n, k). Source: Chen et al. 2021, arXiv:2107.03374.
    """
    return _table(n, k, lambda c: math.comb(n, k) - math.comb(n - c, k))


@lru_cache(maxsize=1024)
def all_table(n: int, k: int) -> Floats:
    """pass^k for c = 0..n, shape (n + 1,), read-only; NaN where n < k.

    C(c, k) / C(n, k). Source: Yao et al. 2024, arXiv:2406.12045.
    """
    return _table(n, k, lambda c: math.comb(c, k))


@lru_cache(maxsize=1024)
def share_table(n: int, k: int, share: float) -> Floats:
    """G-Pass@k for c = 0..n: the chance that at least `share` of k tries succeed; read-only, NaN where n < k.

    Share 1 is pass^k, and any share up to 1/k is pass@k. Source: Liu et al. 2024, arXiv:2412.13147.

    Raises:
        ValueError: share is not above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, not {share}")
    need = math.ceil(round(share * k, 9))  # 0.7 of 10 is 7, though 0.7 * 10 may be a hair more
    return _table(n, k, lambda c: sum(math.comb(c, j) * math.comb(n - c, k - j) for j in range(need, k + 1)))


def _table(n: int, k: int, favourable: Callable[[int], int]) -> Floats:
    if k < 1 or n < 0:
        raise ValueError(f"k must be at least 1 and n at least 0, not {k} and {n}")
    draws = math.comb(n, k)
    found = np.array([favourable(c) / draws if draws else math.nan for c in range(n + 1)])
    found.flags.writeable = False
    return found


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats:
    """pass@k of each group of n tries with c successes, of the shape that n and c share; NaN where n < k.

    Raises:
        ValueError: not 0 <= c <= n, no whole numbers, or k below 1.
    """
    return _look_up(n, c, lambda size: any_table(size, k))


def pass_all_k(n: ArrayLike, c: ArrayLike, k: int) -> Floats:
    """pass^k of each group; NaN where n < k. As for `pass_at_k`."""
    return _look_up(n, c, lambda size: all_table(size, k))


def pass_share_k(n: ArrayLike, c: ArrayLike, k: int, share: float) -> Floats:
    """G-Pass@k of each group; NaN where n < k. As for `pass_at_k` and `share_table`."""
    return _look_up(n, c, lambda size: share_table(size, k, share))


def _look_up(n: ArrayLike, c: ArrayLike, table: Table) -> Floats:
    sizes, hits = np.broadcast_arrays(np.asarray(n), np.asarray(c))
    whole = np.all((sizes % 1 == 0) & (hits % 1 == 0))
    if not (whole and np.all((hits >= 0) & (hits <= sizes))):
        raise ValueError("n and c must be whole numbers with 0 <= c <= n")
    found = np.full(sizes.shape, np.nan)
    for size in np.unique(sizes):
        mine = sizes == size
        found[mine] = table(int(size))[hits[mine].astype(np.int64)]
    return found


@dataclass(frozen=True, slots=True)
class Average:
    """A mean over groups that weigh the same. `of` is all groups; `used` those in which the value is defined."""

    value: float | None
    used: int
    of: int


def average(values: ArrayLike) -> Average:
    """The mean over groups, of those that are not NaN; its value is None where none is."""
    found = np.asarray(values, dtype=np.float64).ravel()
    known = found[~np.isnan(found)]
    return Average(float(known.mean()) if known.size else None, known.size, found.size)


@dataclass(frozen=True, slots=True)
class Solved:
    """Shares of the groups with at least one try: solved at least once, and always; None where there is no group."""

    ever: float | None
    always: float | None
    groups: int


def solved(n: ArrayLike, c: ArrayLike) -> Solved:
    """How many groups were ever and always solved. Both depend on n: compare under one n alone."""
    sizes, hits = np.broadcast_arrays(np.asarray(n), np.asarray(c))
    tried = sizes > 0
    if not tried.any():
        return Solved(None, None, 0)
    return Solved(float((hits[tried] > 0).mean()), float((hits == sizes)[tried].mean()), int(tried.sum()))
