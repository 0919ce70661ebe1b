"""How a p value is written. Needs no NumPy, so that reports can be written without it."""

import math

_LEAST = 0.0001  # what no 9,999 draws can tell


def shown_p(p: float | None) -> str:
    """A p value as people read it; never 0."""
    if p is None:
        return "unknown"
    if p < _LEAST:
        return f"< {_LEAST}"
    return f"{p:.{max(2, 1 - math.floor(math.log10(p)))}f}" if p < 1 else "1"
