"""Comparisons of arms, paired by scenario: differences with intervals, p values and effect sizes.

The headline is the mean difference of scenario means (for costs and times the geometric mean of their ratios), which is
about scenarios like these. The stratified permutation (`p_here`) is about these scenarios alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame, Groups, grouped
from scylla_gha.analysis.paired import PairedSides, Scale, pair_sides, paired_contrast
from scylla_gha.analysis.pairings import Pairing
from scylla_gha.counting import counted
from scylla_gha.model.analysis import Contrast
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.effects import cliffs_delta, cohens_d, cohens_dz, correlation, hedges_correction
from scylla_gha.stats.resampling import Resampling, sign_flip_p
from scylla_gha.stats.significance import benjamini_hochberg, holm, stratified_exact_p
from scylla_gha.stats.simple import MOST_EXACT

PASS: Final = "pass_rate"  # noqa: S105 no password
# Metrics that are compared beside the pass rate: name, column, scale.
_SCREENED: Final[tuple[tuple[str, str, Scale], ...]] = (
    ("score", "score", "difference"), ("progress_rate", "progress", "difference"), ("usd", "usd", "ratio"),
    ("tokens", "tokens", "ratio"), ("seconds", "seconds", "ratio"), ("tool_calls", "tool_calls", "difference"),
)  # fmt: skip
_BOUNDED: Final = frozenset({PASS, "score", "progress_rate"})


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    values: Floats
    groups: Groups
    scale: Scale


def compare(
    frame: Frame, pairings: Sequence[Pairing], family: str, how: Resampling, metric: str = PASS
) -> tuple[Contrast, ...]:
    """Compare the pass rate of each pairing, or another metric; p adjusted by Holm for these pairings."""
    contrasts = _contrasts(frame, _metric(frame, metric), pairings, how, len(pairings))
    adjusted = holm([contrast.p for contrast in contrasts])
    return _adjusted(contrasts, adjusted, family, "Holm")


def compare_each(
    frame: Frame, pairings: Sequence[Pairing], name: str, how: Resampling, family: int
) -> tuple[Contrast, ...]:
    """Compare the pass rate of each pairing, p adjusted as the strictest one of a Holm family of the given size."""
    contrasts = _contrasts(frame, _metric(frame, PASS), pairings, how, family)
    return tuple(strictest(contrast, family).model_copy(update={"family": name}) for contrast in contrasts)


def strictest(contrast: Contrast, family: int) -> Contrast:
    """Adjust p as the strictest one of a Holm family of that size."""
    p = None if contrast.p is None else min(1.0, contrast.p * family)
    return contrast.model_copy(update={"p_adjusted": p, "family_size": family, "adjustment": "Holm"})


def _metric(frame: Frame, name: str) -> _Metric:
    if name == PASS:
        passed = frame.columns["passed"]
        return _Metric(PASS, passed, grouped(frame, passed), "difference")
    return next(metric for metric in _screened(frame) if metric.name == name)


def screen(frame: Frame, pairings: Sequence[Pairing], how: Resampling) -> tuple[Contrast, ...]:
    """Compare all other metrics of each pairing, for exploration: Benjamini-Hochberg over all of them."""
    contrasts = [contrast for metric in _screened(frame) for contrast in _contrasts(frame, metric, pairings, how, 1)]
    adjusted = benjamini_hochberg([contrast.p for contrast in contrasts])
    return _adjusted(contrasts, adjusted, "screening", "Benjamini-Hochberg")


def _adjusted(contrasts: Sequence[Contrast], p: Floats, family: str, adjustment: str) -> tuple[Contrast, ...]:
    common = {"family": family, "family_size": len(contrasts), "adjustment": adjustment}
    return tuple(
        contrast.model_copy(update={"p_adjusted": None if np.isnan(adjusted) else float(adjusted), **common})
        for contrast, adjusted in zip(contrasts, p, strict=True)
    )


def _screened(frame: Frame) -> list[_Metric]:
    columns = frame.columns
    metrics = []
    for name, column, scale in _SCREENED:
        values = frame.tokens if column == "tokens" else columns[column]
        groups = grouped(frame, values)
        # A ratio needs numbers above 0.
        usable = scale == "ratio" and not np.any(groups.mean[groups.n > 0] <= 0)
        metrics.append(_Metric(name, values, groups, "ratio" if usable else "difference"))
    return metrics


def _contrasts(
    frame: Frame, metric: _Metric, pairings: Sequence[Pairing], how: Resampling, family: int
) -> list[Contrast]:
    """Compare all pairings of one metric at once, with the same sign flips."""
    if not pairings:
        return []
    one = np.vstack([_mixed(metric.groups.mean, pairing.first) for pairing in pairings])
    other = np.vstack([_mixed(metric.groups.mean, pairing.second) for pairing in pairings])
    pairs = pair_sides(one, other, metric.scale, bounded=metric.name in _BOUNDED, family=family)
    nonzero = _nonzero(np.vstack([pair.d for pair in pairs]))
    p, least = sign_flip_p(nonzero, how)
    test = "sign-flip, exact" if nonzero.shape[1] <= MOST_EXACT else f"sign-flip, {counted(how.draws, 'draw')}"
    contrasts = []
    for at, (pairing, pair) in enumerate(zip(pairings, pairs, strict=True)):
        contrast = paired_contrast(pair, metric.name, family)
        tested = {"p": float(p[at]), "least_p": float(least[at])} if pair.shared.any() else {}
        method = "; ".join(part for part in (contrast.method, test) if part) if tested else ""
        contrasts.append(contrast.model_copy(update={
            **tested, "method": method, "arm": pairing.arm, "baseline": pairing.baseline,
            **_effects(frame, metric, pairing, pair), "p_here": _here(metric, pairing),
        }))  # fmt: skip
    return contrasts


def _mixed(means: Floats, arms: tuple[int, ...]) -> Floats:
    """Average the scenario means of a side's arms; NaN if one of them has none."""
    return np.asarray(means[list(arms)].mean(axis=0))


def _nonzero(d: Floats) -> Floats:
    """Drop the scenarios without a difference in any comparison, so that few are left to enumerate exactly."""
    return np.asarray(d[:, np.any(~np.isnan(d) & (d != 0), axis=0)])


def _effects(frame: Frame, metric: _Metric, pairing: Pairing, pair: PairedSides) -> dict[str, float | None]:
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
    """Compute the exact stratified p of the pass rates of two single arms."""
    if metric.name != PASS or len(pairing.first) > 1 or len(pairing.second) > 1:
        return None
    n, wins = metric.groups.n, np.rint(np.nan_to_num(metric.groups.mean) * metric.groups.n).astype(np.int64)
    (one,), (other,) = pairing.first, pairing.second
    return stratified_exact_p(np.column_stack([wins[one], n[one], wins[other], n[other]]))
