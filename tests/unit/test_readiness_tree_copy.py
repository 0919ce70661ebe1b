"""A copy of a code base that several runs of its tests use, one after the other."""

import os
from pathlib import Path

from scylla_gha.readiness.test_runners.tree_copy import TreeCopy
from tests.support.repository import write_tree

COMPILED = "__pycache__/shop.cpython-311.pyc"
FILES = {
    "shop.py": "A = 1\n",
    "old.py": "",
    "data/a/b.txt": "b",
    "data/c.txt": "c",
    COMPILED: "1",
}


def states(root: Path) -> dict[str, tuple[int, str]]:
    """Return modes and contents by path."""
    return {
        path.relative_to(root).as_posix(): (path.lstat().st_mode, content_of(path)) for path in sorted(root.rglob("*"))
    }


def content_of(path: Path) -> str:
    if path.is_symlink():
        return os.readlink(path)  # noqa: PTH115 the link as it is
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def test_whatever_tests_leave_is_put_back_in_the_same_copy(tmp_path: Path) -> None:
    root, copy = tmp_path / "tree", TreeCopy(tmp_path / "tree", tmp_path / "copy")
    root.mkdir()
    write_tree(root, FILES)
    (root / "link").symlink_to("data")
    copy.change({"shop.py": "A = 2\n", "new/deep.py": "x", "old.py": None})
    inode = (copy.path / "data/c.txt").stat().st_ino
    changed = states(copy.path)
    assert changed["shop.py"][1] == "A = 2\n"
    assert changed.keys() == {*states(root), "new", "new/deep.py"} - {"old.py", COMPILED}
    (copy.path / "data/a/b.txt").unlink()
    (copy.path / "data/a").rmdir()
    (copy.path / "data/a").write_text("a file now")
    (copy.path / "link").unlink()
    write_tree(copy.path, {"link/inside.txt": "a folder now", ".cache/1/2.txt": "left", "shop.py": "A = 3\n"})
    (copy.path / "data").chmod(0o700)
    copy.restore()
    assert states(copy.path) == states(root)
    assert (copy.path / "data/c.txt").stat().st_ino == inode
    copy.change({"data/c.txt": None})
    copy.restore()
    assert states(copy.path) == states(root)


def test_a_copy_that_cannot_be_put_back_is_made_anew(tmp_path: Path) -> None:
    root, copy = tmp_path / "tree", TreeCopy(tmp_path / "tree", tmp_path / "copy")
    root.mkdir()
    write_tree(root, FILES)
    copy.change({"shop.py": "A = 2\n"})
    (root / "shop.py").rename(root / "elsewhere.py")
    copy.restore()
    assert not copy.path.exists()
    (root / "elsewhere.py").rename(root / "shop.py")
    copy.change({})
    assert states(copy.path) == states(root)


def test_what_was_added_before_requests_stays_until_it_is_changed(tmp_path: Path) -> None:
    root, copy = tmp_path / "tree", TreeCopy(tmp_path / "tree", tmp_path / "copy")
    root.mkdir()
    write_tree(root, {"shop.py": "A = 1\n", "other.py": ""})
    copy.make()
    kept = {COMPILED: "1", "__pycache__/other.cpython-311.pyc": "2"}
    write_tree(copy.path, kept)
    copy.keep()
    copy.change({"shop.py": "A = 2\n"})
    assert not (copy.path / COMPILED).exists()
    write_tree(copy.path, {COMPILED: "of A = 2"})
    copy.restore()
    assert states(copy.path).keys() == {*states(root), "__pycache__", "__pycache__/other.cpython-311.pyc"}
    assert (copy.path / "shop.py").read_text(encoding="utf-8") == "A = 1\n"
    write_tree(copy.path, {"__pycache__/other.cpython-311.pyc": "broken"})
    copy.restore()
    copy.change({})
    copy.restore()
    assert states(copy.path).keys() == {*states(root), "__pycache__"}
