"""A/A test: each arm compared with itself by the code of a verdict, so that every difference found is false.

Once with odd against even repetitions, which shows drift or a warm cache; and over random halves, which estimate how
often a verdict on such rows is false, and how often it would differ the next time.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import PASS, compare_each, paired_contrasts, strictest
from scylla_gha.analysis.frame import Frame, Pairing, passes_by_repetition
from scylla_gha.analysis.verdicts import ALPHA, rule
from scylla_gha.model.analysis import Ruling, Verdict
from scylla_gha.model.comparison import EqualArm, EqualArms, FalseVerdictShares
from scylla_gha.stats import wilson
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.resampling import Resampling

_BLOCK: Final = 2_000_000  # numbers that are shuffled at once
_LEAST: Final = 2
_STREAM: Final = 5  # a stream of random numbers of its own


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
        arms.append(EqualArm(
            arm=arm, scenarios=sizes.size, repetitions=(int(sizes.min()), int(sizes.max())),
            as_run=as_run[arm].verdict, why=as_run[arm].why, resampled=_shares(verdicts),
        ))  # fmt: skip
    over_all = _shares(everything) if everything else None
    return EqualArms(
        experiment=experiment, family=how.family, margin=how.margin, resamples=how.resamples, arms=tuple(arms),
        left_out=tuple(arm for arm in tables if arm not in usable), over_all=over_all, meaning=_meaning(over_all),
    )  # fmt: skip


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
        table: shape (scenarios, repetitions), NaN if there is none.
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
    return FalseVerdictShares(verdicts=n, false=false, false_share=false / n, low=low, high=high,
                  equivalent_share=counts["equivalent"] / n,
                  flip_rate=1 - alike / (n * (n - 1)) if n > 1 else None)  # fmt: skip


def _meaning(shares: FalseVerdictShares | None) -> str:
    limit = f"{100 * ALPHA:g} %"
    if shares is None:
        return "no arm has two repetitions of a scenario, so no arm can be compared with itself; run more repetitions"
    if shares.low > ALPHA:
        return f"verdicts on rows like these are false more often than {limit}, their limit: do not act on one"
    if shares.high <= ALPHA:
        return f"verdicts on rows like these are reliable: without a difference, at most {limit} are false"
    if shares.false_share <= ALPHA:
        return f"no more than {limit} of verdicts were false, but so few halves do not prove it; give more --resamples"
    return f"more than {limit} of verdicts were false, which may be chance; give more --resamples"
