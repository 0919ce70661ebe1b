import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.prepare.git_directory import git, init
from scylla_gha.prepare.start_state import TooLargeError, TreeEntry, TreeManifest, scan_tree
from tests.support.processes import without_special_rights
from tests.support.repository import write_tree

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
HELLO_BLOB = "ce013625030ba8dba906f756967f9e9ca394464a"


def tree_by_git(folder: Path, own: Path) -> str:
    init(own)
    git(own, "add", "--all", "--force", ".", work_tree=folder)
    return git(own, "write-tree").decode().strip()


def test_an_entry_is_gits_mode_and_blob_and_the_size(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, {"hello": "hello\n", "run.sh": "hello\n", "d/e/empty": ""})
    (folder / "link").symlink_to("hello")
    assert scan_tree(folder) == TreeManifest({
        "hello": TreeEntry("100644", HELLO_BLOB, 6),
        "run.sh": TreeEntry("100755", HELLO_BLOB, 6),
        "d/e/empty": TreeEntry("100644", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", 0),
        "link": TreeEntry("120000", "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0", 5),
    })  # fmt: skip


def test_the_size_is_the_sum_of_all_entries(tmp_path: Path) -> None:
    assert scan_tree(write_tree(tmp_path, {"a": "12", "b/c": "345"})).size == 5


@pytest.mark.parametrize("make", [lambda _: None, lambda folder: (folder / "d" / "e").mkdir(parents=True)])
def test_a_folder_without_files_is_the_empty_tree(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path)
    assert scan_tree(tmp_path).tree == EMPTY_TREE


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(["a", "a.b", "a-b", "a0"], id="files"),
        pytest.param(["a/x", "a.b", "a-b", "a0"], id="a folder sorts as a/, after a.b and before a0"),
        pytest.param(["a/x", "a.b/x", "a-b/x", "a0/x", "a/b/c"], id="folders"),
        pytest.param(["A", "B", "a", "b", "_", "~"], id="by bytes, not by letters"),
        pytest.param(["\u00e9", "z", "\U0001f600", "\uff5e"], id="by UTF-8 bytes, not by code units"),
        pytest.param([" ", "a b", "\t", "\n", '"', "'", "\\", "-", "--", "*"], id="odd characters"),
        pytest.param([os.fsdecode(b"\xff"), os.fsdecode(b"a\x80b/\xfe"), "\u00ff"], id="no UTF-8"),
        pytest.param(["a/b/c/d/e/f/g", "a/b/c/d/e/f.g", "a/b.c"], id="nested"),
        pytest.param(["git~1", "con", "a:b", "nul.txt", ".gitmodules"], id="refused by git on other systems"),
    ],
)
def test_the_tree_is_gits_own(tmp_path: Path, names: list[str]) -> None:
    folder = write_tree(tmp_path / "tree", dict.fromkeys(names, "x\n"))
    assert scan_tree(folder).tree == tree_by_git(folder, tmp_path / "own")


@pytest.mark.parametrize("target", ["file", "./file", "nowhere", "/etc/passwd", "d/", "a//b", "..", "x" * 300])
def test_a_link_is_its_target_as_it_is_written(tmp_path: Path, target: str) -> None:
    folder = write_tree(tmp_path / "tree", {"file": "x\n", "d/file": "y\n"})
    os.symlink(target, folder / "link")  # noqa: PTH211 a Path would write `./file` as `file`
    assert scan_tree(folder).tree == tree_by_git(folder, tmp_path / "own")


def random_tree(folder: Path, seed: int) -> None:
    """Files, executable files, links and folders under names that are near to each other."""
    chance = random.Random(seed)
    places = [folder]
    folder.mkdir()
    for _ in range(120):
        path = chance.choice(places) / "".join(chance.choices("ab.-/ \u00e9", k=chance.randint(1, 4))).replace("/", "+")
        if path.name in {".", ".."} or path.exists() or path.is_symlink():
            continue
        match chance.randrange(4):
            case 0:
                path.mkdir()
                places.append(path)
            case 1:
                path.symlink_to("".join(chance.choices("ab./", k=4)))
            case kind:
                path.write_bytes(chance.randbytes(chance.choice([0, 1, 100, 70_000])))
                path.chmod(0o755 if kind == 2 else 0o640)


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_are_gits_own(tmp_path: Path, seed: int) -> None:
    random_tree(tmp_path / "tree", seed)
    assert scan_tree(tmp_path / "tree").tree == tree_by_git(tmp_path / "tree", tmp_path / "own")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0o644, "100644"), (0o600, "100644"), (0o755, "100755"), (0o700, "100755"), (0o655, "100644"), (0o4755, "100755")],
)
def test_of_a_mode_only_the_owners_right_to_execute_counts(tmp_path: Path, mode: int, expected: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(mode)
    assert scan_tree(tmp_path).entries["file"].mode == expected


def test_nothing_called_git_is_listed_at_any_depth_and_in_any_case(tmp_path: Path) -> None:
    folder = write_tree(
        tmp_path, {".git/config": "", "d/.git": "gitdir: x", "e/.GIT/x": "", ".gitignore": "", "git": ""}
    )
    assert set(scan_tree(folder).entries) == {".gitignore", "git"}


def test_what_is_neither_file_nor_link_is_skipped_and_named(tmp_path: Path) -> None:
    write_tree(tmp_path, {"d/file": ""})
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "d" / "socket"))  # a path of a socket must be short
        found = scan_tree(tmp_path)
    assert set(found.entries) == {"d/file"}
    assert found.skipped == ("d/socket", "pipe")


