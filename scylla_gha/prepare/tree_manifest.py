"""Manifest of a folder by git's object ids: equal folders have the same tree id on any machine."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.counting import counted

_LINK: Final = "120000"
_EXECUTABLE: Final = "100755"
_FILE: Final = "100644"
_CHUNK: Final = 1 << 20
_DEEPEST: Final = 200  # levels of folders; far below what recursion, as in copying, allows
_LONGEST: Final = 2_000  # bytes of a folder's path; half of what Linux allows, since roots differ in length


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """File or symbolic link: git's mode and blob id, and its size in bytes."""

    mode: str
    blob: str
    size: int


class TooLargeError(Exception):
    """A folder exceeds a limit of bytes or files; `limit` is the limit's key in the experiment."""

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


@dataclass(frozen=True, slots=True)
class TreeManifest:
    """Files and links by path; `skipped` has the other paths: sockets, devices, pipes, and unreadable entries."""

    entries: dict[str, TreeEntry]
    skipped: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all entries together."""
        return sum(entry.size for entry in self.entries.values())

    @property
    def paths(self) -> set[str]:
        """Paths of all files and links, and of the folders above them."""
        folders = {path[:at] for path in self.entries for at, letter in enumerate(path) if letter == "/"}
        return folders | self.entries.keys()

    @property
    def tree(self) -> str:
        """Id of the git tree that has these entries."""
        return _tree_id(self.entries)

    def changed(self, base: "TreeManifest") -> list[str]:
        """Return the paths whose entry differs from the base's: added, changed and deleted ones, sorted."""
        paths = self.entries.keys() | base.entries.keys()
        return sorted(path for path in paths if self.entries.get(path) != base.entries.get(path))


def scan_tree(
    folder: Path,
    ignored: Callable[[str], bool] = lambda _: False,
    max_bytes: int | None = None,
    max_files: int | None = None,
) -> TreeManifest:
    """List a folder without entries called `.git` (in any case), since git stores none of them.

    Args:
        folder: folder to list; parts that cannot be listed are skipped, since an agent can make them so.
        ignored: returns True for a path to leave out; a folder's path ends in a slash.
        max_bytes: maximum size of all files together. It is checked before a file is read, since an agent can quickly
            make a sparse file of a terabyte.
        max_files: maximum number of files and folders that are not ignored.

    Raises:
        TooLargeError: the folder exceeds `max_bytes` or `max_files`.
    """
    entries: dict[str, TreeEntry] = {}
    skipped: list[str] = []
    total = 0
    for path, item in _walk(folder, ignored, skipped, max_files):
        size = _size(item)
        total += size
        if max_bytes is not None and total > max_bytes:
            raise TooLargeError(f"more than {max_bytes / 1e6:.1f} MB", "limits.diff_mb")
        if (entry := _entry(item, size)) is None:
            skipped.append(path)
        else:
            entries[path] = entry
    return TreeManifest(entries, tuple(sorted(skipped)))


def _walk(
    folder: Path, ignored: Callable[[str], bool], skipped: list[str], max_files: int | None
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    stack, seen = [""], 0
    while stack:
        prefix = stack.pop()
        too_deep = prefix.count("/") > _DEEPEST or len(os.fsencode(prefix)) > _LONGEST
        if too_deep or (items := _listed(folder / prefix)) is None:
            skipped.append(prefix or "./")
            continue
        for item in items:
            path = prefix + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if item.name.lower() == ".git" or ignored(path + "/" if is_folder else path):
                continue
            seen += 1
            if max_files is not None and seen > max_files:
                raise TooLargeError(
                    f"more than {counted(max_files, 'file or folder', 'files and folders')}", "limits.diff_files"
                )
            if is_folder:
                stack.append(path + "/")
            else:
                yield path, item


def _listed(folder: Path) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(folder) as items:
            return list(items)
    except OSError:
        return None


def _size(item: os.DirEntry[str]) -> int:
    try:
        return item.stat(follow_symlinks=False).st_size
    except OSError:  # it was removed meanwhile, or its folder can only be listed
        return 0


def _entry(item: os.DirEntry[str], size: int) -> TreeEntry | None:
    try:
        if item.is_symlink():
            return _link(item, size)
        mode = item.stat(follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            return None
        return TreeEntry(_EXECUTABLE if mode & stat.S_IXUSR else _FILE, _file_blob(item.path, size), size)
    except OSError:
        return None


def _link(item: os.DirEntry[str], size: int) -> TreeEntry | None:
    if item.name.lower() == ".gitmodules":
        return None  # git refuses it
    target = os.fsencode(os.readlink(item.path))  # noqa: PTH115 a Path would write `./a` as `a`
    return TreeEntry(_LINK, _sha1(b"blob %d\0" % len(target) + target), size)


def _file_blob(path: str, size: int) -> str:
    hashed = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with open(path, "rb") as file:  # noqa: PTH123 a Path per file would double the time of a scan
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
    return hashed.hexdigest()


def _sha1(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def _tree_id(entries: dict[str, TreeEntry]) -> str:
    children: dict[str, dict[str, TreeEntry]] = {}
    lines: list[tuple[bytes, bytes]] = []
    for path, entry in entries.items():
        head, slash, rest = path.partition("/")
        if slash:
            children.setdefault(head, {})[rest] = entry
        else:
            name = os.fsencode(head)
            lines.append((name, b"%s %s\0" % (entry.mode.encode(), name) + bytes.fromhex(entry.blob)))
    for head, below in children.items():
        name = os.fsencode(head)
        # git sorts a folder as if its name ended in a slash
        lines.append((name + b"/", b"40000 %s\0" % name + bytes.fromhex(_tree_id(below))))
    content = b"".join(line for _, line in sorted(lines))
    return _sha1(b"tree %d\0" % len(content) + content)
