"""Folders of the sandboxes' own among the temporary files, with short paths, as sockets need them.

A folder's name tells the process that made it, which also holds a lock on it; so what a killed harness left is found
and removed by the next one, also where process numbers of another namespace say nothing here.
"""

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"box-(\d+)-\w+")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    """A new folder that only this user may enter, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"box-{os.getpid()}-") as name, _opened(Path(name)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def reap() -> None:
    """Remove what killed processes of this user left."""
    for folder in Path(tempfile.gettempdir()).glob("box-*"):
        found = _NAME.fullmatch(folder.name)
        if found and not Path("/proc", found[1]).exists():
            with contextlib.suppress(OSError), _opened(folder) as lock:  # locked, gone already, or no folder at all
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_uid == os.geteuid():
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
