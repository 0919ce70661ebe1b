"""Workspaces of trials: removed when these end, or kept beside the attempt's records for a person to look at."""

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from scylla_gha.errors import is_lack_of_the_host
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.sweep import Sweep
from scylla_gha.store import AttemptFolder, CellFolder, write_bytes

Keep = Literal["none", "failed", "all"]
_FOLDER: Final = "workspace"
_LEFT_OUT: Final = "workspace-left-out.txt"
_GIT: Final = ".git"
_TAMED: Final = "dot-git"
_DEEPEST: Final = 100  # folders in one another
_CHUNK: Final = 1 << 20
_PLAIN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def keep_workspace(attempt: Attempt, workspace: Path, folder: AttemptFolder, redactor: Redactor) -> Attempt:
    """Copy what the agent left, without secrets; what is left out is listed beside it.

    That is what is no file, folder or link, what cannot be read, and what is beyond the limits of `_Copy`. `.git`
    becomes `dot-git`: git obeys the settings in it, so the agent, once somebody looks around there.
    """
    place = folder.file(_FOLDER)
    shutil.rmtree(place, ignore_errors=True)
    copy = _Copy()
    copy.folder(workspace, place)
    if copy.left_out:
        write_bytes(folder.file(_LEFT_OUT), b"".join(os.fsencode(path) + b"\n" for path in copy.left_out))
    sweep = Sweep(redactor)
    sweep.folder(place)
    sweep.file(folder.file(_LEFT_OUT))
    return attempt.model_copy(update={"redactions": attempt.redactions + sweep.found})


def drop_workspaces(trial: Trial, judgment: Judgment | None, cell: CellFolder) -> None:
    """Remove those of a trial that succeeded: completed, and passed unless it was not judged."""
    failed = judgment is not None and (judgment.result is None or not judgment.result.passed)
    if trial.outcome is Outcome.COMPLETED and not failed:
        for attempt in cell.attempts():
            shutil.rmtree(attempt.file(_FOLDER), ignore_errors=True)
            attempt.file(_LEFT_OUT).unlink(missing_ok=True)


@dataclass(slots=True)
class _Copy:
    """Copies a folder that an agent made, up to so many entries and bytes; no link is followed, no fault ends it."""

    entries: int = 100_000
    size: int = 2_000_000_000
    left_out: list[str] = field(default_factory=list)

    def folder(self, source: Path, target: Path) -> None:
        """Copy it to a new folder, whose files and folders belong to us, and can be written to and removed."""
        target.mkdir(parents=True)
        waiting = [""]
        names = {"": str(source)}
        while waiting:
            place = waiting.pop()
            for item, name in self._listed(names.pop(place), place):
                path = f"{place}/{name}" if place else name
                if not self.entries:
                    self.left_out.append(f"{path}, and what follows")
                    return
                self.entries -= 1
                if self._is_made(item, path, target):
                    waiting.append(path)
                    names[path] = item.path

    def _listed(self, source: str, place: str) -> Iterator[tuple[os.DirEntry[str], str]]:
        """The entries of a folder, each with the name that it gets."""
        if place.count("/") >= _DEEPEST:
            self.left_out.append(place)
            return
        try:
            with os.scandir(source) as items:
                listed = sorted(items, key=lambda item: item.name)
        except OSError as error:
            self._leave_out(place or "the workspace", error)
            return
        taken = {item.name for item in listed}
        tamed = next(name for name in _names(_TAMED) if name not in taken)
        yield from ((item, tamed if item.name == _GIT else item.name) for item in listed)

    def _is_made(self, item: os.DirEntry[str], path: str, root: Path) -> bool:
        """Copy one entry; True where it is a folder, which was made, and whose entries are to follow."""
        target = root / path
        try:
            if item.is_symlink():
                target.symlink_to(os.readlink(item.path))  # noqa: PTH115 a Path would write `./a` as `a`
            elif item.is_dir(follow_symlinks=False):
                target.mkdir()
                return True
            elif item.is_file(follow_symlinks=False):
                self._file(item, path, target)
            else:
                self.left_out.append(path)
        except OSError as error:
            self._leave_out(path, error)
        return False

    def _file(self, item: os.DirEntry[str], path: str, target: Path) -> None:
        found = item.stat(follow_symlinks=False)
        if found.st_size > self.size:
            self.left_out.append(path)
            return
        self.size -= found.st_size
        with open(os.open(item.path, _PLAIN), "rb") as source, target.open("xb") as copy:  # noqa: PTH123
            shutil.copyfileobj(source, copy, _CHUNK)
            os.fchmod(copy.fileno(), 0o700 if found.st_mode & stat.S_IXUSR else 0o600)

    def _leave_out(self, path: str, error: OSError) -> None:
        if is_lack_of_the_host(error):
            raise error
        self.left_out.append(path)


def _names(first: str) -> Iterator[str]:
    yield first
    yield from (f"{first}-{number}" for number in range(2, 1_000_000))
