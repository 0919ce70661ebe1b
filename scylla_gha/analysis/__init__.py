"""Statistics of result rows: measures of arms, comparisons, verdicts, power, and history."""

import importlib.util
import os

# Products of matrices are small here. On a busy machine OpenBLAS's threads wait for each other eight times as long as
# they work; the variable is read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def has_statistics() -> bool:
    """Return whether the `report` extra is installed."""
    return bool(importlib.util.find_spec("numpy") and importlib.util.find_spec("scipy"))
