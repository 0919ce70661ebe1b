"""Text that a reader of GitHub's page sees, and text that only the source has."""

import time

import pytest

from scylla_gha.conditions import all_matches, is_match, pattern_fault
from scylla_gha.conditions.visible_text import PageText, page_text
from scylla_gha.model import HIDDEN

CHARACTERS = 65_536  # that GitHub allows in a comment


def page(markdown: str) -> PageText:
    return page_text(markdown, HIDDEN)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("<!-- Done in c55ad55 -->", ""),
        ("<!-- begins\n\nand has no end", ""),
        ("<div><!--\n\nin a block\n\n</div>", ""),
        ("seen <!-- not --> here", "seen here"),
        ("`<!-- code -->`", "<!-- code -->"),
        ("&lt;!-- entities --&gt; &#35;12", "<!-- entities --> #12"),
        ("[words](https://x.example/target 'a title')", "words"),
        ("[label]: https://x.example 'said in a definition'", ""),
        ("![alternative](https://x.example/a.png) after", "after"),
        ("<img alt='said' src=x> <a title=\"a > b\">link</a>", "link"),
        ("~~not a duplicate~~ ~one sign~ <del>a</del><s>b</s><strike>c</strike> left", "left"),
        ("it takes ~5 minutes, not ~6", "it takes ~5 minutes, not ~6"),
        ("`~/a` and `~/b`", "~/a and ~/b"),
        ("s\u200bpl\u00adit\U000e0041 \u202edesrever\u202c", "split"),
        ("a\u00a0b\u3000c", "a b c"),
        ("<p style='display:none'>a</p>\n\n<div hidden>b</div>", "a\nb"),
        ("<script>a</script><style>b</style><textarea>c</textarea>d", "d"),
        ("<details><summary>More</summary>\n\nfolded\n\n</details>", "More\nfolded"),
        ("$\\phantom{said}$ $x + 1$ for $5 or $6", "$x + 1$ for $5 or $6"),
        ("$$\n\\phantom{said}\n$$", ""),
        ("```mermaid\n%% said\n```\n\n```py\nx = 1\n  y\n```", "x = 1\n  y"),
        ("see[^1]\n\n[^1]: below\n[^2]: never", "see[^1]\nbelow"),
        ("see\n\n[^1]: hidden footnote\n", "see"),
        ("# Fixed\n\n* a\n+ b\n\n2. c\n3. d", "Fixed\n- a\n- b\n2. c\n3. d"),
        ("|a|b|\n|-|-|\n|1|2|", "a | b\n1 | 2"),
        ("<table><tr><td>1<td>2</table>", "1 | 2"),
        ("line\nbroken  \ntwice", "line\nbroken\ntwice"),
        ("> **quoted** text", "quoted text"),
    ],
)
def test_only_what_the_page_shows_is_text(markdown: str, text: str) -> None:
    assert page(markdown).text == text


@pytest.mark.parametrize("markdown", ["a <!-- b -->", "~~a~~ b", "a\u200b b", "[x]: y 'z'\n\na", "$\\phantom{a}$"])
def test_hidden_text_is_noted(markdown: str) -> None:
    assert page(markdown).hidden
    assert not page("plain *text* with a [link](https://x.example)").hidden


def test_links_need_a_text_and_addresses_are_links() -> None:
    links = page("[a](https://x.example/1) [](https://x.example/2) <a href='/3'> </a> see https://x.example/4.").links
    assert links == ["https://x.example/1", "https://x.example/4"]


def test_sections_have_the_lines_below_a_heading() -> None:
    sections = page("Hello\n\n## Fixed\n\n- a\n- b\n\n<h2>Added</h2><ul><li>c</ul>\n\n<!-- ## Hidden -->\n").sections
    assert [(part["heading"], part["level"], part["lines"]) for part in sections] == [
        ("", 0, ["Hello"]),
        ("Fixed", 2, ["- a", "- b"]),
        ("Added", 2, ["- c"]),
    ]


HOSTILE = {
    "newlines": "\n",
    "brackets": "[",
    "images": "![",
    "links": "[a](",
    "emphasis": "*a_ ",
    "quotes": ">",
    "lists": "- ",
    "ticks": "`a``",
    "comments": "<!--",
    "tags": "<a '",
    "elements": "<div>",
    "formulas": "$\\",
    "tildes": "~a",
    "table": "|a",
    "rows": "a|b\n-|-\n",
    "footnotes": "[^a]: b\n\n",
    "entities": "&#",
    "addresses": "https://",
}


@pytest.mark.parametrize("part", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_comment_of_full_length_takes_seconds_at_most(part: str) -> None:
    began = time.process_time()
    page(part * (CHARACTERS // len(part)))
    page("<div>" + part * (CHARACTERS // len(part)))
    assert time.process_time() - began < 15


def test_patterns_take_linear_time() -> None:
    began = time.process_time()
    assert not is_match(r"(\s*\n)*x\Z", "\n" * 1_000_000)
    assert not is_match(r"(a|aa)*$b", "a" * 1_000_000)
    assert time.process_time() - began < 5


def test_patterns_are_read_as_in_python_where_they_can() -> None:
    assert is_match(r"\Aa$", "a\nb")
    assert is_match(r"b\Z", "a\nb")
    assert not is_match(r"a\Z", "a\nb")
    assert all_matches(r"#([0-9]+)", "#3, #4 and #3") == ["3", "4"]
    assert is_match("b", "\ud83d b"), "half an emoji is no error"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [("(", "missing )"), (r"\A(?!.*bad)", "negative look-ahead"), ("(?<=a)b", "look-behind"), ("(a)\\1", "escape")],
)
def test_a_pattern_that_re2_does_not_have_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    assert reason in (pattern_fault(pattern) or "")
