"""How arms stand, from what was measured: a report, a comparison, or a history.

A report holds arms against the experiment's baseline arm; a comparison (`compare --json`) and a history
(`history --json`) hold them against a pinned result.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import orjson

from scylla_gha.errors import ConfigError
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.comparison import ArmPair, History, ResultComparison, Series
from scylla_gha.model.publication import ArmVerdict
from scylla_gha.model.report import Report
from scylla_gha.store.records import read_record

_MOST_GLOBS = 60

R = TypeVar("R", Report, ResultComparison, History)


def arm_verdicts(path: Path) -> tuple[ArmVerdict, ...]:
    """Of all arms that a file tells of.

    Raises:
        ConfigError: there is no such file, or it is not one of the three.
    """
    try:
        told = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; run `scylla-gha aggregate`, or `scylla-gha compare --json` "
                          "or `scylla-gha history --json` into a file") from None  # fmt: skip
    except orjson.JSONDecodeError:
        raise ConfigError(f"{path}: not JSON") from None
    keys = set(told) if isinstance(told, dict) else set()
    if "pairs" in keys:
        return tuple(_paired(one) for one in _read(path, ResultComparison).pairs)
    if "series" in keys:
        found = _read(path, History)
        return tuple(_followed(one, found.baseline) for one in found.series)
    return tuple(_reported(_read(path, Report)))


def _read(path: Path, kind: type[R]) -> R:
    found = read_record(path, kind)
    if found is None:
        raise ConfigError(f"{path}: is gone")
    return found


def _paired(pair: ArmPair) -> ArmVerdict:
    ruling = pair.ruling
    return ArmVerdict(
        arm=pair.b_arm, against=pair.a_arm, verdict=ruling.verdict, why=ruling.why, not_worse=_held(ruling)
    )


def _held(ruling: Ruling) -> bool:
    low = None if ruling.is_withheld else ruling.contrast.inner_low
    return ruling.verdict in {"better", "equivalent"} or (
        ruling.verdict != "worse" and low is not None and low > -ruling.margin
    )


def _reported(report: Report) -> Iterator[ArmVerdict]:
    ruled = {one.arm: one for one in report.analysis.rulings} if report.analysis else {}
    for one in report.comparisons:
        held = one.arm in ruled and _held(ruled[one.arm])
        yield ArmVerdict(arm=one.arm, against=one.baseline, verdict=one.verdict, why=one.why, not_worse=held)


def _followed(series: Series, baseline: str) -> ArmVerdict:
    """By the newest result set; a change of level that begins there is told too."""
    last = series.points[-1] if series.points else None
    if last is None or last.verdict is None:
        return ArmVerdict(arm=series.arm, against=baseline, verdict=None, why="the pinned result itself, or no trial",
                        not_worse=False)  # fmt: skip
    change = "no difference known" if last.difference is None else f"{100 * last.difference:+.1f} points"
    low = "" if last.low is None else f", at worst {100 * last.low:+.1f} (one-sided 95 %)"
    shifts = [one for one in series.shifts if one.metric == "pass_rate" and one.side == "down"]
    since = f"; {shifts[-1].kind} downwards since {shifts[-1].since}" if shifts else ""
    return ArmVerdict(arm=series.arm, against=baseline, verdict=last.verdict, why=f"{change}{low}{since}",
                    not_worse=last.verdict != "worse" and bool(last.not_worse))  # fmt: skip


def worse_arms(found: Iterable[ArmVerdict]) -> list[ArmVerdict]:
    """Those that do worse."""
    return [one for one in found if one.verdict == "worse"]


def arm_globs(alarms: Sequence[ArmVerdict], known: Iterable[str]) -> str:
    """The cells that a confirming run measures again: all of an arm, and of its baseline where that is an arm too.

    Not only the scenarios that went down: chosen for having been high before, they would be lower by luck alone.
    """
    arms = [one.arm for one in alarms] + [one.against for one in alarms if one.against in set(known)]
    found = [f"*--{arm}--r*" for arm in dict.fromkeys(arms)]
    return " ".join(found) if len(found) <= _MOST_GLOBS else "*"
