"""Simulated experiments: pass rates of two arms with given variances, and the verdicts on them.

Each trial passes where a normal number falls below its arm's threshold. The numbers of two trials are correlated, more
within a scenario and arm than between the arms of a scenario, so that the variances are the given ones. Without an
effect and with typical variances, the true rates of scenarios are uniform and correlated by 0.8 between arms.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtri, ndtr, ndtri

from scylla_gha.analysis.contrasts import INNER, likely_effect
from scylla_gha.analysis.verdicts import ALPHA, can_show
from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.effects import Split
from scylla_gha.stats.means import mean_limits_bounded, rare_limits
from scylla_gha.stats.resampling import DRAWS, Resampling, sign_flip_p, sign_flip_tail_bound

Singles: TypeAlias = NDArray[np.float32]
POWER: Final = 0.8  # of verdicts that are planned for
_Z, _W = np.polynomial.hermite_e.hermegauss(48)
_WEIGHTS: Final = _W / _W.sum()
_EPSILON: Final = 1e-9  # as near as a correlation comes to 1
_STEPS: Final = 40
_FEW_DRAWS: Final = 999  # of a test's signs, if its p need not be small
_SMALL_FAMILY: Final = 5
_MOST_EXACT: Final = 11  # scenarios: with more, a sample of signs is good enough here, and faster
_CRITICAL: Final = 1.96
_TRIES: Final = 14
_SECANTS: Final = 4  # then bisection
_NEAR: Final = 0.006
_TRIALS: Final = 800_000
_FEWEST_DATASETS: Final = 800
_MOST_DATASETS: Final = 3000
_MANY_SCENARIOS: Final = 200


@dataclass(frozen=True, slots=True)
class Layout:
    """Scenarios that both arms have, and repetitions of each by the arm and by the baseline."""

    scenarios: int
    repetitions: int
    repetitions_baseline: int


@dataclass(frozen=True, slots=True)
class _Latent:
    """The mean rate of the baseline (None: effects are symmetric about a half), and correlations of latent numbers."""

    rate: float | None
    within: float
    across: float

    def rates(self, effect: float) -> tuple[float, float]:
        """Return the rates of arm and baseline, moved so that the effect fits between 0 and 1."""
        if self.rate is None:
            return (1 + effect) / 2, (1 - effect) / 2
        return self.rate + (effect if self.rate < 0.5 else -effect), self.rate  # noqa: PLR2004 a half

    @property
    def most(self) -> float:
        """The largest possible effect."""
        return 1.0 if self.rate is None else max(self.rate, 1 - self.rate)


@functools.cache
def _latent(split: Split) -> _Latent:
    rate = 0.5 if split.rate is None else min(max(split.rate, 0.01), 0.99)
    threshold, within = float(ndtri(rate)), (split.within_x + split.within_y) / 2
    both = rate - min(within, rate * (1 - rate))  # two trials of a scenario pass
    correlation = _correlation(threshold, both)
    across = _correlation(threshold, both - split.between / 2)
    return _Latent(None if split.rate is None else rate, correlation, across)


def _correlation(threshold: float, both: float) -> float:
    """Return the correlation (at least 0) of two normal numbers, both below the threshold with a given chance."""
    low, high = 0.0, 1 - _EPSILON
    for _ in range(_STEPS):
        middle = (low + high) / 2
        inner = ndtr((threshold + math.sqrt(middle) * _Z) / math.sqrt(1 - middle))
        low, high = (middle, high) if float(_WEIGHTS @ inner**2) < both else (low, middle)
    return low


@functools.lru_cache(maxsize=4)
def _random_numbers(layout: Layout, datasets: int, seed: int) -> tuple[Floats, Floats, Singles, Singles]:
    """Draw the random numbers that all effects share, so that power rises with the effect."""
    rng = np.random.default_rng([seed, layout.scenarios, layout.repetitions, layout.repetitions_baseline])
    shape = (datasets, layout.scenarios)
    shared, own = rng.standard_normal(shape), rng.standard_normal(shape)
    chances = rng.random((layout.repetitions, *shape), dtype=np.float32)
    return shared, own, chances, rng.random((layout.repetitions_baseline, *shape), dtype=np.float32)


def rate_differences(split: Split, layout: Layout, effect: float, datasets: int, seed: int = 0) -> Floats:
    """Simulate differences of scenarios' pass rates, arm less baseline: shape (datasets, scenarios).

    Args:
        split: the variances.
        layout: scenarios and repetitions.
        effect: the true difference of mean pass rates, not below 0.
        datasets: number of experiments.
        seed: of the random numbers.
    """
    latent = _latent(split)
    shared, own, chances, chances_baseline = _random_numbers(layout, datasets, seed)
    share = min(latent.across / max(latent.within, _EPSILON), 1.0)
    rate, rate_baseline = latent.rates(effect)
    rates = _pass_rates(chances, rate, share * shared + math.sqrt(1 - share * share) * own, latent.within)
    return np.asarray(rates - _pass_rates(chances_baseline, rate_baseline, shared, latent.within))


def _pass_rates(chance: Singles, rate: float, latent: Floats, within: float) -> Floats:
    """Compute the pass rates of scenarios with standard normal difficulties."""
    true = ndtr((ndtri(rate) + math.sqrt(within) * latent) / math.sqrt(1 - within))
    return np.asarray((chance < true.astype(np.float32)).mean(axis=0, dtype=np.float64))


def differs(d: Floats, family: int) -> Bools:
    """Tell for each experiment if its verdict is better or worse, as the strictest comparison of its family.

    Args:
        d: shape (experiments, scenarios).
        family: comparisons.
    """
    how = Resampling(draws=_FEW_DRAWS if family <= _SMALL_FAMILY else DRAWS)
    low, high = mean_limits_bounded(d)
    excludes_zero = np.asarray((low > 0) | (high < 0))
    doubtful = np.flatnonzero(excludes_zero)
    if d.shape[1] > _MOST_EXACT:
        doubtful = doubtful[sign_flip_tail_bound(d[doubtful]) > _surely_significant(how.draws, family)]
    p, _ = sign_flip_p(d[doubtful], how, _MOST_EXACT)
    excludes_zero[doubtful] = np.minimum(p * family, 1.0) <= ALPHA
    return excludes_zero


@functools.cache
def _surely_significant(draws: int, family: int) -> float:
    """Return a p so small that a test with drawn signs misses it with a chance of at most 1e-9."""
    most = math.floor(ALPHA / family * (draws + 1)) - 1  # extreme draws of a significant test
    return float(bdtri(most, draws, 1 - 1e-9)) if most >= 0 else 0.0


def power_to_differ(split: Split, layout: Layout, effect: float, family: int) -> float:
    """Return the chance that a verdict is better or worse, given the true difference of mean pass rates."""
    d = rate_differences(split, layout, min(effect, _latent(split).most - _EPSILON), _datasets(layout))
    return float(differs(d, family).mean())


def hardest_effect(splits: Sequence[Split], layout: Layout, family: int) -> float | None:
    """Find the smallest difference of pass rates that every pair detects with 80 % power; None if one detects none.

    Args:
        splits: the variances of each pair.
        layout: scenarios and repetitions.
        family: comparisons; the strictest one decides.
    """
    if not can_show(layout.scenarios, family):
        return None
    hardest = 0.0
    for split in sorted(dict.fromkeys(splits), key=lambda split: -_variance(split, layout)):
        # The effects of most pairs are smaller than that of the pair with the largest variance: one look shows it.
        if hardest and power_to_differ(split, layout, hardest, family) >= POWER + _NEAR:
            continue
        effect = _smallest_effect(split, layout, family)
        if effect is None:
            return None
        hardest = max(hardest, effect)
    return hardest


def _variance(split: Split, layout: Layout) -> float:
    return split.of_difference(layout.repetitions, layout.repetitions_baseline)


@functools.cache
def _smallest_effect(split: Split, layout: Layout, family: int) -> float | None:
    """Find the smallest true difference that the verdict detects with 80 % power; None if it detects none.

    By secants on the scale of normal quantiles, starting from the effect of a t-test, then by bisection.
    """
    low, high = 0.0, (most := _latent(split).most - _EPSILON)
    effect = (likely_effect(layout.scenarios, family) or most) * math.sqrt(_variance(split, layout))
    reached, is_possible = 0.0, False
    for number in range(_TRIES):
        if number >= _SECANTS or not low < effect < high:
            is_possible = is_possible or power_to_differ(split, layout, most, family) >= POWER
            if not is_possible:
                return None
            effect = (low + high) / 2
        reached = power_to_differ(split, layout, effect, family)
        is_possible = is_possible or reached >= POWER
        if abs(reached - POWER) < _NEAR:
            break
        low, high = (effect, high) if reached < POWER else (low, effect)
        # Power is about Phi(a effect - 1.96).
        effect *= (float(ndtri(POWER)) + _CRITICAL) / max(_CRITICAL + float(ndtri(min(max(reached, 0.03), 0.999))), 0.1)
    return effect if is_possible or power_to_differ(split, layout, most, family) >= POWER else None


def _datasets(layout: Layout) -> int:
    """Return how many experiments estimate a power within 2 points; fewer if each is large."""
    trials = max(1, layout.scenarios * (layout.repetitions + layout.repetitions_baseline))
    return min(max(_TRIALS // trials, _FEWEST_DATASETS), _MOST_DATASETS)


@functools.cache
def power_not_worse(split: Split, layout: Layout, margin: float) -> float:
    """Return the chance that an arm as good as the baseline passes the gate `not_worse`."""
    if layout.scenarios > _MANY_SCENARIOS:
        return _power_of_many(split.of_difference(layout.repetitions, layout.repetitions_baseline), layout, margin)
    return float(not_worse(rate_differences(split, layout, 0.0, _datasets(layout)), margin).mean())


def _power_of_many(variance: float, layout: Layout, margin: float) -> float:
    """Use the normal distribution; the lower limit is that of the mean after a value of -1 was added."""
    n = layout.scenarios
    error = math.sqrt((n * variance + 1) / (n + 1) / (n + 2))
    return float(ndtr((margin - 1 / n - float(ndtri(1 - ALPHA)) * error) / math.sqrt(max(variance, _EPSILON) / n)))


def not_worse(d: Floats, margin: float) -> Bools:
    """Tell for each experiment if its arm passes the gate `not_worse`."""
    return np.asarray(rare_limits(d, INNER)[0] > -margin)
