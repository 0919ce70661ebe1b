"""Comparison of two result sets: B's arms with A's, paired by shared scenarios, and other differences of the sets."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.analysis.contrasts import PASS, compare, rule, screen
from scylla_gha.analysis.estimate import pass_cost_contrasts
from scylla_gha.analysis.frame import Frame, Groups, Pairing, build_frame, grouped
from scylla_gha.counting import counted, first_of
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.report import ArmPair, Flip, Metric
from scylla_gha.model.result import Result
from scylla_gha.stats.resampling import Resampling

FAMILY: Final = "B against A"
_BESIDE: Final = "pass rates beside"
_MOST_NAMES: Final = 5


def side_by_side(
    a: Iterable[Result], b: Iterable[Result], arms: Sequence[tuple[str, str]], metric: Metric, margin: float
) -> tuple[ArmPair, ...]:
    """Compare the two sets, arm by arm.

    Args:
        a: rows of the reference set.
        b: rows of the set that is compared with it.
        arms: A's arm and B's arm of each pair; p is adjusted for all of them.
        metric: metric of the verdict.
        margin: largest difference of shares, or largest relative difference of costs, that counts as none.
    """
    if not arms:
        return ()
    rows = (
        row.model_copy(update={"arm": f"{letter}:{row.arm}"}) for letter, part in (("a", a), ("b", b)) for row in part
    )
    frame = build_frame(rows, [name for a_arm, b_arm in arms for name in (f"a:{a_arm}", f"b:{b_arm}")])
    index = {name: at for at, name in enumerate(frame.arms)}
    pairings = [
        Pairing(f"b:{b_arm}", f"a:{a_arm}", (index[f"b:{b_arm}"],), (index[f"a:{a_arm}"],)) for a_arm, b_arm in arms
    ]
    how = Resampling(seed=0)
    contrasts = compare(frame, pairings, FAMILY, how, metric)
    beside = [
        *(compare(frame, pairings, _BESIDE, how) if metric != PASS else ()),
        *screen(frame, pairings, how),
        *pass_cost_contrasts(frame, pairings),
    ]
    others: dict[tuple[str, str], list[Contrast]] = defaultdict(list)
    for contrast in beside:
        if contrast.metric != metric:
            others[contrast.arm, contrast.baseline].append(contrast)
    passed = grouped(frame, frame.columns["passed"])
    return tuple(
        _pair(
            frame, passed, pairing, rest=tuple(others[pairing.arm, pairing.baseline]), contrast=contrast, margin=margin
        )
        for pairing, contrast in zip(pairings, contrasts, strict=True)
    )


def _pair(
    frame: Frame, passed: Groups, pairing: Pairing, *, rest: tuple[Contrast, ...], contrast: Contrast, margin: float
) -> ArmPair:
    (after,), (before,) = pairing.first, pairing.second
    flips = _flips(frame, passed, before, after)
    return ArmPair(
        a_arm=pairing.baseline[2:],
        b_arm=pairing.arm[2:],
        before=_total(frame, before),
        after=_total(frame, after),
        ruling=rule(contrast, margin),
        others=rest,
        fixes=tuple(flip for change, flip in flips if change > 0),
        regressions=tuple(flip for change, flip in reversed(flips) if change < 0),
    )


def _total(frame: Frame, arm: int) -> tuple[int, int]:
    rows = frame.rows_of(arm)
    return int(frame.columns["passed"][rows].sum()), int(rows.size)


def _flips(frame: Frame, passed: Groups, before: int, after: int) -> list[tuple[float, Flip]]:
    """List the scenarios whose rates differ, the greatest gain first."""

    def counts(arm: int, scenario: int) -> tuple[int, int]:
        n = int(passed.n[arm, scenario])
        return round(float(passed.mean[arm, scenario]) * n), n

    change = passed.mean[after] - passed.mean[before]
    flips = [
        (float(change[at]), Flip(scenario=name, before=counts(before, at), after=counts(after, at)))
        for at, name in enumerate(frame.scenarios)
        if change[at] < 0 or change[at] > 0  # NaN is neither
    ]
    return sorted(flips, key=lambda flip: (-flip[0], flip[1].scenario))


def confounders(a: Sequence[Result], b: Sequence[Result], arms: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield warnings of different sandboxes, agent versions, models, workspaces and thresholds.

    Args:
        a: rows of set A.
        b: rows of set B.
        arms: A's arm and B's arm of each pair.
    """
    yield from _differences("sandboxes", lambda row: row.isolation, a, b)
    yield from _differences_by_arm("agent versions", lambda row: row.agent_version, a, b, arms)
    same = [(a_arm, b_arm) for a_arm, b_arm in arms if a_arm == b_arm]  # in other pairs, the model may be the question
    yield from _differences_by_arm("models", lambda row: row.model, a, b, same)
    starts_a, starts_b = _starts(a), _starts(b)
    changed = sorted(name for name in starts_a.keys() & starts_b.keys() if starts_a[name] != starts_b[name])
    if changed:
        yield (
            f"{counted(len(changed), 'scenario')} started from different states in A and B: "
            f"{first_of(changed, _MOST_NAMES)}. The results may differ because of that."
        )
    yield from _differences("thresholds", lambda row: None if row.threshold is None else f"{row.threshold:g}", a, b)


def _differences(
    what: str, value_of: Callable[[Result], str | None], a: Iterable[Result], b: Iterable[Result], whose: str = ""
) -> Iterator[str]:
    """Warn if both sets have values and these differ."""
    one, other = ({value for row in rows if (value := value_of(row)) is not None} for rows in (a, b))
    if one and other and one != other:
        yield (
            f"{whose}A and B have different {what}: {', '.join(sorted(one))} and {', '.join(sorted(other))}. "
            "The results may differ because of that."
        )


def _differences_by_arm(
    what: str,
    value_of: Callable[[Result], str | None],
    a: Iterable[Result],
    b: Iterable[Result],
    arms: Sequence[tuple[str, str]],
) -> Iterator[str]:
    by_arm: tuple[dict[str, list[Result]], dict[str, list[Result]]] = (defaultdict(list), defaultdict(list))
    for rows_by_arm, rows in zip(by_arm, (a, b), strict=True):
        for row in rows:
            rows_by_arm[row.arm].append(row)
    for one, other in arms:
        yield from _differences(what, value_of, by_arm[0][one], by_arm[1][other], f"{other}: ")


def _starts(rows: Iterable[Result]) -> dict[str, set[str]]:
    """Return the digests of each scenario's workspaces."""
    digests: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.workspace_digest:
            digests[row.scenario].add(row.workspace_digest)
    return digests
