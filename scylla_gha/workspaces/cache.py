"""The cache of start states, mirrors and tools; everything in it can be made again."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_root() -> Path:
    """`$SCYLLA_CACHE`, or a folder in the user's cache folder; agents see its name, so it tells nothing."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "boxes"
    return Path(os.environ.get("SCYLLA_CACHE") or default)


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Let one thread of one process at a time make `place`."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
