"""Waiting for what other processes do, where a wait in vain fails; and rights that are taken away."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from scylla_gha.system.process import Cancel

_MOST_SECONDS = 60.0
_NOBODY = 65534


def wait_for(condition: Callable[[], bool]) -> bool:
    """Return whether the condition came to hold."""
    end = time.monotonic() + _MOST_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def number_in(path: Path) -> int:
    """The process id in a file, once it is written whole."""
    assert wait_for(lambda: path.is_file() and path.read_text().endswith("\n")), f"{path} was not written"
    return int(path.read_text())


@contextlib.contextmanager
def cancelled_once_there(path: Path) -> Iterator[Cancel]:
    """A cancel that another thread sets once a process has written its id to the file."""
    cancel = Cancel()

    def wait_and_cancel() -> None:
        number_in(path)
        cancel.set()

    other = threading.Thread(target=wait_and_cancel)
    other.start()
    try:
        yield cancel
    finally:
        other.join()


def ends(pid: int) -> bool:
    """Return whether a process comes to its end; what nobody has waited for yet is a zombie."""
    return wait_for(lambda: not _lives(pid))


def _lives(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextlib.contextmanager
def without_special_rights(folder: Path) -> Iterator[None]:
    """Be in the folder, and where the tests run as root, be nobody: root may read and remove whatever it likes."""
    with contextlib.chdir(folder):
        if os.geteuid() != 0:
            yield
            return
        os.chown(folder, _NOBODY, _NOBODY)
        os.seteuid(_NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
