"""Cost of a pass of an arm over that of what it is held against, on the scenarios that both have."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from scylla_gha.analysis.contrasts import Pairing
from scylla_gha.analysis.frame import Frame
from scylla_gha.analysis.groups import Groups, grouped
from scylla_gha.analysis.paired import INNER, WIDE
from scylla_gha.model.analysis import Contrast
from scylla_gha.stats.arrays import Bools
from scylla_gha.stats.interval import Interval
from scylla_gha.stats.success_cost_ratio import Attempts, success_cost_ratio

METRIC = "cost_of_pass"


@dataclass(frozen=True, slots=True)
class _Known:
    """Costs and passes of the trials of which both are known."""

    usd: Groups
    passed: Groups

    def has(self, arm: int) -> Bools:
        return np.asarray(self.usd.n[arm] > 0)

    def attempts(self, arm: int, shared: Bools) -> Attempts:
        n, rate = self.passed.n[arm][shared], self.passed.mean[arm][shared]
        return Attempts(self.usd.mean[arm][shared], rate, int(n.sum()), float((n * rate).sum()))

    def wins(self, one: int, other: int, shared: Bools) -> tuple[int, int, int]:
        """Scenarios where a pass of the first costs more, as much, and less; one without a pass costs infinitely."""
        with np.errstate(divide="ignore"):
            dear, cheap = (self.usd.mean[arm][shared] / self.passed.mean[arm][shared] for arm in (one, other))
        more, less = int((dear > cheap).sum()), int((dear < cheap).sum())
        return more, int(shared.sum()) - more - less, less


def pass_costs(frame: Frame, pairings: Sequence[Pairing]) -> tuple[Contrast, ...]:
    """A ratio for each pairing of single arms; nothing where nothing was paid.

    It has an interval and no p: the ratio of two sums is not what a sign-flip test asks about.
    """
    usd, passed = frame.columns["usd"], frame.columns["passed"]
    both = ~np.isnan(usd) & ~np.isnan(passed)
    known = _Known(grouped(frame, np.where(both, usd, np.nan)), grouped(frame, np.where(both, passed, np.nan)))
    return tuple(_contrasts(known, pairings)) if np.any(known.usd.mean > 0) else ()


def _contrasts(known: _Known, pairings: Sequence[Pairing]) -> Iterator[Contrast]:
    for pairing in pairings:
        if len(pairing.first) == len(pairing.second) == 1:
            yield _contrast(known, pairing)


def _contrast(known: _Known, pairing: Pairing) -> Contrast:
    (one,), (other,) = pairing.first, pairing.second
    shared = known.has(one) & known.has(other)
    sides = known.attempts(one, shared), known.attempts(other, shared)
    found, inner = (success_cost_ratio(*sides, confidence) for confidence in (WIDE, INNER))
    return Contrast(
        arm=pairing.arm, baseline=pairing.baseline, metric=METRIC, family="no test", scale="ratio",
        scenarios=int(shared.sum()), dropped=int((known.has(one) != known.has(other)).sum()),
        wins=known.wins(one, other, shared),
        value=found.estimate if found else None, low=found.low if found else None, high=found.high if found else None,
        inner_low=inner.low if inner else None, inner_high=inner.high if inner else None,
        method=found.method if found else "", note=_note(found, sides, int(shared.sum())),
    )  # fmt: skip


def _note(found: Interval | None, sides: tuple[Attempts, Attempts], scenarios: int) -> str:
    if not scenarios:
        return "the two share no scenario with a known cost"
    if found is not None:
        return "one scenario shows no spread" if scenarios == 1 else ""
    if any(not side.rate.any() for side in sides):
        return "an arm passed nothing, so its pass has no finite cost"
    return "an arm is free"
