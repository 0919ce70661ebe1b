"""From a contrast to a verdict: better, worse, equivalent, or not enough data, and what it would take."""

from collections.abc import Sequence
from typing import Final

from scylla_gha.model.analysis import Contrast, Ruling, Verdict
from scylla_gha.stats.pvalue import least_p_sign_flip
from scylla_gha.stats.shown import shown_p

ALPHA: Final = 0.05
LESS_IS_BETTER: Final = frozenset({"usd", "tokens", "seconds"})
_MOST_SCENARIOS: Final = 64


def rulings(contrasts: Sequence[Contrast], margin: float) -> tuple[Ruling, ...]:
    """The verdict on each arm of a family.

    Args:
        contrasts: of the pass rate, p adjusted within the family.
        margin: the difference of pass rates that counts as none.
    """
    return tuple(rule(one, margin) for one in contrasts)


def rule(contrast: Contrast, margin: float) -> Ruling:
    """The verdict on one arm against its baseline."""
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
        return ("better" if is_gain else "worse"), _said(contrast)
    if _is_equivalent(contrast, margin):
        return (
            "equivalent",
            f"{_said(contrast)}; the 90 % interval lies within the margin of {_margin(contrast, margin)}",
        )
    return "not_enough_data", f"{_said(contrast)}; {_lacking(contrast)}"


def _is_equivalent(contrast: Contrast, margin: float) -> bool:
    """The 90 % interval lies within the margin; of a difference in USD, tokens or seconds there is none."""
    low, high = contrast.inner_low, contrast.inner_high
    if low is None or high is None or (contrast.scale == "difference" and contrast.metric in LESS_IS_BETTER):
        return False
    if contrast.scale == "ratio":
        return 1 / (1 + margin) < low and high < 1 + margin
    return -margin < low and high < margin


def _margin(contrast: Contrast, margin: float) -> str:
    return f"{100 * margin:g} {'%' if contrast.scale == 'ratio' else 'points'}"


def _said(contrast: Contrast) -> str:
    value, low, high = (number or 0.0 for number in (contrast.value, contrast.low, contrast.high))
    if contrast.scale == "ratio":
        shown = f"x{value:.3g} [{low:.3g}, {high:.3g}]"
    elif contrast.metric in LESS_IS_BETTER:
        shown = f"{value:+.4g} {contrast.metric} [{low:+.4g}, {high:+.4g}]"
    else:
        shown = f"{100 * value:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]"
    return f"{shown} over {contrast.scenarios} scenarios, p {shown_p(contrast.p_adjusted)}"


def _lacking(contrast: Contrast) -> str:
    if contrast.least_p is not None and contrast.least_p * contrast.family_size > ALPHA:
        need = scenarios_needed(contrast.family_size)
        differ = contrast.wins[0] + contrast.wins[2]
        return (f"{differ} of {contrast.scenarios} scenarios differ; with {contrast.family_size} comparisons in the "
                f"family no p reaches 0.05 so: it takes {need} that differ")  # fmt: skip
    effect = contrast.smallest_effect
    if effect is None:
        return f"the interval holds {1 if contrast.scale == 'ratio' else 0}"
    size = f"{100 * effect:.0f} points"
    if contrast.scale == "ratio":
        size = f"x{effect:.3g}"
    elif contrast.metric in LESS_IS_BETTER:
        size = f"{effect:.4g} {contrast.metric}"
    return f"with this spread, {size} is the smallest effect likely to be seen"


def scenarios_needed(family: int) -> int:
    """The fewest scenarios with which the strictest p of a Holm family of that size can reach 0.05."""
    return next(n for n in range(1, _MOST_SCENARIOS) if least_p_sign_flip(n) * family <= ALPHA)
