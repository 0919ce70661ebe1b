import io
from typing import Any

import pytest
from rich.console import Console

from scylla_gha.model.judgment import ControlResult, JudgeControl, JudgingSummary, PanelSummary
from scylla_gha.model.report import Comparison, Counts, Excluded, Report
from scylla_gha.model.trial import Usage
from scylla_gha.report.terminal import TextBlock, field, heading, judge_summary, line, passage, patch, terminal_report
from tests.support.records import COUNTS, make_report, make_summary
from tests.support.reports import full_report


def shown(report: Report, width: int = 200) -> list[str]:
    """The lines of a report, without the blanks at their ends."""
    file = io.StringIO()
    terminal_report(report, Console(file=file, width=width))
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
    assert rows["oracle"] == "2 100 % [34, 100] 1.00 2A $0.50 $0.25 12.35 s 1,234,567"
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
    for value in ("[34, 100]", "$0.25", *(["1,234,567"] if width > 80 else [])):
        assert sum(value in line for line in lines) == 3


def test_columns_that_do_not_fit_are_named() -> None:
    report = make_report(arms=(make_summary(arm="a-name-of-16-chr", counts=COUNTS),))
    narrow, wide = shown(report, 70), shown(report, 120)
    line = "no room in 70 columns for: score, grades, tokens; report.md has them"
    assert line in narrow
    heading = next(text for text in narrow if "pass" in text and "95 %" in text)
    assert ("grades" in heading, "tokens" in heading, "USD/pass" in heading) == (False, False, True)
    assert not [text for text in wide if "no room" in text]


@pytest.mark.parametrize(("width", "most"), [(80, 40), (120, 30)])
def test_a_whole_report_fits_a_screen(width: int, most: int) -> None:
    lines = shown(full_report(), width)
    assert len(lines) <= most
    assert max(map(len, lines)) <= width
    assert " ".join(lines[1:3]).startswith("✓ t1-01-skill is better than t0-00-empty: passes ")


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
    assert "only the best and the worst arms are shown; 30 more are in report.json" in lines


def panel(**given: Any) -> PanelSummary:
    fields = {"panel": "experiment", "judges": ("opus",), "trials": 3, "judged": 2, "passed": 1, "mean_score": 0.5,
              "usd": None}  # fmt: skip
    return PanelSummary.model_validate({**fields, **given})


def probe(**given: Any) -> JudgeControl:
    return JudgeControl.model_validate({"key": "k", "judge": "opus", "scenario": "001-one", **given})


def judged_lines(*panels: PanelSummary, probes: tuple[JudgeControl, ...] = ()) -> list[list[str]]:
    """The words of each line."""
    file = io.StringIO()
    made = JudgingSummary(experiment="demo", panels=panels, probes=probes)
    judge_summary(made, Console(file=file, width=200, color_system=None))
    return [line.split() for line in file.getvalue().splitlines() if line.strip()]


def test_the_own_panel_is_compared_with_nobody_and_unknown_is_no_zero() -> None:
    assert judged_lines(panel())[2] == ["experiment", "(opus)", "2", "of", "3", "1", "0.50", "-", "-", "?"]


def test_another_panel_shows_where_it_parts() -> None:
    other = panel(panel="judges other", compared=2, difference=0.25, flips=("001-one--nop--r01",), usd=0.5)
    lines = judged_lines(panel(), other)
    assert lines[3] == ["judges", "other", "2", "of", "3", "1", "0.50", "0.25", "1", "$0.50"]
    assert lines[4][-1] == "001-one--nop--r01"


def test_equal_panels_flip_nothing() -> None:
    assert judged_lines(panel(compared=2, difference=0.0))[2][-3:] == ["0.00", "0", "?"]


