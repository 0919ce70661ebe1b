"""Coverage of the default intervals, run by hand: `python tests/benchmarks/coverage.py [DATASETS]`.

Nominal is 95 %. Each figure is averaged over the parameter (the true rate, and so on), which is drawn anew for each
data set. Clusters have true rates of their own (ICC 0.33), and what is to be covered is the mean of all such clusters.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scylla_gha.stats import Interval
from scylla_gha.stats.means import macro_rate, mean_limits, wilson_limits
from scylla_gha.stats.ratios import (
    Attempts,
    fieller_interval,
    macro_success_cost_interval,
    success_cost_interval,
    success_cost_ratio,
)

SEED: Final = 20261122
ALIKE: Final = 2.0  # alpha + beta of the Beta distribution of true rates: an ICC of 1 / 3
Rng: TypeAlias = np.random.Generator
Array: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Row:
    """`coverage` is a share; `short` marks designs that are too small, or too skewed, for what is promised."""

    what: str
    design: str
    method: str
    coverage: float
    short: bool = False


def covers(found: Interval | None, truth: float) -> bool:
    """No limits cover nothing; a limit that is infinite covers all on its side."""
    if found is None or found.status == "point":
        return False
    low, high = found.low, found.high
    return (low is None or low <= truth) and (high is None or truth <= high)


def within(limits: tuple[Array, Array], truth: Array | float) -> float:
    low, high = limits
    return float(np.mean((low <= truth) & (truth <= high)))


def cell_rate(n: int) -> float:
    """Without simulation: all outcomes of n trials, for rates over all of (0, 1)."""
    rates = (np.arange(2_000) + 0.5) / 2_000
    k = np.arange(n + 1)
    ways = np.array([math.comb(n, int(i)) for i in k], dtype=np.float64)
    chance = ways * rates[:, None] ** k * (1 - rates[:, None]) ** (n - k)
    low, high = wilson_limits(k, n)
    return float((chance * ((low <= rates[:, None]) & (rates[:, None] <= high))).sum(axis=1).mean())


def cluster_rates(rng: Rng, mean: Array | float, size: tuple[int, ...] | int) -> Array:
    return rng.beta(np.asarray(mean) * ALIKE, (1 - np.asarray(mean)) * ALIKE, size)


def passes(
    rng: Rng, datasets: int, clusters: int, repetitions: int
) -> Iterator[tuple[float, Array, NDArray[np.int64]]]:
    """The true mean rate, successes and labels of each data set."""
    labels = np.repeat(np.arange(clusters, dtype=np.int64), repetitions)
    for mean in rng.uniform(0.02, 0.98, datasets).tolist():
        rates = cluster_rates(rng, mean, clusters)
        yield mean, (rng.random(labels.size) < rates[labels]).astype(np.float64), labels


def macro(rng: Rng, datasets: int, clusters: int, repetitions: int) -> float:
    data = passes(rng, datasets, clusters, repetitions)
    return float(np.mean([covers(macro_rate(won, labels), truth) for truth, won, labels in data]))


def paired(rng: Rng, datasets: int, clusters: int, repetitions: int) -> float:
    """The second arm's rate is half that of the first, half a rate of its own: arms correlate over clusters."""
    first, own = rng.uniform(0.1, 0.9, (2, datasets))
    size = (clusters, datasets)
    one = cluster_rates(rng, first, size)
    other = (one + cluster_rates(rng, own, size)) / 2
    wins = (rng.binomial(repetitions, rates).T / repetitions for rates in (one, other))
    _, low, high = mean_limits(-np.subtract(*wins))
    return within((low, high), (own - first) / 2)


def cost(rng: Rng, datasets: int, clusters: int, repetitions: int) -> float:
    """A failure costs half as much again; costs are lognormal, between clusters (0.5) and within (0.4)."""
    covered = 0
    for mean, won, labels in passes(rng, datasets, clusters, repetitions):
        base = np.exp(rng.normal(0, 0.5, clusters)[labels] + rng.normal(0, 0.4, labels.size))
        truth = math.exp((0.5**2 + 0.4**2) / 2) * (mean + 1.5 * (1 - mean)) / mean
        covered += covers(macro_success_cost_interval(base * (1.5 - 0.5 * won), won, labels), truth)
    return covered / datasets


def cost_ratio(rng: Rng, datasets: int, clusters: int, repetitions: int) -> float:
    """Rates as in `paired`, costs as in `cost`, and what a cluster costs is alike for both; of data where both pass."""
    found, (first, own) = [], rng.uniform(0.1, 0.9, (2, datasets))
    for mean, other in zip(first.tolist(), ((first + own) / 2).tolist(), strict=True):
        rates = cluster_rates(rng, mean, clusters)
        both = rates, (rates + cluster_rates(rng, 2 * other - mean, clusters)) / 2
        base = rng.normal(0, 0.5, clusters)[:, None]
        one, two = (_attempts(rng, base, rate, repetitions) for rate in both)
        if one.successes and two.successes:
            truth = ((1.5 - 0.5 * mean) / mean) / ((1.5 - 0.5 * other) / other)
            found.append(covers(success_cost_ratio(one, two), truth))
    return float(np.mean(found))


