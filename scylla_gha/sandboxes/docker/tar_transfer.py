"""Tar streams into a container and out of it. The stream that comes out is hostile.

It may hold links to anywhere, special files, holes of any size and names of any form. It is extracted below new
folders: folders and plain files first, through descriptors that follow no link; links last, when nothing is written any
more.
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
class TarInput:
    """Folder of the host that goes in as `name`, owned by the user of that number; root's is read-only."""

    folder: Path
    name: str
    owner: int

    def with_owner(self, entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        """Set the entry's owner; return None for special files, which the harness never makes."""
        if not (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk()):
            return None
        entry.uid = entry.gid = self.owner
        entry.uname = entry.gname = ""
        if not self.owner:
            entry.mode |= 0o555 if entry.isdir() or entry.mode & stat.S_IXUSR else 0o444
        return entry


def pack_tar(inputs: Iterable[TarInput], into: IO[bytes]) -> None:
    """Write the folders as one tar stream."""
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as archive:
        for item in inputs:
            archive.add(item.folder, item.name, filter=item.with_owner)


class _Tree:
    """Folder that is being extracted."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700)
        self._root = root
        self._links: list[tuple[list[str], str]] = []
        self._modes: list[tuple[list[str], int]] = []

    def folder(self, parts: list[str], mode: int) -> None:
        """Make a folder; its mode is set at the end, since it has to be writable until then."""
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
        """Make another name for an extracted file of this tree or another."""
        with self._entered(parts[:-1]) as folder, tree._entered(target[:-1]) as other:
            os.link(target[-1], parts[-1], src_dir_fd=other, dst_dir_fd=folder, follow_symlinks=False)

    def link(self, parts: list[str], target: str) -> None:
        """Remember a symbolic link, which is made at the end."""
        self._links.append((parts, target))

    def finish(self) -> Iterator[OSError]:
        """Make the links, then set the modes of folders, the inner ones first; return the faults."""
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
        """Open a folder below the root, made if missing, without following a link."""
        descriptor = os.open(self._root, _DIRECTORY)
        try:
            for part in parts:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=descriptor)
                inner = os.open(part, _DIRECTORY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)


@dataclass(slots=True)
class TarExtractor:
    """Extraction of a tar stream into new folders, given by their names in the stream.

    No more than `left` bytes of content are written, since a file with a hole can be larger than any disk. `faults`
    states what differs from the stream.
    """

    folders: Mapping[str, Path]
    left: int
    faults: list[str] = field(default_factory=list)

    def extract(self, stream: Iterable[bytes]) -> None:
        """Extract the stream; an entry that cannot be extracted is a fault."""
        trees = {name: _Tree(folder) for name, folder in self.folders.items()}
        try:
            with tarfile.open(
                fileobj=_ChunkReader(stream), mode="r|", bufsize=1 << 20, errors="surrogateescape"
            ) as archive:
                for entry in archive:
                    if not self._extract_entry(entry, trees, archive):
                        break
        except tarfile.TarError as error:
            self.faults.append(f"cannot be read: {error}")
        for tree in trees.values():
            self.faults += [str(error) for error in tree.finish()]
        self.faults = [fault.encode(errors="backslashreplace").decode() for fault in self.faults]  # names are any bytes

    def _extract_entry(self, entry: tarfile.TarInfo, trees: Mapping[str, _Tree], archive: tarfile.TarFile) -> bool:
        """Extract one entry; return False if no more may be written."""
        name, parts = _split(entry.name)
        if name not in trees or ".." in parts or (not parts and not entry.isdir()):
            return True
        self.left -= entry.size if entry.isreg() else 0
        if self.left < 0:
            self.faults.append(f"{entry.name} and all after it is left out: it is more than may be written")
            return False
        try:
            self._write(trees[name], parts, entry, trees, archive)
        except OSError as error:
            if is_lack_of_the_host(error):
                raise
            self.faults.append(f"{entry.name}: {error.strerror}")
        return True

    def _write(
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
    """Split a name in the stream into the folder that comes out and the parts below it."""
    parts = [part for part in name.split("/") if part not in {"", "."}]
    return "/".join(parts[:_DEPTH]), parts[_DEPTH:]


class _ChunkReader(io.RawIOBase):
    """Chunks as a readable file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or fewer only at the end, as tarfile expects."""
        chunks = [self._rest]
        length = len(self._rest)
        while (size < 0 or length < size) and (chunk := next(self._chunks, None)) is not None:
            chunks.append(chunk)
            length += len(chunk)
        whole = b"".join(chunks)
        wanted = length if size < 0 else size
        self._rest = whole[wanted:]
        return whole[:wanted]
