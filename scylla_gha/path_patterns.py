"""Patterns of paths, in the syntax of `.gitignore`.

Agents write the paths and repositories the patterns, so RE2 matches them in linear time: with Python's own engine, a
pattern with eight stars takes a minute. RE2 reads only UTF-8: a byte of a name that is not UTF-8 counts as U+FFFD.
"""

import re
from collections.abc import Iterable
from typing import Final

import pathspec

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class PathPatterns:
    """Lines of a `.gitignore`; the last one that matches a path decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._spec = pathspec.GitIgnoreSpec.from_lines([_in_utf8(line) for line in lines], backend="re2")

    def match(self, path: str) -> bool:
        """Return True if the patterns match a path."""
        return bool(self.verdict(path))

    def verdict(self, path: str) -> bool | None:
        """Return True if the last matching line includes the path, False if it excludes it; None without a match."""
        return self._spec.check_file(_in_utf8(path)).include


def gitignore_fault(pattern: str) -> str | None:
    """Return why a text is not a pattern of a `.gitignore`; None if it is one."""
    try:
        pathspec.GitIgnoreSpec.from_lines([pattern])
    except ValueError as error:
        return f"{pattern!r} is not a gitignore pattern: {error}"
    return None


def _in_utf8(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)
