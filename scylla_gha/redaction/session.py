"""Redaction of all that is stored of an attempt: bytes, records, folders, and the names of files.

File names without secrets keep each file in its folder; no two names become one, and none takes an existing name.
"""

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from scylla_gha.model import Record
from scylla_gha.redaction import Redactor
from scylla_gha.redaction.patterns import MARK

R = TypeVar("R", bound=Record)
Clean = Callable[[bytes], bytes]
_MAX_NAME: Final = 255  # bytes of a file's name
_NUMBERED: Final = re.compile(rb"\[redacted-([0-9]{1,9})\]")


@dataclass(slots=True)
class RedactionSession:
    """A redactor that counts the removed secrets; a secret in two files counts twice.

    Cleaning is repeated until nothing is found, since text beside a removed secret may have the form of a token. So
    cleaning again never changes anything, and digests of what was cleaned hold.
    """

    redactor: Redactor
    count: int = 0

    def clean(self, data: bytes) -> bytes:
        """Return bytes without secrets."""
        clean, removed = self.redactor.redact_bytes(data)
        while removed:
            self.count += removed
            clean, removed = self.redactor.redact_bytes(clean)
        return clean

    def record(self, record: R) -> R:
        """Return a record without secrets in its texts."""
        text = record.model_dump_json().encode()
        clean = self.clean(text)
        return record if clean == text else type(record).model_validate_json(clean)

    def file(self, path: Path) -> None:
        """Clean a file; do nothing if there is no regular file."""
        if not path.is_symlink() and path.is_file():  # the target of a link may be too long a name
            while removed := self.redactor.redact_file(path):
                self.count += removed

    def folder(self, root: Path, but: Container[Path] = ()) -> None:
        """Clean all files below a folder, except some."""
        for folder, _, names in os.walk(root):
            for name in names:
                if (path := Path(folder, name)) not in but:
                    self.file(path)

    @contextlib.contextmanager
    def guarding(self, root: Path) -> Iterator[None]:
        """Clean an attempt's folder at the end of the block, also after an error.

        Its diff was made of clean files. Its text may have the form of a secret, for instance across two files, and
        would not apply without it. A git bundle is compressed, and would not be read after a change.
        """
        try:
            yield
        finally:
            self.folder(root, but={root / "diff.patch", root / "github.bundle"})


def redacted_names(added: Sequence[bytes], base: Iterable[bytes], clean: Clean) -> dict[bytes, bytes]:
    """Return new paths for files whose path contains a secret: `[redacted-N]`, another N for each name.

    Args:
        added: paths that the start state does not have, in order.
        base: all paths of the start state; its folders keep their names.
        clean: removes secrets from bytes.
    """
    together = b"\0".join(added)
    if clean(together) == together:
        return {}
    names = _CleanNames(added, list(base), clean)
    return {path: name for path in added if (name := names.path(path)) != path}


class _CleanNames:
    """New names for parts of paths: the same part has the same name everywhere."""

    def __init__(self, added: Sequence[bytes], base: Sequence[bytes], clean: Clean) -> None:
        self._clean = clean
        self._base_folders = {folder for path in base for folder in _folders(path)}
        used = {int(number) for path in (*added, *base) for number in _NUMBERED.findall(path)}
        self._marks = (b"[redacted-%d]" % number for number in itertools.count(1) if number not in used)
        self._parts: dict[bytes, bytes] = {}

    def path(self, path: bytes) -> bytes:
        base = max((folder for folder in _folders(path) if folder in self._base_folders), key=len, default=b"")
        below = b"/".join(map(self._part, path[len(base) :].split(b"/")))
        clean = self._clean(below)
        if clean == below:
            return base + below
        # A secret that spans several parts: what begins before it stays, the rest becomes one name.
        same = len(os.path.commonprefix([below, clean]))  # noqa: RUF071 by bytes is what is meant
        mark = next(self._marks)
        name = below[: below.rfind(b"/", 0, same) + 1] + mark
        return base + (name if self._clean(name) == name else mark)

    def _part(self, part: bytes) -> bytes:
        if part not in self._parts:
            clean = self._clean(part)
            self._parts[part] = part if clean == part else self._marked(clean)
        return self._parts[part]

    def _marked(self, clean: bytes) -> bytes:
        mark = next(self._marks)
        name = clean.replace(MARK.encode(), mark)
        fits = mark in name and len(name) <= _MAX_NAME and self._clean(name) == name
        return name if fits else mark


def _folders(path: bytes) -> Iterator[bytes]:
    """Return all folders of a file, each with a slash at its end."""
    return itertools.accumulate(part + b"/" for part in path.split(b"/")[:-1])
