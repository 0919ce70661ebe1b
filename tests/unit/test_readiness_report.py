"""What people read of a readiness measurement: terminal, Markdown, comment, page and badge."""

import datetime
import json
import re

from scylla_gha.model.readiness import MissingDimension
from scylla_gha.model.readiness_report import ReadinessReport, SuiteFacts
from scylla_gha.model.readiness_score import ReadinessScore
from scylla_gha.readiness.compare_scores import compare_scores
from scylla_gha.readiness.score import score
from scylla_gha.report.readiness_badge import badge_svg, readiness_badge
from scylla_gha.report.readiness_markdown import MARKER, readiness_comment, readiness_markdown
from scylla_gha.report.readiness_page import readiness_page
from scylla_gha.report.readiness_text import readiness_lines
from tests.support.readiness_items import TREE, item_set, trial

AT = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
HOSTILE = "src/<img src=x>|`a`.py: [x](javascript:1)"
MISSING = MissingDimension(dimension="semantic-completeness", reason=f"5 functions qualify\n{HOSTILE}")
FACTS = SuiteFacts(
    side="", commit="c" * 40, tree=TREE, language="python", yields={"functions": 1234}, missing=(MISSING,)
)


def measured(*solved: int) -> ReadinessScore:
    """The score of a run in which these of 24 items earn all points, and the others none."""
    items = item_set(24, "intent-clarity", MISSING)
    trials = [trial(item, float(number in solved), tokens=900) for number, item in enumerate(items.items)]
    return score(items, trials, ()).model_copy(update={"subject": "claude-haiku-5-5 in claude-code 2.1.197"})


def report(**more: object) -> ReadinessReport:
    content = {"repository": "demo", "at": AT, "toolkit_version": "1", "agent": "claude-code",
               "model": "claude-haiku-5-5", "facts": (FACTS,), "score": measured(*range(16)), "usd": 0.25}  # fmt: skip
    return ReadinessReport.model_validate({**content, **more})


def changed() -> ReadinessReport:
    """A change by which 16 of 24 anchors are lost."""
    before, after = measured(*range(20)), measured(*range(16, 20))
    return report(score=before, head=after, comparison=compare_scores(before, after))


def test_the_summary_has_a_line_for_each_dimension_and_the_limits() -> None:
    lines = readiness_lines(report())
    head = r"readiness 67 \[\d+, \d+\]  1 of 4 dimensions, 24 of 24 anchors, "
    assert re.fullmatch(head + r"claude-haiku-5-5 in claude-code 2\.1\.197", lines[0])
    assert re.fullmatch(r" Intent Clarity           67 \[\d+, \d+\] +24  900 tokens a hit", lines[1])
    assert lines[4].startswith(" Semantic Completeness    n/a ")
    assert "cost: $0.2500" in lines
    assert sum(line.startswith("  - ") for line in lines) == len(report().limits)


def test_without_an_agent_the_summary_says_why_and_what_could_be_asked() -> None:
    lines = readiness_lines(report(score=None, usd=None, unavailable="claude is not on PATH"))
    assert lines[0] == "readiness unavailable: claude is not on PATH"
    assert " yields: 1,234 functions" in lines
    assert "cost: $0.00; nothing was asked" in lines


def test_the_comment_begins_with_the_verdict_and_the_flipped_anchors() -> None:
    text = readiness_comment(changed(), "https://github.com/o/r/actions/runs/1")
    assert text.startswith(f"{MARKER}\n> [!CAUTION]\n> **readiness 83")
    assert re.search(r"^> ✗ worse: ", text, re.MULTILINE)
    assert text.index("Flipped anchors") < text.index("| dimension |") < text.index("<details>")
    assert re.search(r"^- lost: src/m0\.py", text, re.MULTILINE)
    assert "and 6 more, in readiness.json" in text


def test_text_of_the_code_base_stays_text() -> None:
    assert "<img" not in readiness_page(report())
    for text in (readiness_markdown(report()), readiness_comment(report(), "")):
        assert not re.search(r"(?<!\\)(<img|\]\(javascript)", text)
    assert "5 functions qualify" in readiness_markdown(report())


def test_the_page_has_bars_and_loads_nothing() -> None:
    page = readiness_page(changed())
    assert "lost: src/m0.py" in page
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)


def test_a_badge_is_grey_if_it_is_wide_old_or_without_a_score() -> None:
    fresh = readiness_badge(report(score=measured(*range(24))), AT.date())
    assert (fresh.is_grey, fresh.score) == (False, 100)
    assert "100 ± " in badge_svg(fresh)
    assert readiness_badge(report(score=measured(*range(24))), AT.date() + datetime.timedelta(days=90)).is_grey
    assert readiness_badge(report(), AT.date()).is_grey, "an interval of more than 15 points to either side"
    unknown = readiness_badge(report(score=None, unavailable="no key"), AT.date())
    assert unknown.is_grey
    assert "n/a, claude-haiku-5-5, 2026-11-01" in badge_svg(unknown)
    assert json.loads(unknown.model_dump_json())["stale_on"] == "2027-01-30"
