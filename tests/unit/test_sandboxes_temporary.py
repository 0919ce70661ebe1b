import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from scylla_gha.sandboxes.base import remove_stale_folders, temporary

NOBODY = 2**22 + 1  # above any process's number


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(place: Path, name: str) -> Path:
    folder = place / name
    (folder / "s").mkdir(parents=True)
    (folder / "s" / "socket").touch()
    return folder


def test_it_is_this_users_alone_and_gone_afterwards(place: Path) -> None:
    with temporary() as folder:
        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "x").touch()
        remove_stale_folders()
        assert (folder / "x").exists(), "its owner lives"
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_removed(place: Path) -> None:
    left(place, f"box-{NOBODY}-abc_1")
    remove_stale_folders()
    assert list(place.iterdir()) == []


def test_what_another_process_holds_stays_also_where_its_number_says_nothing_here(place: Path) -> None:
    folder = left(place, f"box-{NOBODY}-abc")
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    remove_stale_folders()
    os.close(lock)
    assert (folder / "s" / "socket").exists()


def test_other_things_stay(place: Path) -> None:
    names = ("box-x", "box-1-", f"other-{NOBODY}-abc", f"box-{NOBODY}-a b")
    for name in names:
        left(place, name)
    (place / f"box-{NOBODY}-file").touch()
    (place / f"box-{NOBODY}-link").symlink_to(place / "box-x")
    remove_stale_folders()
    assert {path.name for path in place.iterdir()} == {*names, f"box-{NOBODY}-file", f"box-{NOBODY}-link"}
    assert (place / "box-x" / "s" / "socket").exists()
