"""Verdicts whose truth is known: for simulated experiments with given variances, and for arms compared with themselves.

Each trial passes if a normal number falls below its arm's threshold. The numbers of two trials are correlated, more
within a scenario and arm than between the arms of a scenario, so that the variances are the given ones. Without an
effect and with typical variances, the true rates of scenarios are uniform and correlated by 0.8 between arms.

An A/A test compares each arm with itself by the code of a verdict, so every difference that it finds is false. Odd
against even repetitions show drift or a warm cache. Random halves estimate how often a verdict on such rows is false,
and how often a repetition of the experiment would give another verdict.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtri, ndtr, ndtri

from scylla_gha.analysis.contrasts import (
    ALPHA,
    INNER,
    PASS,
    can_show,
    compare_each,
    likely_effect,
    paired_contrasts,
    rule,
    strictest,
)
from scylla_gha.analysis.frame import Frame, Pairing, passes_by_repetition
from scylla_gha.model.analysis import Ruling, Verdict
from scylla_gha.model.report import EqualArm, EqualArms, FalseVerdictShares
from scylla_gha.stats import wilson
from scylla_gha.stats.arrays import Bools, Floats
from scylla_gha.stats.differences import Split
from scylla_gha.stats.means import mean_limits_bounded, rare_limits
from scylla_gha.stats.resampling import DRAWS, Resampling, sign_flip_p, sign_flip_tail_bound

Singles: TypeAlias = NDArray[np.float32]
POWER: Final = 0.8  # for which experiments are planned
_Z, _W = np.polynomial.hermite_e.hermegauss(48)
_WEIGHTS: Final = _W / _W.sum()
_EPSILON: Final = 1e-9  # smallest distance of a correlation from 1
_STEPS: Final = 40
_FEW_DRAWS: Final = 999  # draws of a test's signs, if a small p is not needed
_SMALL_FAMILY: Final = 5
_MOST_EXACT: Final = 11  # scenarios; with more, a sample of signs is precise enough here, and faster
_CRITICAL: Final = 1.96
_TRIES: Final = 14
_SECANTS: Final = 4  # steps before bisection
_NEAR: Final = 0.006
_TRIALS: Final = 800_000
_FEWEST_DATASETS: Final = 800
_MOST_DATASETS: Final = 3000
_MANY_SCENARIOS: Final = 200
_BLOCK: Final = 2_000_000  # numbers that are shuffled at once
_LEAST: Final = 2
_STREAM: Final = 5  # number of this module's own stream of random numbers


@dataclass(frozen=True, slots=True)
class Layout:
    """Scenarios that both arms have, and repetitions of each by the arm and by the baseline."""

    scenarios: int
    repetitions: int
    repetitions_baseline: int


@dataclass(frozen=True, slots=True)
class _Latent:
    """Mean rate of the baseline (None: the rates of both arms lie symmetrically about 0.5), and latent correlations."""

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
    both = rate - min(within, rate * (1 - rate))  # chance that two trials of a scenario pass
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
        seed: seed of the random numbers.
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
    """Mark the experiments with the verdict better or worse, as the strictest comparison of their family.

    Args:
        d: differences of pass rates, shape (experiments, scenarios).
        family: number of comparisons.
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
        family: number of comparisons; the strictest one decides.
    """
    if not can_show(layout.scenarios, family):
        return None
    hardest = 0.0
    for split in sorted(dict.fromkeys(splits), key=lambda split: -_variance(split, layout)):
        # The largest variance comes first. One simulation shows that most other pairs need no larger effect.
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
    """Return the number of experiments that estimate a power within 2 points; fewer if each is large."""
    trials = max(1, layout.scenarios * (layout.repetitions + layout.repetitions_baseline))
    return min(max(_TRIALS // trials, _FEWEST_DATASETS), _MOST_DATASETS)


@functools.cache
def power_not_worse(split: Split, layout: Layout, margin: float) -> float:
    """Return the chance that an arm as good as the baseline passes the gate `not_worse`."""
    if layout.scenarios > _MANY_SCENARIOS:
        return _power_of_many(split.of_difference(layout.repetitions, layout.repetitions_baseline), layout, margin)
    return float(not_worse(rate_differences(split, layout, 0.0, _datasets(layout)), margin).mean())


def _power_of_many(variance: float, layout: Layout, margin: float) -> float:
    """Approximate by the normal distribution; the lower limit is the limit of the mean with an added value of -1."""
    n = layout.scenarios
    error = math.sqrt((n * variance + 1) / (n + 1) / (n + 2))
    return float(ndtr((margin - 1 / n - float(ndtri(1 - ALPHA)) * error) / math.sqrt(max(variance, _EPSILON) / n)))


def not_worse(d: Floats, margin: float) -> Bools:
    """Mark the experiments whose arm passes the gate `not_worse`."""
    return np.asarray(rare_limits(d, INNER)[0] > -margin)


@dataclass(frozen=True, slots=True)
class AATestOptions:
    """Options of an A/A test: comparisons in the family, margin, number of random halves, and seed."""

    family: int
    margin: float
    resamples: int = 500
    seed: int = 0


def aa_test(frame: Frame, experiment: str, how: AATestOptions) -> EqualArms:
    """Compare every arm that has two repetitions of a scenario with itself."""
    tables = {arm: passes_by_repetition(frame, at) for at, arm in enumerate(frame.arms)}
    usable = {arm: table for arm, table in tables.items() if (_sizes(table) >= _LEAST).any()}
    as_run = _odd_against_even(frame, how)
    arms, everything = [], []
    for number, (arm, table) in enumerate(usable.items()):
        verdicts = [ruling.verdict for ruling in _resampled(table, how, number)]
        everything += verdicts
        sizes = _sizes(table)
        sizes = sizes[sizes >= _LEAST]
        arms.append(
            EqualArm(
                arm=arm,
                scenarios=sizes.size,
                repetitions=(int(sizes.min()), int(sizes.max())),
                as_run=as_run[arm].verdict,
                why=as_run[arm].why,
                resampled=_shares(verdicts),
            )
        )
    over_all = _shares(everything) if everything else None
    return EqualArms(
        experiment=experiment,
        family=how.family,
        margin=how.margin,
        resamples=how.resamples,
        arms=tuple(arms),
        left_out=tuple(arm for arm in tables if arm not in usable),
        over_all=over_all,
        meaning=_meaning(over_all),
    )


def verdicts_on(one: Floats, other: Floats, how: AATestOptions) -> Iterator[Ruling]:
    """Yield the verdict on each pair of scenario means, shape (pairs, scenarios), as the strictest of its family."""
    for contrast in paired_contrasts(one, other, PASS, "difference", Resampling(seed=how.seed), how.family):
        yield rule(strictest(contrast, how.family), how.margin)


def _odd_against_even(frame: Frame, how: AATestOptions) -> dict[str, Ruling]:
    """Compare each arm's odd repetitions with its even ones."""
    if not frame.arms:
        return {}
    names = tuple(f"{arm}, {half}" for arm in frame.arms for half in ("odd", "even"))
    split = replace(frame, arms=names, arm=2 * frame.arm + (frame.repetition % 2 == 0), tools={}, variants={})
    pairings = [Pairing(names[2 * at], names[2 * at + 1], (2 * at,), (2 * at + 1,)) for at in range(len(frame.arms))]
    contrasts = compare_each(split, pairings, "an arm against itself", Resampling(seed=how.seed), how.family)
    ruled = (rule(contrast, how.margin) for contrast in contrasts)
    return dict(zip(frame.arms, ruled, strict=True))


