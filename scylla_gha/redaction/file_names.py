"""File names without secrets: each file keeps its place, no two names become one, and none takes an existing name."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, count
from typing import Final

from scylla_gha.redaction.eligibility import MARK

Clean = Callable[[bytes], bytes]
_LONGEST: Final = 255  # bytes of a file's name
_NUMBERED: Final = re.compile(rb"\[redacted-([0-9]{1,9})\]")


def redacted_names(added: Sequence[bytes], base: Iterable[bytes], clean: Clean) -> dict[bytes, bytes]:
    """The new paths of those files whose own path holds a secret: `[redacted-N]`, another N for each name.

    Args:
        added: paths that the start state does not have, in order.
        base: all paths of the start state; its folders keep their names.
        clean: takes secrets out of bytes.
    """
    together = b"\0".join(added)
    if clean(together) == together:
        return {}
    names = _Names(added, list(base), clean)
    found = ((path, names.path(path)) for path in added)
    return {path: name for path, name in found if name != path}


class _Names:
    """New names for parts of paths: the same part is the same name everywhere."""

    def __init__(self, added: Sequence[bytes], base: Sequence[bytes], clean: Clean) -> None:
        self._clean = clean
        self._folders = {folder for path in base for folder in _folders(path)}
        taken = {int(number) for path in (*added, *base) for number in _NUMBERED.findall(path)}
        self._marks = (b"[redacted-%d]" % number for number in count(1) if number not in taken)
        self._parts: dict[bytes, bytes] = {}

    def path(self, path: bytes) -> bytes:
        kept = max((folder for folder in _folders(path) if folder in self._folders), key=len, default=b"")
        return kept + self._below(path[len(kept) :])

    def _below(self, path: bytes) -> bytes:
        whole = b"/".join(map(self._part, path.split(b"/")))
        clean = self._clean(whole)
        if clean == whole:
            return whole
        # A secret that reaches over several parts: what begins before it stays, the rest is one name.
        same = len(os.path.commonprefix([whole, clean]))  # noqa: RUF071 by bytes is what is meant
        mark = next(self._marks)
        name = whole[: whole.rfind(b"/", 0, same) + 1] + mark
        return name if self._clean(name) == name else mark

    def _part(self, part: bytes) -> bytes:
        if part not in self._parts:
            clean = self._clean(part)
            self._parts[part] = part if clean == part else self._instead(clean)
        return self._parts[part]

    def _instead(self, clean: bytes) -> bytes:
        mark = next(self._marks)
        name = clean.replace(MARK.encode(), mark)
        fits = mark in name and len(name) <= _LONGEST and self._clean(name) == name
        return name if fits else mark


def _folders(path: bytes) -> Iterator[bytes]:
    """All folders that a file lies in, each with a slash at its end."""
    parts = path.split(b"/")[:-1]
    return accumulate(part + b"/" for part in parts)
