import re
from itertools import pairwise
from typing import Any

import pytest
from markdown_it import MarkdownIt  # what Rich reads Markdown with; here the judge of what is escaped

from scylla_gha.model import one_line
from scylla_gha.model.analysis import Contrast, Measure
from scylla_gha.model.report import Counts
from scylla_gha.report import document, metrics
from scylla_gha.report.document import Markdown, Table, code, escape, link, more
from tests.support.records import COUNTS, make_report, make_summary


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "-"), (0.0, "0 %"), (1.0, "100 %"), (2 / 3, "67 %"), (0.125, "12 %")]
)
def test_percent(value: float | None, expected: str) -> None:
    assert document.percent(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "-"), (0.0, "0.00 s"), (12.345, "12.35 s"), (99.9, "99.90 s"), (100.0, "1.7 min")]
)
def test_seconds(value: float | None, expected: str) -> None:
    assert document.seconds(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(None, "?"), (0, "0"), (1234567, "1,234,567")])
def test_tokens(value: int | None, expected: str) -> None:
    assert document.tokens(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(None, "-"), (0.0, "0.00"), (0.666, "0.67"), (1.0, "1.00")])
def test_number(value: float | None, expected: str) -> None:
    assert document.number(value) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"cost_of_pass": 0.25, "usd": 0.5}, "$0.25"),
        ({"cost_of_pass": 0.0, "usd": 0.0}, "$0.00"),
        ({"cost_of_pass": None, "usd": 0.5}, "∞"),
        ({"cost_of_pass": None, "usd": 0.0}, "-"),
        ({"cost_of_pass": None, "usd": None}, "?"),
        ({"cost_of_pass": None, "usd": 0.5, "counts": Counts(planned=1, ran=1, judged=0, scored=0)}, "-"),
        ({"cost_of_pass": None, "usd": None, "counts": Counts(planned=1, ran=0, judged=0, scored=0)}, "-"),
    ],
    ids=["known", "free", "money and no pass", "neither", "unknown", "nothing judged", "nothing ran"],
)
def test_cost_of_a_pass_tells_infinite_undefined_and_unknown_apart(given: dict[str, Any], expected: str) -> None:
    assert document.cost_of_pass(make_summary(**given)) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.342, 1.0, "[34, 100]"), (0.0, 0.0, "[0, 0]"), (None, None, "-")]
)
def test_interval(low: float | None, high: float | None, expected: str) -> None:
    assert document.interval(make_summary(pass_low=low, pass_high=high)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (COUNTS, "2"),
        (Counts(planned=0, ran=0, judged=0, scored=0), "0"),
        (Counts(planned=4, ran=3, judged=2, scored=1), "4/3/2/1"),
        (Counts(planned=2, ran=2, judged=2, scored=1), "2/2/2/1"),
    ],
)
def test_denominators_are_one_number_only_where_all_are_equal(given: Counts, expected: str) -> None:
    assert document.counts(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"delivery": None}, "4 planned, 3 ran, 2 judged, 1 scored; judges $0.00"),
        ({"delivery": (2, 3)}, "4 planned, 3 ran, 2 judged, 1 scored; delivery proved in 2 of 3; judges $0.00"),
        ({"delivery": (0, 3)}, "4 planned, 3 ran, 2 judged, 1 scored; delivery proved in 0 of 3; judges $0.00"),
        ({"judge_usd": None}, "4 planned, 3 ran, 2 judged, 1 scored; judges ?"),
    ],
)
def test_totals_say_what_is_proved_where_there_was_something_to_prove(given: dict[str, Any], expected: str) -> None:
    counts = Counts(planned=4, ran=3, judged=2, scored=1)
    assert document.totals(make_report(counts=counts, **given)) == expected


@pytest.mark.parametrize(("given", "expected"), [({"S": 1, "A": 12, "F": 3}, "1S 12A 3F"), ({}, "-")])
def test_grades(given: dict[str, int], expected: str) -> None:
    assert document.grades(make_summary(grades=given)) == expected


@pytest.mark.parametrize(
    ("arms", "names", "shared"),
    [
        (["t0-00.cli.m", "t0-01.cli.m"], ["t0-00", "t0-01"], "cli.m"),
        (["t0-00.cli.m", "t0-00.cli.n"], ["m", "n"], "t0-00.cli"),
        (["t0-00.cli.m", "t0-01.cli.n"], ["t0-00.m", "t0-01.n"], "cli"),
        (["oracle", "nop"], ["oracle", "nop"], ""),
        (["oracle", "t0-00.cli.m"], ["oracle", "t0-00.cli.m"], ""),
        (["t0-00.cli.m"], ["t0-00.cli.m"], ""),
        ([], [], ""),
    ],
)
def test_names_are_shortened_by_what_all_arms_share(arms: list[str], names: list[str], shared: str) -> None:
    assert document.short_names(arms) == (dict(zip(arms, names, strict=True)), shared)


def measure(metric: str = "pass_rate", value: float | None = 0.5, **given: Any) -> Measure:
    return Measure(metric=metric, value=value, **{"n": 4, "scenarios": 2, **given})