def _sizes(table: Floats) -> Floats:
    return np.asarray((~np.isnan(table)).sum(axis=1))


def _resampled(table: Floats, how: AATestOptions, number: int) -> Iterator[Ruling]:
    rng = np.random.default_rng([how.seed, _STREAM, number])
    block = max(1, _BLOCK // max(1, table.size))
    for start in range(0, how.resamples, block):
        yield from verdicts_on(*halves(table, min(block, how.resamples - start), rng), how)


def halves(table: Floats, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw scenario means of random halves of equal size, each (count, scenarios); an odd repetition is left out.

    Args:
        table: passes, shape (scenarios, repetitions), NaN if there is no trial.
        count: number of draws.
        rng: random number generator.
    """
    sizes = _sizes(table)
    half = np.where(sizes >= _LEAST, sizes // 2, np.nan)[:, None]
    keys = rng.random((count, *table.shape))
    keys[:, np.isnan(table)] = 2.0  # missing repetitions come last
    shuffled = np.take_along_axis(np.broadcast_to(np.nan_to_num(table), keys.shape), keys.argsort(axis=2), axis=2)
    position = np.arange(table.shape[1])
    first = np.where(position < half, shuffled, 0.0).sum(axis=2) / half[:, 0]
    second = np.where((position >= half) & (position < 2 * half), shuffled, 0.0).sum(axis=2) / half[:, 0]
    return np.asarray(first), np.asarray(second)


def _shares(verdicts: Sequence[Verdict]) -> FalseVerdictShares:
    n, counts = len(verdicts), Counter(verdicts)
    false = counts["better"] + counts["worse"]
    low, high = wilson(false, n) or (0.0, 1.0)
    alike = sum(count * (count - 1) for count in counts.values())
    return FalseVerdictShares(
        verdicts=n,
        false=false,
        false_share=false / n,
        low=low,
        high=high,
        equivalent_share=counts["equivalent"] / n,
        flip_rate=1 - alike / (n * (n - 1)) if n > 1 else None,
    )


def _meaning(shares: FalseVerdictShares | None) -> str:
    limit = f"{100 * ALPHA:g} %"
    if shares is None:
        return "no arm has two repetitions of a scenario, so no arm can be compared with itself; run more repetitions"
    if shares.low > ALPHA:
        return f"verdicts on rows like these are false more often than their limit of {limit}: do not rely on them"
    if shares.high <= ALPHA:
        return f"verdicts on rows like these are reliable: without a difference, at most {limit} are false"
    if shares.false_share <= ALPHA:
        return f"at most {limit} of verdicts were false, but there are too few halves to be sure; raise --resamples"
    return f"more than {limit} of verdicts were false, possibly by chance; raise --resamples"
