import os
from pathlib import Path

import pytest

from scylla_gha.store.untrusted_files import (
    UntrustedFileError,
    list_files,
    open_file,
    printable_excerpt,
    read_lines_limited,
)


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
