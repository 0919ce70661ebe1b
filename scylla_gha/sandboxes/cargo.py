"""What goes into a container and what comes out of it, as tar streams. What comes out is hostile.

It may hold links to anywhere, special files, holes of any size and names of any form. It is laid out below folders of
our own: folders and plain files first, through descriptors that follow no link; the links last, when nothing is
written any more.
"""

import contextlib
import io
import os
import shutil
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from scylla_gha.errors import is_lack_of_the_host

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_DEPTH: Final = 2  # of the folders that come out, in the stream: home/workspace


@dataclass(frozen=True, slots=True)
class Load:
    """A folder of the host that goes in as `name`, owned by the user of that number; root's can only be read."""

    folder: Path
    name: str
    owner: int

    def owned(self, entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        """The entry with its owner; None for special files, which no harness made."""
        if not (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk()):
            return None
        entry.uid = entry.gid = self.owner
        entry.uname = entry.gname = ""
        if not self.owner:
            entry.mode |= 0o555 if entry.isdir() or entry.mode & stat.S_IXUSR else 0o444
        return entry


def pack(loads: Iterable[Load], into: IO[bytes]) -> None:
    """Write the folders as one tar stream."""
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as archive:
        for load in loads:
            archive.add(load.folder, load.name, filter=load.owned)


class _Tree:
    """One folder that is being laid out."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700)
        self._root = root
        self._links: list[tuple[list[str], str]] = []
        self._modes: list[tuple[list[str], int]] = []

    def folder(self, parts: list[str], mode: int) -> None:
        """Make a folder; it gets its mode at the end, since it has to be written to until then."""
        with self._entered(parts):
            self._modes.append((parts, mode))

    def file(self, parts: list[str], mode: int, content: IO[bytes]) -> None:
        """Write a file."""
        with self._entered(parts[:-1]) as folder:
            descriptor = os.open(parts[-1], _NEW, 0o600, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
            os.fchmod(file.fileno(), mode)

    def hard_link(self, parts: list[str], tree: "_Tree", target: list[str]) -> None:
        """Make another name for a file that is there already, in this tree or in another."""
        with self._entered(parts[:-1]) as folder, tree._entered(target[:-1]) as other:
            os.link(target[-1], parts[-1], src_dir_fd=other, dst_dir_fd=folder, follow_symlinks=False)

    def link(self, parts: list[str], target: str) -> None:
        """Note a symbolic link, which is made at the end."""
        self._links.append((parts, target))

    def finish(self) -> Iterator[OSError]:
        """Make the links, then give the folders their modes, the inner ones first."""
        for parts, target in self._links:
            try:
                with self._entered(parts[:-1]) as folder:
                    os.symlink(target, parts[-1], dir_fd=folder)
            except OSError as error:
                yield error
        for parts, mode in reversed(self._modes):
            with self._entered(parts) as folder:
                os.fchmod(folder, mode)

    @contextlib.contextmanager
    def _entered(self, parts: list[str]) -> Iterator[int]:
        """A descriptor of a folder below the root, which is made where it is missing; no link is followed."""
        here = os.open(self._root, _DIRECTORY)
        try:
            for part in parts:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=here)
                inner = os.open(part, _DIRECTORY, dir_fd=here)
                os.close(here)
                here = inner
            yield here
        finally:
            os.close(here)


@dataclass(slots=True)
class Hold:
    """Lays out a tar stream: each folder of `places` (its name in the stream) where it is to go, which is new.

    Of the content no more than `left` bytes are taken: a file with a hole in it can be larger than any disk.
    `faults` tells, in words, what is not as it was.
    """

    places: Mapping[str, Path]
    left: int
    faults: list[str] = field(default_factory=list)

    def unload(self, stream: Iterable[bytes]) -> None:
        """Take the stream; what cannot be taken is a fault."""
        trees = {name: _Tree(folder) for name, folder in self.places.items()}
        try:
            with tarfile.open(fileobj=_Reader(stream), mode="r|", bufsize=1 << 20, errors="surrogateescape") as archive:
                for entry in archive:
                    if not self._take(entry, trees, archive):
                        break
        except tarfile.TarError as error:
            self.faults.append(f"cannot be read: {error}")
        for tree in trees.values():
            self.faults += [str(error) for error in tree.finish()]
        self.faults = [fault.encode(errors="backslashreplace").decode() for fault in self.faults]  # names are any bytes

    def _take(self, entry: tarfile.TarInfo, trees: Mapping[str, _Tree], archive: tarfile.TarFile) -> bool:
        """Lay out one entry; False where no more is to be taken."""
        name, parts = _split(entry.name)
        if name not in trees or ".." in parts or (not parts and not entry.isdir()):
            return True
        self.left -= entry.size if entry.isreg() else 0
        if self.left < 0:
            self.faults.append(f"{entry.name} and what follows is left out: it is more than may be written")
            return False
        try:
            self._lay(trees[name], parts, entry, trees, archive)
        except OSError as error:
            if is_lack_of_the_host(error):
                raise
            self.faults.append(f"{entry.name}: {error.strerror}")
        return True

    def _lay(
        self, tree: _Tree, parts: list[str], entry: tarfile.TarInfo, trees: Mapping[str, _Tree],
        archive: tarfile.TarFile,
    ) -> None:  # fmt: skip
        mode = entry.mode & 0o777
        if entry.isdir():
            tree.folder(parts, mode)
        elif entry.issym():
            tree.link(parts, entry.linkname)
        elif entry.islnk():
            other, target = _split(entry.linkname)
            if other in trees and target and ".." not in target:
                tree.hard_link(parts, trees[other], target)
        elif entry.isreg() and (content := archive.extractfile(entry)) is not None:
            tree.file(parts, mode, content)
        else:
            self.faults.append(f"{entry.name}: a special file, left out")


def _split(name: str) -> tuple[str, list[str]]:
    """A name in the stream: the folder that comes out, and the parts below it."""
    parts = [part for part in name.split("/") if part not in {"", "."}]
    return "/".join(parts[:_DEPTH]), parts[_DEPTH:]


class _Reader(io.RawIOBase):
    """Chunks, as a file that can be read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; fewer only at the end, as tarfile expects."""
        taken = [self._rest]
        have = len(self._rest)
        while (size < 0 or have < size) and (chunk := next(self._chunks, None)) is not None:
            taken.append(chunk)
            have += len(chunk)
        whole = b"".join(taken)
        wanted = have if size < 0 else size
        self._rest = whole[wanted:]
        return whole[:wanted]


def discard(folder: Path) -> None:
    """Remove a folder that the harness made; the rights to its own folders cannot be missing."""
    shutil.rmtree(folder, ignore_errors=True)
