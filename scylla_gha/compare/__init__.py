"""Compare two result sets and check a gate on the verdicts; read the verdicts on arms from stored files.

A file is a report, a comparison (`compare --json`) or a history (`history --json`). A report compares arms with the
experiment's baseline arm, the other two with a pinned result.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import orjson

from scylla_gha.config import did_you_mean
from scylla_gha.counting import counted, first_of
from scylla_gha.errors import ConfigError, GateError
from scylla_gha.model import Record
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.publication import ArmVerdict
from scylla_gha.model.report import History, Metric, Report, ResultComparison, Series
from scylla_gha.store import read_record
from scylla_gha.store.rows import require_same_github

if TYPE_CHECKING:
    from scylla_gha.compare.result_set import LoadedResults

FailOn = Literal["worse", "not_better", "not_equivalent"]
ArmPairs = Sequence[tuple[str, str]]  # an arm of A and an arm of B
_LISTED: Final = 10
_MOST_GLOBS: Final = 60


def compare(a: "LoadedResults", b: "LoadedResults", pairs: ArmPairs, metric: Metric, margin: float) -> ResultComparison:
    """Compare two result sets, arm by arm.

    Args:
        a: the first set.
        b: the set that is compared with it.
        pairs: an arm of A with its arm of B; empty: arms of the same name, or the only arm of each set.
        metric: metric of the verdict.
        margin: largest difference that counts as equal.

    Raises:
        ConfigError: an arm does not exist, A and B have no arm of the same name, or some rows are from the hub and
            some from github.com.
    """
    from scylla_gha.analysis.side_by_side import confounders, side_by_side

    require_same_github((*a.rows, *b.rows), f"{a.name} and {b.name}")
    arms = _paired(a, b, pairs)
    return ResultComparison(
        a=a.name,
        b=b.name,
        metric=metric,
        margin=margin,
        pairs=side_by_side(a.rows, b.rows, arms, metric, margin),
        warnings=(*_notes(a, b), *_unpaired(a, b, arms, is_chosen=bool(pairs)), *confounders(a.rows, b.rows, arms)),
    )


def require_verdicts(comparison: ResultComparison, gate: FailOn) -> None:
    """Check that no arm has the verdict that a gate refuses.

    Raises:
        GateError: an arm has this verdict, or nothing was compared.
    """
    if not comparison.pairs:
        raise GateError(f"--fail-on {gate}: nothing was compared, so nothing is shown to hold")
    verdict, is_negated = gate.removeprefix("not_"), gate.startswith("not_")
    arms = [pair.b_arm for pair in comparison.pairs if (pair.ruling.verdict == verdict) != is_negated]
    if arms:
        total = counted(len(comparison.pairs), "arm")
        raise GateError(f"--fail-on {gate}: {len(arms)} of {total}: {', '.join(arms[:_LISTED])}")


def _paired(a: "LoadedResults", b: "LoadedResults", pairs: ArmPairs) -> tuple[tuple[str, str], ...]:
    if not a.rows or not b.rows:
        return ()
    for a_arm, b_arm in pairs:
        _require_arm(a, a_arm)
        _require_arm(b, b_arm)
    if pairs:
        return tuple(dict.fromkeys(pairs))
    if len(a.arms) == len(b.arms) == 1:
        return ((a.arms[0], b.arms[0]),)
    b_arms = set(b.arms)
    shared = tuple((arm, arm) for arm in a.arms if arm in b_arms)
    if not shared:
        raise ConfigError(
            "A and B have no arm of the same name; say which belong together: --arms A_ARM=B_ARM; "
            f"A has {first_of(a.arms, _LISTED)}; B has {first_of(b.arms, _LISTED)}"
        )
    return shared


def _require_arm(results: "LoadedResults", arm: str) -> None:
    if arm not in results.arms:
        hint = did_you_mean(arm, results.arms)
        raise ConfigError(f"{results.name}: has no arm {arm!r}{hint}; its arms are: {first_of(results.arms, _LISTED)}")


def _notes(a: "LoadedResults", b: "LoadedResults") -> Iterator[str]:
    for letter, results in (("A", a), ("B", b)):
        yield from (f"{letter} ({results.name}): {note}" for note in results.notes)
    if a.toolkit and b.toolkit and a.toolkit != b.toolkit:
        yield (
            f"A and B were reported on by different versions of the toolkit: {a.toolkit} and {b.toolkit}. "
            "What a row means may differ."
        )


def _unpaired(a: "LoadedResults", b: "LoadedResults", pairs: ArmPairs, *, is_chosen: bool) -> Iterator[str]:
    """Warn of sets without rows, and of arms without a partner unless the user chose the pairs."""
    for letter, results in (("A", a), ("B", b)):
        if not results.rows:
            yield f"{letter} ({results.name}) has no row: nothing can be compared."
    if is_chosen or not pairs:
        return
    for letter, results, compared in (("A", a, {pair[0] for pair in pairs}), ("B", b, {pair[1] for pair in pairs})):
        arms = [arm for arm in results.arms if arm not in compared]
        if arms:
            yield f"Not compared: {counted(len(arms), 'arm')} in {letter} alone: {first_of(arms, _LISTED)}."


def arm_verdicts(path: Path) -> tuple[ArmVerdict, ...]:
    """Return the verdicts of all arms in a file.

    Raises:
        ConfigError: the file does not exist, or is not a report, comparison or history.
    """
    try:
        content = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: there is no such file; run `scylla-gha aggregate`, or `scylla-gha compare --json` "
            "or `scylla-gha history --json` into a file"
        ) from None
    except orjson.JSONDecodeError:
        raise ConfigError(f"{path}: not JSON") from None
    keys = set(content) if isinstance(content, dict) else set()
    kind: type[Record] = ResultComparison if "pairs" in keys else History if "series" in keys else Report
    record = read_record(path, kind)
    if isinstance(record, ResultComparison):
        return tuple(
            ArmVerdict(
                arm=pair.b_arm,
                against=pair.a_arm,
                verdict=pair.ruling.verdict,
                why=pair.ruling.why,
                not_worse=_is_not_worse(pair.ruling),
            )
            for pair in record.pairs
        )
    if isinstance(record, History):
        return tuple(_newest(series, record.baseline) for series in record.series)
    return tuple(_compared(record)) if isinstance(record, Report) else ()


def _is_not_worse(ruling: Ruling) -> bool:
    low = None if ruling.is_withheld else ruling.contrast.inner_low
    return ruling.verdict in {"better", "equivalent"} or (
        ruling.verdict != "worse" and low is not None and low > -ruling.margin
    )


def _compared(report: Report) -> Iterator[ArmVerdict]:
    rulings = {ruling.arm: ruling for ruling in report.analysis.rulings} if report.analysis else {}
    for arm in report.comparisons:
        not_worse = arm.arm in rulings and _is_not_worse(rulings[arm.arm])
        yield ArmVerdict(arm=arm.arm, against=arm.baseline, verdict=arm.verdict, why=arm.why, not_worse=not_worse)


def _newest(series: Series, baseline: str) -> ArmVerdict:
    """Return the verdict on the newest result set; the reason names the last downward change of the pass rate."""
    last = series.points[-1] if series.points else None
    if last is None or last.verdict is None:
        return ArmVerdict(
            arm=series.arm, against=baseline, verdict=None, why="the pinned result itself, or no trial", not_worse=False
        )
    change = "no difference known" if last.difference is None else f"{100 * last.difference:+.1f} points"
    low = "" if last.low is None else f", at worst {100 * last.low:+.1f} (one-sided 95 %)"
    shifts = [shift for shift in series.shifts if shift.metric == "pass_rate" and shift.side == "down"]
    since = f"; {shifts[-1].kind} downwards since {shifts[-1].since}" if shifts else ""
    return ArmVerdict(
        arm=series.arm,
        against=baseline,
        verdict=last.verdict,
        why=f"{change}{low}{since}",
        not_worse=last.verdict != "worse" and bool(last.not_worse),
    )


def worse_arms(verdicts: Iterable[ArmVerdict]) -> list[ArmVerdict]:
    """Return the verdicts of arms that do worse."""
    return [arm for arm in verdicts if arm.verdict == "worse"]


def arm_globs(alarms: Sequence[ArmVerdict], known: Iterable[str]) -> str:
    """Return globs of the cells that a confirming run measures: all cells of each arm and of its known baseline.

    Only the scenarios that went down are not enough: they tend to have had a high rate by chance, which drops again.
    """
    baselines = set(known)
    arms = [alarm.arm for alarm in alarms] + [alarm.against for alarm in alarms if alarm.against in baselines]
    globs = [f"*--{arm}--r*" for arm in dict.fromkeys(arms)]
    return " ".join(globs) if len(globs) <= _MOST_GLOBS else "*"
