"""Wrong solutions, made from a right one: a part of it left out, or one line of it turned.

They are as plausible as half-done work and slips are. Which of them really are wrong, the hidden checks must say.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Final

_HEADER: Final = b"diff --git "
_HUNK: Final = re.compile(rb"^@@ ", re.MULTILINE)
# What is looked for in an added line, and what is put in its place; tried in this order
_TURNS: Final[tuple[tuple[str, bytes, bytes], ...]] = (
    ("equal-turned", rb" == ", b" != "),
    ("unequal-turned", rb" !==? ", b" == "),
    ("less-turned", rb" < ", b" >= "),
    ("more-turned", rb" > ", b" <= "),
    ("up-to-turned", rb" <= ", b" < "),
    ("from-turned", rb" >= ", b" > "),
    ("and-turned", rb" and ", b" or "),
    ("or-turned", rb" or ", b" and "),
    ("not-lost", rb"\bnot (?!in\b)", b""),
    ("plus-turned", rb" \+ ", b" - "),
    ("minus-turned", rb" - ", b" + "),
    ("times-turned", rb" \* ", b" + "),
    ("true-turned", rb"\b[Tt]rue\b", b"0"),
    ("false-turned", rb"\b[Ff]alse\b", b"1"),
    ("number-changed", rb"(?<![\w.\"'])[0-9]+(?![\w.\"'])", b"7919"),
    ("result-lost", rb"\breturn [^;{\s][^;{]*?(?=;?$)", b"return 0"),
    ("text-changed", rb"(?<=[\"'])(?=[A-Za-z ])", b"x"),
)


@dataclass(frozen=True, slots=True)
class _FilePatch:
    """The change of one file: what stands before the hunks, and the hunks."""

    head: bytes
    hunks: tuple[bytes, ...]

    @property
    def whole(self) -> bytes:
        return self.head + b"".join(self.hunks)


def wrong_ones(patch: bytes, most: int, is_code: Callable[[str], bool]) -> dict[str, bytes]:
    """At most so many other patches of the same start, by a name that says what is wrong with them."""
    files = _files(patch)
    mixed = chain.from_iterable(zip_longest(_parts(files), _turned(files, is_code)))
    different = ((name, made) for name, made in filter(None, mixed) if made not in {patch, b""})
    return dict(islice(different, most))


def _files(patch: bytes) -> list[_FilePatch]:
    parts = re.split(rb"^(?=diff --git )", patch, flags=re.MULTILINE)
    return [_file(part) for part in parts if part.startswith(_HEADER)]


def _file(part: bytes) -> _FilePatch:
    starts = [found.start() for found in _HUNK.finditer(part)]
    ends = [*starts[1:], len(part)]
    hunks = tuple(part[start:end] for start, end in zip(starts, ends, strict=True))
    return _FilePatch(part[: starts[0]] if starts else part, hunks)


def _parts(files: list[_FilePatch]) -> Iterator[tuple[str, bytes]]:
    """Each hunk left out, where there are several; a file whose only hunk it is stays as it was."""
    number = 0
    for at, file in enumerate(files):
        for which in range(max(1, len(file.hunks))):
            number += 1
            kept = tuple(hunk for index, hunk in enumerate(file.hunks) if index != which)
            less = [_FilePatch(file.head, kept)] if kept else []
            made = b"".join(each.whole for each in (*files[:at], *less, *files[at + 1 :]))
            yield f"part-{number}-left-out", made


def _turned(files: list[_FilePatch], is_code: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """One added line of code turned, at its first place; each kind of turn once."""
    whole = b"".join(file.whole for file in files)
    for name, old, new in _TURNS:
        found = next(_places(files, re.compile(old), is_code), None)
        if found is not None:
            yield name, whole[: found[0]] + new + whole[found[1] :]


def _places(
    files: list[_FilePatch], pattern: re.Pattern[bytes], is_code: Callable[[str], bool]
) -> Iterator[tuple[int, int]]:
    """Where the pattern stands in added lines of code."""
    at = 0
    for file in files:
        named = re.search(rb"^\+\+\+ b/(.+)$", file.head, re.MULTILINE)
        taken = named is not None and is_code(named[1].decode(errors="replace"))
        at += len(file.head)
        for line in b"".join(file.hunks).splitlines(keepends=True):
            found = pattern.search(line.rstrip(b"\r\n"), 1) if taken and _has_code(line) else None
            if found:
                yield at + found.start(), at + found.end()
            at += len(line)


def _has_code(line: bytes) -> bool:
    return line.startswith(b"+") and not line[1:].lstrip().startswith((b"#", b"//", b"*", b'"""', b"import", b"from"))
