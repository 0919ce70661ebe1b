import re
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt  # what Rich reads Markdown with; here the judge of what is escaped

from scylla_gha.render.grid import code, escape, fold, folder, more, table
from scylla_gha.render.text import plain

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


@pytest.mark.parametrize("text", HOSTILE)
def test_code_and_links_of_strange_names_are_escaped_text(text: str) -> None:
    for line in (code(f"`{text}"), folder(text)):
        assert {content for kind, content in parsed(line) if kind != "text"} <= {"<!-- -->"}


def test_names_of_the_usual_letters_are_code_and_links() -> None:
    assert code("scylla-gha show 001-one--t0.cli.m") == "`scylla-gha show 001-one--t0.cli.m`"
    assert folder("001-one--t0_a.cli.m--r01") == "[001-one--t0\\_a.cli.m--r01](001-one--t0_a.cli.m--r01/)"
    assert [folder(name) for name in ("..", "a/b", "", "a b")] == ["..", "a/b", "", "a b"]


def test_a_table_has_its_heading_and_escapes_all() -> None:
    assert list(table(("a|b", "c"), [("1", "x|y")])) == ["", "| a\\|b | c |", "|---|---|", "| 1 | x\\|y |", ""]


def test_a_fold_of_nothing_is_nothing() -> None:
    assert list(fold("title", [])) == []
    assert "<details><summary>a \\<b\\></summary>" in list(fold("a <b>", ["line"]))


def test_what_is_left_out_is_counted_where_there_is_any() -> None:
    assert list(more(0)) == []
    assert list(more(1234, "more arms")) == ["\nand 1,234 more arms, in report.json\n"]