def _attempts(rng: Rng, base: Array, rates: Array, repetitions: int) -> Attempts:
    shape = (rates.size, repetitions)
    won = (rng.random(shape) < rates[:, None]).astype(np.float64)
    costs = np.exp(base + rng.normal(0, 0.4, shape)) * (1.5 - 0.5 * won)
    return Attempts(costs.mean(axis=1), won.mean(axis=1), won.size, float(won.sum()))


def cost_in_cell(rng: Rng, datasets: int, n: int) -> float:
    covered = 0
    for rate in rng.uniform(0.1, 1.0, datasets):
        won = (rng.random(n) < rate).astype(np.float64)
        base = np.exp(rng.normal(0, 0.4, n))
        truth = math.exp(0.4**2 / 2) * (rate + 1.5 * (1 - rate)) / rate
        covered += covers(success_cost_interval(base * (1.5 - 0.5 * won), won), truth)
    return covered / datasets


def used_effect(rng: Rng, datasets: int, clusters: int, repetitions: int) -> float:
    """Of the effect .3 of a treatment that a share of trials uses, if it is shown: as `used_effects` decides."""
    covered = shown = 0
    shape = (clusters, repetitions)
    for uptake in rng.uniform(0.3, 0.95, datasets):
        rates = 0.7 * cluster_rates(rng, 0.5, clusters)[:, None]
        used = rng.random(shape) < cluster_rates(rng, uptake, clusters)[:, None]
        gain = (rng.random(shape) < rates + 0.3 * used).mean(axis=1) - (rng.random(shape) < rates).mean(axis=1)
        share = macro_rate(used.ravel().astype(np.float64), np.repeat(np.arange(clusters), repetitions))
        found = fieller_interval(gain, used.mean(axis=1))
        if found is not None and share is not None and (share.low or 0.0) > 0.2 and not used.all():
            shown += 1
            covered += covers(found, 0.3)
    return covered / shown


def skewed_mean(rng: Rng, datasets: int, n: int) -> float:
    _, low, high = mean_limits(rng.lognormal(0, 1.2, (datasets, n)))
    return within((low, high), math.exp(1.2**2 / 2))


Simulation: TypeAlias = Callable[[Rng, int, int, int], float]
CLUSTERED: Final[tuple[tuple[str, str, Simulation], ...]] = (
    ("macro rate", "Wilson with n_eff, t over clusters", macro),
    ("paired difference of rates", "t over clusters", paired),
    ("cost of a success", "log-delta with floor, t over clusters", cost),
    ("ratio of costs of a success", "log-delta with floor, paired, t over clusters", cost_ratio),
)


def promised(datasets: int) -> Iterator[Row]:
    """The designs that must keep 92-98 %."""
    for n in (5, 10, 47):
        yield Row("rate in a cell", f"n = {n}", "Wilson", cell_rate(n))
    for clusters, repetitions in ((10, 5), (47, 10)):
        for what, method, simulate in CLUSTERED:
            rng = np.random.default_rng([SEED, clusters, repetitions])
            yield Row(what, f"{clusters} x {repetitions}", method, simulate(rng, datasets, clusters, repetitions))
    for clusters, repetitions in ((6, 3), (8, 5), (20, 5)):
        rng = np.random.default_rng([SEED, clusters, repetitions])
        share = used_effect(rng, datasets, clusters, repetitions)
        yield Row("effect where used, if shown", f"{clusters} x {repetitions}", "Fieller, t over clusters", share)


def tiny(datasets: int) -> Iterator[Row]:
    """The designs for which nothing is promised."""
    for clusters, repetitions in ((5, 5), (3, 3)):
        for what, method, simulate in CLUSTERED:
            rng = np.random.default_rng([SEED, clusters, repetitions])
            share = simulate(rng, datasets, clusters, repetitions)
            yield Row(what, f"{clusters} x {repetitions}", method, share, short=True)
    rng = np.random.default_rng([SEED, 1])
    for n in (5, 10):
        yield Row("cost of a success, in a cell", f"n = {n}", "log-delta with floor, t", cost_in_cell(rng, datasets, n),
                  short=True)  # fmt: skip
    for n in (5, 10, 30):
        yield Row("mean, lognormal s = 1.2", f"n = {n}", "t", skewed_mean(rng, datasets, n), short=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="?", type=int, default=4_000)
    datasets = parser.parse_args().datasets
    started = time.perf_counter()
    print(f"| {'what':34} | {'design':8} | {'method':50} | coverage |      |\n|---|---|---|---|---|")
    for row in (*promised(datasets), *tiny(datasets)):
        mark = "no promise" if row.short else ""
        print(f"| {row.what:34} | {row.design:8} | {row.method:50} | {100 * row.coverage:6.1f} % | {mark} |")
    print(f"\n{datasets} data sets each, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
