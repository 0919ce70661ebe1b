from typing import Any

import pytest

from scylla_gha.render.page import page_of
from scylla_gha.render.report_money import money
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


def said(**given: Any) -> str:
    report = full_report()
    assert report.analysis is not None
    assert report.analysis.frontier is not None
    frontier = report.analysis.frontier.model_copy(update=given) if given else None
    changed = report.analysis.model_copy(update={"frontier": frontier})
    return "\n".join(money(page_of(report.model_copy(update={"analysis": changed}))))


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
    assert expected in said(**given)


def test_without_a_frontier_there_are_still_the_tables() -> None:
    text = said()
    assert "cheapest" not in text
    assert "| arm | USD | tokens | time | USD per point of score |" in text
    assert "| arm | system prompt | tool schemas | tool input | tool output | conversation |" in text


def test_what_cost_nothing_has_no_section() -> None:
    assert list(money(page_of(make_report(arms=(make_summary(usd=0.0),))))) == []


def test_what_other_models_than_the_arms_cost_is_told_where_there_are_any() -> None:
    report = full_report()
    first, *others = report.arms
    assert "other models" not in "\n".join(money(page_of(report)))
    first = first.model_copy(update={"usd": 2.0, "side_requests": 1200, "side_usd": 0.5})
    text = "\n".join(money(page_of(report.model_copy(update={"arms": (first, *others)}))))
    assert "1,200 requests, $0.5000 of its $2.00, went to other models than its own." in text
