"""Tar streams into a container and out of it. The stream that comes out is hostile.

It may hold links to anywhere, special files, holes of any size and names of any form. So it is extracted into new
folders, and symbolic links are made at the end: while anything is written, no path leads through one.
"""

import contextlib
import functools
import io
import os
import shutil
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Final

from scylla_gha.errors import is_lack_of_the_host

_BUFFER_BYTES: Final = 1 << 20
_DEPTH: Final = 2  # of the folders that come out, in the stream: home/workspace


def pack_tar(folders: Iterable[tuple[Path, str, int]], into: IO[bytes]) -> None:
    """Write folders as one tar stream, each with its name in it and its owner's number; root's are read-only."""
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as archive:
        for folder, name, owner in folders:
            archive.add(folder, name, filter=functools.partial(_with_owner, owner))


def _with_owner(owner: int, entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Set an entry's owner; return None for special files, which the harness never makes."""
    if not (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk()):
        return None
    entry.uid = entry.gid = owner
    entry.uname = entry.gname = ""
    if not owner:
        entry.mode |= 0o555 if entry.isdir() or entry.mode & stat.S_IXUSR else 0o444
    return entry


def extract_tar(stream: Iterable[bytes], folders: Mapping[str, Path], limit: int) -> list[str]:
    """Extract a stream into new folders, by their names in it; return in words what differs from the stream.

    No more than `limit` bytes of content are written, since a file with a hole can be larger than any disk.

    Raises:
        OSError: this machine lacks disk, memory or descriptors.
    """
    extraction = _Extraction(folders, limit)
    extraction.extract(stream)
    # names may be any bytes
    return [fault.encode(errors="backslashreplace").decode() for fault in extraction.faults]


class _Extraction:
    def __init__(self, folders: Mapping[str, Path], limit: int) -> None:
        self._folders, self._left = folders, limit
        self._links: list[tuple[Path, tarfile.TarInfo]] = []
        self._modes: list[tuple[Path, int]] = []
        self.faults: list[str] = []

    def extract(self, stream: Iterable[bytes]) -> None:
        for folder in self._folders.values():
            folder.mkdir(mode=0o700)
        source = _ChunkReader(stream)
        try:
            with tarfile.open(fileobj=source, mode="r|", bufsize=_BUFFER_BYTES, errors="surrogateescape") as archive:
                for entry in archive:
                    self._left -= entry.size if entry.isreg() else 0
                    if self._left < 0:
                        self.faults.append(f"{entry.name} and all after it is left out: it is more than may be written")
                        break
                    if path := self._path(entry.name):
                        with self._noting_fault(entry):
                            self._extract_entry(entry, path, archive)
        except tarfile.TarError as error:
            self.faults.append(f"cannot be read: {error}")
        for path, entry in self._links:
            with self._noting_fault(entry):
                path.symlink_to(entry.linkname)
        for path, mode in reversed(self._modes):  # the inner ones first
            path.chmod(mode)

    @contextlib.contextmanager
    def _noting_fault(self, entry: tarfile.TarInfo) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if is_lack_of_the_host(error):
                raise
            self.faults.append(f"{entry.name}: {error.strerror}")

    def _extract_entry(self, entry: tarfile.TarInfo, path: Path, archive: tarfile.TarFile) -> None:
        mode = entry.mode & 0o777
        if not path.parent.is_dir():
            for parent in reversed(path.parents):  # `parents=True` recurses
                parent.mkdir(exist_ok=True)
        if entry.isdir():
            path.mkdir(exist_ok=True)
            self._modes.append((path, mode))  # set at the end, since the folder has to be writable until then
        elif entry.issym():
            self._links.append((path, entry))
        elif entry.islnk():
            if target := self._path(entry.linkname):
                os.link(target, path, follow_symlinks=False)
        elif entry.isreg() and (content := archive.extractfile(entry)) is not None:
            with path.open("xb") as file:
                shutil.copyfileobj(content, file, _BUFFER_BYTES)
                os.fchmod(file.fileno(), mode)
        else:
            self.faults.append(f"{entry.name}: a special file, left out")

    def _path(self, name: str) -> Path | None:
        """Return where an entry goes; None if that is outside the folders."""
        parts = [part for part in name.split("/") if part not in {"", "."}]
        folder = self._folders.get("/".join(parts[:_DEPTH]))
        return None if folder is None or ".." in parts else folder.joinpath(*parts[_DEPTH:])


class _ChunkReader(io.RawIOBase):
    """Chunks as a readable file. `io.BufferedReader` would need a third more time for chunks of the engine's size."""

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
