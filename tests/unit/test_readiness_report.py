"""What people read of a readiness measurement: terminal, Markdown, comment, page and badge."""

import datetime
import json
import re

from scylla_gha.model.readiness import SuiteFacts, TwinEffect
from scylla_gha.readiness.compare_scores import compare_scores
from scylla_gha.report.branch_readme import badge_svg, readiness_badge
from scylla_gha.report.page import PageParts, page
from scylla_gha.report.page.readiness_answer import unavailable_page
from scylla_gha.report.page.trials import TrialRow, TrialTable
from scylla_gha.report.readiness_text import MARKER, readiness_comment, readiness_lines, readiness_markdown
from scylla_gha.report.view import report_view
from tests.support.readiness_reports import AT, FACTS, changed_report, measured, readiness_report
from tests.support.reports import full_report


def test_the_summary_has_a_line_for_each_dimension_and_the_limits() -> None:
    lines = readiness_lines(readiness_report())
    head = r"readiness 67 \[\d+, \d+\]  1 of 4 dimensions, 24 of 24 anchors, "
    assert re.fullmatch(head + r"claude-haiku-5-5 in claude-code 2\.1\.197", lines[0])
    assert re.fullmatch(
        r" Intent Clarity           67 \[\d+, \d+\] +24  900 tokens, 4 calls per solved anchor", lines[1]
    )
    assert lines[4].startswith(" Semantic Completeness    n/a ")
    assert "cost: $0.25" in lines
    assert sum(line.startswith("  - ") for line in lines) == len(readiness_report().limits)


def test_without_an_agent_the_summary_says_why_and_what_could_be_asked() -> None:
    lines = readiness_lines(readiness_report(score=None, usd=None, unavailable="claude is not on PATH"))
    assert lines[0] == "readiness unavailable: claude is not on PATH"
    assert " counts: functions: 1,234" in lines
    assert "cost: $0.00; no agent was asked" in lines
    sides = readiness_lines(readiness_report(score=None, unavailable="no key", facts=(FACTS, *copies("names", "docs"))))
    assert [line for line in sides if line in {"code:", "names:", "docs:"}] == ["code:", "names:", "docs:"]


def copies(*sides: str) -> list[SuiteFacts]:
    return [FACTS.model_copy(update={"side": side}) for side in sides]


def test_each_change_of_the_code_has_its_worth_or_the_reason_why_it_is_not_known() -> None:
    fewer = compare_scores(measured(*range(16)), measured(*range(4)))
    worth = TwinEffect(name="names", what="names without meaning", comparison=fewer)
    unknown = TwinEffect(name="types", what="types removed", missing="n/a: there is nothing to take away")
    text = "\n".join(readiness_lines(readiness_report(twins=(worth, unknown))))
    assert re.search(r"^  names without meaning: -50 points \[-\d+, -\d+\]; . worse: ", text, re.MULTILINE), text
    assert "\n  types removed: n/a: there is nothing to take away\n" in text


def test_the_comment_begins_with_the_verdict_and_the_flipped_anchors() -> None:
    text = readiness_comment(changed_report(), "https://github.com/o/r/actions/runs/1")
    assert text.startswith(f"{MARKER}\n> [!CAUTION]\n> **readiness 83")
    assert re.search(r"^> ✗ worse: ", text, re.MULTILINE)
    assert text.index("Flipped anchors") < text.index("| dimension |") < text.index("<details>")
    assert re.search(r"^- lost: src/m0\.py", text, re.MULTILINE)
    assert "and 6 more, in readiness.json" in text


def test_text_of_the_code_base_stays_text() -> None:
    assert "<img" not in unavailable_page(readiness_report(score=None, unavailable="no key"))
    for text in (readiness_markdown(readiness_report()), readiness_comment(readiness_report(), "")):
        assert not re.search(r"(?<!\\)(<img|\]\(javascript)", text)
    assert "5 functions qualify" in readiness_markdown(readiness_report())


def test_the_page_begins_with_the_answer_and_its_anchors_lead_to_their_trials() -> None:
    scenarios = ("000-f0", "000-f0.head", "022-f22")
    rows = tuple(TrialRow(f"{name}--m--r01", name, "m", 1, "failed", "completed", "") for name in scenarios)
    parts = PageParts((), TrialTable(rows, {"m": "m"}, has_files=True), (), changed_report())
    text = re.sub(' rel="[^"]*"', "", page(report_view(full_report()), parts))
    marks = ("How well can an agent work in demo?", "change against", 'id="dimensions"', "lost: src/m0.py",
             "src/m11.py::f22", 'id="limits"', 'id="sessions"', 'id="trials"')  # fmt: skip
    places = [text.lower().find(mark.lower()) for mark in marks]
    assert -1 not in places
    assert places == sorted(places)
    assert '<a href="#cell=000-f0--m--r01">before</a>, <a href="#cell=000-f0.head--m--r01">after</a>' in text
    assert '<a href="#cell=022-f22--m--r01">src/m11.py::f22</a>' in text
    assert "src/m11.py::f23" in text
    assert '">src/m11.py::f23</a>' not in text
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)


def test_a_badge_is_grey_if_it_is_wide_old_or_without_a_score() -> None:
    fresh = readiness_badge(readiness_report(score=measured(*range(24))), AT.date())
    assert (fresh.is_grey, fresh.score) == (False, 100)
    assert "100 ± " in badge_svg(fresh)
    assert readiness_badge(
        readiness_report(score=measured(*range(24))), AT.date() + datetime.timedelta(days=90)
    ).is_grey
    assert readiness_badge(readiness_report(), AT.date()).is_grey, "an interval of more than 15 points to either side"
    unknown = readiness_badge(readiness_report(score=None, unavailable="no key"), AT.date())
    assert unknown.is_grey
    assert "n/a, claude-haiku-5-5, 2026-11-01" in badge_svg(unknown)
    assert json.loads(unknown.model_dump_json())["stale_on"] == "2027-01-30"
