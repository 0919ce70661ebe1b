"""Plausible wrong solutions made from a correct one: a part is left out, or one line is changed.

The hidden checks decide which of them are really wrong.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Final

from scylla_gha.mining.mutation_rules import MUTATION_RULES, MutationRule

_HEADER: Final = b"diff --git "
_HUNK: Final = re.compile(rb"^@@ ", re.MULTILINE)
_NO_CODE: Final = re.compile(rb"\s*(#|//|\*|\"\"\"|import\b|from\b|$)")
_EFFECT: Final = re.compile(rb"(await )?[A-Za-z_]\w*(\.\w+|\[[^\]]*\])*( [-+*/|&]?= |\()")
_NO_EFFECT: Final = re.compile(rb"(return|if|elif|for|while|switch|catch|except|def|func|function|print|assert)\b")
_PAIRS: Final = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_CONDITIONS: Final = (
    (re.compile(rb"\b((?:el)?if|while) (.+)(?=:$)"), rb"\1 not (\2)"),  # of Python
    (re.compile(rb"\b(if|while) ?\((.+)\)(?= ?\{?$)"), rb"\1 (!(\2))"),  # of JavaScript
    (re.compile(rb"\b(if|for) ([^(;{}]+)(?= \{$)"), rb"\1 !(\2)"),  # of Go
)
_CONSTANTS: Final = (
    (re.compile(rb"\b((?:el)?if) .+(?=:$)"), (rb"\1 True", rb"\1 False")),
    (re.compile(rb"\b(if) ?\(.+\)(?= ?\{$)"), (rb"\1 (true)", rb"\1 (false)")),
)


def _without_effect(line: bytes) -> bytes | None:
    """Return a line without its statement, if that is a whole assignment or call."""
    text = line.strip()
    is_whole = all(text.count(first) == text.count(last) for first, last in _PAIRS) and text[-1:] not in b",:\\"
    if not is_whole or not _EFFECT.match(text) or _NO_EFFECT.match(text):
        return None
    nothing = b";" if text.endswith(b";") else b"pass" if b"\t" not in line[:1] else b""
    return line[: len(line) - len(line.lstrip())] + nothing


def _negated(line: bytes) -> bytes | None:
    """Return a line with its condition negated."""
    return next((pattern.sub(new, line) for pattern, new in _CONDITIONS if pattern.search(line)), None)


def _constant(which: int) -> Callable[[bytes], bytes | None]:
    """Return a change that replaces the condition of a line: by true (0) or false (1)."""
    return lambda line: next(
        (pattern.sub(new[which], line) for pattern, new in _CONSTANTS if pattern.search(line)), None
    )


def _by_rule(rule: MutationRule) -> Callable[[bytes], bytes | None]:
    def change(line: bytes) -> bytes | None:
        match = rule.pattern.search(line)
        return None if match is None else line[: match.start()] + rule.replace(match) + line[match.end() :]

    return change


LineChanges = Sequence[tuple[str, Callable[[bytes], bytes | None]]]
_STATEMENTS: Final[LineChanges] = (
    ("effect-lost", _without_effect),
    ("condition-negated", _negated),
    ("condition-true", _constant(0)),
    ("condition-false", _constant(1)),
)
_DETAILS: Final[LineChanges] = tuple((rule.name, _by_rule(rule)) for rule in MUTATION_RULES)


@dataclass(frozen=True, slots=True)
class _FilePatch:
    """The patch of one file: its header and its hunks."""

    head: bytes
    hunks: tuple[bytes, ...]

    @property
    def whole(self) -> bytes:
        return self.head + b"".join(self.hunks)


def wrong_solutions(patch: bytes, most: int, is_code: Callable[[str], bool]) -> dict[str, bytes]:
    """Return at most `most` other patches of the same start, by a name that says what is wrong.

    One of each kind comes first, from what is most likely wrong to what is least: a part that is left out, an added
    line without its effect, an added line that is changed by a rule, and a line beside the change that is.
    """
    parts = re.split(rb"^(?=diff --git )", patch, flags=re.MULTILINE)
    files = [_file(part) for part in parts if part.startswith(_HEADER)]
    kinds = (
        _parts(files),
        _changed(files, _STATEMENTS, is_code),
        _changed(files, _DETAILS, is_code),
        _beside(files, is_code),
    )
    mixed = filter(None, chain.from_iterable(zip_longest(*kinds)))
    different: dict[bytes, str] = {}
    for name, wrong in mixed:
        if wrong not in {patch, b""}:
            different.setdefault(wrong, name)
    return {name: wrong for wrong, name in islice(different.items(), most)}


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


def _changed(
    files: list[_FilePatch], changes: LineChanges, is_code: Callable[[str], bool]
) -> Iterator[tuple[str, bytes]]:
    """Yield the patch with the first added line of code that can be changed in a way, for each way."""
    whole = b"".join(file.whole for file in files)
    lines = list(_code_lines(files, is_code, b"+"))
    for name, change in changes:
        at, line, new = next(
            ((at, line, new) for at, line in lines if (new := change(line)) is not None), (0, b"", b"")
        )
        if line:
            yield name, whole[:at] + new + whole[at + len(line) :]


def _beside(files: list[_FilePatch], is_code: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield the patch with a line beside the change changed as well."""
    whole = b"".join(file.whole for file in files)
    for at, line in _code_lines(files, is_code, b" "):
        for name, change in (*_STATEMENTS[1:], *_DETAILS):
            if (new := change(line)) is not None:
                rest = whole[at + len(line) :]
                yield f"beside-{name}", whole[: at - 1] + b"-" + line + _end_of_line(rest) + b"+" + new + rest
                break


def _end_of_line(rest: bytes) -> bytes:
    return b"\r\n" if rest.startswith(b"\r") else b"\n"


def _code_lines(files: list[_FilePatch], is_code: Callable[[str], bool], mark: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of code that have a mark in the patch, without it and the line break, and where they start."""
    at = 0
    for file in files:
        path = re.search(rb"^\+\+\+ b/(.+)$", file.head, re.MULTILINE)
        in_code = path is not None and is_code(path[1].decode(errors="replace"))
        at += len(file.head)
        for line in b"".join(file.hunks).splitlines(keepends=True):
            if in_code and line.startswith(mark) and not _NO_CODE.match(line, 1):
                yield at + 1, line[1:].rstrip(b"\r\n")
            at += len(line)
