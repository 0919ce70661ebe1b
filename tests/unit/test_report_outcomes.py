from collections.abc import Callable, Iterator
from typing import Any

import pytest

from scylla_gha.model.analysis import Outlier
from scylla_gha.model.report import Excluded, Failure, Report, ScenarioRow
from scylla_gha.report.sections.metric_sections import money, reliability, times, tools, work
from scylla_gha.report.sections.outcomes import excluded, failures, judges, odd
from scylla_gha.report.view import ReportView, report_view
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


def test_why_trials_did_not_pass_is_told_with_links() -> None:
    kinds = tuple(Failure(arm="a", kind=f"kind {n:02d}", count=40 - n, cells=("c1", "c2")) for n in range(32))
    report = make_report(arms=(make_summary(arm="a"), make_summary(arm="b")), failures=kinds)
    lines = list(failures(report_view(report)))
    assert "| a | kind 00 | 40 | [c1](c1/) [c2](c2/) |" in lines
    assert "\nand 2 more kinds, in report.json\n" in lines


def test_where_all_passed_there_is_no_section() -> None:
    rows = (ScenarioRow(scenario="s", passed={"a": (2, 2)}),)
    assert list(failures(report_view(make_report(arms=(make_summary(arm="a"),), scenarios=rows)))) == []


def test_outcomes_are_counted_even_where_nothing_was_judged() -> None:
    arms = (make_summary(arm="a", outcomes={"timeout": 2}),)
    assert "| timeout | 2 | 2 |" in list(failures(report_view(make_report(arms=arms))))


def test_a_long_list_of_excluded_cells_says_how_many_are_left_out() -> None:
    def lines(count: int) -> list[str]:
        cells = tuple(Excluded(cell=f"c{number:02d}", outcome="missing", reason="r") for number in range(count))
        return list(excluded(report_view(make_report(excluded=cells))))

    assert not [line for line in lines(50) if "more" in line]
    more = lines(52)
    assert more[0] == "\n## Not in the rates: 52\n"
    assert "52 missing." in more
    assert "\nand 2 more, in report.json\n" in more
    assert ("| c49 | missing | r |" in more, "| c50 | missing | r |" in more) == (True, False)


def test_only_cells_with_a_trial_are_links() -> None:
    outcomes = ("missing", "not_started", "unjudged", "cancelled")
    cells = tuple(Excluded(cell="c", outcome=outcome, reason="r") for outcome in outcomes)
    links = ["[c](c/)" in line for line in excluded(report_view(make_report(excluded=cells))) if line.startswith("| ")]
    assert links == [False, False, False, True, True]


def test_odd_trials_are_links_and_few() -> None:
    report = full_report()
    assert report.analysis is not None
    many = tuple(Outlier(cell=f"c{n:02d}", what="what") for n in range(22))
    page = report_view(report.model_copy(update={"analysis": report.analysis.model_copy(update={"odd": many})}))
    lines = list(odd(page))
    assert "| [c19](c19/) | what |" in lines
    assert "\nand 2 more trials, in report.json\n" in lines
    assert list(odd(report_view(make_report()))) == []


def said(**given: Any) -> str:
    report = full_report()
    assert report.analysis is not None
    assert report.analysis.agreement is not None
    agreement = report.analysis.agreement.model_copy(update=given)
    changed: Report = report.model_copy(
        update={"analysis": report.analysis.model_copy(update={"agreement": agreement})}
    )
    return "\n".join(judges(report_view(changed)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"alpha": 0.8}, "**They agree** (Krippendorff's alpha 0.80)"),
        ({"alpha": 0.7, "alpha_low": 0.6, "alpha_high": 0.75}, "**They mostly agree** (Krippendorff's alpha 0.70 [0."),
        ({"alpha": 0.1}, "**They do not agree well** (Krippendorff's alpha 0.10)"),
        ({"alpha": None}, "Agreement is unknown"),
        ({"decisive": 0.0}, "In none of them"),
        ({"decisive": 0.25}, "In 25 % of them"),
        ({"kappa": None}, "| kappa | - |"),
        ({"by_scenario": {"a": None, "b": 0.5}}, "1 scenario without an alpha"),
    ],
)  # fmt: skip
def test_what_agreement_means_is_said_in_words(given: dict[str, Any], expected: str) -> None:
    assert expected in said(**given)


def test_who_is_more_generous_is_named() -> None:
    assert "(the second is more generous)" in said()


def test_without_a_panel_there_is_nothing() -> None:
    assert list(judges(report_view(make_report()))) == []


def money_text(**given: Any) -> str:
    report = full_report()
    assert report.analysis is not None
    assert report.analysis.frontier is not None
    frontier = report.analysis.frontier.model_copy(update=given) if given else None
    changed = report.analysis.model_copy(update={"frontier": frontier})
    return "\n".join(money(report_view(report.model_copy(update={"analysis": changed}))))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"human": 0}, "no person's price is known"),
        ({"human": 2, "unsolved": 1}, "a person's price is known of 2; of 1, no arm passed any"),
        ({"human": 0}, "that all arms tried"),
        ({"pareto": tuple(f"a{n}" for n in range(10))}, "a7 and 2 more"),
        ({"shares": {"a": 0.75, "b": 0.25, "c": 0.0}}, "| a | 75 % |"),
    ],
)
def test_the_frontier_is_told_with_what_it_rests_on(given: dict[str, Any], expected: str) -> None:
    assert expected in money_text(**given)


def test_without_a_frontier_there_are_still_the_tables() -> None:
    text = money_text()
    assert "cheapest" not in text
    assert "| arm | USD | tokens | time | USD per point of score |" in text
    assert "| arm | system prompt | tool schemas | tool input | tool output | conversation |" in text


def test_what_cost_nothing_has_no_section() -> None:
    assert list(money(report_view(make_report(arms=(make_summary(usd=0.0),))))) == []


def test_what_other_models_than_the_arms_cost_is_told_where_there_are_any() -> None:
    report = full_report()
    first, *others = report.arms
    assert "other models" not in "\n".join(money(report_view(report)))
    first = first.model_copy(update={"usd": 2.0, "side_requests": 1200, "side_usd": 0.5})
    text = "\n".join(money(report_view(report.model_copy(update={"arms": (first, *others)}))))
    assert "1,200 requests, $0.5000 of its $2.00, went to other models than its own." in text


Part = Callable[[ReportView], Iterator[str]]


@pytest.mark.parametrize(
    ("part", "title", "row"),
    [
        (work, "Checkpoints", "| arm | requirements met | steps made | changes that broke something |"),
        (reliability, "Reliability", "| arm | two repetitions agree | scenarios passed at least once |"),
        (tools, "Tools", "| t1-01-skill | Bash 4.29, Read 2.00, Edit 1.00 |"),
        (times, "Time", "| arm | mean | median | 90th percentile | wait for a first byte |"),
    ],
)
def test_each_part_has_its_table_and_is_left_out_where_nothing_is_known(part: Part, title: str, row: str) -> None:
    lines = list(part(report_view(full_report())))
    assert lines[0] == f"\n## {title}\n"
    assert any(line.startswith(row) for line in lines)
    assert list(part(report_view(make_report(arms=(make_summary(),))))) == []


def test_where_k_differs_it_is_said_for_whom() -> None:
    lines = list(reliability(report_view(full_report())))
    assert "k = 2 for t0-00-empty, t0-01-vanilla; k = 3 for t1-01-skill" in lines[1]
