"""The verdict on pass rates where the statistics are not installed: better, worse, or not enough data.

It says nothing that the statistics would not say: p is adjusted after Bonferroni, which is above Holm's, and where they
draw signs at random it leaves room for the noise of that.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import Verdict
from scylla_gha.stats.plain import MOST_EXACT, mean_interval, sign_flip_bound

_ALPHA: Final = 0.05
_DRAWN_ALPHA: Final = 0.04  # five standard errors of a p of 0.05 that is drawn 10,000 times
_MORE: Final = "the extra `report` tells more"
Passed = Mapping[str, Mapping[str, Sequence[int]]]  # scenario -> arm -> (passed, judged)


def plain_verdict(arm: str, baseline: str, passed: Passed, family: int) -> tuple[Verdict, str]:
    """The verdict and its reason.

    Args:
        arm: that is compared.
        baseline: with which.
        passed: of each scenario and arm.
        family: comparisons that p is adjusted for.
    """
    both = [(found[arm], found[baseline]) for found in passed.values() if arm in found and baseline in found]
    d = [one[0] / one[1] - other[0] / other[1] for one, other in both if one[1] and other[1]]
    limits = mean_interval(d)
    if limits is None:
        return "not_enough_data", f"they share {counted(len(d), 'scenario')}, which shows no spread; {_MORE}"
    p = min(1.0, family * sign_flip_bound(d))
    said = (f"{100 * sum(d) / len(d):+.1f} points [{100 * limits[0]:+.1f}, {100 * limits[1]:+.1f}] over "
            f"{counted(len(d), 'scenario')}, p at most {p:.2g} (simple statistics)")  # fmt: skip
    alpha = _ALPHA if len(passed) <= MOST_EXACT else _DRAWN_ALPHA
    if p <= alpha and not limits[0] <= 0 <= limits[1]:
        return ("better" if limits[0] > 0 else "worse"), said
    return "not_enough_data", f"{said}; {_MORE}"
