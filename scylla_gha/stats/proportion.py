"""Intervals of a proportion, and the cost of one success."""

import math
from typing import Final

_Z95: Final = 1.959963984540054  # the standard normal's 0.975 quantile


def wilson(successes: int, n: int, z: float = _Z95) -> tuple[float, float] | None:
    """Wilson's score interval of a proportion, both limits in [0, 1]; None where n is 0.

    Source: Wilson 1927; Newcombe 1998, Statistics in Medicine 17:857, method 3.

    Raises:
        ValueError: not 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        message = f"successes must lie in 0..{n}, not {successes}"
        raise ValueError(message)
    if n == 0:
        return None
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At the edges the limit is exactly 0 or 1; floating point must not miss it.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def cost_per_success(total: float, successes: int) -> float | None:
    """Total cost over successes; None where there is no success (it is infinite).

    Source: Erol et al. 2025, arXiv:2504.13359: mean cost of an attempt over the rate of success.
    """
    return total / successes if successes else None
