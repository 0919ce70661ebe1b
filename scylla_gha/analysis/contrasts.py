"""Arms against each other, paired by scenario: what differs, how sure that is, and what p would be without effect.

The headline is the mean difference of scenario means (or, of what is paid and waited for, the geometric mean of their
ratios): it speaks of scenarios like these. The stratified permutation, second, speaks of these scenarios alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.groups import Groups, grouped
from scylla_gha.analysis.paired import Scale, Sides, sides, told
from scylla_gha.model.analysis import Contrast
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.effect import cliffs_delta, cohens_d, cohens_dz, correlation, hedges_correction
from scylla_gha.stats.multiplicity import benjamini_hochberg, holm
from scylla_gha.stats.resampling import Resampling
from scylla_gha.stats.signflip import MOST_EXACT, sign_flip_p
from scylla_gha.stats.strata import stratified_binary_test

PASS: Final = "pass_rate"  # noqa: S105 no password
# What is compared beside the pass rate: its name, its column, and its scale.
_SCREENED: Final[tuple[tuple[str, str, Scale], ...]] = (
    ("score", "score", "difference"), ("progress_rate", "progress", "difference"), ("usd", "usd", "ratio"),
    ("tokens", "tokens", "ratio"), ("seconds", "seconds", "ratio"), ("tool_calls", "tool_calls", "difference"),
)  # fmt: skip
_BOUNDED: Final = frozenset({PASS, "score", "progress_rate"})


@dataclass(frozen=True, slots=True)
class Pairing:
    """Who is compared with whom: names, and places of arms; a side of several arms is their mean."""

    arm: str
    baseline: str
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    values: Floats
    groups: Groups
    scale: Scale


def compare(
    frame: Frame, pairings: Sequence[Pairing], family: str, how: Resampling, metric: str = PASS
) -> tuple[Contrast, ...]:
    """The pass rate of each pairing, or another metric; p adjusted after Holm, the family being these pairings."""
    made = _contrasts(frame, _metric(frame, metric), pairings, how, len(pairings))
    adjusted = holm([one.p for one in made], len(made))
    return _adjusted(made, adjusted, {"family": family, "family_size": len(made), "adjustment": "Holm"})


def compare_each(
    frame: Frame, pairings: Sequence[Pairing], name: str, how: Resampling, family: int
) -> tuple[Contrast, ...]:
    """The pass rate of each pairing as the strictest one of a Holm family of a given size, whatever the others say."""
    made = _contrasts(frame, _metric(frame, PASS), pairings, how, family)
    return tuple(strictest(one, family).model_copy(update={"family": name}) for one in made)


def strictest(contrast: Contrast, family: int) -> Contrast:
    """With the p that the strictest one of a Holm family of that size has."""
    p = None if contrast.p is None else min(1.0, contrast.p * family)
    return contrast.model_copy(update={"p_adjusted": p, "family_size": family, "adjustment": "Holm"})


def _metric(frame: Frame, name: str) -> _Metric:
    if name == PASS:
        passed = frame.columns["passed"]
        return _Metric(PASS, passed, grouped(frame, passed), "difference")
    return next(one for one in _screened(frame) if one.name == name)


def screen(frame: Frame, pairings: Sequence[Pairing], how: Resampling) -> tuple[Contrast, ...]:
    """All other metrics of each pairing, to look around: Benjamini-Hochberg over all of them."""
    made = [one for metric in _screened(frame) for one in _contrasts(frame, metric, pairings, how, 1)]
    adjusted = benjamini_hochberg([one.p for one in made], len(made))
    words: dict[str, str | int] = {"family": "screening", "family_size": len(made), "adjustment": "Benjamini-Hochberg"}
    return _adjusted(made, adjusted, words)


def _adjusted(made: Sequence[Contrast], p: Floats, words: dict[str, str | int]) -> tuple[Contrast, ...]:
    return tuple(
        one.model_copy(update={"p_adjusted": None if np.isnan(each) else float(each), **words})
        for one, each in zip(made, p, strict=True)
    )


def _screened(frame: Frame) -> list[_Metric]:
    columns = frame.columns
    found = []
    for name, column, scale in _SCREENED:
        values = frame.tokens if column == "tokens" else columns[column]
        groups = grouped(frame, values)
        # A logarithm takes numbers above 0; where an arm is free, a ratio says nothing either.
        usable = scale == "ratio" and not np.any(groups.mean[groups.n > 0] <= 0)
        found.append(_Metric(name, values, groups, "ratio" if usable else "difference"))
    return found


def _contrasts(
    frame: Frame, metric: _Metric, pairings: Sequence[Pairing], how: Resampling, family: int
) -> list[Contrast]:
    """All pairings of one metric at once: the same signs are flipped for all of them."""
    if not pairings:
        return []
    one = np.vstack([_mixed(metric.groups.mean, pairing.first) for pairing in pairings])
    other = np.vstack([_mixed(metric.groups.mean, pairing.second) for pairing in pairings])
    pairs = sides(one, other, metric.scale, bounded=metric.name in _BOUNDED, family=family)
    moved = _moved(np.vstack([pair.d for pair in pairs]))
    p, least = sign_flip_p(moved, how=how)
    test = "sign-flip, exact" if moved.shape[1] <= MOST_EXACT else f"sign-flip, {how.draws} draws"
    made = []
    for at, (pairing, pair) in enumerate(zip(pairings, pairs, strict=True)):
        record = told(pair, metric.name)
        tested = {"p": float(p[at]), "least_p": float(least[at])} if pair.shared.any() else {}
        words = "; ".join(part for part in (record.method, test) if part) if tested else ""
        made.append(record.model_copy(update={
            **tested, "method": words, "arm": pairing.arm, "baseline": pairing.baseline,
            **_effects(frame, metric, pairing, pair), "p_here": _here(metric, pairing),
        }))  # fmt: skip
    return made


def _mixed(means: Floats, arms: tuple[int, ...]) -> Floats:
    """Scenario means of a side; NaN where one of its arms has none."""
    return np.asarray(means[list(arms)].mean(axis=0))


def _moved(d: Floats) -> Floats:
    """Without the scenarios that take no part in any comparison, so that few are enumerated exactly."""
    return np.asarray(d[:, np.any(~np.isnan(d) & (d != 0), axis=0)])


def _effects(frame: Frame, metric: _Metric, pairing: Pairing, pair: Sides) -> dict[str, float | None]:
    one, other = _trials(frame, metric, pairing.first), _trials(frame, metric, pairing.second)
    first, second = pair.one[pair.shared], pair.other[pair.shared]
    d, j = cohens_d(one, other), hedges_correction(one.size + other.size - 2)
    return {
        "cohens_d": d, "hedges_g": None if d is None or j is None else j * d, "cliffs_delta": cliffs_delta(one, other),
        "d_z": cohens_dz(first, second), "correlation": correlation(first, second),
    }  # fmt: skip


def _trials(frame: Frame, metric: _Metric, arms: tuple[int, ...]) -> Floats:
    values = metric.values[np.concatenate([frame.rows_of(arm) for arm in arms])]
    return np.asarray(values[~np.isnan(values)])


def _here(metric: _Metric, pairing: Pairing) -> float | None:
    """Of single arms and passes, where the test is exact."""
    if metric.name != PASS or len(pairing.first) > 1 or len(pairing.second) > 1:
        return None
    n, wins = metric.groups.n, np.rint(np.nan_to_num(metric.groups.mean) * metric.groups.n).astype(np.int64)
    (one,), (other,) = pairing.first, pairing.second
    found = stratified_binary_test(np.column_stack([wins[one], n[one], wins[other], n[other]]))
    return found.p if found else None