def contrast(**given: Any) -> Contrast:
    return Contrast(**{"arm": "a", "baseline": "b", "metric": "pass_rate", "scale": "difference", "value": 0.25,
                       "scenarios": 8, **given})  # fmt: skip


@pytest.mark.parametrize(
    ("given", "value", "limits"),
    [
        (None, "-", "-"),
        (measure(low=0.1, high=0.9), "50 %", "[10, 90]"),
        (measure(value=None, state="undefined"), "-", "-"),
        (measure(value=None, state="unknown"), "?", "-"),
        (measure("cost_of_pass", None, state="infinite", low=1.25), "∞", "≥ $1.25"),
        (measure("cost_of_pass", 0.0, high=0.5), "$0.00", "≤ $0.50"),
        (measure("seconds", 90.0, low=30.0, high=150.0), "90.00 s", "[30.00 s, 2.5 min]"),
        (measure("tokens", 1234.5, low=999.6, high=2000.0), "1,234", "[1,000, 2,000]"),
        (measure("icc", -0.1), "-0.10", "-"),
        (measure("output_tokens_share", 0.031), "3 %", "-"),
        (measure("a_new_one", 2.0), "2.00", "-"),
    ],
)
def test_unknown_undefined_and_infinite_are_apart_and_no_zero(given: Measure | None, value: str, limits: str) -> None:
    assert (metrics.value(given), metrics.limits(given)) == (value, limits)
    assert metrics.estimate(given) == (value if limits == "-" else f"{value} {limits}")


@pytest.mark.parametrize(
    ("given", "change", "limits"),
    [
        ({"low": -0.051, "high": 0.5}, "+25.0 points", "[-5.1, +50.0]"),
        ({"value": None}, "-", "-"),
        ({"metric": "score", "low": 0.1, "high": 0.4}, "+0.25", "[+0.10, +0.40]"),
        ({"metric": "usd", "scale": "ratio", "value": 1.5, "low": 1.002, "high": 2.2}, "x1.50", "[1.002, 2.20]"),
        ({"metric": "tokens", "value": -1200.0}, "-1,200", "-"),
    ],
)
def test_changes_have_a_sign_or_are_ratios(given: dict[str, Any], change: str, limits: str) -> None:
    assert (metrics.change(contrast(**given)), metrics.change_limits(contrast(**given))) == (change, limits)


def test_the_limits_of_equivalence_are_the_other_ones() -> None:
    assert metrics.change_limits(contrast(equal_low=0.0, equal_high=0.5), inner=True) == "[+0.0, +50.0]"


@pytest.mark.parametrize(
    ("x", "shown"), [(1.0, "1.00"), (1.004, "1.004"), (0.99996, "0.99996"), (1.0000001, "1.00000"), (2.0, "2.00")]
)
def test_a_ratio_shows_on_which_side_of_one_it_lies(x: float, shown: str) -> None:
    assert metrics.ratio(x) == shown


def test_metrics_have_names_for_people() -> None:
    assert metrics.title("cost_of_pass") == "USD per pass"
    assert metrics.title("a_new_one") == "a new one"


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
    assert "".join(content for kind, content in found if kind == "text") == one_line(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_mentions_nobody_and_refers_to_nothing(text: str) -> None:
    pieces = escape(text).split("<!-- -->")  # GitHub looks for these inside a piece of text, after Markdown
    for piece in pieces:
        assert not re.search(r"@\w|#\d|://|www\.|(?i:gh-\d)", piece)


@pytest.mark.parametrize("text", HOSTILE)
def test_code_and_links_of_strange_names_are_escaped_text(text: str) -> None:
    for line in (code(f"`{text}"), link(text, "x")):
        assert {content for kind, content in parsed(line) if kind != "text"} <= {"<!-- -->"}


def test_names_of_the_usual_letters_are_code_and_links() -> None:
    assert code("scylla-gha show 001-one--t0.cli.m") == "`scylla-gha show 001-one--t0.cli.m`"
    cell = "001-one--t0_a.cli.m--r01"
    assert link(cell, f"{cell}/") == "[001-one--t0\\_a.cli.m--r01](001-one--t0_a.cli.m--r01/)"
    assert [link(name, "x") for name in ("..", "a/b", "", "a b")] == ["..", "a/b", "", "a b"]


def test_a_table_has_its_heading_and_escapes_all_that_is_not_markdown_already() -> None:
    table = Table(("a|b", "c"), [("1", "x|y"), (Markdown("[l](x)"), "")], 1234, "arm")
    assert table.__html__() == (
        "\n| a\\|b | c |\n|---|---|\n| 1 | x\\|y |\n| [l](x) |  |\n\nand 1,234 more arms, in report.json\n\n"
    )
    assert Table(("a",), []).__html__() == ""


def test_what_is_left_out_is_counted_where_there_is_any() -> None:
    assert [more(0), more(-1, "arm"), more(1)] == ["", "", "\nand 1 more, in report.json\n\n"]
