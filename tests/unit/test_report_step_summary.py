"""The step summary: what a run's page on GitHub shows of a report."""

import re

import pytest

from scylla_gha.model.report import Comparison, Report
from scylla_gha.report import SummaryLinks, markdown, step_summary
from tests.support.comments import ORIGIN
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report, hostile_rows_report

LINKS = SummaryLinks(ORIGIN, "scylla-report-demo-1", "scylla-results")


def many_arms() -> Report:
    arms = tuple(make_summary(arm=f"a{number:02d}", pass_rate=number / 60) for number in range(60))
    compared = tuple(Comparison(arm=arm.arm, baseline="a00", verdict="worse", why="why") for arm in arms[1:])
    return make_report(arms=arms, comparisons=compared, warnings=("w",) * 60, replayed=True)


REPORTS = {"full": full_report(), "hostile": hostile_rows_report(), "many": many_arms(), "empty": make_report()}


@pytest.mark.parametrize("name", REPORTS)
def test_at_most_60_lines_are_not_folded(name: str) -> None:
    text = step_summary(REPORTS[name], LINKS)
    unfolded = re.sub(r"<details>.*?</details>\n*", "", text, flags=re.DOTALL)
    assert len(unfolded.splitlines()) <= 60
    assert text.count("<details>") == text.count("</details>") > 0
    assert not re.search(r"^## ", unfolded, re.MULTILINE)


@pytest.mark.parametrize("name", REPORTS)
def test_all_links_are_addresses_that_resolve_on_the_page_of_the_run(name: str) -> None:
    targets = re.findall(r"(?<!\\)\]\(([^)]*)\)", step_summary(REPORTS[name], LINKS))
    assert set(targets) <= {ORIGIN.url, ORIGIN.artifacts, ORIGIN.results("scylla-results")}
    assert len(targets) >= 3


def test_the_summary_has_the_tables_of_the_page_and_names_the_artifact() -> None:
    page, text = markdown(full_report()), step_summary(full_report(), LINKS)
    without_links = re.compile(r"\]\([^)]*\)")
    rows = [without_links.sub("]", line) for line in page.splitlines() if line.startswith("|")]
    assert len(rows) > 200
    shown = without_links.sub("]", text).splitlines()
    assert [row for row in rows if row not in shown] == []
    assert "`scylla-report-demo-1` in the [artifacts](" in text


def test_without_a_results_branch_none_is_linked() -> None:
    assert "results branch" not in step_summary(full_report(), SummaryLinks(ORIGIN, "a")).partition("<details>")[0]


def test_names_of_others_are_in_no_heading_of_a_fold() -> None:
    headings = re.findall(r"<summary>(.*?)</summary>", step_summary(hostile_rows_report(), LINKS))
    assert len(headings) > 5
    assert not [heading for heading in headings if "octocat" in heading or "<" in heading]
