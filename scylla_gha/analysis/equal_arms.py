"""Equal arms (A/A): an arm against itself, by the same code as a verdict. Whatever it finds is false.

Once as it was run, odd against even repetitions, which a drift or a warm cache would show; and over random halves,
which tell how often a verdict on such rows is false, and how often it would come out otherwise the next time.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import PASS, Pairing, compare_each, strictest
from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.paired import sides, told
from scylla_gha.analysis.repetitions import passes
from scylla_gha.analysis.verdicts import ALPHA, rule
from scylla_gha.model.analysis import Ruling, Verdict
from scylla_gha.model.equal_arms import EqualArm, EqualArms, Shares
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.proportion import wilson
from scylla_gha.stats.resampling import Resampling
from scylla_gha.stats.signflip import sign_flip_p

_BLOCK: Final = 2_000_000  # numbers that are shuffled at once
_LEAST: Final = 2
_STREAM: Final = 5  # a stream of random numbers of its own


@dataclass(frozen=True, slots=True)
class Trying:
    """How verdicts are tried: comparisons in the family, the margin, how many halves, by which seed."""

    family: int
    margin: float
    resamples: int = 500
    seed: int = 0


def equal_arms(frame: Frame, experiment: str, how: Trying) -> EqualArms:
    """Every arm with two repetitions of a scenario against itself."""
    tables = {arm: passes(frame, place) for place, arm in enumerate(frame.arms)}
    usable = {arm: table for arm, table in tables.items() if (_sizes(table) >= _LEAST).any()}
    as_run = _odd_against_even(frame, how)
    arms, everything = [], []
    for number, (arm, table) in enumerate(usable.items()):
        verdicts = [one.verdict for one in _resampled(table, how, number)]
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


def verdicts_on(one: Floats, other: Floats, how: Trying) -> Iterator[Ruling]:
    """The verdicts on many pairs of scenario means, both of shape (pairs, scenarios), each as if it were alone."""
    pairs = sides(one, other, "difference", bounded=True, family=how.family)
    d = np.vstack([pair.d for pair in pairs])
    moved = d[:, np.any(~np.isnan(d) & (d != 0), axis=0)]
    p, least = sign_flip_p(moved, how=Resampling(seed=how.seed))
    for at, pair in enumerate(pairs):
        tested = {"p": float(p[at]), "least_p": float(least[at])} if pair.shared.any() else {}
        yield rule(strictest(told(pair, PASS).model_copy(update=tested), how.family), how.margin)


def _odd_against_even(frame: Frame, how: Trying) -> dict[str, Ruling]:
    """The verdict on each arm's odd repetitions, its even ones being the baseline."""
    if not frame.arms:
        return {}
    names = tuple(f"{arm}, {half}" for arm in frame.arms for half in ("odd", "even"))
    split = replace(frame, arms=names, arm=2 * frame.arm + (frame.repetition % 2 == 0), tools={}, variants={})
    pairings = [Pairing(names[2 * at], names[2 * at + 1], (2 * at,), (2 * at + 1,)) for at in range(len(frame.arms))]
    found = compare_each(split, pairings, "an arm against itself", Resampling(seed=how.seed), how.family)
    ruled = (rule(one, how.margin) for one in found)
    return dict(zip(frame.arms, ruled, strict=True))


def _sizes(table: Floats) -> Floats:
    return np.asarray((~np.isnan(table)).sum(axis=1))


def _resampled(table: Floats, how: Trying, number: int) -> Iterator[Ruling]:
    rng = np.random.default_rng([how.seed, _STREAM, number])
    block = max(1, _BLOCK // max(1, table.size))
    for start in range(0, how.resamples, block):
        yield from verdicts_on(*halves(table, min(block, how.resamples - start), rng), how)


def halves(table: Floats, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Scenario means of random halves of equal size: twice (count, scenarios); one of an odd number is left out.

    Args:
        table: shape (scenarios, repetitions), NaN where there is none.
        count: how often.
        rng: the source of chance.
    """
    sizes = _sizes(table)
    half = np.where(sizes >= _LEAST, sizes // 2, np.nan)[:, None]
    keys = rng.random((count, *table.shape))
    keys[:, np.isnan(table)] = 2.0  # what is not there comes last
    shuffled = np.take_along_axis(np.broadcast_to(np.nan_to_num(table), keys.shape), keys.argsort(axis=2), axis=2)
    place = np.arange(table.shape[1])
    first = np.where(place < half, shuffled, 0.0).sum(axis=2) / half[:, 0]
    second = np.where((place >= half) & (place < 2 * half), shuffled, 0.0).sum(axis=2) / half[:, 0]
    return np.asarray(first), np.asarray(second)


def _shares(verdicts: Sequence[Verdict]) -> Shares:
    n, counts = len(verdicts), Counter(verdicts)
    false = counts["better"] + counts["worse"]
    low, high = wilson(false, n) or (0.0, 1.0)
    alike = sum(count * (count - 1) for count in counts.values())
    return Shares(verdicts=n, false=false, false_share=false / n, low=low, high=high,
                  equivalent_share=counts["equivalent"] / n,
                  flip_rate=1 - alike / (n * (n - 1)) if n > 1 else None)  # fmt: skip


def _meaning(found: Shares | None) -> str:
    limit = f"{100 * ALPHA:g} %"
    if found is None:
        return "no arm has two repetitions of a scenario, so nothing can be held against itself; run more repetitions"
    if found.low > ALPHA:
        return f"verdicts on rows like these are false more often than the {limit} that are promised: do not act on one"
    if found.high <= ALPHA:
        return f"where there is nothing to find, verdicts stay silent: at most {limit} are false, as promised"
    if found.false_share <= ALPHA:
        return f"no more than {limit} of verdicts were false, but so few halves do not prove it; give more --resamples"
    return f"more than {limit} of verdicts were false, which may be chance; give more --resamples"
