"""One command at a time works in a run's folder: two would pay for the same cells twice.

The lock is the kernel's, on the folder itself: it holds no file, and goes with its process, however that ends. Jobs of
several shards share the folder; each shard has a lock of its own.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import click

from scylla_gha.errors import RefusedError


def occupy(folder: Path, *, shared: bool = False) -> None:
    """Hold the folder, which is made where it is missing, until the command ends.

    Args:
        folder: of the run.
        shared: others that share it may hold it as well.

    Raises:
        RefusedError: another process holds it.
    """
    click.get_current_context().with_resource(_held(folder, shared=shared))


@contextlib.contextmanager
def _held(folder: Path, *, shared: bool) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RefusedError(f"{folder}: {_holder(descriptor)} is at work in it; wait until it ends, or give "
                                   "another folder by --runs; nothing was started") from None  # fmt: skip
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """The process that holds the lock, as far as the kernel tells."""
    number = os.fstat(descriptor).st_ino
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and int(fields[5].rpartition(":")[2]) == number:
                argv = Path("/proc", fields[4], "cmdline").read_bytes().decode(errors="replace").split("\0")
                return f"process {fields[4]} ({' '.join(argv).strip()})"
    return "another process"
