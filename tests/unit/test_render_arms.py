from scylla_gha.model.analysis import Measure
from scylla_gha.model.report import Counts
from scylla_gha.render.arms import HEADINGS, arm_row
from scylla_gha.render.page import page_of
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


def test_a_row_has_a_value_for_every_heading() -> None:
    row = dict(zip(HEADINGS, arm_row(page_of(make_report()), make_summary()), strict=True))
    assert row == {
        "arm": "oracle", "n": "2", "pass": "100 %", "95 %": "[34, 100]", "score": "1.00", "grades": "2A",
        "USD": "$0.5000", "USD/pass": "$0.2500", "time": "12.35 s", "tokens": "1,234,567",
    }  # fmt: skip


def test_a_row_of_nothing_shows_no_zero_for_what_is_not_known() -> None:
    nothing = dict.fromkeys(
        ["pass_rate", "pass_low", "pass_high", "mean_score", "usd", "cost_of_pass", "mean_seconds", "tokens"]
    )
    counts = Counts(planned=2, ran=0, judged=0, scored=0)
    row = arm_row(page_of(make_report()), make_summary(**nothing, passed=0, grades={}, counts=counts))
    assert row == ("oracle", "2/0/0/0", "-", "-", "-", "-", "?", "-", "-", "?")


def test_where_there_are_statistics_the_row_is_of_scenario_means() -> None:
    page = page_of(full_report())
    arm = page.arms[0]
    row = dict(zip(HEADINGS, arm_row(page, arm), strict=True))
    assert arm.pass_rate is not None
    assert f"{100 * arm.pass_rate:.0f} %" != row["pass"] == "29 %"  # repetitions differ
    wide = dict(zip(HEADINGS, arm_row(page, arm, wide=True), strict=True))
    assert wide["USD/pass"].startswith(f"{row['USD/pass']} [$")


def test_an_infinite_cost_of_what_was_free_is_undefined() -> None:
    page = page_of(make_report())
    infinite = Measure(metric="cost_of_pass", value=None, state="infinite", n=2, scenarios=1)
    page.measures["oracle"] = {"cost_of_pass": infinite}
    cost = HEADINGS.index("USD/pass")
    assert [arm_row(page, make_summary(usd=usd))[cost] for usd in (0.0, 0.5)] == ["-", "∞"]
