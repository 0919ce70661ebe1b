import pytest

from scylla_gha.model.analysis import Contrast, Ruling, Verdict
from scylla_gha.model.report import Comparison
from scylla_gha.render.answers import answers, tally
from scylla_gha.render.page import Page, page_of
from tests.support.records import make_report
from tests.support.reports import full_report


def page(*verdicts: Verdict) -> Page:
    comparisons = [Comparison(arm=f"a{n}", baseline="b", verdict=each, why="why") for n, each in enumerate(verdicts)]
    return page_of(make_report(comparisons=tuple(comparisons)))


@pytest.mark.parametrize(
    ("verdict", "mark", "said"),
    [
        ("better", "▲", "a0 is better than b"),
        ("worse", "▼", "a0 is worse than b"),
        ("equivalent", "≈", "a0 and b are equivalent"),
        ("not_enough_data", "?", "not enough data to tell a0 from b"),
    ],
)
def test_verdicts_are_plain_words_with_a_mark(verdict: Verdict, mark: str, said: str) -> None:
    (answer,) = answers(page(verdict), 9)
    assert (answer.mark, answer.said, answer.why) == (mark, said, "why")


def test_what_says_most_comes_first_and_the_others_are_counted() -> None:
    many = page("not_enough_data", "equivalent", "worse", "better", "not_enough_data")
    assert [answer.mark for answer in answers(many, 3)] == ["▲", "▼", "≈"]
    assert tally(many, 3) == "Of 5 arms against b: 1 better, 1 worse, 1 equivalent, 2 without enough data."
    assert tally(many, 5) == ""


def test_rates_stand_before_the_difference_and_scenarios_left_out_after_it() -> None:
    report = full_report()
    assert report.analysis is not None
    first = report.analysis.rulings[0]
    assert isinstance(first, Ruling)
    contrast: Contrast = first.contrast.model_copy(update={"dropped": 2})
    ruled = tuple(one.model_copy(update={"contrast": contrast}) for one in report.analysis.rulings)
    changed = report.model_copy(update={"analysis": report.analysis.model_copy(update={"rulings": ruled})})
    (one, _) = answers(page_of(changed), 9)
    assert one.why.startswith("passes ")
    assert one.why.endswith("; 2 scenarios that only one of the two has are left out")
