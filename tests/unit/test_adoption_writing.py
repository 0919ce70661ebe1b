import os
from pathlib import Path

from scylla_gha.adoption.repository import LINK
from scylla_gha.adoption.task import PROGRAM, File
from scylla_gha.adoption.writing import compare, write

FILES = [File("a/b.txt", b"b\n"), File("run.sh", b"true\n", PROGRAM), File("here", b"a/b.txt", LINK)]


def test_what_is_written_is_the_same_afterwards(tmp_path: Path) -> None:
    assert compare(tmp_path, FILES).new == tuple(FILES)
    write(tmp_path, FILES)
    assert compare(tmp_path, FILES).same == tuple(FILES)
    assert (tmp_path / "here").read_text() == "b\n"
    assert os.access(tmp_path / "run.sh", os.X_OK)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b.txt", "here", "run.sh"]


def test_other_content_rights_and_kinds_are_other_files(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / "a/b.txt").write_text("c\n")
    (tmp_path / "run.sh").chmod(0o644)
    (tmp_path / "here").unlink()
    (tmp_path / "here").write_text("a/b.txt")
    assert compare(tmp_path, FILES).other == tuple(FILES)


def test_a_link_in_the_way_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("kept\n")
    (tmp_path / "repo/a").mkdir(parents=True)
    (tmp_path / "repo/a/b.txt").symlink_to(outside)
    write(tmp_path / "repo", FILES[:1])
    assert outside.read_text() == "kept\n"
    assert not (tmp_path / "repo/a/b.txt").is_symlink()
