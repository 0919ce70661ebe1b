"""Plausible wrong solutions made from a correct one: a part is left out, or one line is mutated.

The hidden checks decide which of them are really wrong.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Final

from scylla_gha.mining.mutation_rules import MUTATION_RULES

_HEADER: Final = b"diff --git "
_HUNK: Final = re.compile(rb"^@@ ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _FilePatch:
    """The patch of one file: its header and its hunks."""

    head: bytes
    hunks: tuple[bytes, ...]

    @property
    def whole(self) -> bytes:
        return self.head + b"".join(self.hunks)


def wrong_solutions(patch: bytes, most: int, is_code: Callable[[str], bool]) -> dict[str, bytes]:
    """Return at most `most` other patches of the same start, by a name that says what is wrong."""
    parts = re.split(rb"^(?=diff --git )", patch, flags=re.MULTILINE)
    files = [_file(part) for part in parts if part.startswith(_HEADER)]
    mixed = chain.from_iterable(zip_longest(_parts(files), _mutated(files, is_code)))
    different = ((name, wrong) for name, wrong in filter(None, mixed) if wrong not in {patch, b""})
    return dict(islice(different, most))


def _file(part: bytes) -> _FilePatch:
    starts = [match.start() for match in _HUNK.finditer(part)]
    ends = [*starts[1:], len(part)]
    hunks = tuple(part[start:end] for start, end in zip(starts, ends, strict=True))
    return _FilePatch(part[: starts[0]] if starts else part, hunks)


def _parts(files: list[_FilePatch]) -> Iterator[tuple[str, bytes]]:
    """Yield the patch without each of its hunks; a file without hunks is left out."""
    number = 0
    for at, file in enumerate(files):
        for which in range(max(1, len(file.hunks))):
            number += 1
            kept = tuple(hunk for index, hunk in enumerate(file.hunks) if index != which)
            less = [_FilePatch(file.head, kept)] if kept else []
            yield f"part-{number}-left-out", b"".join(part.whole for part in (*files[:at], *less, *files[at + 1 :]))


def _mutated(files: list[_FilePatch], is_code: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield the patch with one added line of code mutated, once per kind of mutation."""
    whole = b"".join(file.whole for file in files)
    for rule in MUTATION_RULES:
        at, match = next(_matches(files, rule.pattern, is_code), (0, None))
        if match is not None:
            yield rule.name, whole[: at + match.start()] + rule.replace(match) + whole[at + match.end() :]


def _matches(
    files: list[_FilePatch], pattern: re.Pattern[bytes], is_code: Callable[[str], bool]
) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Yield the first match in each added line of code, and where in the patch that line starts."""
    at = 0
    for file in files:
        path = re.search(rb"^\+\+\+ b/(.+)$", file.head, re.MULTILINE)
        in_code = path is not None and is_code(path[1].decode(errors="replace"))
        at += len(file.head)
        for line in b"".join(file.hunks).splitlines(keepends=True):
            match = pattern.search(line.rstrip(b"\r\n"), 1) if in_code and _has_code(line) else None
            if match:
                yield at, match
            at += len(line)


def _has_code(line: bytes) -> bool:
    return line.startswith(b"+") and not line[1:].lstrip().startswith((b"#", b"//", b"*", b'"""', b"import", b"from"))
