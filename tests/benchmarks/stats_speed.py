"""Speed of the statistics against a loop over SciPy, run by hand: `python tests/benchmarks/stats_speed.py [ROUNDS]`.

SciPy is timed on a few comparisons and scaled up; both draw the same number of sign assignments.
"""

import argparse
import time
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import stats

from scylla_gha.stats.resampling import sign_flip_p
from scylla_gha.stats.significance import holm, stratified_exact_p

DRAWS: Final = 9_999
SAMPLE: Final = 10
RNG: Final = np.random.default_rng(20261122)
PAIRS: Final = RNG.normal(0.1, 1.0, (912, 47))
P: Final = RNG.uniform(size=6_441)
COUNTS: Final = np.column_stack([RNG.binomial(10, 0.6, 47), [10] * 47, RNG.binomial(10, 0.5, 47), [10] * 47])


def milliseconds(work: Callable[[], object], rounds: int = 1) -> float:
    """The least of several rounds."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * min(times)


def mean(x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(x.mean(axis=axis))


def scipy_flips() -> None:
    for row in PAIRS[:SAMPLE]:
        stats.permutation_test((row,), mean, permutation_type="samples", vectorized=True, n_resamples=DRAWS,
                               rng=np.random.default_rng(0))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    rounds = parser.parse_args().rounds
    ours, theirs = milliseconds(lambda: sign_flip_p(PAIRS), rounds), milliseconds(scipy_flips) / SAMPLE * len(PAIRS)
    print(f"sign-flip, 912 comparisons of 47 clusters: {ours:.0f} ms, SciPy in a loop {theirs / 1000:.1f} s")
    print(f"Holm of 6,441 p: {milliseconds(lambda: holm(P.tolist()), rounds):.1f} ms")
    print(f"exact stratified test, 47 strata of 10 v 10: {milliseconds(lambda: stratified_exact_p(COUNTS)):.1f} ms")


if __name__ == "__main__":
    main()
