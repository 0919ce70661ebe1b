"""Statistics of result rows: measures of arms, comparisons, verdicts, power, and history."""

import os

# Products of matrices are small here. On a busy machine OpenBLAS's threads wait for each other eight times as long as
# they work; the variable is read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
