"""Power, A/A tests and history as plain text."""

from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.comparison import (
    Design,
    EqualArm,
    EqualArms,
    FalseVerdictShares,
    History,
    Point,
    Power,
    Series,
    Shift,
)
from scylla_gha.report.numbers import UNDEFINED, UNKNOWN, columns, number, plain, seconds, share, usd

_HEADINGS = ("scenarios", "repetitions", "smallest effect", "trials", "USD", "minutes", "")


def design_table(made: Power) -> str:
    """Return variances, the table of designs, and the cheapest design."""
    return "\n".join(_lines(made))


def _lines(made: Power) -> Iterator[str]:
    comparisons = counted(made.comparisons, "comparison")
    yield plain(f"{made.experiment}: {counted(made.arms, 'arm')}, {comparisons} with the baseline; by {made.basis}")
    for variance in made.variances:
        yield plain(
            f"  {variance.arm}: w^2 {variance.between:.4f} between scenarios, s^2 {variance.within:.4f} within "
            f"(baseline {variance.within_baseline:.4f}), over {counted(variance.scenarios, 'scenario')}"
        )
    yield from columns(_HEADINGS, [_row(design, made) for design in made.designs])
    yield "smallest effect: the difference of pass rates that is seen 4 times of 5; none: no difference would be"
    yield "minutes: of agents, one trial after the other; USD at the pilot's costs, judges included; ? and -: not known"
    yield _best(made)
    yield made.at_hand


def _best(made: Power) -> str:
    points, one = counted(100 * made.effect, "point", form="g"), made.cheapest
    if one is None:
        return f"no design of this table sees {points}"
    return (f"{_mark(one)} to see {points}: {counted(one.scenarios, 'scenario')} x "
            f"{counted(one.repetitions, 'repetition')}, {counted(one.trials, 'trial')}")  # fmt: skip


def _mark(one: Design) -> str:
    return "cheapest" if one.usd else "fewest trials"


def _row(one: Design, made: Power) -> tuple[str, ...]:
    effect = "none" if one.smallest_effect is None else f"{100 * one.smallest_effect:.1f} points"
    seen = f"<- {_mark(one)}" if one == made.cheapest else "sees it" if one.sees else ""
    counts = str(one.scenarios), str(one.repetitions), effect, str(one.trials)
    return (*counts, usd(one.usd), number(one.minutes, 1), seen)


_AA_HEADINGS = (
    "arm",
    "scenarios",
    "repetitions",
    "as run",
    "halves",
    "false",
    "95 % interval",
    "equivalent",
    "flips",
)


def equal_arms_text(made: EqualArms) -> str:
    """Return the table of an A/A test, notes on arms, and the conclusion."""
    return "\n".join(_aa_lines(made))


def _aa_lines(made: EqualArms) -> Iterator[str]:
    yield plain(f"{made.experiment}: each arm against itself; whatever a verdict finds is false")
    if made.over_all is not None:
        rows = [_aa_row(one) for one in made.arms]
        yield from columns(_AA_HEADINGS, [*rows, ("all", "", "", "", *_shares(made.over_all))])
        yield "as run: odd against even repetitions; halves: random ones; false: better or worse"
        yield "flips: the chance that two verdicts on random halves differ"
        yield (f"each p is multiplied by {made.family}, the comparisons of the experiment; "
               f"the margin is {counted(100 * made.margin, 'point', form='g')}")  # fmt: skip
    for one in made.arms:
        if one.as_run in {"better", "worse"}:
            yield plain(f"{one.arm}: odd repetitions came out {one.as_run} than even ones: {one.why}; "
                        "by chance, or something changed while it ran")  # fmt: skip
    for arm in made.left_out:
        yield plain(f"{arm}: left out, since no scenario has two judged repetitions")
    yield f"meaning: {made.meaning}"


def _aa_row(one: EqualArm) -> tuple[str, ...]:
    fewest, most = one.repetitions
    repetitions = str(most) if fewest == most else f"{fewest} to {most}"
    return (one.arm, str(one.scenarios), repetitions, one.as_run, *_shares(one.resampled))


def _shares(found: FalseVerdictShares) -> tuple[str, ...]:
    return (str(found.verdicts), share(found.false_share), f"{100 * found.low:.1f} to {100 * found.high:.1f} %",
            share(found.equivalent_share), share(found.flip_rate))  # fmt: skip


BLOCKS: Final = "▁▂▃▄▅▆▇█"
DIGITS: Final = "0123456789"  # where the output cannot show blocks
_HISTORY_HEADINGS: Final = ("result set", "trials", "scenarios", "pass rate", "", "from baseline", "at worst",
                             "verdict", "USD", "seconds")  # fmt: skip


def history_text(made: History, marks: str = BLOCKS) -> str:
    """Return one table for each arm, with the changes in its series.

    Args:
        made: the history.
        marks: characters from low to high.
    """
    return "\n".join(_history_lines(made, marks))


def curve(values: Sequence[float | None], marks: str = BLOCKS) -> str:
    """Return one character for each share of 1, from low to high; a question mark if it is unknown."""
    top = len(marks) - 1
    return "".join(UNKNOWN if value is None else marks[round(value * top)] for value in values)


def _history_lines(made: History, marks: str) -> Iterator[str]:
    for series in made.series:
        yield f"{plain(series.arm)}  {curve([one.rate for one in series.points], marks)}"
        yield from columns(_HISTORY_HEADINGS, [_history_row(point, made, marks) for point in series.points])
        yield from (f"  {line}" for line in _found(series))
        yield ""
    yield plain(f"baseline: {made.baseline}; at worst: the one-sided 95 % limit in points, not worse "
                f"above {-100 * made.margin:+g}; each verdict is by itself")  # fmt: skip
    yield from (f"note: {note}" for note in made.notes)


def _history_row(one: Point, made: History, marks: str) -> tuple[str, ...]:
    name = f"{one.run}@{one.epoch}" if one.epoch else one.run
    bar = curve([one.rate], marks)
    pinned = name == made.baseline
    held = ("baseline", "", "") if pinned else (_points(one.difference), _points(one.low), _verdict(one))
    counts = str(one.trials), str(one.scenarios)
    return (name, *counts, share(one.rate), bar, *held, usd(one.usd), number(one.seconds, 1))


def _points(part: float | None) -> str:
    return UNDEFINED if part is None else f"{100 * part:+.1f}"


def _verdict(one: Point) -> str:
    """Return the verdict; without enough data, whether it is at least not worse by more than the margin."""
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
