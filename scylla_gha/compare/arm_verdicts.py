"""Verdicts per arm, read from a report, a comparison (`compare --json`) or a history (`history --json`).

A report compares arms with the experiment's baseline arm, the other two with a pinned result.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import orjson

from scylla_gha.errors import ConfigError
from scylla_gha.model.analysis import Ruling
from scylla_gha.model.comparison import History, ResultComparison, Series
from scylla_gha.model.publication import ArmVerdict
from scylla_gha.model.record import Record
from scylla_gha.model.report import Report
from scylla_gha.store.records import read_record

_MOST_GLOBS: Final = 60


def arm_verdicts(path: Path) -> tuple[ArmVerdict, ...]:
    """Return the verdicts of all arms in a file.

    Raises:
        ConfigError: the file does not exist, or is not one of the three.
    """
    try:
        content = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; run `scylla-gha aggregate`, or `scylla-gha compare --json` "
                          "or `scylla-gha history --json` into a file") from None  # fmt: skip
    except orjson.JSONDecodeError:
        raise ConfigError(f"{path}: not JSON") from None
    keys = set(content) if isinstance(content, dict) else set()
    kind: type[Record] = ResultComparison if "pairs" in keys else History if "series" in keys else Report
    record = read_record(path, kind)
    if isinstance(record, ResultComparison):
        return tuple(
            ArmVerdict(arm=pair.b_arm, against=pair.a_arm, verdict=pair.ruling.verdict, why=pair.ruling.why,
                       not_worse=_is_not_worse(pair.ruling))
            for pair in record.pairs
        )  # fmt: skip
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
    """Return the verdict of the newest result set, and name a downward change that lasts."""
    last = series.points[-1] if series.points else None
    if last is None or last.verdict is None:
        return ArmVerdict(arm=series.arm, against=baseline, verdict=None, why="the pinned result itself, or no trial",
                          not_worse=False)  # fmt: skip
    change = "no difference known" if last.difference is None else f"{100 * last.difference:+.1f} points"
    low = "" if last.low is None else f", at worst {100 * last.low:+.1f} (one-sided 95 %)"
    shifts = [shift for shift in series.shifts if shift.metric == "pass_rate" and shift.side == "down"]
    since = f"; {shifts[-1].kind} downwards since {shifts[-1].since}" if shifts else ""
    return ArmVerdict(arm=series.arm, against=baseline, verdict=last.verdict, why=f"{change}{low}{since}",
                      not_worse=last.verdict != "worse" and bool(last.not_worse))  # fmt: skip


def worse_arms(verdicts: Iterable[ArmVerdict]) -> list[ArmVerdict]:
    """Return the verdicts of arms that do worse."""
    return [arm for arm in verdicts if arm.verdict == "worse"]


def arm_globs(alarms: Sequence[ArmVerdict], known: Iterable[str]) -> str:
    """Return globs of the cells that a confirming run measures: all of each arm, and of its baseline if that is known.

    Not only scenarios that went down: chosen because they were high before, they would be lower by chance alone.
    """
    baselines = set(known)
    arms = [alarm.arm for alarm in alarms] + [alarm.against for alarm in alarms if alarm.against in baselines]
    globs = [f"*--{arm}--r*" for arm in dict.fromkeys(arms)]
    return " ".join(globs) if len(globs) <= _MOST_GLOBS else "*"
