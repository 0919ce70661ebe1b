"""Interactions: the effect of a configuration compared with the sum of the effects of its parts.

A whole is an arm with all parts of two or more other arms that share no part. With an arm that has none of the
parts, the interaction is (whole - none) minus the sum of (part - none): 0 if the parts do not affect each other.

With several modes and models, a mode and a model are parts too: does the effect of a mode depend on the model?
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import holm_adjusted, paired_contrasts
from scylla_gha.analysis.frame import Frame, grouped
from scylla_gha.model.analysis import MODE_BY_MODEL, Interaction
from scylla_gha.model.plan import Plan
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.resampling import Resampling

METRIC: Final = "interaction"
_WHOLES: Final = "wholes of at least three parts against the sums of their parts"
_PAIRS: Final = "wholes of two parts against their sums"
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class ArmParts:
    """Parts of an arm, and its entrant: the rest (such as agent and model), which is the same for all arms compared."""

    entrant: str
    parts: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Whole:
    """Names of a whole, its parts, and the arm without any part; and the kinds of settings of the whole."""

    name: str
    parts: tuple[str, ...]
    without: str
    kinds: tuple[str, ...]


def treatment_parts(plan: Plan) -> dict[str, ArmParts]:
    """Return the parts of the arms' treatments; empty for imported rows."""
    if plan.imported:
        return {}
    return {
        arm.id: ArmParts(
            f"{arm.agent}@{arm.version}.{arm.model}.{arm.mode.id if arm.mode else ''}", arm.variant.treatment.parts
        )
        for arm in plan.arms
        if arm.variant
    }


def mode_and_model_parts(plan: Plan) -> dict[str, ArmParts]:
    """Return mode and model of each arm as its parts, except those of the baseline."""
    models = {arm.id: arm.model for arm in plan.arms}
    baseline = models.get(plan.experiment.baseline)
    parts = {}
    for arm in plan.arms:
        if arm.mode and arm.model:
            mode = {f"mode={arm.mode.id}"} if arm.mode.id != plan.reference_mode else set()
            model = {f"model={arm.model}"} if arm.model != baseline else set()
            variant = arm.variant.id if arm.variant else ""
            parts[arm.id] = ArmParts(f"{variant}.{arm.agent}@{arm.version}", frozenset(mode | model))
    return parts


def mode_interactions(frame: Frame, parts: Mapping[str, ArmParts], how: Resampling) -> tuple[Interaction, ...]:
    """Compare each mode's effect on each other model with its effect on the baseline's model; p is adjusted by Holm."""
    return _compared(frame, _all_wholes(frame, parts), MODE_BY_MODEL, how)


def interactions(frame: Frame, parts: Mapping[str, ArmParts], how: Resampling) -> tuple[Interaction, ...]:
    """Compare each whole with the sum of its parts.

    Wholes of two parts, and wholes of more parts, answer different questions, so p is adjusted by Holm for each kind.
    """
    wholes = _all_wholes(frame, parts)
    pairs = [whole for whole in wholes if len(whole.parts) == _PAIR]
    others = [whole for whole in wholes if len(whole.parts) != _PAIR]
    return (*_compared(frame, others, _WHOLES, how), *_compared(frame, pairs, _PAIRS, how))


def _all_wholes(frame: Frame, parts: Mapping[str, ArmParts]) -> list[_Whole]:
    entrants = dict.fromkeys(arm.entrant for arm in parts.values())
    arms = [
        {name: parts[name].parts for name in sorted(frame.arms) if name in parts and parts[name].entrant == entrant}
        for entrant in entrants
    ]
    return [whole for group in arms for whole in _wholes(group)]


def _compared(frame: Frame, wholes: Sequence[_Whole], family: str, how: Resampling) -> tuple[Interaction, ...]:
    if not wholes:
        return ()
    index = {name: at for at, name in enumerate(frame.arms)}
    means = grouped(frame, frame.columns["passed"]).mean
    none = means[[index[whole.without] for whole in wholes]]
    first = means[[index[whole.name] for whole in wholes]] - none
    effects = (means[[index[part] for part in whole.parts]] - none[at] for at, whole in enumerate(wholes))
    return tuple(_adjusted(wholes, first, np.vstack([effect.sum(axis=0) for effect in effects]), family, how))


def _adjusted(
    wholes: Sequence[_Whole], first: Floats, second: Floats, family: str, how: Resampling
) -> Iterator[Interaction]:
    contrasts = holm_adjusted(paired_contrasts(first, second, METRIC, "difference", how, len(wholes)), family)
    for at, (whole, contrast) in enumerate(zip(wholes, contrasts, strict=True)):
        shared = ~np.isnan(first[at]) & ~np.isnan(second[at])
        effect, total = (float(side[at][shared].mean()) if shared.any() else None for side in (first, second))
        yield Interaction(
            whole=whole.name,
            parts=whole.parts,
            without=whole.without,
            kinds=whole.kinds,
            effect=effect,
            sum_of_parts=total,
            contrast=contrast.model_copy(update={"arm": whole.name, "baseline": whole.without}),
        )


def _wholes(parts: Mapping[str, frozenset[str]]) -> Iterator[_Whole]:
    """Yield each whole with its smallest parts, and with each pair of parts that it consists of."""
    by_parts: dict[frozenset[str], str] = {}
    for name, own in parts.items():
        by_parts.setdefault(own, name)  # the first of arms with the same configuration
    without = by_parts.pop(frozenset(), None)
    if without is None:
        return
    for whole, name in by_parts.items():
        larger = [other - whole for other in by_parts if whole < other]
        if len(whole) > _PAIR and any(len(missing) == 1 and missing in by_parts for missing in larger):
            continue  # a larger whole has one more part, so this one counts there as one of two parts
        smaller = {own: arm for own, arm in by_parts.items() if own < whole}
        splits = [_smallest(whole, smaller), *_halves(whole, smaller)]
        for split in dict.fromkeys(split for split in splits if split):
            kinds = {part.partition("/")[0].partition("=")[0] for part in whole}
            yield _Whole(name, split, without, tuple(sorted(kinds)))


def _smallest(whole: frozenset[str], smaller: Mapping[frozenset[str], str]) -> tuple[str, ...]:
    """Return the arms whose smallest parts together are the whole; empty if there are none."""
    left, names = set(whole), []
    for own in sorted(smaller, key=lambda own: (len(own), smaller[own])):
        if own <= left:
            left -= own
            names.append(smaller[own])
    return tuple(sorted(names)) if not left and len(names) >= _PAIR else ()


def _halves(whole: frozenset[str], smaller: Mapping[frozenset[str], str]) -> Iterator[tuple[str, ...]]:
    for own, name in smaller.items():
        other = smaller.get(whole - own)
        if other is not None and name < other:
            yield (name, other)
