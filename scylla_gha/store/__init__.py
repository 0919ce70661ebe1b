"""Records as files: JSON, JSON lines and append-only logs, written atomically; and digests of stored files.

A file is either whole or absent: a temporary file in the same folder is written and renamed, so a killed process leaves
at most a `*.tmp`. A record that names a file contains its digest, which is checked when the file is read.
"""

import contextlib
import gc
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.model import FileDigest, Record

R = TypeVar("R", bound=Record)
T = TypeVar("T")
_CHUNK: Final = 1 << 20


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Switch off the search for reference cycles while many records are created.

    Records have no reference cycles, and the search takes a fifth to a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically; create its folders."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically; create its folders."""
    with atomic(path) as temporary:
        temporary.write_bytes(data)


def write_record(path: Path, record: Record) -> None:
    """Write a record as indented JSON."""
    write_text(path, record.model_dump_json(indent=1) + "\n")


def write_lines(path: Path, records: Iterable[Record]) -> None:
    """Write records as JSON lines."""
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(record.model_dump_json() + "\n" for record in records)


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Provide a temporary path that is renamed to `path` if the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # the error of a full disk names no file
        raise


def read_record(path: Path, kind: type[R]) -> R | None:
    """Read the record in a file; None if there is no file.

    Raises:
        ConfigError: the file does not contain such a record.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder, not a file; move it away to go on") from None
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        message = f"{path}: not a {kind.__name__} of this version: {where}: {first['msg']}; move the file away to go on"
        raise ConfigError(message) from None


def read_lines(path: Path, kind: type[R]) -> Iterator[R]:
    """Read the records of a file of JSON lines.

    Raises:
        ConfigError: the file is missing, or a line is not such a record.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield kind.model_validate_json(line)
                except ValidationError as error:
                    raise ConfigError(f"{path}:{number}: not a {kind.__name__}: {error.errors()[0]['msg']}") from None
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; run `scylla-gha collect` first") from None


def read_journal(path: Path, line: TypeAdapter[T], what: str) -> list[T]:
    """Read an append-only log; return an empty list if there is no file.

    Args:
        path: the file.
        line: type of a line.
        what: subject of the records, for error messages.

    Raises:
        ConfigError: a line other than a torn last one is not such a record.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    records = []
    if not b"{".startswith(lines[-1][:1]):  # what follows the last line's end is torn or empty
        raise ConfigError(f"{path}: its last line is not a record of {what}; move the file away to go on")
    for number, content in enumerate(lines[:-1], start=1):
        try:
            records.append(line.validate_json(content))
        except ValidationError as error:
            message = (
                f"{path}:{number}: not a record of {what}: {error.errors()[0]['msg']}; move the file away to go on"
            )
            raise ConfigError(message) from None
    return records


def open_journal(path: Path) -> IO[bytes]:
    """Open a log for appending, unbuffered; remove a torn last line, and create folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+b", buffering=0)
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
    return file


def file_digest(path: Path, size: int | None = None) -> FileDigest:
    """Compute the digest of a file, or of its first `size` bytes."""
    sha256, left = hashlib.sha256(), path.stat().st_size if size is None else size
    read = 0
    with path.open("rb") as file:
        while left and (chunk := file.read(min(_CHUNK, left))):
            sha256.update(chunk)
            read, left = read + len(chunk), left - len(chunk)
    return FileDigest(sha256=sha256.hexdigest(), size=read)


def digest_mismatch(path: Path, stored: FileDigest | None) -> str | None:
    """Return why a file does not match its digest, or None. Appended text and a missing digest are no mismatch."""
    if stored is None:
        return None
    try:
        actual = file_digest(path, stored.size)
    except OSError as error:
        return f"{path}: has a digest, and cannot be read: {error.strerror}"
    return None if actual == stored else f"{path}: was changed or cut after it was stored"


def require_digest(path: Path, stored: FileDigest | None) -> None:
    """Require that a file matches its digest.

    Raises:
        ConfigError: it does not.
    """
    if reason := digest_mismatch(path, stored):
        raise ConfigError(f"{reason}; restore it, or remove the cell's folder to run it again")
