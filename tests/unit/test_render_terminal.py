import io

import pytest
from rich.console import Console

from scylla_gha.model.report import Comparison, Counts, Excluded, Report
from scylla_gha.render.terminal import show
from tests.support.records import COUNTS, make_report, make_summary
from tests.support.reports import full_report


def shown(report: Report, width: int = 200) -> list[str]:
    """The lines of a report, without the blanks at their ends."""
    file = io.StringIO()
    show(report, Console(file=file, width=width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def against(arm: str, baseline: str) -> Comparison:
    return Comparison(arm=arm, baseline=baseline, verdict="not_enough_data", why="no interval")


def test_arms_counts_verdicts_exclusions_and_warnings_are_shown() -> None:
    report = make_report(
        counts=Counts(planned=3, ran=2, judged=2, scored=2),
        arms=(make_summary(), make_summary(arm="nop", usd=None, cost_of_pass=None)),
        comparisons=(against("oracle", "nop"),),
        excluded=(Excluded(cell="c", outcome="missing", reason="planned"),),
        warnings=("few trials",),
    )
    lines = shown(report)
    assert lines[0].strip() == "demo: Which is better?"
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in lines if "[34, 100]" in line}
    assert rows["oracle"] == "2 100 % [34, 100] 1.00 2A $0.5000 $0.2500 12.35 s 1,234,567"
    assert rows["nop"] == "2 100 % [34, 100] 1.00 2A ? ? 12.35 s 1,234,567"
    assert lines[1] == "? not enough data to tell oracle from nop: no interval"
    assert lines[-3:] == [
        "3 planned, 2 ran, 2 judged, 2 scored; judges $0.00",
        "not in the rates: c: missing: planned",
        "warning: few trials",
    ]


def test_what_all_arms_share_is_said_once() -> None:
    arms = ("t0-00-empty.cli.m", "t0-01-vanilla.cli.m")
    lines = shown(make_report(arms=tuple(make_summary(arm=arm) for arm in arms), comparisons=(against(*arms),)))
    assert "all arms: cli.m" in lines
    assert lines[1] == "? not enough data to tell t0-00-empty from t0-01-vanilla: no interval"


def test_a_baseline_that_no_cell_was_planned_for_is_named() -> None:
    lines = shown(make_report(arms=(make_summary(),), comparisons=(against("oracle", "nop"),)))
    assert lines[1] == "? not enough data to tell oracle from nop: no interval"
    assert not [line for line in lines if line.startswith("all arms")]


def test_a_long_list_of_excluded_cells_says_how_many_are_left_out() -> None:
    excluded = [Excluded(cell=f"c{number}", outcome="missing", reason="r") for number in range(12)]
    assert shown(make_report(excluded=tuple(excluded)))[-2:] == [
        "not in the rates: c2: missing: r",
        "and 9 more cells, in report.json",
    ]
    assert shown(make_report(excluded=tuple(excluded[:3])))[-1] == "not in the rates: c2: missing: r"


def test_text_of_others_is_shown_as_it_is_and_steers_nothing() -> None:
    hostile = "[bold red]a[/] \x1b[31mred\x1b]0;title\x07\n::error::b\r\u202ec :smile: https://x.example"
    report = make_report(
        question=hostile,
        excluded=(Excluded(cell="c", outcome="judge_error", reason=hostile),),
        warnings=(hostile,),
        comparisons=(against("oracle", "nop").model_copy(update={"why": hostile}),),
        arms=(make_summary(), make_summary(arm="nop")),
    )
    text = "\n".join(shown(report))
    assert not [character for character in text.replace("\n", "") if not character.isprintable()]
    assert text.count("[bold red]a[/] [31mred]0;title ::error::b c :smile: https://x.example") == 4
    assert "\n::" not in text


@pytest.mark.parametrize("width", [80, 120])
def test_numbers_are_whole_in_a_terminal_of_usual_width(width: int) -> None:
    arms = [make_summary(arm=f"t0-0{n}-{'long' * 10}.cli.m", counts=COUNTS) for n in range(3)]
    lines = shown(make_report(arms=tuple(arms)), width)
    assert max(len(line) for line in lines) <= width
    for value in ("[34, 100]", "$0.2500", *(["1,234,567"] if width > 80 else [])):
        assert sum(value in line for line in lines) == 3


@pytest.mark.parametrize(("width", "most"), [(80, 40), (120, 30)])
def test_a_whole_report_fits_a_screen(width: int, most: int) -> None:
    lines = shown(full_report(), width)
    assert len(lines) <= most
    assert max(map(len, lines)) <= width
    assert " ".join(lines[1:3]).startswith("▲ t1-01-skill is better than t0-00-empty: passes ")


def test_of_many_arms_the_best_and_the_worst_are_shown() -> None:
    arms = tuple(make_summary(arm=f"a{n:02d}", pass_rate=n / 40) for n in range(40))
    report = make_report(arms=arms, comparisons=tuple(against(arm.arm, "a20") for arm in arms if arm.arm != "a20"))
    lines = shown(report)
    assert lines[1] == ("Of 39 arms against a20: 0 better, 0 worse, 0 equivalent, 39 without enough data.")
    assert [line.split()[0] for line in lines if "[34, 100]" in line] == [
        "a39",
        "a38",
        "a37",
        "a36",
        "a35",
        "a34",
        "a33",
        "a20",
        "a01",
        "a00",
    ]
    assert "the best and the worst arms; 30 more, in report.json" in lines
