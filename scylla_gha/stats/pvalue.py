"""What a test gives: p, and the least p that it could have given."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from scylla_gha.stats.arrays import Floats, Ints

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
SLACK = 1e-12  # of the largest possible statistic: a tie that rounding broke is still a tie


@dataclass(frozen=True, slots=True)
class Test:
    """A test's answer. Where `least_p` is above the level that p is held against, the test can never reach it."""

    __test__ = False  # not for pytest

    statistic: float
    p: float
    least_p: float
    method: str
    n: int  # the independent units


def mc_p_value(extreme: int, draws: int) -> float:
    """The p of a simulation in which `extreme` of `draws` were at least as extreme as the observation; never 0.

    Source: Phipson & Smyth 2010, SAGMB 9:39: the observation itself is one of the draws.

    Raises:
        ValueError: not 0 <= extreme <= draws.
    """
    if not 0 <= extreme <= draws:
        raise ValueError(f"extreme must lie in 0..{draws}, not {extreme}")
    return (extreme + 1) / (draws + 1)


def least_p_sign_flip(n: int, alternative: Alternative = "two-sided") -> float:
    """Of n differences that are not 0; 1 without any. With 5 it is 0.0625: never below 0.05."""
    return min(1.0, _sides(alternative) * 0.5**n)


def least_p_drawn(draws: int) -> float:
    """Of any test whose permutations are drawn."""
    return 1 / (draws + 1)


def _sides(alternative: Alternative) -> int:
    return 2 if alternative == "two-sided" else 1


def count_extreme(statistics: Floats, observed: Floats, slack: Floats, alternative: Alternative) -> Ints:
    """How many statistics of each row, centred on 0, are at least as extreme as the observed one; ties within `slack`.

    Changes `statistics`.

    Args:
        statistics: shape (rows, draws).
        observed: shape (rows,).
        slack: shape (rows,), not below 0.
        alternative: two-sided takes absolute values.
    """
    if alternative == "two-sided":
        np.abs(statistics, out=statistics)
        observed = np.abs(observed)
    elif alternative == "less":
        np.negative(statistics, out=statistics)
        observed = -observed
    return np.asarray(np.count_nonzero(statistics >= (observed - slack)[:, None], axis=1), dtype=np.int64)
