"""`./scylla same`: what its comparison finds, and what it takes for equal."""

import json
from pathlib import Path

import pytest

from tests.equality.comparison import align_numbers, compare, masked, plain_lines


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_changed_missing_and_added_files_are_differences(tmp_path: Path) -> None:
    base = write(tmp_path / "base", same_txt="a\n", changed_txt="a\nb\nc\n", missing_txt="a\nb\n")
    new = write(tmp_path / "new", same_txt="a\n", changed_txt="a\nX\nY\nc\n", added_txt="")
    found = compare(base, new, tmp_path / "diff")
    assert (found.lines, found.files) == (2 + 2 + 1, 3)
    assert "-b\n+X\n+Y\n" in found.diff.read_text()
    assert compare(base, base, tmp_path / "none").files == 0


@pytest.mark.parametrize(
    ("base", "new", "is_equal"),
    [
        ({"mean": 0.1}, {"mean": 0.1 + 1e-13}, True),
        ({"mean": 1e9}, {"mean": 1e9 * (1 + 1e-13)}, True),
        ({"mean": 0.1}, {"mean": 0.1 + 1e-9}, False),
        ({"mean": None}, {"mean": 0.0}, False),
        ({"mean": 1}, {"mean": True}, False),
        ({"rows": [1.0, 2.0]}, {"rows": [2.0, 1.0]}, False),
        ({"rows": [1.0]}, {"rows": [1.0, 1.0]}, False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ({"a": 1, "b": 1}, {"a": 1}, False),
    ],
)
def test_only_numbers_may_differ_and_only_by_rounding(
    tmp_path: Path, base: object, new: object, is_equal: bool
) -> None:
    one = write(tmp_path / "base", report_json=json.dumps(base, indent=1) + "\n")
    other = write(tmp_path / "new", report_json=json.dumps(new, indent=1) + "\n")
    align_numbers(one, other)
    assert (compare(one, other, tmp_path / "diff").files == 0) is is_equal


def test_a_time_is_masked_and_an_unknown_one_stays_unknown() -> None:
    record = '{"seconds": 0.471, "idle_seconds": 0, "tool_seconds": null, "minutes": {"low": 1.5}, "usd": 0.25}'
    lines = plain_lines("trial.json", record, masked).splitlines()
    assert lines[1:-1] == [
        ' "seconds": <duration>,', ' "idle_seconds": 0,', ' "tool_seconds": null,', ' "minutes": <duration>,',
        ' "usd": 0.25',
    ]  # fmt: skip
    assert masked("3 of 4 passed in 12.3 s at 2026-11-28T00:36:44.5Z") == "3 of 4 passed in <duration> at <instant>"
    assert masked("4 cells, $0.25, 80 points, t3-08-skill") == "4 cells, $0.25, 80 points, t3-08-skill"


def test_a_page_is_compared_by_its_elements_and_texts() -> None:
    page = '<p  class="b" id=a>\n  Two   words &lt;b&gt;</p><script>{"rows": [1]}</script>'
    assert plain_lines("report.html", page, str).splitlines() == [
        "<p class='b' id='a'>", "Two words <b>", "</p>", "<script>", "{", '"rows": [', "1", "]", "}", "</script>",
    ]  # fmt: skip
    assert plain_lines("a.html", "<b>x</b>", str) != plain_lines("a.html", "<i>x</i>", str)
