"""Rates of wrong verdicts, and what they find: `nice -n 5 python tests/benchmarks/verdicts.py [--full]`.

Rates .05 to .95, scenarios 3 to 80, repetitions 1 to 10. Scenarios are alike (`same`), differ in difficulty (`beta`: an
ICC of 1/3, both arms by the same one), are solved always or never (`always`: an effect turns whole scenarios around),
or differ in what the arm does to each (`mixed`: half up, half down). The verdicts are the package's own, vectorised;
tests/unit/test_analysis_design.py holds them against those of reports. Each table has the worst of its grid beside the
mean, and the Monte Carlo error of the worst.
"""

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from scylla_gha.analysis.contrasts import INNER
from scylla_gha.analysis.design import USUAL_SPLIT
from scylla_gha.analysis.simulated import Layout, differs, hardest_effect, power_not_worse, rate_differences
from scylla_gha.analysis.simulated import not_worse as passes_gate
from scylla_gha.stats.differences import Split
from scylla_gha.stats.means import mean_limits_bounded, rare_limits

RATES: Final = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95)
SCENARIOS: Final = (3, 5, 8, 12, 20, 30, 47, 80)
REPETITIONS: Final = (1, 3, 10)
KINDS: Final = ("same", "beta", "always", "mixed")
MARGINS: Final = (0.05, 0.1, 0.2)
SPREAD: Final = 2.0  # of a Beta distribution: the sum of its parameters
SLACK: Final = 1e-9
MOVED: Final = 0.1  # by so much an effect of `mixed` differs between scenarios, either way
SPLITS: Final = {
    "usual": USUAL_SPLIT,
    "near the ceiling": Split(0.01, 0.06, 0.06, 0.92),
    "no spread": Split(0, 0.2, 0.2, 0.7),
}
Array: TypeAlias = NDArray[np.float64]
Rng: TypeAlias = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """A true state of things; `effect` is the arm's mean rate less the baseline's."""

    kind: str
    rate: float
    effect: float


@dataclass(frozen=True, slots=True)
class Share:
    """Of what, in which case, how often, and the standard error by simulation."""

    case: Case
    value: float
    error: float


def cases(effects: tuple[float, ...]) -> Iterator[Case]:
    for kind, rate, effect in itertools.product(KINDS, RATES, effects):
        room = MOVED if kind == "mixed" else 0.0
        if 0 < rate + effect < 1 and room <= rate + effect <= 1 - room:
            yield Case(kind, rate, effect)


def drawn(case: Case, layout: Layout, experiments: int, rng: Rng) -> Array:
    """Differences of pass rates, shape (experiments, scenarios)."""
    shape = experiments, layout.scenarios
    base, arm = np.full(shape, case.rate), np.full(shape, case.rate + case.effect)
    if case.kind == "beta":
        at = rng.random(shape)
        base, arm = (betaincinv(one * SPREAD, (1 - one) * SPREAD, at) for one in (base, arm))
    elif case.kind == "always":
        at = rng.random(shape)
        base, arm = (at < base).astype(np.float64), (at < arm).astype(np.float64)
    elif case.kind == "mixed":
        arm = arm + MOVED * rng.choice((-1.0, 1.0), shape)
    n, m = layout.repetitions, layout.repetitions_baseline
    return np.asarray(rng.binomial(n, arm) / n - rng.binomial(m, base) / m)


def share(case: Case, found: NDArray[np.bool_]) -> Share:
    value = float(found.mean())
    return Share(case, value, math.sqrt(max(value * (1 - value), 0.5 / found.size) / found.size))


def judged(layout: Layout, experiments: int, rng: Rng) -> dict[str, list[Share]]:
    """Over the grid of one layout: false verdicts, wrong equivalence, and coverage."""
    found: dict[str, list[Share]] = {}
    for case in cases((0.0,)):
        d = drawn(case, layout, experiments, rng)
        found.setdefault("false better or worse", []).append(share(case, differs(d, 1)))
    for margin in MARGINS:
        for case in cases((margin, -margin)):
            d = drawn(case, layout, experiments, rng)
            least, most = rare_limits(d, INNER)
            found.setdefault(f"wrong equivalent, {margin:.2f}", []).append(
                share(case, (-margin < least) & (most < margin))
            )
            if case.effect < 0:
                found.setdefault(f"gate passed by -{margin:.2f}", []).append(share(case, least > -margin))
            low, high = mean_limits_bounded(d)
            held = (low <= case.effect + SLACK) & (case.effect - SLACK <= high)
            found.setdefault("coverage of 95 %", []).append(share(case, held))
    return found


