import os
from pathlib import Path

import pytest

from scylla_gha.intake.files import UnsoundError, lines, listed, opened, safe


def test_names_are_listed_in_order_up_to_a_number(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).touch()
    assert listed(tmp_path, 2) == ["a", "b"]
    with pytest.raises(UnsoundError, match="holds more than 1 files"):
        listed(tmp_path, 1)


@pytest.mark.parametrize(("device", "why"), [("/dev/zero", "zero is a device, not a file"),
                                             ("/dev/fd", "fd is a link, not a file"),
                                             ("/nowhere/x", "x is missing")])  # fmt: skip
def test_only_plain_files_are_opened(device: str, why: str) -> None:
    with pytest.raises(UnsoundError, match=why), opened(Path(device), 10):
        pass


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    if os.getuid() == 0:  # root may read anything, so a folder in the way stands for it
        (tmp_path / "x").touch()
        with pytest.raises(UnsoundError, match="y cannot be read: Not a directory"), opened(tmp_path / "x" / "y", 10):
            pass
        return
    (tmp_path / "x").touch(0)
    with pytest.raises(UnsoundError, match="x cannot be read: Permission denied"), opened(tmp_path / "x", 10):
        pass


def test_lines_have_a_length_and_an_end(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1234\n12345\n")
    with opened(path, 100) as file:
        assert list(lines(file, 5)) == [b"1234\n", b"12345\n"]
        file.seek(0)
        with pytest.raises(UnsoundError, match="line 2 is longer than 4 bytes"):
            list(lines(file, 4))
    path.write_bytes(b"1234\n12")
    with opened(path, 100) as file, pytest.raises(UnsoundError, match="line 2 has no end: the file is cut"):
        list(lines(file, 5))


def test_a_name_of_anybodys_choice_is_harmless() -> None:
    assert safe("é`\n\x1b[0m" + "x" * 100) == r"'\xe9`\n\x1b[0m" + "x" * 73 + "'"
