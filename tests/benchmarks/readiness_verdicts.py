"""Rate of wrong verdicts on equal commits: `python -m tests.benchmarks.readiness_verdicts [--comparisons 2000]`.

Each comparison draws two measurements of the same anchors with the same chances, scores both, and rules on them, as
`--head` does; a verdict of better or worse is wrong. Chances of anchors are spread evenly, lie near both ends (most
anchors are always or never solved), or are the same for all. The command fails if a rate is above 5 % by more than two
standard errors.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import numpy as np

from scylla_gha.model.readiness import ItemSet, ReadinessScore
from scylla_gha.readiness.compare_scores import compare_scores
from scylla_gha.readiness.score import score
from scylla_gha.stats.resampling import Resampling
from tests.support.readiness_items import drawn_trials, item_set

Rng = np.random.Generator
CHANCES: Final[dict[str, Callable[[Rng], float]]] = {
    "spread evenly": lambda rng: float(rng.random()),
    "near both ends": lambda rng: float(rng.beta(0.3, 0.3)),
    "the same for all": lambda _: 0.6,
}
ANCHORS: Final = (8, 24, 48)
_MOST: Final = 0.05
_QUICK: Final = Resampling(draws=9)  # intervals of the two scores, which a verdict does not read


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--comparisons", type=int, default=2000, help="of each row; default 2000")
    options = parser.parse_args()
    is_above = False
    print("| anchors | chances | comparisons | better or worse | equivalent | CPU s |\n|---|---|---|---|---|---|")
    for anchors in ANCHORS:
        for name in CHANCES:
            started = time.process_time()
            verdicts = simulated(anchors, CHANCES[name], options.comparisons)
            wrong = (verdicts["better"] + verdicts["worse"]) / options.comparisons
            error = math.sqrt(wrong * (1 - wrong) / options.comparisons)
            is_above |= wrong - 2 * error > _MOST
            print(f"| {anchors} | {name} | {options.comparisons:,} | {wrong:.1%} ± {error:.1%} | "
                  f"{verdicts['equivalent'] / options.comparisons:.1%} | {time.process_time() - started:.0f} |",
                  flush=True)  # fmt: skip
    return int(is_above)


def simulated(anchors: int, draw: Callable[[Rng], float], comparisons: int) -> Counter[str]:
    """Return the verdicts on pairs of measurements that differ by chance alone."""
    items = item_set(anchors)
    verdicts: Counter[str] = Counter()
    for seed in range(comparisons):
        rng = np.random.default_rng([seed, anchors])
        chance = {item.id: draw(rng) for item in items.items}.__getitem__
        before, after = (measured(items, chance, 2 * seed + side) for side in range(2))
        verdicts[compare_scores(before, after).ruling.verdict] += 1
    return verdicts


def measured(items: ItemSet, chance: Callable[[str], float], seed: int) -> ReadinessScore:
    return score(items, drawn_trials(items, lambda item: chance(item.id), seed), (), _QUICK)


if __name__ == "__main__":
    sys.exit(main())
