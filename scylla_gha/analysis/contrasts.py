"""Comparisons of arms, paired by scenario: intervals, p values, effect sizes, and verdicts.

The main value is the mean difference of scenario means (for costs and times the geometric mean of their ratios). It
holds for scenarios like these; the exact stratified p (`p_here`) holds for these scenarios only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from scylla_gha.analysis.frame import Frame, Groups, Pairing, grouped
from scylla_gha.counting import counted
from scylla_gha.model.analysis import Contrast, Ruling, Verdict
from scylla_gha.stats import MOST_EXACT, format_p
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.differences import (
    benjamini_hochberg,
    cliffs_delta,
    cohens_d,
    cohens_dz,
    correlation,
    hedges_correction,
    holm,
    mde_paired,
    stratified_exact_p,
)
from scylla_gha.stats.means import FEW_NOT_ZERO, mean_limits, mean_limits_bounded, rare_limits
from scylla_gha.stats.resampling import DRAWS, Resampling, least_p_drawn, least_p_sign_flip, sign_flip_p

Scale = Literal["difference", "ratio"]
PASS: Final = "pass_rate"  # noqa: S105 no password
WIDE: Final = 0.95
INNER: Final = 0.90  # confidence of the interval of two one-sided tests at 0.05
# Metrics that are compared beside the pass rate: name, column, scale.
_SCREENED: Final[tuple[tuple[str, str, Scale], ...]] = (
    ("score", "score", "difference"),
    ("progress_rate", "progress", "difference"),
    ("usd", "usd", "ratio"),
    ("tokens", "tokens", "ratio"),
    ("seconds", "seconds", "ratio"),
    ("tool_calls", "tool_calls", "difference"),
)
_BOUNDED: Final = frozenset({PASS, "score", "progress_rate"})  # between 0 and 1
_LIMITS: Final = ("low", "high", "inner_low", "inner_high", "equal_low", "equal_high")
_TWO: Final = 2
_FEWEST_UNBOUNDED: Final = 10  # scenarios for equivalence by t; with fewer, skewed data look more equal than they are
_SIGN_FLIP_FACTOR: Final = 1.08  # smallest effect of a verdict, divided by the smallest effect of a t-test
_LARGEST: Final = 700.0  # its exponential still fits into a double
ALPHA: Final = 0.05
LESS_IS_BETTER: Final = frozenset({"usd", "tokens", "seconds"})
_MOST_SCENARIOS: Final = 64


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    values: Floats
    groups: Groups
    scale: Scale


def compare(
    frame: Frame, pairings: Sequence[Pairing], family: str, how: Resampling, metric: str = PASS
) -> tuple[Contrast, ...]:
    """Compare the pass rate (or another metric) of each pairing; p is adjusted by Holm for these pairings."""
    return holm_adjusted(_contrasts(frame, _metric(frame, metric), pairings, how, len(pairings)), family)


def holm_adjusted(contrasts: Sequence[Contrast], family: str) -> tuple[Contrast, ...]:
    """Adjust p by Holm for the contrasts, which are the whole family."""
    return _adjusted(contrasts, holm([contrast.p for contrast in contrasts]), family, "Holm")


def compare_each(
    frame: Frame, pairings: Sequence[Pairing], name: str, how: Resampling, family: int
) -> tuple[Contrast, ...]:
    """Compare the pass rate of each pairing; p is adjusted like the smallest p of a Holm family of the given size."""
    contrasts = _contrasts(frame, _metric(frame, PASS), pairings, how, family)
    return tuple(strictest(contrast, family).model_copy(update={"family": name}) for contrast in contrasts)


def strictest(contrast: Contrast, family: int) -> Contrast:
    """Adjust p like the smallest p of a Holm family of that size."""
    p = None if contrast.p is None else min(1.0, contrast.p * family)
    return contrast.model_copy(update={"p_adjusted": p, "family_size": family, "adjustment": "Holm"})


def screen(frame: Frame, pairings: Sequence[Pairing], how: Resampling) -> tuple[Contrast, ...]:
    """Compare all other metrics of each pairing, for exploration; p is adjusted by Benjamini-Hochberg for all."""
    contrasts = [contrast for metric in _screened(frame) for contrast in _contrasts(frame, metric, pairings, how, 1)]
    adjusted = benjamini_hochberg([contrast.p for contrast in contrasts])
    return _adjusted(contrasts, adjusted, "screening", "Benjamini-Hochberg")


def _adjusted(contrasts: Sequence[Contrast], p: Floats, family: str, adjustment: str) -> tuple[Contrast, ...]:
    common = {"family": family, "family_size": len(contrasts), "adjustment": adjustment}
    return tuple(
        contrast.model_copy(update={"p_adjusted": None if np.isnan(adjusted) else float(adjusted), **common})
        for contrast, adjusted in zip(contrasts, p, strict=True)
    )


def _metric(frame: Frame, name: str) -> _Metric:
    if name == PASS:
        passed = frame.columns["passed"]
        return _Metric(PASS, passed, grouped(frame, passed), "difference")
    return next(metric for metric in _screened(frame) if metric.name == name)


def _screened(frame: Frame) -> list[_Metric]:
    metrics = []
    for name, column, scale in _SCREENED:
        values = frame.tokens if column == "tokens" else frame.columns[column]
        groups = grouped(frame, values)
        # A ratio needs numbers above 0.
        usable = scale == "ratio" and not np.any(groups.mean[groups.n > 0] <= 0)
        metrics.append(_Metric(name, values, groups, "ratio" if usable else "difference"))
    return metrics


def _contrasts(
    frame: Frame, metric: _Metric, pairings: Sequence[Pairing], how: Resampling, family: int
) -> list[Contrast]:
    """Compare all pairings of one metric; a side of several arms has their mean, or NaN if one lacks a value."""
    if not pairings:
        return []
    means = metric.groups.mean
    first = np.vstack([means[list(pairing.first)].mean(axis=0) for pairing in pairings])
    second = np.vstack([means[list(pairing.second)].mean(axis=0) for pairing in pairings])
    contrasts = paired_contrasts(first, second, metric.name, metric.scale, how, family)
    return [
        contrast.model_copy(
            update={
                "arm": pairing.arm,
                "baseline": pairing.baseline,
                **_effects(frame, metric, pairing, first[at], second[at]),
                "p_here": _exact_p_here(metric, pairing),
            }
        )
        for at, (pairing, contrast) in enumerate(zip(pairings, contrasts, strict=True))
    ]


def paired_contrasts(
    first: Floats, second: Floats, metric: str, scale: Scale, how: Resampling, family: int = 1
) -> list[Contrast]:
    """Compare the scenario means of many pairs with the same sign flips; names and effect sizes are left empty.

    Args:
        first: means of the first sides, shape (pairs, scenarios), NaN if a side has no value.
        second: means of the second sides, likewise.
        metric: name of the metric; it decides whether values lie between 0 and 1.
        scale: whether differences or ratios are compared.
        how: draws and seed of the sign-flip test.
        family: number of comparisons, for which equivalence and the smallest effect are adjusted (Bonferroni).
    """
    d = np.log(first) - np.log(second) if scale == "ratio" else first - second
    mean, limits = _limits(d, metric, family)
    # Scenarios without a difference in any pair are left out, so that an exact enumeration takes less time.
    nonzero = d[:, np.any(~np.isnan(d) & (d != 0), axis=0)]
    p, least = sign_flip_p(nonzero, how)
    test = "sign-flip, exact" if nonzero.shape[1] <= MOST_EXACT else f"sign-flip, {counted(how.draws, 'draw')}"
    contrasts = []
    for at, row in enumerate(d):
        x = row[~np.isnan(row)]
        blank = Contrast(
            arm="",
            baseline="",
            metric=metric,
            scale=scale,
            value=None,
            scenarios=x.size,
            dropped=int(np.sum(np.isnan(first[at]) != np.isnan(second[at]))),
            wins=(int((x > 0).sum()), int((x == 0).sum()), int((x < 0).sum())),
            note="" if x.size else "the two sides share no scenario with a known value",
        )
        known = _estimate(x, float(mean[at]), limits[at], blank, family) if x.size else {}
        if known:
            method = f"{known['method']}; {test}" if known["method"] else test
            known |= {"p": float(p[at]), "least_p": float(least[at]), "method": method}
        contrasts.append(blank.model_copy(update=known))
    return contrasts


def _limits(d: Floats, metric: str, family: int) -> tuple[Floats, Floats]:
    """Return means, and pairs of limits: at 95 %, at 90 %, and of equivalence (90 %, adjusted for the family)."""
    mean, low, high = mean_limits(d, WIDE)
    confidence = 1 - (1 - INNER) / family
    if metric in _BOUNDED:
        columns = [*mean_limits_bounded(d), *rare_limits(d, INNER), *rare_limits(d, confidence)]
    else:
        enough = (~np.isnan(d)).sum(axis=1) >= _FEWEST_UNBOUNDED
        columns = [low, high, *mean_limits(d, INNER)[1:]]
        columns += [np.where(enough, limit, np.nan) for limit in mean_limits(d, confidence)[1:]]
    return mean, np.column_stack(columns)


def _estimate(d: Floats, mean: float, limits: Floats, blank: Contrast, family: int) -> dict[str, object]:
    """Return value, limits, method and smallest effect of a contrast; `d` contains the known differences."""
    is_ratio, is_bounded = blank.scale == "ratio", blank.metric in _BOUNDED
    spread = float(d.std(ddof=1)) if d.size >= _TWO else 0.0
    unit = likely_effect(d.size, family) if spread > 0 and can_show(d.size, family) else None
    effect = None if unit is None else unit * spread
    method, note = _method(d, limits, blank)
    if is_ratio:
        mean, limits = float(np.exp(mean)), np.exp(limits)
        effect = None if effect is None else float(np.exp(min(effect, _LARGEST)))
    elif is_bounded and effect is not None and effect >= 1:
        effect = None
    known = {name: None if np.isnan(limit) else float(limit) for name, limit in zip(_LIMITS, limits, strict=True)}
    return {"value": mean, **known, "method": method, "note": note, "smallest_effect": effect}


def _method(d: Floats, limits: Floats, blank: Contrast) -> tuple[str, str]:
    """Return the method of the 95 % interval, or the reason why there is no interval."""
    if d.size < _TWO:
        return "", "with one scenario, no interval can be computed"
    if blank.metric in _BOUNDED:
        few = int((d != 0).sum()) < FEW_NOT_ZERO
        return ("bounded mean, as few scenarios differ" if few else "paired t on scenario means, score form"), ""
    if np.isnan(limits[0]):
        return "", "all differences are equal, so no interval can be computed"
    return f"paired t on scenario means{', logarithms' if blank.scale == 'ratio' else ''}", ""


@lru_cache(maxsize=256)
def likely_effect(n: int, family: int) -> float | None:
    """Approximate the effect, in standard deviations, that the strictest verdict of a family detects with 80 % power.

    It is the effect of a t-test, enlarged for the sign-flip test, which is the second condition of a verdict. The
    simulation of the command `power` starts with it.
    """
    effect = mde_paired(1.0, n, ALPHA / family)
    return None if effect is None else effect * _SIGN_FLIP_FACTOR


def _effects(frame: Frame, metric: _Metric, pairing: Pairing, first: Floats, second: Floats) -> dict[str, float | None]:
    """Compute effect sizes for trials, and for the scenario means of both sides."""
    trials, baseline_trials = _trials(frame, metric, pairing.first), _trials(frame, metric, pairing.second)
    shared = ~np.isnan(first) & ~np.isnan(second)
    d, j = cohens_d(trials, baseline_trials), hedges_correction(trials.size + baseline_trials.size - 2)
    return {
        "cohens_d": d,
        "hedges_g": None if d is None or j is None else j * d,
        "cliffs_delta": cliffs_delta(trials, baseline_trials),
        "d_z": cohens_dz(first[shared], second[shared]),
        "correlation": correlation(first[shared], second[shared]),
    }


def _trials(frame: Frame, metric: _Metric, arms: tuple[int, ...]) -> Floats:
    values = metric.values[np.concatenate([frame.rows_of(arm) for arm in arms])]
    return np.asarray(values[~np.isnan(values)])


def _exact_p_here(metric: _Metric, pairing: Pairing) -> float | None:
    """Compute the exact stratified p of the pass rates of two single arms."""
    if metric.name != PASS or len(pairing.first) > 1 or len(pairing.second) > 1:
        return None
    n, wins = metric.groups.n, np.rint(np.nan_to_num(metric.groups.mean) * metric.groups.n).astype(np.int64)
    (first,), (second,) = pairing.first, pairing.second
    return stratified_exact_p(np.column_stack([wins[first], n[first], wins[second], n[second]]))


def rule(contrast: Contrast, margin: float) -> Ruling:
    """Decide on one arm compared with its baseline.

    Args:
        contrast: contrast of the pass rate (or another metric), with p adjusted for its family.
        margin: largest difference of shares, or largest relative difference of ratios, that counts as none.
    """
    verdict, why = _verdict(contrast, margin)
    return Ruling(
        arm=contrast.arm, baseline=contrast.baseline, verdict=verdict, why=why, margin=margin, contrast=contrast
    )


def _verdict(contrast: Contrast, margin: float) -> tuple[Verdict, str]:
    if contrast.value is None:
        return "not_enough_data", contrast.note
    if contrast.low is None or contrast.high is None or contrast.p_adjusted is None:
        return "not_enough_data", f"{contrast.note}: a verdict needs an interval"
    none = 1.0 if contrast.scale == "ratio" else 0.0
    if contrast.p_adjusted <= ALPHA and not contrast.low <= none <= contrast.high:
        is_gain = (contrast.low > none) != (contrast.metric in LESS_IS_BETTER)
        return ("better" if is_gain else "worse"), _summary(contrast)
    if _is_equivalent(contrast, margin):
        limits = f"the limits of equivalence {_equivalence_limits(contrast)} lie within the margin of"
        return "equivalent", f"{_summary(contrast)}; {limits} {_margin(contrast, margin)}"
    missing = f"{_missing_evidence(contrast)}{_missing_scenarios(contrast, margin)}"
    return "not_enough_data", f"{_summary(contrast)}; {missing}"


def _is_equivalent(contrast: Contrast, margin: float) -> bool:
    """Return whether the limits of equivalence lie within the margin; for differences in USD or time they never do."""
    low, high = contrast.equal_low, contrast.equal_high
    if low is None or high is None or (contrast.scale == "difference" and contrast.metric in LESS_IS_BETTER):
        return False
    if contrast.scale == "ratio":
        return 1 / (1 + margin) < low and high < 1 + margin
    return -margin < low and high < margin


def _equivalence_limits(contrast: Contrast) -> str:
    low, high = (limit or 0.0 for limit in (contrast.equal_low, contrast.equal_high))
    if contrast.scale == "ratio":
        return f"[{low:.3g}, {high:.3g}]"
    return f"[{100 * low:+.1f}, {100 * high:+.1f}]"


def _missing_scenarios(contrast: Contrast, margin: float) -> str:
    """Describe how many scenarios equivalence needs, even if all are equal; empty if there are enough."""
    need = scenarios_for_equivalence(margin, contrast.family_size)
    is_share = contrast.scale == "difference" and contrast.metric not in LESS_IS_BETTER
    if not is_share or contrast.scenarios >= need or abs(contrast.value or 0.0) >= margin:
        return ""
    return f"; equivalent within {_margin(contrast, margin)} needs at least {counted(need, 'scenario')}"


def scenarios_for_equivalence(margin: float, family: int) -> int:
    """Return the smallest number of scenarios that can show equivalence of shares, if all are equal.

    Suppose that the arms differ by 100 points in so many scenarios that the mean moves by the margin. Then the
    chance that no sampled scenario shows it must be at most 5 % over the family.
    """
    return math.floor(math.log(ALPHA / family) / math.log1p(-margin)) + 1


def _margin(contrast: Contrast, margin: float) -> str:
    return f"{100 * margin:g} {'%' if contrast.scale == 'ratio' else 'points'}"


def _summary(contrast: Contrast) -> str:
    value, low, high = (number or 0.0 for number in (contrast.value, contrast.low, contrast.high))
    if contrast.scale == "ratio":
        shown = f"x{value:.3g} [{low:.3g}, {high:.3g}]"
    elif contrast.metric in LESS_IS_BETTER:
        shown = f"{value:+.4g} {contrast.metric} [{low:+.4g}, {high:+.4g}]"
    else:
        shown = f"{100 * value:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]"
    return f"{shown} over {counted(contrast.scenarios, 'scenario')}, p {format_p(contrast.p_adjusted)}"


def _missing_evidence(contrast: Contrast) -> str:
    if contrast.least_p is not None and contrast.least_p * contrast.family_size > ALPHA:
        need = scenarios_needed(contrast.family_size)
        differ = contrast.wins[0] + contrast.wins[2]
        among = f"each of {counted(contrast.family_size, 'comparison')}" if contrast.family_size > 1 else "a verdict"
        return (
            f"{differ} of {counted(contrast.scenarios, 'scenario')} differ, and {among} needs at least {need} that "
            "differ"
        )
    effect = contrast.smallest_effect
    if effect is None:
        return f"the interval holds {1 if contrast.scale == 'ratio' else 0}"
    size = counted(100 * effect, "point", form=".0f")
    if contrast.scale == "ratio":
        size = f"x{effect:.3g}"
    elif contrast.metric in LESS_IS_BETTER:
        size = f"{effect:.4g} {contrast.metric}"
    return f"with this spread, {size} is the smallest effect likely to be seen"


def scenarios_needed(family: int) -> int:
    """Return the fewest scenarios with which the strictest p of a Holm family of that size can reach 0.05."""
    return next(n for n in range(1, _MOST_SCENARIOS) if least_p_sign_flip(n) * family <= ALPHA)


def can_show(scenarios: int, family: int) -> bool:
    """Return whether so many scenarios can give a p of at most 0.05 after adjustment for the family."""
    floor = least_p_drawn(DRAWS) if scenarios > MOST_EXACT else 0.0
    return max(least_p_sign_flip(scenarios), floor) * family <= ALPHA
