import io

import pytest
from rich.console import Console

from scylla_gha.render.passage import Passage, field, heading, line, passage, patch


def drawn(part: Passage, *, terminal: bool = False, width: int = 30, colours: bool = False) -> str:
    file = io.StringIO()
    how = "standard" if colours else None
    console = Console(file=file, width=width, force_terminal=terminal, color_system=how, highlight=False)  # type: ignore[arg-type]
    console.print(part, soft_wrap=not terminal)
    return file.getvalue()


def test_to_a_file_lines_are_never_broken_and_have_no_blanks_at_their_ends() -> None:
    text = "one " * 20 + "\n\n\tx\n  y"
    assert drawn(passage(text, 4, None)) == f"    {'one ' * 20}\n\n        x\n      y\n"


def test_in_a_terminal_what_others_wrote_stays_indented_however_it_is_wrapped() -> None:
    for words in ("Checks: 3 of 3 hold " * 5, "x" * 100):
        lines = drawn(passage(words, 4, None), terminal=True).splitlines()
        assert len(lines) > 2
        assert all(each.startswith("    ") for each in lines)
        assert "".join(each.strip() for each in lines).replace(" ", "") == words.replace(" ", "")


def test_long_ones_are_cut_with_how_much_is_left_out() -> None:
    text = "".join(f"line {number:02d}\n" for number in range(50))
    assert drawn(passage(text, 0, 40)) == ("line 00\nline 01\n[cut here: 46 lines, 368 characters]\nline 48\nline 49\n")
    assert drawn(passage(text, 0, None)).count("\n") == 50


HOSTILE = "a\x1b[2J\x1b]0;t\x07b\rc\x9bd\u202ee\u200bf[bold]g[/] :smile: \x08"


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    "part",
    [passage(HOSTILE, 2, None), line(HOSTILE), field("f", HOSTILE), heading(HOSTILE), patch("+" + HOSTILE)],
    ids=["passage", "line", "field", "heading", "patch"],
)
def test_nothing_steers_the_terminal_or_the_direction_of_writing(part: Passage, terminal: bool) -> None:
    said = drawn(part, terminal=terminal, width=500)
    assert [character for character in said if not character.isprintable() and character != "\n"] == []
    assert "[bold]g[/] :smile:" in said


def test_a_line_and_a_heading_are_one_line() -> None:
    assert drawn(line("a\nb\u2028c")) == "  a b c\n"
    assert drawn(field("name", "a\nb")) == "  name      a b\n"
    assert drawn(heading("a\nb")) == "\na b\n"


def test_added_and_deleted_lines_have_colours() -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n"
    said = drawn(patch(text), terminal=True, colours=True).splitlines()
    assert said[0].startswith("  \x1b[1mdiff")
    assert [each.strip()[:5] for each in said[1:6]] == ["\x1b[1m-", "\x1b[1m+", "\x1b[36m", "\x1b[31m", "\x1b[32m"]
    assert said[6].rstrip() == "   same"
    assert drawn(patch(text)) == "".join(f"  {each}\n" for each in text.splitlines())
