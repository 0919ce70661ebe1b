"""Which arms are compared, in families: arms with the baseline, adjacent tiers, models with each other.

A family is declared by the plan and not by the outcome, and its p values are adjusted for its size.
"""

import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scylla_gha.analysis.frame import Frame

BASELINE: Final = "arms against the baseline"
TIERS: Final = "each tier against the one before"
MODELS: Final = "models against each other"
MOST_MODELS: Final = 20  # have 190 pairs; with more, no p survives Holm


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two sides of a comparison: their names, and indices of their arms; a side of several arms is their mean."""

    arm: str
    baseline: str
    first: tuple[int, ...]
    second: tuple[int, ...]


def baseline_pairings(frame: Frame, baseline: str, pairs: Mapping[str, str] | None = None) -> list[Pairing]:
    """Pair every other arm with the baseline, or the given arms with theirs; none without rows of the baseline."""
    index = {arm: at for at, arm in enumerate(frame.arms)}
    wanted = pairs or {arm: baseline for arm in index if arm != baseline}
    return [Pairing(arm, other, (index[arm],), (index[other],))
            for arm, other in wanted.items() if arm in index and other in index]  # fmt: skip


def arms_by_tier(frame: Frame) -> dict[str, tuple[int, ...]]:
    """Group the arms by the tier in their variant's name (T0 of T0/00-empty), tiers sorted; others have none."""
    tiers: dict[str, list[int]] = defaultdict(list)
    for at, arm in enumerate(frame.arms):
        tier, slash, _ = (frame.variants.get(arm) or "").partition("/")
        if tier and slash:
            tiers[tier].append(at)
    return {tier: tuple(tiers[tier]) for tier in sorted(tiers)}


def tier_pairings(frame: Frame) -> list[Pairing]:
    """Pair each tier, its sub-tests with equal weights, with the one before."""
    tiers = arms_by_tier(frame)
    return [Pairing(later, earlier, tiers[later], tiers[earlier]) for earlier, later in itertools.pairwise(tiers)]


def model_pairings(frame: Frame, model_of: Mapping[str, str | None]) -> list[Pairing]:
    """Pair the models with each other, over the variants that both have as one arm; none if there are too many models.

    If several arms have one model and variant, nothing tells which of them stands for the model, so none does.
    """
    arms: dict[str, dict[str | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, arm in enumerate(frame.arms):
        model = model_of.get(arm)
        if model:
            arms[model][frame.variants.get(arm)].append(at)
    if len(arms) > MOST_MODELS:
        return []
    single = {model: {variant: at[0] for variant, at in arms[model].items() if len(at) == 1} for model in arms}
    pairings = []
    for one, other in itertools.combinations(sorted(arms), 2):
        shared = [variant for variant in single[one] if variant in single[other]]
        if shared:
            sides = (tuple(single[model][variant] for variant in shared) for model in (one, other))
            pairings.append(Pairing(one, other, *sides))
    return pairings
