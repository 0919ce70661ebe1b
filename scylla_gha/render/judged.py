"""What a judging came to, in a terminal: panels beside each other, and what the controls of the judges found."""

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from scylla_gha.model.probe import Judged, PanelSummary, Probe
from scylla_gha.render.text import UNDEFINED, number, plain, usd

_PANELS = ("judged by", "judged", "passed", "score", "difference", "flips", "USD")
_CONTROLS = ("judge", "control", "on", "holds", "found", "USD")
_VERDICT = {True: "yes", False: "NO", None: "undecided"}


def show(made: Judged, console: Console) -> None:
    """Print the panels, the trials that they part on, and the controls."""
    flips = [cell for panel in made.panels for cell in panel.flips]
    parts: list[RenderableType] = [_table(_PANELS, [_panel(each) for each in made.panels])]
    parts += [_line(f"passes by one and not by the other: {cell}") for cell in flips]
    if made.probes:
        parts.append(_table(_CONTROLS, [row for probe in made.probes for row in _controls(probe)]))
    console.print(Group(*parts))


def _panel(each: PanelSummary) -> tuple[str, ...]:
    judges = f" ({', '.join(each.judges)})" if each.panel == "experiment" and each.judges else ""
    compared = each.compared > 0
    return (
        f"{each.panel}{judges}",
        f"{each.judged} of {each.trials}",
        str(each.passed),
        number(each.mean_score),
        number(each.difference),
        str(len(each.flips)) if compared else UNDEFINED,
        usd(each.usd),
    )


def _controls(probe: Probe) -> list[tuple[str, ...]]:
    """One row for each control; what the judge cost is told in the first."""
    found = [(each.kind.replace("_", " "), _VERDICT[each.holds], each.why) for each in probe.controls]
    if probe.error:
        found.append((UNDEFINED, _VERDICT[None], probe.error))
    return [
        (probe.judge, kind, probe.subject, verdict, why, usd(probe.usage.usd) if first == 0 else "")
        for first, (kind, verdict, why) in enumerate(found)
    ]


def _table(headings: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in headings:
        table.add_column(_line(heading), overflow="fold")
    for row in rows:
        table.add_row(*(_line(value) for value in row))
    return table


def _line(text: str) -> Text:
    return Text(plain(text))
