import re

from scylla_gha.model.analysis import Shrunk
from scylla_gha.render.page import page_of
from scylla_gha.render.report_statistics import statistics
from tests.support.records import make_report
from tests.support.reports import full_report


def test_every_comparison_has_its_p_its_family_and_the_least_p() -> None:
    text = "\n".join(statistics(page_of(full_report())))
    p = r"\| 0\.0078 \| 0\.0078 \| 0\.0078 \|"
    assert re.search(rf"\| T1 against T0 \| pass rate \|.*{p} each tier .* \(1, Holm\) \|", text)
    assert text.count("<details>") == text.count("</details>") == 4
    assert "scenarios like these" in text
    assert "these scenarios" in text


def test_shrunk_rates_are_told_where_there_are_any() -> None:
    report = full_report()
    assert report.analysis is not None
    one = Shrunk(arm=report.arms[0].arm, rate=0.25, low=0.1, high=0.5)
    changed = report.model_copy(update={"analysis": report.analysis.model_copy(update={"shrunk": (one,)})})
    assert "| t0-00-empty | 25 % | \\[10, 50\\] |" in list(statistics(page_of(changed)))


def test_without_statistics_there_is_no_section() -> None:
    assert list(statistics(page_of(make_report()))) == []
