"""Coverage of firing rates, and false verdicts: `python -m tests.benchmarks.trigger_coverage [DATASETS]`.

Nominal is 95 %. A population gives each query a rate of its own; the truth is the population's mean. Most
populations have rates near 0 and near 1, as queries have: most trigger always, some never. The last table compares a
skill with itself: each verdict "better" or "worse" is false.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scylla_gha.analysis.triggers import trigger_change
from scylla_gha.model.triggers import QueryCounts
from scylla_gha.stats.means import few_clusters_rate, macro_rate

SEED: Final = 20261128
QUERIES: Final = (8, 10, 12, 16, 20)
REPETITIONS: Final = (1, 3, 5)
PROMISED: Final = 0.93
_SLACK: Final = 1e-12
Rng: TypeAlias = np.random.Generator
Rates: TypeAlias = NDArray[np.float64]
Draw: TypeAlias = Callable[[Rng, tuple[int, int]], Rates]


@dataclass(frozen=True, slots=True)
class Population:
    """Queries with their rates, and the mean of these."""

    name: str
    draw: Draw
    mean: float


def bimodal(share: float, high: float, low: float) -> Population:
    def draw(rng: Rng, shape: tuple[int, int]) -> Rates:
        return np.where(rng.random(shape) < share, high, low)

    return Population(f"{100 * share:.0f} % at {high:g}, the rest at {low:g}", draw, share * high + (1 - share) * low)


def smooth(mean: float, sum_of_shapes: float) -> Population:
    def draw(rng: Rng, shape: tuple[int, int]) -> Rates:
        return rng.beta(mean * sum_of_shapes, (1 - mean) * sum_of_shapes, shape)

    return Population(f"Beta of mean {mean:g}, shapes {sum_of_shapes:g}", draw, mean)


def populations() -> Iterator[Population]:
    for share, high, low in itertools.product((0.5, 0.6, 0.7, 0.8, 0.9, 0.95), (0.95, 0.98, 1.0), (0.02, 0.05, 0.2)):
        yield bimodal(share, high, low)
    for mean, shapes in itertools.product((0.05, 0.2, 0.5, 0.8, 0.95), (0.5, 2.0, 10.0)):
        yield smooth(mean, shapes)


@lru_cache(maxsize=1_000_000)
def limits(fired: tuple[int, ...], repetitions: int, *, is_macro: bool) -> tuple[float, float]:
    """Limits depend on the counts alone, of which few differ."""
    values = [float(at < count) for count in fired for at in range(repetitions)]
    labels = [number for number in range(len(fired)) for _ in range(repetitions)]
    found = (macro_rate if is_macro else few_clusters_rate)(values, labels)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    return found.low - _SLACK, found.high + _SLACK


def coverage(population: Population, queries: int, repetitions: int, datasets: int, *, is_macro: bool = False) -> float:
    rng = np.random.default_rng([SEED, queries, repetitions])
    fired = np.sort(rng.binomial(repetitions, population.draw(rng, (datasets, queries))), axis=1)
    found = [limits(tuple(row), repetitions, is_macro=is_macro) for row in fired.tolist()]
    return float(np.mean([low <= population.mean <= high for low, high in found]))


def false_verdicts(population: Population, queries: int, repetitions: int, datasets: int) -> float:
    """Share of comparisons of a skill with itself that find a difference in either class."""
    rng = np.random.default_rng([SEED, queries, repetitions, 1])
    wrong = 0
    for _ in range(datasets):
        rates = population.draw(rng, (2, queries))
        sides = [
            [
                QueryCounts(query=str(at), text="", should=should, fired=int(count), trials=repetitions)
                for should, row in ((True, rates[0]), (False, 1 - rates[1]))
                for at, count in enumerate(rng.binomial(repetitions, row))
            ]
            for _ in range(2)
        ]
        change = trigger_change(sides[0], sides[1], 0.05)
        wrong += any(
            ruling is not None and ruling.verdict in {"better", "worse"}
            for ruling in (change.should, change.should_not)
        )
    return wrong / datasets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="?", type=int, default=4_000)
    datasets = parser.parse_args().datasets
    started = time.perf_counter()
    everything = list(populations())
    print("| design | least coverage | mean | below 93 % | of macro_rate alone | where it is least |")
    print("|---|---|---|---|---|---|")
    for queries, repetitions in itertools.product(QUERIES, REPETITIONS):
        found = sorted((coverage(one, queries, repetitions, datasets), one.name) for one in everything)
        alone = min(coverage(one, queries, repetitions, datasets, is_macro=True) for one in everything)
        (least, where), mean = found[0], np.mean([share for share, _ in found])
        below = sum(share < PROMISED for share, _ in found)
        print(
            f"| {queries} x {repetitions} | {100 * least:.1f} % | {100 * mean:.1f} % | {below} of {len(found)} | "
            f"{100 * alone:.1f} % | {where} |"
        )
    print("\n| design | population | false verdicts |\n|---|---|---|")
    for queries, one in itertools.product((8, 12, 20), (bimodal(0.8, 0.95, 0.05), smooth(0.8, 2.0), smooth(0.5, 10.0))):
        print(f"| {queries} x 3, both classes | {one.name} | {100 * false_verdicts(one, queries, 3, 500):.1f} % |")
    print(f"\n{datasets} data sets each, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
