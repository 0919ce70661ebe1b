"""Files of a folder that somebody else filled: no links, no devices, nothing larger than agreed."""

import contextlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path


class UnsoundError(Exception):
    """What was sent is not what was agreed; the message says in which way. It never leaves the intake."""


def listed(folder: Path, most: int) -> list[str]:
    """The names in a real folder, in order.

    Raises:
        UnsoundError: it is a link, no folder, or has more than `most` entries.
    """
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise UnsoundError("is no folder")
    names = []
    with os.scandir(folder) as found:
        for entry in found:
            names.append(entry.name)
            if len(names) > most:
                raise UnsoundError(f"holds more than {most} files")
    return sorted(names)


@contextlib.contextmanager
def opened(path: Path, most: int) -> Iterator[BufferedReader]:
    """A plain file of at most so many bytes that is in no other place, too.

    It is looked at before it is opened, since opening a device or a pipe does something; and again afterwards.

    Raises:
        UnsoundError: it is something else, or is not there.
    """
    name = path.name
    try:
        _check(name, path.lstat(), most)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UnsoundError(f"{name} is missing") from None
    except OSError as error:
        raise UnsoundError(f"{name} cannot be read: {error.strerror}") from None
    with open(handle, "rb") as file:  # noqa: PTH123 of a descriptor
        _check(name, os.fstat(file.fileno()), most)
        yield file


def _check(name: str, found: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UnsoundError(f"{name} is a {_kind(found.st_mode)}, not a file")
    if found.st_nlink > 1:
        raise UnsoundError(f"{name} is a hard link")
    if found.st_size > most:
        raise UnsoundError(f"{name} has {found.st_size} bytes; at most {most} were expected")


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISLNK, "link"), (stat.S_ISDIR, "folder"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
    return next((name for is_one, name in kinds if is_one(mode)), "device")


def lines(file: BufferedReader, most: int) -> Iterator[bytes]:
    """The lines of a file, none of them longer than `most` bytes before its end.

    Raises:
        UnsoundError: one is longer, or the last one has no end.
    """
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if not line.endswith(b"\n"):
            raise UnsoundError(f"line {number} is longer than {most} bytes" if len(line) > most
                               else f"line {number} has no end: the file is cut")  # fmt: skip
        yield line


def safe(text: str) -> str:
    """A name of somebody else's choice: quoted, cut, and in ASCII."""
    return ascii(text[:80])
