"""A history as text: a line for each result set, a curve of characters, and what was found."""

from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.model.history import History, Point, Series, Shift
from scylla_gha.render.plain_table import columns, share
from scylla_gha.render.text import UNDEFINED, UNKNOWN, number, plain, seconds, usd

BLOCKS: Final = "▁▂▃▄▅▆▇█"
DIGITS: Final = "0123456789"  # where the output cannot show blocks
_HEADINGS: Final = ("result set", "trials", "scenarios", "pass rate", "", "from baseline", "at worst", "verdict", "USD",
                    "seconds")  # fmt: skip


def told(made: History, marks: str = BLOCKS) -> str:
    """One table for each arm, and what was found in its series.

    Args:
        made: the history.
        marks: characters from low to high.
    """
    return "\n".join(_lines(made, marks))


def curve(values: Sequence[float | None], marks: str = BLOCKS) -> str:
    """A character for each share of 1, from low to high; a question mark where it is not known."""
    top = len(marks) - 1
    return "".join(UNKNOWN if value is None else marks[round(value * top)] for value in values)


def _lines(made: History, marks: str) -> Iterator[str]:
    for series in made.series:
        yield f"{plain(series.arm)}  {curve([one.rate for one in series.points], marks)}"
        yield from columns(_HEADINGS, [_row(one, made, marks) for one in series.points])
        yield from (f"  {line}" for line in _found(series))
        yield ""
    yield plain(f"baseline: {made.baseline}; at worst: the one-sided 95 % limit in points, not worse "
                f"above {-100 * made.margin:+g}; each verdict is by itself")  # fmt: skip
    yield from (f"note: {note}" for note in made.notes)


def _row(one: Point, made: History, marks: str) -> tuple[str, ...]:
    name = f"{one.run}@{one.epoch}" if one.epoch else one.run
    bar = curve([one.rate], marks)
    pinned = name == made.baseline
    held = ("baseline", "", "") if pinned else (_points(one.difference), _points(one.low), _verdict(one))
    counts = str(one.trials), str(one.scenarios)
    return (name, *counts, share(one.rate), bar, *held, usd(one.usd), number(one.seconds, 1))


def _points(part: float | None) -> str:
    return UNDEFINED if part is None else f"{100 * part:+.1f}"


def _verdict(one: Point) -> str:
    """The verdict; where it says nothing, whether at least it is not worse by more than the margin."""
    if one.verdict is None:
        return UNDEFINED
    if one.verdict == "not_enough_data" and one.not_worse:
        return "not worse"
    return one.verdict.replace("_", " ")


def _found(series: Series) -> Iterator[str]:
    for shift in series.shifts:
        yield plain(_shift(shift))
    if not series.shifts:
        yield "no change and no drift found"
    yield from (plain(f"note: {note}") for note in series.notes)


def _shift(shift: Shift) -> str:
    if shift.kind == "drift":
        return f"drift {shift.side} of the pass rate: signal at {shift.run}, since about {shift.since} (CUSUM)"
    levels = f"{_level(shift, shift.before)} to {_level(shift, shift.after)}"
    return f"change {shift.side} of {shift.metric} at {shift.run}: {levels} (E-divisive, p {shift.p:.3f})"


def _level(shift: Shift, value: float | None) -> str:
    if shift.metric == "pass_rate":
        return share(value)
    return usd(value) if shift.metric == "usd" else seconds(value)
