"""A comparison of two sets of results in a terminal."""

from collections.abc import Iterator
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from scylla_gha.model.analysis import Contrast
from scylla_gha.model.comparing import ArmPair, Compared, Flip
from scylla_gha.render.text import UNDEFINED, UNKNOWN, plain

HEADINGS: Final = ("arm", "A", "B", "change", "95 %", "p", "+/=/-")
_RATIOS: Final = ("usd", "seconds", "tokens")
_BESIDE: Final = {"usd": "usd", "usd per pass": "cost_of_pass", "seconds": "seconds", "tokens": "tokens"}
_NOTE: Final = "A, B: passed of judged; p: adjusted for all rows (Holm); +/=/-: scenarios won, tied, lost"
_LEAST_P: Final = 0.0001
_MOST_FLIPS: Final = 20


def show_compared(made: Compared, console: Console) -> None:
    """Print the verdicts, what changed scenario by scenario, and the warnings."""
    console.print(Group(*_parts(made)))


def _parts(made: Compared) -> Iterator[RenderableType]:
    table = Table(title=_line(f"{made.b} against {made.a}, by {made.metric}"), title_justify="left", box=SIMPLE_HEAD,
                  pad_edge=False, collapse_padding=True)  # fmt: skip
    for heading in HEADINGS:
        table.add_column(_line(heading), overflow="fold", no_wrap=heading != "arm")
    for pair in made.pairs:
        table.add_row(*(_line(value) for value in compared_row(pair)))
    yield table
    yield _line(_NOTE)
    for pair in made.pairs:
        yield _line(f"{_name(pair)}: {pair.ruling.verdict} ({pair.ruling.why})")
        yield _line(f"  B over A: {_beside(pair)}")
        yield from _flips("fixed", pair, pair.fixes)
        yield from _flips("broken", pair, pair.regressions)
    yield from (_line(f"warning: {warning}") for warning in made.warnings)


def compared_row(pair: ArmPair) -> tuple[str, ...]:
    """One pair under `HEADINGS`."""
    one = pair.ruling.contrast
    value, limits = _value(one)
    wins = "/".join(str(each) for each in one.wins) if one.scenarios else UNDEFINED
    return (
        _name(pair), _rate(pair.before), _rate(pair.after), value, limits, _p(one.p_adjusted),
        wins,
    )  # fmt: skip


def _name(pair: ArmPair) -> str:
    return pair.b_arm if pair.a_arm == pair.b_arm else f"{pair.b_arm} against {pair.a_arm}"


def _rate(counts: tuple[int, int]) -> str:
    return f"{counts[0]}/{counts[1]}"


def _value(one: Contrast) -> tuple[str, str]:
    """The difference in points, the ratio, or the difference in its own unit; and its interval."""
    if one.value is None:
        return UNDEFINED, UNDEFINED
    form, times = ("x{:.3g}", 1.0) if one.scale == "ratio" else ("{:+.1f}", 100.0)
    if one.scale == "difference" and one.metric in _RATIOS:
        form, times = "{:+.4g}", 1.0
    shown = form.format(one.value * times)
    if one.low is None or one.high is None:
        return shown, UNDEFINED
    return shown, f"[{form.format(one.low * times)}, {form.format(one.high * times)}]"


def _beside(pair: ArmPair) -> str:
    """Cost, time and tokens: geometric means of their ratios over scenarios, or differences where one is 0.

    Of cost of a pass it is the ratio of both arms' own.
    """
    known = {each.metric: each for each in (*pair.others, pair.ruling.contrast)}
    return ", ".join(f"{name} {_shown(known.get(metric))}" for name, metric in _BESIDE.items())


def _shown(one: Contrast | None) -> str:
    if one is None or one.value is None:
        return UNKNOWN
    value, limits = _value(one)
    return value if limits == UNDEFINED else f"{value} {limits}"


def _p(p: float | None) -> str:
    """Never 0."""
    if p is None:
        return UNDEFINED
    return f"<{_LEAST_P}" if p < _LEAST_P else f"{p:.2g}"


def _flips(what: str, pair: ArmPair, flips: tuple[Flip, ...]) -> Iterator[Text]:
    for flip in flips[:_MOST_FLIPS]:
        yield _line(f"  {what}: {flip.scenario}: {_rate(flip.before)} -> {_rate(flip.after)} ({_name(pair)})")
    if len(flips) > _MOST_FLIPS:
        yield _line(f"  and {len(flips) - _MOST_FLIPS} more {what}; --json has all")


def _line(text: str) -> Text:
    """One line; blanks at its beginning stay."""
    return Text(" " * (len(text) - len(text.lstrip())) + plain(text))
