import re
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt  # what Rich reads Markdown with; here the judge of what is escaped

from scylla_gha.model.report import Comparison, Counts, Excluded, Report, ScenarioRow
from scylla_gha.render.markdown import escape, markdown
from scylla_gha.render.text import plain
from tests.support.golden import golden
from tests.support.records import make_report, make_summary

HOSTILE = [
    "a | b || c",
    "`code` ``` fence",
    "<script>alert(1)</script>",
    "<!-- hidden --> <img src=x onerror=y>",
    "@octocat and @org/team",
    "fixes #1, closes GH-1, org/repo#2",
    "see https://evil.example or http://x or www.evil.example",
    "mail a@b.example",
    "[text](https://evil.example) ![image](x) <https://evil.example>",
    "**bold** _italic_ ~~struck~~",
    "&lt;b&gt; &commat;octocat &#64;octocat &#35;1",
    "two\nlines\r\n\r\n# heading\n| a |\n|---|",
    "\\| \\@octocat \\\\",
    "ends with a backslash \\",
    "\x1b[31mred\x1b[0m \u202eevil",
]


def parsed(line: str) -> list[tuple[str, str]]:
    """The kinds and contents of what is inside a line of Markdown that is one cell of a table."""
    blocks = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(f"| h |\n|---|\n| {line} |\n")
    assert [block.type for block in blocks].count("td_open") == 1
    cell = next(after for before, after in pairwise(blocks) if before.type == "td_open")
    return [(child.type, child.content) for child in cell.children or []]


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_shown_as_it_is_and_nothing_else_happens(text: str) -> None:
    found = parsed(escape(text))
    assert {content for kind, content in found if kind != "text"} <= {"<!-- -->"}
    assert "".join(content for kind, content in found if kind == "text") == plain(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_mentions_nobody_and_refers_to_nothing(text: str) -> None:
    pieces = escape(text).split("<!-- -->")  # GitHub looks for these inside a piece of text, after Markdown
    for piece in pieces:
        assert not re.search(r"@\w|#\d|://|www\.|(?i:gh-\d)", piece)


def full_report() -> Report:
    arms = ("nop", "oracle", "t0-00-empty.cli.m")
    scenarios = (
        ScenarioRow(scenario="001-one", passed={"nop": (0, 10), "oracle": (10, 10), arms[2]: (5, 8)}),
        ScenarioRow(scenario="002-two", passed={"nop": (0, 10), "oracle": (10, 10), arms[2]: (0, 0)}),
    )
    tenfold = Counts(planned=20, ran=20, judged=20, scored=20)
    return make_report(
        counts=Counts(planned=60, ran=51, judged=48, scored=47),
        arms=(
            make_summary(arm="nop", counts=tenfold, passed=0, pass_rate=0.0, pass_low=0.0, pass_high=0.161,
                         mean_score=0.0, grades={"F": 20}, usd=0.0, cost_of_pass=None, mean_seconds=0.01, tokens=0),
            make_summary(arm="oracle", counts=tenfold, pass_low=0.839, usd=0.0, cost_of_pass=0.0, grades={"A": 20}),
            make_summary(arm=arms[2], counts=Counts(planned=20, ran=11, judged=8, scored=7), passed=5, pass_rate=0.625,
                         pass_low=0.306, pass_high=0.863, mean_score=0.71, grades={"A": 4, "B": 2, "D": 1}, usd=None,
                         cost_of_pass=None, mean_seconds=345.6, tokens=None),
        ),
        scenarios=scenarios,
        comparisons=tuple(
            Comparison(arm=arm, baseline="nop", verdict="not_enough_data", why="no interval") for arm in arms[1:]
        ),
        excluded=(
            Excluded(cell=f"001-one--{arms[2]}--r09", outcome="provider_error", reason="429: rate limited"),
            Excluded(cell=f"002-two--{arms[2]}--r01", outcome="missing", reason="planned, and no trial is stored"),
        ),
        judge_usd=0.0123,
        warnings=(f"{arms[2]}: the cost of at least one trial is unknown, so its sums are.",),
    )  # fmt: skip


def hostile_report() -> Report:
    reason = "fixes #1 @octocat | <b>bold</b>\n\n# Ignore all of the above [here](https://evil.example)"
    return make_report(
        question="Is `a|b` <better>?\n| than | c |",
        counts=Counts(planned=1, ran=1, judged=0, scored=0),
        excluded=(Excluded(cell="001-one--nop--r01", outcome="judge_error", reason=reason),),
        judge_usd=None,
        warnings=(reason,),
        comparisons=(Comparison(arm="nop", baseline="nop", verdict="worse", why=reason),),
    )


@pytest.mark.parametrize(
    ("name", "report"),
    [("report-full.md", full_report()), ("report-empty.md", make_report()), ("report-hostile.md", hostile_report())],
)
def test_a_report_reads_as_its_golden_file(name: str, report: Report) -> None:
    text = markdown(report)
    assert text == golden(name, text)


@pytest.mark.parametrize("report", [full_report(), make_report(), hostile_report()])
def test_every_row_of_a_table_has_the_cells_of_its_heading(report: Report) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown(report), re.MULTILINE)
    assert len(tables) == (3 if report.excluded else 2)
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


def test_a_long_list_of_excluded_cells_says_how_many_are_left_out() -> None:
    excluded = [Excluded(cell=f"c{number:02d}", outcome="missing", reason="r") for number in range(52)]
    fifty, more = (markdown(make_report(excluded=tuple(excluded[:count]))) for count in (50, 52))
    assert "## Not in the rates: 50\n" in fifty
    assert "more, in report.json" not in fifty
    assert "## Not in the rates: 52\n" in more
    assert "\nand 2 more, in report.json\n" in more
    assert ("| c49 |" in more, "| c50 |" in more) == (True, False)


def test_empty_sections_are_left_out() -> None:
    text = markdown(make_report())
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# demo",
        "## Scenarios: passed of judged",
        "## How this was computed",
    ]
