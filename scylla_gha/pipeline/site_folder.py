"""The folder of a site: files are written one by one, and stale ones of an earlier build are removed, nothing else."""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

from pydantic import Field

from scylla_gha.errors import ConfigError
from scylla_gha.model import Record, Sha256
from scylla_gha.report.site.site_page import SiteFile
from scylla_gha.store.records import read_record, write_bytes, write_record

_LIST: Final = "site.json"


class SiteFileList(Record):
    """Files that a build wrote, with their digests: a later build removes those that it does not make."""

    schema_version: int = 1
    files: Annotated[dict[str, Sha256], Field(description="by path inside the site")]


def write_site(folder: Path, files: Iterable[SiteFile]) -> SiteFileList:
    """Write a site; equal files make equal folders, whatever build was there before.

    A build waits for another one that writes to the same folder. One that fails leaves a list of its files, so that
    the next one may replace them.

    Args:
        folder: of the site, which a build before may have written.
        files: all of it, each path once.

    Raises:
        ConfigError: the folder has a file in the place of one of the site, which no build wrote.
    """
    with _only_writer(folder), contextlib.ExitStack() as failed:
        old = _known_files(folder)
        digests: dict[str, str] = {}
        failed.callback(lambda: _store_list(folder, old | digests) if digests else None)
        for file in files:
            _write(folder, file, old)
            digests[file.path] = hashlib.sha256(file.content).hexdigest()
        failed.pop_all()
        for path in sorted(old.keys() - digests.keys()):
            _remove(folder, path, old[path])
        return _store_list(folder, digests)


def _store_list(folder: Path, digests: dict[str, str]) -> SiteFileList:
    known = SiteFileList(files=dict(sorted(digests.items())))
    write_record(folder / _LIST, known)
    return known


@contextlib.contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Wait until no other build writes to the folder, and keep others waiting."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _known_files(folder: Path) -> dict[str, str]:
    record = read_record(folder / _LIST, SiteFileList)
    files = dict(record.files) if record else {}
    strange = [path for path in files if path.startswith("/") or ".." in PurePosixPath(path).parts]
    if strange:
        raise ConfigError(f"{folder / _LIST}: lists {strange[0]}, which is outside of the site; remove the file, and "
                          "build into an empty folder")  # fmt: skip
    return files


def _write(folder: Path, file: SiteFile, old: dict[str, str]) -> None:
    target = folder / file.path
    if target.is_file() and target.read_bytes() == file.content:
        return
    if target.exists() and file.path not in old:
        raise ConfigError(f"{target}: was not written by an earlier build, so it is not overwritten; name an empty "
                          "folder by --into")  # fmt: skip
    write_bytes(target, file.content)


def _remove(folder: Path, path: str, digest: str) -> None:
    """Remove a file of an earlier build unless somebody changed it, and folders that are empty then."""
    target = folder / path
    if not target.is_file() or hashlib.sha256(target.read_bytes()).hexdigest() != digest:
        return
    target.unlink()
    for parent in target.parents:
        if parent == folder or any(parent.iterdir()):
            return
        parent.rmdir()
