import pytest

from scylla_gha.model.analysis import Contrast, Measure, Ruling, Verdict
from scylla_gha.model.report import Comparison, Counts, Report
from scylla_gha.report.metrics import above_zero, metric_table, value
from scylla_gha.report.summary import (
    HEADINGS,
    NO_BASELINE,
    Overall,
    arm_row,
    conclusion,
    overall,
    title,
    verdict_counts,
    verdict_lines,
)
from scylla_gha.report.view import ReportView, marks, note_text, notes, report_view
from tests.support.comments import facts
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


def page(*verdicts: Verdict) -> ReportView:
    comparisons = [Comparison(arm=f"a{n}", baseline="b", verdict=each, why="why") for n, each in enumerate(verdicts)]
    return report_view(make_report(comparisons=tuple(comparisons)))


@pytest.mark.parametrize(
    ("verdict", "mark", "said"),
    [
        ("better", "✓", "a0 is better than b"),
        ("worse", "✗", "a0 is worse than b"),
        ("equivalent", "≈", "a0 and b are equivalent"),
        ("not_enough_data", "?", "not enough data to tell a0 from b"),
    ],
)
def test_verdicts_are_plain_words_with_a_mark(verdict: Verdict, mark: str, said: str) -> None:
    (answer,) = verdict_lines(page(verdict), 9)
    assert (answer.mark, answer.statement, answer.why) == (mark, said, "why")


def test_what_says_most_comes_first_and_the_others_are_counted() -> None:
    many = page("not_enough_data", "equivalent", "worse", "better", "not_enough_data")
    assert [answer.mark for answer in verdict_lines(many, 3)] == ["✓", "✗", "≈"]
    assert verdict_counts(many, 3) == "Of 5 arms against b: 1 better, 1 worse, 1 equivalent, 2 without enough data."
    assert verdict_counts(many, 5) == ""


def test_rates_stand_before_the_difference_and_scenarios_left_out_after_it() -> None:
    report = full_report()
    assert report.analysis is not None
    first = report.analysis.rulings[0]
    assert isinstance(first, Ruling)
    contrast: Contrast = first.contrast.model_copy(update={"dropped": 2})
    ruled = tuple(one.model_copy(update={"contrast": contrast}) for one in report.analysis.rulings)
    changed = report.model_copy(update={"analysis": report.analysis.model_copy(update={"rulings": ruled})})
    (one, _) = verdict_lines(report_view(changed), 9)
    assert one.why.startswith("passes ")
    assert one.why.endswith("; left out: 2 scenarios that only one arm has")


def test_a_row_has_a_value_for_every_heading() -> None:
    row = dict(zip(HEADINGS, arm_row(report_view(make_report()), make_summary()), strict=True))
    assert row == {
        "arm": "oracle", "n": "2", "pass": "100 %", "95 %": "[34, 100]", "score": "1.00", "grades": "2A",
        "USD": "$0.50", "USD/pass": "$0.25", "time": "12.35 s", "tokens": "1,234,567",
    }  # fmt: skip


def test_a_row_of_nothing_shows_no_zero_for_what_is_not_known() -> None:
    nothing = dict.fromkeys(
        ["pass_rate", "pass_low", "pass_high", "mean_score", "usd", "cost_of_pass", "mean_seconds", "tokens"]
    )
    counts = Counts(planned=2, ran=0, judged=0, scored=0)
    row = arm_row(report_view(make_report()), make_summary(**nothing, passed=0, grades={}, counts=counts))
    assert row == ("oracle", "2/0/0/0", "-", "-", "-", "-", "?", "-", "-", "?")


def test_where_there_are_statistics_the_row_is_of_scenario_means() -> None:
    page = report_view(full_report())
    arm = page.arms[0]
    row = dict(zip(HEADINGS, arm_row(page, arm), strict=True))
    assert arm.pass_rate is not None
    assert f"{100 * arm.pass_rate:.0f} %" != row["pass"] == "29 %"  # repetitions differ
    wide = dict(zip(HEADINGS, arm_row(page, arm, wide=True), strict=True))
    assert wide["USD/pass"].startswith(f"{row['USD/pass']} [$")


def test_an_infinite_cost_of_what_was_free_is_undefined() -> None:
    page = report_view(make_report())
    infinite = Measure(metric="cost_of_pass", value=None, state="infinite", n=2, scenarios=1)
    page.measures["oracle"] = {"cost_of_pass": infinite}
    cost = HEADINGS.index("USD/pass")
    assert [arm_row(page, make_summary(usd=usd))[cost] for usd in (0.0, 0.5)] == ["-", "∞"]


def of(*verdicts: Verdict) -> Report:
    return make_report(
        comparisons=tuple(
            Comparison(arm=f"arm{number}", baseline="base", verdict=verdict, why="so many points")
            for number, verdict in enumerate(verdicts)
        )
    )