def shown(name: str, found: list[Share]) -> str:
    is_coverage = name.startswith("coverage")
    worst = (min if is_coverage else max)(found, key=lambda one: one.value)
    mean = float(np.mean([one.value for one in found]))
    where = (
        f"{worst.case.kind}, rate {worst.case.rate:g}, effect {worst.case.effect:+g}"
        if worst.value not in {0.0, 1.0}
        else ""
    )
    return f"{mean:8.3f} {worst.value:8.3f} +-{worst.error:.3f}  {where}"


def grid(scenarios: tuple[int, ...], repetitions: tuple[int, ...], experiments: int) -> None:
    rng = np.random.default_rng(20261122)
    worst: dict[str, list[Share]] = {}
    print(f"{'scenarios x repetitions':24} {'what':26}     mean    worst           where the worst is")
    for c, k in itertools.product(scenarios, repetitions):
        for name, found in judged(Layout(c, k, k), experiments, rng).items():
            print(f"{c:>11} x {k:<10} {name:26} {shown(name, found)}", flush=True)
            worst.setdefault(name, []).extend(found)
    print("\nover the whole grid")
    for name, found in worst.items():
        print(f"{'':24} {name:26} {shown(name, found)}")


def simulated(seen: float, experiments: int) -> str:
    return f"{seen:.3f} +-{math.sqrt(seen * (1 - seen) / experiments):.3f}"


def promised(scenarios: tuple[int, ...], repetitions: tuple[int, ...], experiments: int) -> None:
    """The power of other experiments than those by which it was promised."""
    print(f"\n{'variances':18} {'scenarios x repetitions':24} {'family':>6} {'effect':>7} promised  simulated")
    off = []
    for (name, split), family, c, k in itertools.product(SPLITS.items(), (1, 6), scenarios, repetitions):
        layout = Layout(c, k, k)
        effect = hardest_effect([split], layout, family)
        if effect is None:
            continue
        seen = float(differs(rate_differences(split, layout, effect, experiments, seed=11), family).mean())
        off.append(abs(seen - 0.8))
        print(
            f"{name:18} {c:>11} x {k:<10} {family:>6} {effect:7.3f}    0.800      {simulated(seen, experiments)}",
            flush=True,
        )
    print(f"furthest from its promise: {max(off):.3f}")


def gates(scenarios: tuple[int, ...], repetitions: tuple[int, ...], experiments: int) -> None:
    print(f"\n{'variances':18} {'scenarios x repetitions':24} {'margin':>6}  passes of not_worse by an equal arm")
    off = []
    for (name, split), margin, c, k in itertools.product(SPLITS.items(), MARGINS, scenarios, repetitions):
        layout = Layout(c, k, k)
        chance = power_not_worse(split, layout, margin)
        seen = float(passes_gate(rate_differences(split, layout, 0.0, experiments, seed=12), margin).mean())
        off.append(abs(seen - chance))
        if chance or seen:
            print(
                f"{name:18} {c:>11} x {k:<10} {margin:6.2f}     {chance:.3f}      {simulated(seen, experiments)}",
                flush=True,
            )
    print(f"furthest from its promise: {max(off):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all scenarios and repetitions, ten times the experiments")
    full, began = parser.parse_args().full, time.perf_counter()
    grid(SCENARIOS if full else (5, 20, 47, 80), REPETITIONS if full else (1, 10), 10_000 if full else 1_000)
    promised(
        (6, 8, 12, 20, 50, 100, 200) if full else (8, 20, 50), (1, 3, 10) if full else (1, 3), 4_000 if full else 2_000
    )
    gates((20, 47, 60, 100, 200, 400) if full else (47, 100, 250), (1, 3, 10) if full else (1, 5), 2_000)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
