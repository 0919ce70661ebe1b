from scylla_gha.render.page import page_of
from scylla_gha.render.report_method import method
from tests.support.records import make_report
from tests.support.reports import full_report


def test_the_method_is_the_one_that_was_used() -> None:
    with_statistics, without = ("\n".join(method(page_of(each))) for each in (full_report(), make_report()))
    assert "the **scenario** is the unit" in with_statistics
    assert "Wilson" not in with_statistics
    assert "The interval is Wilson's" in without
    assert "<details>" not in without
