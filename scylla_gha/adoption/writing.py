"""Files to write against files that are there."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.adoption.repository import LINK
from scylla_gha.adoption.task import PROGRAM, File


@dataclass(frozen=True, slots=True)
class Changes:
    """What writing does: files that are new, that are there with other content, and that are as they are to be."""

    new: tuple[File, ...]
    other: tuple[File, ...]
    same: tuple[File, ...]


def compare(root: Path, files: Iterable[File]) -> Changes:
    """Look what is in the way; nothing is written."""
    new: list[File] = []
    other: list[File] = []
    same: list[File] = []
    for file in files:
        kind = new if not os.path.lexists(root / file.path) else same if _is_there(root / file.path, file) else other
        kind.append(file)
    return Changes(tuple(new), tuple(other), tuple(same))


def _is_there(place: Path, file: File) -> bool:
    if file.mode == LINK or place.is_symlink():
        return file.mode == LINK and place.is_symlink() and os.fsencode(place.readlink()) == file.content
    executable = file.mode == PROGRAM
    return place.is_file() and place.read_bytes() == file.content and os.access(place, os.X_OK) == executable


def write(root: Path, files: Iterable[File]) -> None:
    """Write them in their order, each whole or not at all; a link in the place of one is replaced, not followed."""
    for file in files:
        place = root / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".scylla-", dir=place.parent)) / "new"
        try:
            if file.mode == LINK:
                new.symlink_to(os.fsdecode(file.content))
            else:
                new.write_bytes(file.content)
                new.chmod(0o755 if file.mode == PROGRAM else 0o644)
            new.replace(place)
        finally:
            new.unlink(missing_ok=True)
            new.parent.rmdir()
