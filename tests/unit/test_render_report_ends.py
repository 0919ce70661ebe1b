from scylla_gha.model.analysis import Odd
from scylla_gha.model.report import Excluded, Failure, ScenarioRow
from scylla_gha.render.page import page_of
from scylla_gha.render.report_ends import excluded, failures, odd
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


def test_why_trials_did_not_pass_is_told_with_links() -> None:
    kinds = tuple(Failure(arm="a", kind=f"kind {n:02d}", count=40 - n, cells=("c1", "c2")) for n in range(32))
    report = make_report(arms=(make_summary(arm="a"), make_summary(arm="b")), failures=kinds)
    lines = list(failures(page_of(report)))
    assert "| a | kind 00 | 40 | [c1](c1/) [c2](c2/) |" in lines
    assert "\nand 2 more kinds, in report.json\n" in lines


def test_where_all_passed_there_is_no_section() -> None:
    rows = (ScenarioRow(scenario="s", passed={"a": (2, 2)}),)
    assert list(failures(page_of(make_report(arms=(make_summary(arm="a"),), scenarios=rows)))) == []


def test_outcomes_are_counted_even_where_nothing_was_judged() -> None:
    arms = (make_summary(arm="a", outcomes={"timeout": 2}),)
    assert "| timeout | 2 | 2 |" in list(failures(page_of(make_report(arms=arms))))


def test_a_long_list_of_excluded_cells_says_how_many_are_left_out() -> None:
    def lines(count: int) -> list[str]:
        cells = tuple(Excluded(cell=f"c{number:02d}", outcome="missing", reason="r") for number in range(count))
        return list(excluded(page_of(make_report(excluded=cells))))

    assert not [line for line in lines(50) if "more" in line]
    more = lines(52)
    assert more[0] == "\n## Not in the rates: 52\n"
    assert "52 missing." in more
    assert "\nand 2 more, in report.json\n" in more
    assert ("| c49 | missing | r |" in more, "| c50 | missing | r |" in more) == (True, False)


def test_only_cells_with_a_trial_are_links() -> None:
    outcomes = ("missing", "not_started", "unjudged", "cancelled")
    cells = tuple(Excluded(cell="c", outcome=outcome, reason="r") for outcome in outcomes)
    links = ["[c](c/)" in line for line in excluded(page_of(make_report(excluded=cells))) if line.startswith("| ")]
    assert links == [False, False, False, True, True]


def test_odd_trials_are_links_and_few() -> None:
    report = full_report()
    assert report.analysis is not None
    many = tuple(Odd(cell=f"c{n:02d}", what="what") for n in range(22))
    page = page_of(report.model_copy(update={"analysis": report.analysis.model_copy(update={"odd": many})}))
    lines = list(odd(page))
    assert "| [c19](c19/) | what |" in lines
    assert "\nand 2 more trials, in report.json\n" in lines
    assert list(odd(page_of(make_report()))) == []
