from typing import Any

import pytest

from scylla_gha.model.report import Report
from scylla_gha.render.page import page_of
from scylla_gha.render.report_judges import judges
from tests.support.records import make_report
from tests.support.reports import full_report


def said(**given: Any) -> str:
    report = full_report()
    assert report.analysis is not None
    assert report.analysis.agreement is not None
    agreement = report.analysis.agreement.model_copy(update=given)
    changed: Report = report.model_copy(
        update={"analysis": report.analysis.model_copy(update={"agreement": agreement})}
    )
    return "\n".join(judges(page_of(changed)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"alpha": 0.8}, "**They agree** (Krippendorff's alpha 0.80)"),
        ({"alpha": 0.7, "alpha_low": 0.6, "alpha_high": 0.75}, "**They mostly agree** (Krippendorff's alpha 0.70 [0."),
        ({"alpha": 0.1}, "**They do not agree well** (Krippendorff's alpha 0.10)"),
        ({"alpha": None}, "Whether they agree cannot be told"),
        ({"decisive": 0.0}, "In none of them"),
        ({"decisive": 0.25}, "In 25 % of them"),
        ({"kappa": None}, "| kappa | - |"),
        ({"by_scenario": {"a": None, "b": 0.5}}, "1 scenarios have no alpha"),
    ],
)  # fmt: skip
def test_what_agreement_means_is_said_in_words(given: dict[str, Any], expected: str) -> None:
    assert expected in said(**given)


def test_who_is_more_generous_is_named() -> None:
    assert "(the second is more generous)" in said()


def test_without_a_panel_there_is_nothing() -> None:
    assert list(judges(page_of(make_report()))) == []