def test_a_link_called_gitmodules_is_skipped_since_git_refuses_it(tmp_path: Path) -> None:
    (tmp_path / ".gitmodules").symlink_to("x")
    found = scan_tree(tmp_path)
    assert (found.entries, found.skipped) == ({}, (".gitmodules",))


def test_what_cannot_be_read_is_skipped_and_does_not_stop_the_scan(tmp_path: Path) -> None:
    with without_special_rights(tmp_path):
        write_tree(Path(), {"open": "", "secret": "", "closed/d/file": "", "listed/file": ""})
        Path("secret").chmod(0)
        Path("closed").chmod(0)
        Path("listed").chmod(0o400)  # names can be read, and nothing behind them
        found = scan_tree(Path())
    assert set(found.entries) == {"open"}
    assert found.skipped == ("closed/", "listed/file", "secret")


def test_a_folder_that_is_gone_is_skipped(tmp_path: Path) -> None:
    found = scan_tree(tmp_path / "gone")
    assert (found.entries, found.skipped) == ({}, ("./",))


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A file in 3000 folders, which is too deep for pytest to remove."""
    nest = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nopen('file', 'w').close()"
    subprocess.run([sys.executable, "-c", nest], cwd=tmp_path, check=True)
    yield tmp_path
    subprocess.run(["rm", "-rf", "d"], cwd=tmp_path, check=True)


def test_folders_nested_beyond_measure_are_skipped(deep: Path) -> None:
    found = scan_tree(deep)
    assert found.entries == {}
    assert found.skipped == ("d/" * 201,)


def test_a_limit_that_is_just_kept_is_kept(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": "12", "b": "345"})
    assert scan_tree(tmp_path, max_bytes=5).size == 5


def test_more_than_the_limit_is_refused_with_the_limit_in_megabytes(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": "x" * 1_000_000, "b": "x" * 500_001})
    with pytest.raises(TooLargeError, match=r"^more than 1\.5 MB$"):
        scan_tree(tmp_path, max_bytes=1_500_000)


def test_a_sparse_terabyte_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(TooLargeError):
        scan_tree(tmp_path, max_bytes=64_000_000)


def test_what_is_ignored_is_neither_listed_nor_counted_and_not_entered(tmp_path: Path) -> None:
    write_tree(tmp_path, {"keep": "1", "build/big": "x" * 100, "big": "x" * 100})
    asked: list[str] = []

    def ignored(path: str) -> bool:
        asked.append(path)
        return path in {"build/", "big"}

    assert set(scan_tree(tmp_path, ignored, max_bytes=1).entries) == {"keep"}
    assert sorted(asked) == ["big", "build/", "keep"]


def test_changed_paths_are_the_added_changed_and_deleted_ones_sorted() -> None:
    def entry(blob: str, mode: str = "100644") -> TreeEntry:
        return TreeEntry(mode, blob, 1)

    base = TreeManifest({"same": entry("1"), "gone": entry("2"), "edited": entry("3"), "mode": entry("4")})
    now = TreeManifest({"same": entry("1"), "new": entry("2"), "edited": entry("5"), "mode": entry("4", "100755")})
    assert now.changed(base) == ["edited", "gone", "mode", "new"]
    assert base.changed(base) == []


def test_more_files_than_may_be_are_noticed_before_they_are_read(tmp_path: Path) -> None:
    folder = write_tree(
        tmp_path, {f"{number // 4}/{number}": "" for number in range(12)} | {"junk/a": "", "junk/b": ""}
    )
    assert len(scan_tree(folder, lambda path: path == "junk/", max_files=15).entries) == 12
    with pytest.raises(TooLargeError, match=r"^more than 14 files and folders$") as raised:
        scan_tree(folder, lambda path: path == "junk/", max_files=14)
    assert raised.value.limit == "limits.diff_files"
