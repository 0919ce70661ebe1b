"""Copy of a code base in the box that several runs of its tests use; it imports nothing of the toolkit."""

import glob
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path


class TreeCopy:
    """Copy of the tree, used by one request after the other; what one left in it is put back."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.files: dict[str, tuple[int, ...]] = {}
        self.added: frozenset[str] = frozenset()

    def make(self) -> None:
        """Copy the tree, if that is not done yet."""
        if not self.files:
            shutil.copytree(self.root, self.path, symlinks=True)
            self.files = _file_states(self.path)

    def keep(self) -> None:
        """Take what was added since `make`, such as compiled modules, as part of the tree, until it is changed."""
        states = _file_states(self.path)
        self.added = frozenset(states.keys() - self.files.keys())
        self.files |= {name: states[name] for name in self.added}

    def change(self, changes: Mapping[str, str | None]) -> None:
        """Write the texts of a request."""
        self.make()
        for name, text in changes.items():
            path = self.path / name
            path.unlink(missing_ok=True)
            for compiled in _compiled(path):
                compiled.unlink()
            if text is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode("utf-8", "surrogateescape"))

    def restore(self) -> None:
        """Put back each file that a request changed, added or removed; if one cannot be, the next gets a new copy."""
        try:
            states = _file_states(self.path)
            for name in sorted(states, reverse=True):  # what a folder holds before the folder
                if states[name] != self.files.get(name):
                    self._take_away(name, states[name])
            for name in sorted(self.files):
                if states.get(name) == self.files[name]:
                    continue
                if name in self.added:
                    del self.files[name]
                else:
                    self._put_back(name)
        except OSError:
            self.remove()

    def _take_away(self, name: str, state: tuple[int, ...]) -> None:
        if not _is_folder(state):
            (self.path / name).unlink()
        elif not _is_folder(self.files.get(name, ())):
            (self.path / name).rmdir()

    def _put_back(self, name: str) -> None:
        path, original = self.path / name, self.root / name
        if _is_folder(self.files[name]):
            path.mkdir(exist_ok=True)
            path.chmod(self.files[name][0])
            return
        shutil.copy2(original, path, follow_symlinks=False)
        self.files[name] = _state(path.lstat())

    def remove(self) -> None:
        """Remove it; the next request makes it anew."""
        self.files, self.added = {}, frozenset()
        shutil.rmtree(self.path, ignore_errors=True)


def _file_states(root: Path) -> dict[str, tuple[int, ...]]:
    """Return the times, sizes and modes of files by path, and the modes of folders."""
    states: dict[str, tuple[int, ...]] = {}
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                state, name = entry.stat(follow_symlinks=False), f"{folder}{entry.name}"
                states[name] = _state(state)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{name}/")
    return states


def _state(status: os.stat_result) -> tuple[int, ...]:
    if stat.S_ISDIR(status.st_mode):
        return (stat.S_IMODE(status.st_mode),)
    return (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_folder(state: Sequence[int]) -> bool:
    return len(state) == 1


def _compiled(path: Path) -> list[Path]:
    return list((path.parent / "__pycache__").glob(f"{glob.escape(path.stem)}.*"))
