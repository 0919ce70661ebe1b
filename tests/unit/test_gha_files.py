from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scylla_gha.errors import ConfigError
from scylla_gha.gha.files import set_outputs, write_outputs
from tests.support.actions import read_outputs, read_values


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
    with pytest.raises(ConfigError, match="is no name of an output"):
        set_outputs(file, {"fine": "1", name: "x"})
    assert not file.exists(), "all or nothing"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a\0b", "x: its value holds a NUL or a carriage return"),
        ("a\rb", "x: its value holds a NUL or a carriage return"),
        ("\ud800", "x: its value is no valid Unicode"),
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
