import io
from typing import Any

from rich.console import Console

from scylla_gha.model.panel import Control
from scylla_gha.model.probe import Judged, PanelSummary, Probe
from scylla_gha.model.trial import Usage
from scylla_gha.render.judged import show


def panel(**given: Any) -> PanelSummary:
    fields = {"panel": "experiment", "judges": ("opus",), "trials": 3, "judged": 2, "passed": 1, "mean_score": 0.5,
              "usd": None}  # fmt: skip
    return PanelSummary.model_validate({**fields, **given})


def probe(**given: Any) -> Probe:
    return Probe.model_validate({"key": "k", "judge": "opus", "scenario": "001-one", **given})


def shown(*panels: PanelSummary, probes: tuple[Probe, ...] = ()) -> list[list[str]]:
    """The words of each line."""
    file = io.StringIO()
    made = Judged(experiment="demo", panels=panels, probes=probes)
    show(made, Console(file=file, width=200, color_system=None))
    return [line.split() for line in file.getvalue().splitlines() if line.strip()]


def test_the_own_panel_is_compared_with_nobody_and_unknown_is_no_zero() -> None:
    assert shown(panel())[2] == ["experiment", "(opus)", "2", "of", "3", "1", "0.50", "-", "-", "?"]


def test_another_panel_shows_where_it_parts() -> None:
    other = panel(panel="judges other", compared=2, difference=0.25, flips=("001-one--nop--r01",), usd=0.5)
    lines = shown(panel(), other)
    assert lines[3] == ["judges", "other", "2", "of", "3", "1", "0.50", "0.25", "1", "$0.5000"]
    assert lines[4][-1] == "001-one--nop--r01"


def test_equal_panels_flip_nothing() -> None:
    assert shown(panel(compared=2, difference=0.0))[2][-3:] == ["0.00", "0", "?"]


def test_controls_say_what_held_what_not_and_what_could_not_be_decided() -> None:
    found = tuple(
        Control.model_validate({"kind": kind, "judge": "opus", "holds": holds, "why": "seen"})
        for kind, holds in (("canary", True), ("order_swap", False), ("repeat", None))
    )
    one = probe(controls=found, error="400", usage=Usage(usd=1.5), cell="001-one--nop--r01")
    lines = shown(panel(), probes=(one,))[-4:]
    assert lines == [
        ["opus", "canary", "001-one--nop--r01", "yes", "seen", "$1.50"],
        ["opus", "order", "swap", "001-one--nop--r01", "NO", "seen"],
        ["opus", "repeat", "001-one--nop--r01", "undecided", "seen"],
        ["opus", "-", "001-one--nop--r01", "undecided", "400"],
    ]


def test_what_a_provider_said_steers_no_terminal() -> None:
    lines = shown(panel(), probes=(probe(error="\x1b[31mred [bold]x[/bold]\nnext"),))
    assert lines[-1][3:] == ["undecided", "[31mred", "[bold]x[/bold]", "next", "$0.00"]
