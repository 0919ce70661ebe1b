"""Workflow commands, facts of a job, outputs, and step summaries."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.errors import ConfigError
from scylla_gha.github_api.actions import (
    MAX_SUMMARY,
    add_summary,
    annotation,
    escape_command,
    fit_summary,
    job_facts,
    set_outputs,
    write_outputs,
)
from tests.support.actions import read_outputs, read_values, step_in


@pytest.mark.parametrize(
    ("message", "title", "expected"),
    [
        ("gone", "", "::error::gone"),
        ("100 % of\r\nall: 1, 2", "", "::error::100 %25 of%0D%0Aall: 1, 2"),
        ("gone", "a: b, 50 %\nc", "::error title=a%3A b%2C 50 %25%0Ac::gone"),
        ("x\n::set-output name=verdict::better", "", "::error::x%0A::set-output name=verdict::better"),
        ("%0A", "%3A", "::error title=%253A::%250A"),
    ],
)
def test_an_annotation_is_one_line_whatever_is_in_it(message: str, title: str, expected: str) -> None:
    assert annotation("error", message, title) == expected
    assert "\n" not in expected


@pytest.mark.parametrize(
    "text",
    [
        "::error::x",
        "  ::set-output name=verdict::better",
        "fine\n\t::add-mask::the",
        "fine\r::stop-commands::x",
        "before ##[set-output name=verdict]better",
        "##[##[error]x",
        ":::error::x",
    ],
)
def test_no_command_is_left_in_what_strangers_say(text: str) -> None:
    found = escape_command(text)
    assert "##[" not in found
    assert not any(line.lstrip().startswith("::") for line in found.split("\n"))
    assert found.replace("\N{ZERO WIDTH SPACE}", "") == text.replace("\r", "\n")


def test_other_text_stays_as_it_is() -> None:
    text = "std::vector<int> a::b\n[x] ## heading: y\n"
    assert escape_command(text) == text


def test_the_facts_are_those_of_the_runners_variables(tmp_path: Path) -> None:
    step = step_in(tmp_path)
    facts = job_facts(step.environment(GITHUB_RUN_ATTEMPT="2"))
    assert (facts.run_id, facts.attempt, facts.outputs, facts.summary) == (4711, 2, step.outputs, step.summary)
    assert job_facts(step.environment(GITHUB_STEP_SUMMARY="")).summary is None


@pytest.mark.parametrize("name", ["GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_OUTPUT"])
def test_outside_of_a_step_it_says_so(tmp_path: Path, name: str) -> None:
    given = step_in(tmp_path).environment()
    del given[name]
    with pytest.raises(ConfigError, match=f"--github: {name} is not set; use --github only in a workflow"):
        job_facts(given)


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "²"])
def test_a_number_is_a_number(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"GITHUB_RUN_ID must be a positive number"):
        job_facts(step_in(tmp_path).environment(GITHUB_RUN_ID=value))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "output"


def test_values_are_read_back_as_they_were(file: Path) -> None:
    values = {"shards": "[0,1]", "empty": "", "lines": "a=b\nc<<EOF\nEOF\n\nscylla-1", "word": "Größe ∑"}
    set_outputs(file, values)
    set_outputs(file, {"later": "1"})
    assert read_values(file.read_text(encoding="utf-8")) == {**values, "later": "1"}


def test_each_value_ends_with_a_word_of_its_own(file: Path) -> None:
    set_outputs(file, {"one": "1", "two": "1"})
    set_outputs(file, {"three": "1"})
    words = [line.partition("<<")[2] for line in file.read_text().splitlines() if "<<" in line]
    assert len(set(words)) == 3
    assert all(len(word) >= 32 for word in words)


@given(st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=60))
def test_no_text_can_end_itself(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("values") / "output"
    set_outputs(file, {"hostile": text, "verdict": "worse"})
    assert read_values(file.read_text(encoding="utf-8")) == {"hostile": text, "verdict": "worse"}


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a<<b", "a\nb", "1a", "é"])
def test_a_name_that_the_runner_would_read_otherwise_is_refused(file: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="not an output name"):
        set_outputs(file, {"fine": "1", name: "x"})
    assert not file.exists(), "all or nothing"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a\0b", "x: its value contains a NUL or a carriage return"),
        ("a\rb", "x: its value contains a NUL or a carriage return"),
        ("\ud800", "x: its value is not valid Unicode"),
        ("a" * 500_001, "x: its value has 500,001 characters, more than 500,000"),
    ],
)
def test_a_value_that_would_not_arrive_is_refused(file: Path, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        set_outputs(file, {"x": value})
    assert not file.exists()


def test_outside_of_actions_no_output_is_written(tmp_path: Path) -> None:
    write_outputs({}, {"a": "x"})
    write_outputs({"GITHUB_OUTPUT": ""}, {"a": "x"})
    assert list(tmp_path.iterdir()) == []
    write_outputs({"GITHUB_OUTPUT": str(tmp_path / "o")}, {"a": "x"})
    assert read_outputs(tmp_path / "o") == {"a": "x"}


WHOLE = "report.md, in the artifact"
PAGE = (
    "# demo\n\nBetter.\n\n## Scenarios\n\n" + "| 001 | 3 of 3 |\n" * 5_000
    + "\n## Money\n\n$1\n\n### Judges\n\n$2\n\n<details><summary>Time</summary>\n\n</details>\n"
)  # fmt: skip


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
    assert said == (f"{lost:,} of {len(PAGE.encode()):,} bytes did not fit into a step summary of 1,048,576 bytes. "
                    f"These parts are missing: Money; Judges; Time. The whole page is in {WHOLE}.\n")  # fmt: skip


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
    page = fit_summary("x" * (MAX_SUMMARY + 1), MAX_SUMMARY, WHOLE)
    assert page == (f"\n> **Cut here**: {MAX_SUMMARY + 1:,} of {MAX_SUMMARY + 1:,} bytes did not fit into a step "
                    f"summary of {MAX_SUMMARY:,} bytes. The whole page is in {WHOLE}.\n")  # fmt: skip


def test_many_parts_are_counted_and_long_names_cut() -> None:
    page = "line\n" * 3_000 + "".join(f"## part {number} {'x' * 100}\n" for number in range(20))
    said = fit_summary(page, 10_000, WHOLE)
    assert said.count("part ") == 12
    assert "; and 8 more. The whole" in said
    assert len(said.encode()) <= 10_000
