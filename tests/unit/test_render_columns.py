from scylla_gha.render.columns import above_zero, columns, says
from scylla_gha.render.metrics import value
from scylla_gha.render.page import page_of
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


def test_columns_of_which_no_arm_knows_anything_are_left_out() -> None:
    page = page_of(full_report())
    lines = list(columns(page, (("a", "turns"), ("b", "no such metric")), value))
    assert lines[1] == "| arm | a |"
    assert len(lines) == 7
    assert says(page, page.arms[0].arm, "turns")
    assert above_zero(page, "turns")


def test_without_statistics_there_is_no_table() -> None:
    page = page_of(make_report(arms=(make_summary(),)))
    assert list(columns(page, (("a", "turns"),))) == []
    assert not above_zero(page, "turns")


def test_arms_that_have_no_room_are_counted() -> None:
    assert list(columns(page_of(full_report(), 2), (("a", "turns"),)))[-1] == "\nand 1 more arms, in report.json\n"
