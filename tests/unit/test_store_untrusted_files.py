"""Files and rows that other machines sent: what is refused, and why."""

import os
from pathlib import Path

import pytest

from scylla_gha.model.trial import Outcome
from scylla_gha.store.rows import (
    UntrustedFileError,
    list_files,
    mismatch,
    open_file,
    parse_row,
    printable_excerpt,
    read_lines_limited,
    row_fault,
)
from tests.support.records import (
    make_arm,
    make_cell,
    make_excluded_result,
    make_experiment,
    make_model_arm,
    make_plan,
    make_result,
)
from tests.support.sent import rows_text


def test_names_are_listed_in_order_up_to_a_number(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).touch()
    assert list_files(tmp_path, 2) == ["a", "b"]
    with pytest.raises(UntrustedFileError, match="holds more than 1 file"):
        list_files(tmp_path, 1)


@pytest.mark.parametrize(("device", "why"), [("/dev/zero", "zero is a device, not a file"),
                                             ("/dev/fd", "fd is a link, not a file"),
                                             ("/nowhere/x", "x is missing")])  # fmt: skip
def test_only_plain_files_are_opened(device: str, why: str) -> None:
    with pytest.raises(UntrustedFileError, match=why), open_file(Path(device), 10):
        pass


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    if os.getuid() == 0:  # root may read anything, so a folder in the way stands for it
        (tmp_path / "x").touch()
        with (
            pytest.raises(UntrustedFileError, match="y cannot be read: Not a directory"),
            open_file(tmp_path / "x" / "y", 10),
        ):
            pass
        return
    (tmp_path / "x").touch(0)
    with pytest.raises(UntrustedFileError, match="x cannot be read: Permission denied"), open_file(tmp_path / "x", 10):
        pass


def test_lines_have_a_length_and_an_end(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1234\n12345\n")
    with open_file(path, 100) as file:
        assert list(read_lines_limited(file, 5)) == [b"1234\n", b"12345\n"]
        file.seek(0)
        with pytest.raises(UntrustedFileError, match="line 2 is longer than 4 bytes"):
            list(read_lines_limited(file, 4))
    path.write_bytes(b"1234\n12")
    with open_file(path, 100) as file, pytest.raises(UntrustedFileError, match="line 2 has no end: the file is cut"):
        list(read_lines_limited(file, 5))


def test_a_name_of_anybodys_choice_is_harmless() -> None:
    assert printable_excerpt("é`\n\x1b[0m" + "x" * 100) == r"'\xe9`\n\x1b[0m" + "x" * 73 + "'"


CELL = make_cell()
PLAN = make_plan(CELL)


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if not outcome.measures_agent])
def test_rows_of_the_toolkits_own_are_sound(outcome: Outcome) -> None:
    excluded = make_excluded_result(CELL, outcome)
    assert row_fault(excluded) is None
    assert parse_row(rows_text([excluded]), 1) == excluded


def test_a_trial_that_nobody_judged_is_sound() -> None:
    verdict = {"passed": None, "score": None, "grade": None, "progress": None}
    assert row_fault(make_result(CELL, judged=False, **verdict)) is None
    assert row_fault(make_result(CELL, score=None, grade=None, progress=None)) is None  # all its items are N/A


def test_a_fault_names_the_line_and_never_the_value() -> None:
    with pytest.raises(UntrustedFileError) as caught:
        parse_row(rows_text([make_result(CELL)]).replace(b'"passed":true', b'"passed":"@everyone"'), 7)
    assert str(caught.value) == "line 7 is not a row: 'passed': Input should be a valid boolean"


def test_a_row_is_of_its_cell_and_arm() -> None:
    assert mismatch(make_result(CELL), CELL, PLAN, make_arm()) is None
    of_model = make_model_arm(id="nop", agent="nop")
    row = make_result(CELL, model="m", variant="T0/00-empty")
    assert mismatch(row, CELL, PLAN, of_model) is None
    assert mismatch(row, CELL, PLAN, make_arm()) == f"{CELL.id}: its model is not the planned one"
    other = make_plan(CELL, experiment=make_experiment(id="x"))
    assert mismatch(row, CELL, other, of_model) == f"{CELL.id}: its experiment is not the planned one"


def test_a_judged_row_was_judged_as_planned() -> None:
    plan = make_plan(CELL, judging={CELL.scenario: "now"})
    assert mismatch(make_result(CELL, judging="now"), CELL, plan, make_arm()) is None
    assert mismatch(make_excluded_result(CELL, Outcome.CANCELLED), CELL, plan, make_arm()) is None
    for other in (None, "then"):
        fault = mismatch(make_result(CELL, judging=other), CELL, plan, make_arm())
        assert fault == f"{CELL.id}: its judging is not the planned one"