@pytest.mark.parametrize(
    ("verdicts", "whole", "concludes"),
    [
        ((), "no_baseline", "neutral"),
        (("better",), "better", "success"),
        (("equivalent",), "equivalent", "success"),
        (("equivalent", "better"), "better", "success"),
        (("not_enough_data",), "not_enough_data", "neutral"),
        (("better", "not_enough_data"), "not_enough_data", "neutral"),
        (("better", "not_enough_data", "worse"), "worse", "failure"),
    ],
)
def test_one_verdict_stands_for_all(verdicts: tuple[Verdict, ...], whole: Overall, concludes: str) -> None:
    assert overall(of(*verdicts)) == whole
    assert conclusion(of(*verdicts), facts()) == concludes


def test_a_gate_decides_where_there_is_one() -> None:
    assert conclusion(of("not_enough_data"), facts(has_gate=True)) == "success"
    assert conclusion(of("better"), facts(has_gate=True, gate_fault="so")) == "failure"


def test_the_title_is_the_verdict_or_how_many_there_are_of_each() -> None:
    assert title(of()) == NO_BASELINE
    assert title(of("worse")) == "✗ arm0 is worse than base: so many points"
    assert title(of("worse", "better")) == (
        "✗ Of 2 arms against base: 1 better, 1 worse, 0 equivalent, 0 without enough data."
    )
    assert title(of("not_enough_data", "better")) == (
        "✓ arm1 is better than base: so many points. "
        "Of 2 arms against base: 1 better, 0 worse, 0 equivalent, 1 without enough data."
    )


def said(arms: int, *warnings: str) -> tuple[list[str], dict[str, str]]:
    page = report_view(make_report(arms=tuple(make_summary(arm=f"a{n}") for n in range(arms)), warnings=warnings))
    found = notes(page)
    return [f"{note.number} {note_text(page, note)}" for note in found], marks(found)


def test_what_several_arms_share_is_said_once_after_what_is_of_the_whole() -> None:
    few = "few trials"
    lines, marked = said(6, f"a0: {few}", "the whole", *(f"a{n}: {few}" for n in range(1, 5)), "a5: other", "b: none")
    assert lines == ["1 the whole", "2 b: none", "3 a0, a1, a2 and 2 more: few trials", "4 a5: other"]
    assert marked == {**{f"a{n}": "3" for n in range(5)}, "a5": "4"}


def test_all_arms_are_called_so() -> None:
    assert said(2, "a0: x", "a1: x")[0] == ["1 all arms: x"]
    assert said(1, "a0: x")[0] == ["1 a0: x"]
    assert said(1) == ([], {})


def test_few_arms_keep_their_order_and_lose_what_their_names_share() -> None:
    page = report_view(full_report())
    assert [page.name(arm.arm) for arm in page.arms] == ["t0-00-empty", "t0-01-vanilla", "t1-01-skill"]
    assert (page.shared, page.left_out, page.baseline) == ("cli.m", 0, "t0-00-empty.cli.m")
    assert page.name("T0") == "T0"


def test_of_many_arms_there_are_the_best_and_the_worst_and_the_baseline() -> None:
    report = full_report()
    page = report_view(report, 2)
    assert (len(page.arms), page.left_out) == (2, 1)
    assert page.arms[0].arm.startswith("t1-01")
    assert page.baseline in {arm.arm for arm in page.arms}
    (left,) = {arm.arm for arm in report.arms} - {arm.arm for arm in page.arms}
    assert set(page.measures[left]) == {"pass_rate"}  # which its verdict tells


def test_an_arm_of_which_nothing_is_known_comes_last() -> None:
    arms = [make_summary(arm=f"a{n}", pass_rate=rate) for n, rate in enumerate((None, 0.0, 0.9, 0.5))]
    page = report_view(make_report(arms=tuple(arms)), 3)
    assert [arm.arm for arm in page.arms] == ["a2", "a3", "a0"]


def test_without_statistics_no_measure_is_known() -> None:
    page = report_view(make_report(arms=(make_summary(),)))
    assert page.measure("oracle", "pass_rate") is None
    assert (page.baseline, page.changes) == ("", {})


def test_columns_without_a_value_of_any_arm_are_left_out() -> None:
    table = metric_table(report_view(full_report()), (("a", "turns"), ("b", "no such metric")), value)
    assert table.headings == ("arm", "a")
    assert len(table.rows) == 3
    assert above_zero(report_view(full_report()), "turns")


def test_without_statistics_there_is_no_table() -> None:
    view = report_view(make_report(arms=(make_summary(),)))
    assert metric_table(view, (("a", "turns"),)).rows == []
    assert not above_zero(view, "turns")


def test_arms_without_room_are_counted() -> None:
    table = metric_table(report_view(full_report(), 2), (("a", "turns"),))
    assert table.__html__().endswith("\n\nand 1 more arm, in report.json\n\n")