def test_controls_say_what_held_what_not_and_what_could_not_be_decided() -> None:
    found = tuple(
        ControlResult.model_validate({"kind": kind, "judge": "opus", "holds": holds, "why": "seen"})
        for kind, holds in (("canary", True), ("order_swap", False), ("repeat", None))
    )
    one = probe(controls=found, error="400", usage=Usage(usd=1.5), cell="001-one--nop--r01")
    lines = judged_lines(panel(), probes=(one,))[-4:]
    assert lines == [
        ["opus", "canary", "001-one--nop--r01", "yes", "seen", "$1.50"],
        ["opus", "order", "swap", "001-one--nop--r01", "NO", "seen"],
        ["opus", "repeat", "001-one--nop--r01", "undecided", "seen"],
        ["opus", "-", "001-one--nop--r01", "undecided", "400"],
    ]


def test_what_a_provider_said_steers_no_terminal() -> None:
    lines = judged_lines(panel(), probes=(probe(error="\x1b[31mred [bold]x[/bold]\nnext"),))
    assert lines[-1][3:] == ["undecided", "[31mred", "[bold]x[/bold]", "next", "$0.00"]


def drawn(part: TextBlock, *, terminal: bool = False, width: int = 30, colours: bool = False) -> str:
    file = io.StringIO()
    how = "standard" if colours else None
    console = Console(file=file, width=width, force_terminal=terminal, color_system=how, highlight=False)  # type: ignore[arg-type]
    console.print(part, soft_wrap=not terminal)
    return file.getvalue()


def test_to_a_file_lines_are_never_broken_and_have_no_blanks_at_their_ends() -> None:
    text = "one " * 20 + "\n\n\tx\n  y"
    assert drawn(passage(text, 4, None)) == f"    {'one ' * 20}\n\n        x\n      y\n"


def test_in_a_terminal_what_others_wrote_stays_indented_however_it_is_wrapped() -> None:
    for words in ("Checks: 3 of 3 hold " * 5, "x" * 100):
        lines = drawn(passage(words, 4, None), terminal=True).splitlines()
        assert len(lines) > 2
        assert all(each.startswith("    ") for each in lines)
        assert "".join(each.strip() for each in lines).replace(" ", "") == words.replace(" ", "")


def test_long_ones_are_cut_with_how_much_is_left_out() -> None:
    text = "".join(f"line {number:02d}\n" for number in range(50))
    assert drawn(passage(text, 0, 40)) == ("line 00\nline 01\n[cut here: 46 lines, 368 characters]\nline 48\nline 49\n")
    assert drawn(passage(text, 0, None)).count("\n") == 50


HOSTILE = "a\x1b[2J\x1b]0;t\x07b\rc\x9bd\u202ee\u200bf[bold]g[/] :smile: \x08"


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    "part",
    [passage(HOSTILE, 2, None), line(HOSTILE), field("f", HOSTILE), heading(HOSTILE), patch("+" + HOSTILE)],
    ids=["passage", "line", "field", "heading", "patch"],
)
def test_nothing_steers_the_terminal_or_the_direction_of_writing(part: TextBlock, terminal: bool) -> None:
    said = drawn(part, terminal=terminal, width=500)
    assert [character for character in said if not character.isprintable() and character != "\n"] == []
    assert "[bold]g[/] :smile:" in said


def test_a_line_and_a_heading_are_one_line() -> None:
    assert drawn(line("a\nb\u2028c")) == "  a b c\n"
    assert drawn(field("name", "a\nb")) == "  name      a b\n"
    assert drawn(heading("a\nb")) == "\na b\n"


def test_added_and_deleted_lines_have_colours() -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n"
    said = drawn(patch(text), terminal=True, colours=True).splitlines()
    assert said[0].startswith("  \x1b[1mdiff")
    assert [each.strip()[:5] for each in said[1:6]] == ["\x1b[1m-", "\x1b[1m+", "\x1b[36m", "\x1b[31m", "\x1b[32m"]
    assert said[6].rstrip() == "   same"
    assert drawn(patch(text)) == "".join(f"  {each}\n" for each in text.splitlines())
