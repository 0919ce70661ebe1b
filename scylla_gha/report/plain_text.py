"""Render power analyses, A/A tests and histories as plain text."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.model import one_line
from scylla_gha.model.report import (
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
from scylla_gha.report.document import UNDEFINED, UNKNOWN, Columns, Table, lines_of, number, seconds, share, table_of

BLOCKS: Final = "▁▂▃▄▅▆▇█"
DIGITS: Final = "0123456789"  # for terminals that cannot show blocks
_AA_HEADINGS: Final = (
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
_LEGEND: Final = (
    "smallest effect: the difference of pass rates that 4 of 5 experiments detect; none: too little data for any",
    "minutes: agents' time, one trial after the other; USD: at the pilot's costs, with judges; ? and -: unknown",
)


def design_table(power: Power) -> str:
    """Return variances, the table of designs, and the cheapest design."""
    arms, comparisons = counted(power.arms, "arm"), counted(power.comparisons, "comparison")
    variances = [
        f"  {variance.arm}: w^2 {variance.between:.4f} between scenarios, s^2 {variance.within:.4f} within "
        f"(baseline {variance.within_baseline:.4f}), over {counted(variance.scenarios, 'scenario')}"
        for variance in power.variances
    ]
    return "\n".join(
        (
            one_line(f"{power.experiment}: {arms}, {comparisons}; by {power.basis}"),
            *map(one_line, variances),
            *lines_of(table_of(power.designs, _designs(power.cheapest))),
            *_LEGEND,
            _cheapest(power),
            power.at_hand,
        )
    )


def _cheapest(power: Power) -> str:
    effect, design = counted(100 * power.effect, "point", form="g"), power.cheapest
    if design is None:
        return f"no design in this table detects {effect}"
    return (
        f"{_quality(design)} to detect {effect}: {counted(design.scenarios, 'scenario')} x "
        f"{counted(design.repetitions, 'repetition')}, {counted(design.trials, 'trial')}"
    )


def _quality(design: Design) -> str:
    return "cheapest" if design.usd else "fewest trials"


def _smallest_effect(design: Design) -> str:
    return "none" if design.smallest_effect is None else f"{100 * design.smallest_effect:.1f} points"


def _designs(cheapest: Design | None) -> Columns[Design]:
    return {
        "scenarios": lambda design: str(design.scenarios),
        "repetitions": lambda design: str(design.repetitions),
        "smallest effect": _smallest_effect,
        "trials": lambda design: str(design.trials),
        "USD": lambda design: dollars(design.usd),
        "minutes": lambda design: number(design.minutes, 1),
        "": lambda design: f"<- {_quality(design)}" if design == cheapest else "detects it" if design.sees else "",
    }


def equal_arms_text(aa_test: EqualArms) -> str:
    """Return the table of an A/A test, notes on arms, and the conclusion."""
    lines = [one_line(f"{aa_test.experiment}: each arm against itself; a verdict of better or worse is false")]
    if aa_test.over_all is not None:
        margin = counted(100 * aa_test.margin, "point", form="g")
        rows = [*map(_equal_arm, aa_test.arms), ("all", "", "", "", *_false_shares(aa_test.over_all))]
        lines += lines_of(Table(_AA_HEADINGS, rows))
        lines += [
            "as run: odd against even repetitions; halves: number of random splits; false: share of better or worse",
            "flips: the chance that two verdicts on random halves differ",
            f"each p is multiplied by {aa_test.family}, the experiment's number of comparisons; the margin is {margin}",
        ]
    lines += [
        one_line(
            f"{arm.arm}: odd repetitions did {arm.as_run} than even ones: {arm.why}; "
            "by chance, or because something changed during the run"
        )
        for arm in aa_test.arms
        if arm.as_run in {"better", "worse"}
    ]
    lines += [one_line(f"{arm}: left out, since no scenario has two judged repetitions") for arm in aa_test.left_out]
    return "\n".join((*lines, f"meaning: {aa_test.meaning}"))


def _equal_arm(arm: EqualArm) -> tuple[str, ...]:
    fewest, most = arm.repetitions
    repetitions = str(most) if fewest == most else f"{fewest} to {most}"
    return (arm.arm, str(arm.scenarios), repetitions, arm.as_run, *_false_shares(arm.resampled))


def _false_shares(shares: FalseVerdictShares) -> tuple[str, ...]:
    return (
        str(shares.verdicts),
        share(shares.false_share),
        f"{100 * shares.low:.1f} to {100 * shares.high:.1f} %",
        share(shares.equivalent_share),
        share(shares.flip_rate),
    )


def history_text(history: History, marks: str = BLOCKS) -> str:
    """Return a table of results for each arm, followed by the changes in its series.

    Args:
        history: the history.
        marks: characters for low to high pass rates.
    """
    return "\n".join(_history(history, marks))


def curve(values: Sequence[float | None], marks: str = BLOCKS) -> str:
    """Return a character of `marks` for each value between 0 and 1; a question mark for an unknown value."""
    top = len(marks) - 1
    return "".join(UNKNOWN if value is None else marks[round(value * top)] for value in values)


def _history(history: History, marks: str) -> Iterator[str]:
    for series in history.series:
        yield f"{one_line(series.arm)}  {curve([point.rate for point in series.points], marks)}"
        yield from lines_of(table_of(series.points, _points(history.baseline, marks)))
        yield from (f"  {one_line(line)}" for line in _changes(series))
        yield ""
    yield one_line(
        f"baseline: {history.baseline}; at worst: the lower one-sided 95 % limit in points, not worse "
        f"above {-100 * history.margin:+g}; verdicts are not adjusted for their number"
    )
    yield from (f"note: {note}" for note in history.notes)


def _points(baseline: str, marks: str) -> Columns[Point]:
    def difference(text: Callable[[Point], str], baseline_text: str = "") -> Callable[[Point], str]:
        return lambda point: baseline_text if _name(point) == baseline else text(point)

    return {
        "result set": _name,
        "trials": lambda point: str(point.trials),
        "scenarios": lambda point: str(point.scenarios),
        "pass rate": lambda point: share(point.rate),
        "": lambda point: curve([point.rate], marks),
        "from baseline": difference(lambda point: _difference(point.difference), "baseline"),
        "at worst": difference(lambda point: _difference(point.low)),
        "verdict": difference(_verdict),
        "USD": lambda point: dollars(point.usd),
        "seconds": lambda point: number(point.seconds, 1),
    }


def _name(point: Point) -> str:
    return f"{point.run}@{point.epoch}" if point.epoch else point.run


def _difference(points: float | None) -> str:
    return UNDEFINED if points is None else f"{100 * points:+.1f}"


def _verdict(point: Point) -> str:
    """Return the verdict; `not worse` if data is lacking, but a loss above the margin is excluded."""
    if point.verdict is None:
        return UNDEFINED
    if point.verdict == "not_enough_data" and point.not_worse:
        return "not worse"
    return point.verdict.replace("_", " ")


def _changes(series: Series) -> Iterator[str]:
    for shift in series.shifts:
        if shift.kind == "drift":
            yield f"drift {shift.side} of the pass rate: signal at {shift.run}, since about {shift.since} (CUSUM)"
        else:
            levels = f"{_level(shift, shift.before)} to {_level(shift, shift.after)}"
            yield f"change {shift.side} of {shift.metric} at {shift.run}: {levels} (E-divisive, p {shift.p:.3f})"
    if not series.shifts:
        yield "no change and no drift found"
    yield from (f"note: {note}" for note in series.notes)


def _level(shift: Shift, value: float | None) -> str:
    if shift.metric == "pass_rate":
        return share(value)
    return dollars(value) if shift.metric == "usd" else seconds(value)
