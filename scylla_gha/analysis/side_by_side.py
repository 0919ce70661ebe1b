"""Comparison of two result sets: B's arms with A's, paired by the scenarios that both have."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.analysis.contrasts import PASS, compare, screen
from scylla_gha.analysis.costs import pass_cost_contrasts
from scylla_gha.analysis.frame import Frame, Groups, build_frame, grouped
from scylla_gha.analysis.pairings import Pairing
from scylla_gha.analysis.verdicts import rule
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.comparison import ArmPair, Flip, Metric
from scylla_gha.model.result import Result
from scylla_gha.stats.resampling import Resampling

FAMILY: Final = "B against A"
_BESIDE: Final = "pass rates beside"


def side_by_side(
    a: Iterable[Result], b: Iterable[Result], arms: Sequence[tuple[str, str]], metric: Metric, margin: float
) -> tuple[ArmPair, ...]:
    """Compare the two sets, arm by arm.

    Args:
        a: rows of the reference set.
        b: rows of the set that is compared with it.
        arms: A's arm and B's arm of each pair; p is adjusted for all of them.
        metric: of the verdict.
        margin: a difference (of shares) or a relative difference (of what is spent) that counts as none.
    """
    if not arms:
        return ()
    frame = build_frame(_named(a, b), [name for one, other in arms for name in (f"a:{one}", f"b:{other}")])
    index = {name: at for at, name in enumerate(frame.arms)}
    pairings = [Pairing(f"b:{other}", f"a:{one}", (index[f"b:{other}"],), (index[f"a:{one}"],)) for one, other in arms]
    how = Resampling(seed=0)
    contrasts = compare(frame, pairings, FAMILY, how, metric)
    beside = [
        *(compare(frame, pairings, _BESIDE, how) if metric != PASS else ()),
        *screen(frame, pairings, how),
        *pass_cost_contrasts(frame, pairings),
    ]
    passed = grouped(frame, frame.columns["passed"])
    others = _by_pair(beside, metric)
    return tuple(
        _pair(frame, passed, pairing, rest=others.get((pairing.arm, pairing.baseline), ()), contrast=one, margin=margin)
        for pairing, one in zip(pairings, contrasts, strict=True)
    )


def _named(a: Iterable[Result], b: Iterable[Result]) -> Iterator[Result]:
    for letter, rows in (("a", a), ("b", b)):
        yield from (row.model_copy(update={"arm": f"{letter}:{row.arm}"}) for row in rows)


def _by_pair(contrasts: Iterable[Contrast], metric: str) -> dict[tuple[str, str], tuple[Contrast, ...]]:
    by_pair: dict[tuple[str, str], tuple[Contrast, ...]] = {}
    for contrast in contrasts:
        if contrast.metric != metric:
            key = (contrast.arm, contrast.baseline)
            by_pair[key] = (*by_pair.get(key, ()), contrast)
    return by_pair


def _pair(
    frame: Frame, passed: Groups, pairing: Pairing, *, rest: tuple[Contrast, ...], contrast: Contrast, margin: float
) -> ArmPair:
    (after,), (before,) = pairing.first, pairing.second
    flips = list(_flips(frame, passed, before, after))
    return ArmPair(
        a_arm=pairing.baseline[2:], b_arm=pairing.arm[2:], before=_total(frame, before), after=_total(frame, after),
        ruling=rule(contrast, margin), others=rest,
        fixes=tuple(flip for change, flip in flips if change > 0),
        regressions=tuple(flip for change, flip in reversed(flips) if change < 0),
    )  # fmt: skip


def _total(frame: Frame, arm: int) -> tuple[int, int]:
    rows = frame.rows_of(arm)
    return int(frame.columns["passed"][rows].sum()), int(rows.size)


def _flips(frame: Frame, passed: Groups, before: int, after: int) -> list[tuple[float, Flip]]:
    """List the scenarios whose rates differ, the greatest gain first."""
    change = passed.mean[after] - passed.mean[before]
    flips = [
        (float(change[at]), Flip(scenario=name, before=_counts(passed, before, at), after=_counts(passed, after, at)))
        for at, name in enumerate(frame.scenarios)
        if change[at] < 0 or change[at] > 0  # NaN is neither
    ]
    return sorted(flips, key=lambda flip: (-flip[0], flip[1].scenario))


def _counts(passed: Groups, arm: int, scenario: int) -> tuple[int, int]:
    n = int(passed.n[arm, scenario])
    return round(float(passed.mean[arm, scenario]) * n), n
