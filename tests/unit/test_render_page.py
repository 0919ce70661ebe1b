from scylla_gha.render.page import page_of
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


def test_few_arms_keep_their_order_and_lose_what_their_names_share() -> None:
    page = page_of(full_report())
    assert [page.name(arm.arm) for arm in page.arms] == ["t0-00-empty", "t0-01-vanilla", "t1-01-skill"]
    assert (page.shared, page.left_out, page.baseline) == ("cli.m", 0, "t0-00-empty.cli.m")
    assert page.name("T0") == "T0"


def test_of_many_arms_there_are_the_best_and_the_worst_and_the_baseline() -> None:
    report = full_report()
    page = page_of(report, 2)
    assert (len(page.arms), page.left_out) == (2, 1)
    assert page.arms[0].arm.startswith("t1-01")
    assert page.baseline in {arm.arm for arm in page.arms}
    (left,) = {arm.arm for arm in report.arms} - {arm.arm for arm in page.arms}
    assert set(page.measures[left]) == {"pass_rate"}  # which its verdict tells


def test_an_arm_of_which_nothing_is_known_comes_last() -> None:
    arms = [make_summary(arm=f"a{n}", pass_rate=rate) for n, rate in enumerate((None, 0.0, 0.9, 0.5))]
    page = page_of(make_report(arms=tuple(arms)), 3)
    assert [arm.arm for arm in page.arms] == ["a2", "a3", "a0"]


def test_without_statistics_no_measure_is_known() -> None:
    page = page_of(make_report(arms=(make_summary(),)))
    assert page.measure("oracle", "pass_rate") is None
    assert (page.baseline, page.changes) == ("", {})
