from pathlib import Path

import pytest

from scylla_gha.github.step_summary import MAX_BYTES, add_summary, fit_summary

WHOLE = "report.md, in the artifact"
PAGE = "# demo\n\nBetter.\n\n## Scenarios\n\n" + "| 001 | 3 of 3 |\n" * 5_000 + "\n## Money\n\n$1\n\n### Judges\n\n$2\n"


def test_what_fits_is_written_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    assert add_summary(file, "# one ä\n", WHOLE)
    assert add_summary(file, "# two\n", WHOLE)
    assert file.read_text() == "# one ä\n# two\n"


def test_a_page_that_is_too_long_is_cut_and_says_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    assert not add_summary(file, PAGE, WHOLE, limit=20_000)
    text = file.read_text()
    size = len(text.encode())
    assert 17_000 < size <= 20_000
    head, _, said = text.partition("\n> **Cut here**: ")
    assert PAGE.startswith(head), "nothing of it is changed"
    lost = len(PAGE.encode()) - len(head.encode())
    assert said == (f"{lost:,} of {len(PAGE.encode()):,} bytes did not fit into a step summary of 1,048,576. "
                    f"These parts are missing: Money; Judges. The whole page is in {WHOLE}.\n")  # fmt: skip


def test_what_the_file_holds_already_counts(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_text("x" * 15_000)
    assert not add_summary(file, PAGE, WHOLE, limit=20_000)
    assert len(file.read_bytes()) <= 20_000
    file.write_text("x" * 19_990)
    assert not add_summary(file, PAGE, WHOLE, limit=20_000)
    assert file.read_text() == "x" * 19_990, "no room for a word is none for half a word"


@pytest.mark.parametrize(
    ("opened", "closed"),
    [
        ("<details><summary>all</summary>\n\n<details>\n", "\n</details>\n\n</details>\n"),
        ("<details>\n</details>\n", ""),
        ("```text\n<details>\n", "```\n"),
        ("```text\n````\n", ""),
        ("~~~~\n~~~\n", "~~~~\n"),
    ],
)
def test_what_is_open_is_closed(opened: str, closed: str) -> None:
    page = opened + "line\n" * 5_000
    head, _, _ = fit_summary(page, 10_000, WHOLE).partition("\n> **Cut here**")
    assert head.endswith(f"line\n{closed}")


def test_a_single_line_without_an_end_leaves_only_what_is_said_of_it() -> None:
    page = fit_summary("x" * (MAX_BYTES + 1), MAX_BYTES, WHOLE)
    assert page == (f"\n> **Cut here**: {MAX_BYTES + 1:,} of {MAX_BYTES + 1:,} bytes did not fit into a step summary "
                    f"of {MAX_BYTES:,}. The whole page is in {WHOLE}.\n")  # fmt: skip


def test_many_parts_are_counted_and_long_names_cut() -> None:
    page = "line\n" * 3_000 + "".join(f"## part {number} {'x' * 100}\n" for number in range(20))
    said = fit_summary(page, 10_000, WHOLE)
    assert said.count("part ") == 12
    assert "; and 8 more. The whole" in said
    assert len(said.encode()) <= 10_000
