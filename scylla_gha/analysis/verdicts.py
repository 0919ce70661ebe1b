"""Verdicts from contrasts: better, worse, equivalent, or not enough data, and what would be needed."""

import math
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import Contrast, Ruling, Verdict
from scylla_gha.stats import MOST_EXACT, format_p
from scylla_gha.stats.resampling import DRAWS, least_p_drawn, least_p_sign_flip

ALPHA: Final = 0.05
LESS_IS_BETTER: Final = frozenset({"usd", "tokens", "seconds"})
_MOST_SCENARIOS: Final = 64


def rule(contrast: Contrast, margin: float) -> Ruling:
    """Decide on one arm compared with its baseline.

    Args:
        contrast: of the pass rate (or another metric), p adjusted within its family.
        margin: a difference (of shares) or relative difference (of ratios) that counts as none.
    """
    verdict, why = _verdict(contrast, margin)
    return Ruling(arm=contrast.arm, baseline=contrast.baseline, verdict=verdict, why=why, margin=margin,
                  contrast=contrast)  # fmt: skip


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
    """Tell whether the limits of equivalence lie within the margin; differences in USD, tokens or seconds have none."""
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
    """Name the scenarios that equivalence needs at least, even if all are alike; empty if there are enough."""
    need = scenarios_for_equivalence(margin, contrast.family_size)
    is_share = contrast.scale == "difference" and contrast.metric not in LESS_IS_BETTER
    if not is_share or contrast.scenarios >= need or abs(contrast.value or 0.0) >= margin:
        return ""
    return f"; equivalent within {_margin(contrast, margin)} takes {counted(need, 'scenario')} or more"


def scenarios_for_equivalence(margin: float, family: int) -> int:
    """Return the fewest scenarios that can show equivalence of shares, if all are alike.

    A change of 100 points in so few scenarios that the mean moves by the margin must have had a chance of at most 5 %
    (over the family) to go unseen.
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
        return (f"{differ} of {counted(contrast.scenarios, 'scenario')} differ, and {among} takes at least {need} that "
                "differ")  # fmt: skip
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
    """Tell whether so many scenarios can give a p, adjusted for the family, of at most 0.05."""
    floor = least_p_drawn(DRAWS) if scenarios > MOST_EXACT else 0.0
    return max(least_p_sign_flip(scenarios), floor) * family <= ALPHA
