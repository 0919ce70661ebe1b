"""Two sets of results in one frame: B's arms against A's, paired by the scenarios that both have."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.analysis.contrasts import PASS, Pairing, compare, screen
from scylla_gha.analysis.frame import Frame, read
from scylla_gha.analysis.groups import Groups, grouped
from scylla_gha.analysis.pass_costs import pass_costs
from scylla_gha.analysis.verdicts import rule
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.comparing import ArmPair, Flip, Metric
from scylla_gha.model.result import Result
from scylla_gha.stats.resampling import Resampling

FAMILY: Final = "B against A"
_BESIDE: Final = "pass rates beside"


def side_by_side(
    a: Iterable[Result], b: Iterable[Result], arms: Sequence[tuple[str, str]], metric: Metric, margin: float
) -> tuple[ArmPair, ...]:
    """Compare them.

    Args:
        a: rows of the set that is compared with.
        b: rows of the set that is asked about.
        arms: A's arm and B's arm of each pair; p is adjusted for all of them.
        metric: by which the verdict is told.
        margin: a difference (of shares) or a relative difference (of what is spent) that counts as none.
    """
    if not arms:
        return ()
    frame = read(_named(a, b), [name for one, other in arms for name in (f"a:{one}", f"b:{other}")])
    place = {name: at for at, name in enumerate(frame.arms)}
    pairings = [Pairing(f"b:{other}", f"a:{one}", (place[f"b:{other}"],), (place[f"a:{one}"],)) for one, other in arms]
    how = Resampling(seed=0)
    contrasts = compare(frame, pairings, FAMILY, how, metric)
    beside = [
        *(compare(frame, pairings, _BESIDE, how) if metric != PASS else ()),
        *screen(frame, pairings, how),
        *pass_costs(frame, pairings),
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
    found: dict[tuple[str, str], tuple[Contrast, ...]] = {}
    for one in contrasts:
        if one.metric != metric:
            key = (one.arm, one.baseline)
            found[key] = (*found.get(key, ()), one)
    return found


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
    """The scenarios whose rates differ, the greatest gain first."""
    change = passed.mean[after] - passed.mean[before]
    found = [
        (float(change[at]), Flip(scenario=name, before=_counts(passed, before, at), after=_counts(passed, after, at)))
        for at, name in enumerate(frame.scenarios)
        if change[at] < 0 or change[at] > 0  # NaN is neither
    ]
    return sorted(found, key=lambda each: (-each[0], each[1].scenario))


def _counts(passed: Groups, arm: int, scenario: int) -> tuple[int, int]:
    n = int(passed.n[arm, scenario])
    return round(float(passed.mean[arm, scenario]) * n), n
