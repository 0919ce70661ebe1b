"""Change between the readiness scores of two commits, paired by anchor, with the toolkit's own verdicts.

For a verdict, a score below the level of guessing counts as that level, so that differences lie between -1 and 1.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from scylla_gha.analysis.contrasts import paired_contrasts, rule, strictest
from scylla_gha.compare.result_set import MARGIN
from scylla_gha.model.analysis import Contrast, Ruling
from scylla_gha.model.readiness import (
    DIMENSIONS,
    AnchorChange,
    AnchorScore,
    DimensionChange,
    ReadinessScore,
    ScoreComparison,
)
from scylla_gha.stats.resampling import Resampling

_SCORE: Final = "score"
_AnchorKey = tuple[str, str, int]  # dimension, anchor, number among the dimension's items of that anchor
_UNIT: Final = ("scenarios", "anchors"), ("scenario", "anchor")


def compare_scores(
    before: ReadinessScore,
    after: ReadinessScore,
    renamed: Mapping[str, str] | None = None,
    *,
    margin: float = MARGIN,
) -> ScoreComparison:
    """Compare two commits' scores over the anchors that both have.

    Args:
        before: score of the base.
        after: score of the changed commit, or of a twin.
        renamed: ids of anchors of `before` that have another id in `after` (a twin).
        margin: difference, as a share of the points, that counts as none.
    """
    old, new = _by_key(before.anchors, renamed or {}), _by_key(after.anchors, {})
    changes = tuple(_change(old[key], new[key]) for key in old if key in new)
    how = Resampling(seed=before.seed)
    whole = _rule([*changes], "all anchors", margin, 1, how)
    halves = [[change for change in changes if change.code_changed is flag] for flag in (False, True)]
    return ScoreComparison(
        before=before.tree, after=after.tree, ruling=whole,
        unchanged=_rule(halves[0], "anchors whose code is the same", margin, len(halves), how),
        changed=_rule(halves[1], "anchors whose code changed", margin, len(halves), how),
        dimensions=_dimensions(before, after, changes, margin),
        flipped=tuple(sorted((change for change in changes if change.is_flipped),
                             key=lambda change: (change.after > change.before, change.dimension, change.anchor))),
        anchors=changes,
        only_before=tuple(score.anchor for key, score in old.items() if key not in new),
        only_after=tuple(score.anchor for key, score in new.items() if key not in old),
    )  # fmt: skip


def _by_key(anchors: Sequence[AnchorScore], renamed: Mapping[str, str]) -> dict[_AnchorKey, AnchorScore]:
    """Return the anchors that have a score."""
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    keyed: dict[_AnchorKey, AnchorScore] = {}
    for score in anchors:
        name = (score.dimension, renamed.get(score.anchor, score.anchor))
        numbers[name] += 1
        if score.score is not None:
            keyed[*name, numbers[name]] = score
    return keyed


def _change(before: AnchorScore, after: AnchorScore) -> AnchorChange:
    return AnchorChange(
        dimension=before.dimension, anchor=after.anchor, before=before.score or 0.0, after=after.score or 0.0,
        code_changed=before.anchor_digest != after.anchor_digest,
    )  # fmt: skip


def _dimensions(
    before: ReadinessScore, after: ReadinessScore, changes: Sequence[AnchorChange], margin: float
) -> tuple[DimensionChange, ...]:
    """Rule on each dimension that both commits have anchors of, as one family."""
    own = {name: [change for change in changes if change.dimension == name] for name in DIMENSIONS}
    shared = {name: rows for name, rows in own.items() if rows}
    known = [{row.dimension: row.score for row in side.dimensions} for side in (before, after)]
    how = Resampling(seed=before.seed)
    return tuple(
        DimensionChange(dimension=name, before=known[0].get(name), after=known[1].get(name),
                        ruling=_rule(rows, DIMENSIONS[name], margin, len(shared), how))
        for name, rows in shared.items()
    )  # fmt: skip


def _rule(changes: Sequence[AnchorChange], label: str, margin: float, family: int, how: Resampling) -> Ruling:
    """Return the verdict on the changes; its words speak of anchors."""
    if not changes:
        none = "the two commits share no anchor with a score here"
        empty = Contrast(
            arm=label, baseline=label, metric=_SCORE, scale="difference", value=None, scenarios=0, note=none
        )
        return rule(empty, margin)
    first, second = (np.clip([rows], 0.0, 1.0) for rows in ([c.after for c in changes], [c.before for c in changes]))
    (contrast,) = paired_contrasts(first, second, _SCORE, "difference", how, family)
    ruling = rule(strictest(contrast, family).model_copy(update={"arm": label, "baseline": label}), margin)
    why = ruling.why
    for word, own in _UNIT:
        why = why.replace(word, own)
    return ruling.model_copy(update={"why": why})
