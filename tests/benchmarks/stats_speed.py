"""Speed of the statistics against loops over SciPy, run by hand: `python tests/benchmarks/stats_speed.py [ROUNDS]`.

SciPy is timed on a few groups and scaled up; ours is the round in the middle of several, with cold weights. Both
compute the same to the same number of resamples; where only one of the two is exact, the row says so.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

from scylla_gha.stats.bootstrap import bca_limits, ratio_of
from scylla_gha.stats.multiplicity import holm
from scylla_gha.stats.resampling import Resampling, multinomial_weights, random_signs
from scylla_gha.stats.signflip import sign_flip_p
from scylla_gha.stats.strata import stratified_binary_test, stratified_p

DRAWS: Final = 9_999
RNG: Final = np.random.default_rng(20261122)
GROUPS: Final = RNG.lognormal(0, 0.8, (1_000, 50))
COSTS: Final = RNG.lognormal(0, 0.5, (114, 47))
RATES: Final = RNG.binomial(10, 0.6, (114, 47)) / 10
PAIRS: Final = RNG.normal(0.1, 1.0, (912, 47))


@dataclass(frozen=True, slots=True)
class Seconds:
    """Of the clock, and of the processor: the latter suffers less from what else the machine does."""

    clock: float
    processor: float


def seconds(work: Callable[[], object]) -> Seconds:
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return Seconds(time.perf_counter() - clock, time.process_time() - processor)


def ours(work: Callable[[Resampling], object], threads: int, rounds: int) -> Seconds:
    """The round in the middle; weights are drawn anew in each."""
    found = []
    for _ in range(rounds):
        for cached in (multinomial_weights, random_signs):
            cached.cache_clear()
        found.append(seconds(lambda: work(Resampling(DRAWS, threads=threads))))
    return sorted(found, key=lambda one: one.clock)[len(found) // 2]


def scaled(work: Callable[[], object], sample: int, groups: int) -> Seconds:
    found = seconds(work)
    return Seconds(found.clock / sample * groups, found.processor / sample * groups)


def scipy_bca(sample: int) -> Seconds:
    def loop() -> None:
        for row in GROUPS[:sample]:
            stats.bootstrap((row,), np.mean, n_resamples=DRAWS, method="BCa", rng=np.random.default_rng(0))

    return scaled(loop, sample, len(GROUPS))


def scipy_ratio(sample: int) -> Seconds:
    def ratio(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(x.mean(axis=axis) / y.mean(axis=axis))

    def loop() -> None:
        for x, y in zip(COSTS[:sample], RATES[:sample], strict=True):
            stats.bootstrap((x, y), ratio, paired=True, vectorized=True, n_resamples=DRAWS,
                            rng=np.random.default_rng(0))  # fmt: skip

    return scaled(loop, sample, len(COSTS))


def mean(x: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(x.mean(axis=axis))


def scipy_flips(sample: int) -> Seconds:
    def loop() -> None:
        for row in PAIRS[:sample]:
            stats.permutation_test((row,), mean, permutation_type="samples", vectorized=True, n_resamples=DRAWS,
                                   rng=np.random.default_rng(0))  # fmt: skip

    return scaled(loop, sample, len(PAIRS))


def gap(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(x.mean(axis=axis) - y.mean(axis=axis))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=5)
    rounds = parser.parse_args().rounds
    bca_limits([GROUPS[:2]], how=Resampling(99))  # the first call loads and warms what all need
    table: tuple[tuple[str, Callable[[Resampling], object], Callable[[], Seconds]], ...] = (
        ("BCa of a mean, 1,000 groups, n = 50", lambda how: bca_limits([GROUPS], how=how), lambda: scipy_bca(20)),
        ("BCa of a ratio, 114 arms, 47 clusters", lambda how: bca_limits([RATES, COSTS], ratio_of, how),
         lambda: scipy_ratio(10)),
        ("sign-flip, 912 comparisons, 47 clusters", lambda how: sign_flip_p(PAIRS, how=how), lambda: scipy_flips(10)),
    )  # fmt: skip
    print(f"| {DRAWS} resamples, where drawn | 1 thread | 2 threads | SciPy in a loop | ratio | of processor time |")
    print("|---|---|---|---|---|---|")
    for name, work, loop in table:
        one, theirs, two = ours(work, 1, rounds), loop(), ours(work, 2, rounds)
        times = f"{1000 * one.clock:6.0f} ms | {1000 * two.clock:6.0f} ms | {theirs.clock:7.2f} s"
        ratio = theirs.clock / min(one.clock, two.clock)
        print(f"| {name:46} | {times} | {ratio:5.0f} | {theirs.processor / one.processor:5.0f} |")
    p = RNG.uniform(size=6_441)
    counts = np.column_stack([RNG.binomial(10, 0.6, 47), [10] * 47, RNG.binomial(10, 0.5, 47), [10] * 47])
    strata = [(RNG.normal(size=(912, 10)), RNG.normal(size=(912, 10))) for _ in range(47)]
    print()
    for name, task in (
        ("Holm of 6,441 p", lambda: holm(p)),
        ("exact stratified test, 47 strata of 10 v 10", lambda: stratified_binary_test(counts)),
        ("drawn stratified test, 912 comparisons, 47 strata of 10 v 10", lambda: stratified_p(strata)),
    ):
        print(f"{name}: {1000 * min(seconds(task).clock for _ in range(2)):.1f} ms")


if __name__ == "__main__":
    main()
