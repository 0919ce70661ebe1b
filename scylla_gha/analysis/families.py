"""Which comparisons belong together: arms against the baseline, adjacent tiers, models against each other.

A family is declared by the plan and not by what came out, and its p values are adjusted for its size.
"""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

from scylla_gha.analysis.contrasts import Pairing
from scylla_gha.analysis.frame import Frame

BASELINE = "arms against the baseline"
TIERS = "each tier against the one before"
MODELS = "models against each other"
MOST_MODELS = 20  # of which each two are 190 comparisons; of more, no p is left after Holm


def against(frame: Frame, baseline: str, pairs: Mapping[str, str] | None = None) -> list[Pairing]:
    """Every other arm against the baseline, or the given ones against theirs; none where that has no row."""
    place = {arm: at for at, arm in enumerate(frame.arms)}
    wanted = pairs or {arm: baseline for arm in place if arm != baseline}
    return [Pairing(arm, other, (place[arm],), (place[other],))
            for arm, other in wanted.items() if arm in place and other in place]  # fmt: skip


def tier_of(variant: str | None) -> str | None:
    """The tier in a variant's name, such as T0 of T0/00-empty."""
    return variant.split("/", 1)[0] if variant and "/" in variant else None


def by_tier(frame: Frame) -> dict[str, tuple[int, ...]]:
    """The arms of each tier, tiers sorted; arms without a variant belong to none."""
    found: dict[str, list[int]] = defaultdict(list)
    for at, arm in enumerate(frame.arms):
        tier = tier_of(frame.variants.get(arm))
        if tier:
            found[tier].append(at)
    return {tier: tuple(found[tier]) for tier in sorted(found)}


def adjacent(frame: Frame) -> list[Pairing]:
    """Each tier, its sub-tests weighing the same, against the one before."""
    tiers = by_tier(frame)
    return [Pairing(later, earlier, tiers[later], tiers[earlier]) for earlier, later in itertools.pairwise(tiers)]


def models(frame: Frame, model_of: dict[str, str | None]) -> list[Pairing]:
    """Each two models, over the variants that both have as one arm; none where there are too many to ask about all.

    What else tells two arms of one model and variant apart is not known, so neither stands for the model.
    """
    arms: dict[str, dict[str | None, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, arm in enumerate(frame.arms):
        model = model_of.get(arm)
        if model:
            arms[model][frame.variants.get(arm)].append(at)
    if len(arms) > MOST_MODELS:
        return []
    pairs = (_shared(one, other, arms) for one, other in itertools.combinations(sorted(arms), 2))
    return [pair for pair in pairs if pair is not None]


def _shared(one: str, other: str, arms: dict[str, dict[str | None, list[int]]]) -> Pairing | None:
    first, second = ({variant: at[0] for variant, at in arms[model].items() if len(at) == 1} for model in (one, other))
    variants: Sequence[str | None] = [variant for variant in first if variant in second]
    if not variants:
        return None
    return Pairing(one, other, tuple(first[v] for v in variants), tuple(second[v] for v in variants))
