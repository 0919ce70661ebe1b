"""Make plausible wrong solutions from a correct one: leave out a part, or change a line.

The hidden checks decide which of them are really wrong.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import PurePosixPath
from typing import Final

from scylla_gha.mining.mutation_rules import MUTATION_RULES, MutationRule

_HEADER: Final = b"diff --git "
_HUNK: Final = re.compile(rb"^@@ ", re.MULTILINE)
_NO_CODE: Final = re.compile(rb"\s*(#|//|\*|\"\"\"|import\b|from\b|$)")
_EFFECT: Final = re.compile(rb"(await )?[A-Za-z_]\w*(\.\w+|\[[^\]]*\])*( [-+*/|&]?= |\()")
_NO_EFFECT: Final = re.compile(rb"(return|if|elif|for|while|switch|catch|except|def|func|function|print|assert)\b")
_PAIRS: Final = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))
_PYTHON, _GO = ".py", ".go"
_PYTHON_CONDITION: Final = re.compile(rb"^(\s*(?:el)?if|\s*while) (.+)(:)$")
_GO_CONDITION: Final = re.compile(rb"^(\s*(?:\} else )?if) ([^;{}=]+|[^;{}]*[=!<>]=[^;{}]*)( \{)$")
_SCRIPT_CONDITION: Final = re.compile(rb"^(\s*(?:\} else )?if|\s*while) ?\((.+)\)( ?\{)$")


def _condition(line: bytes, suffix: str) -> re.Match[bytes] | None:
    """Match a line that begins a block with a condition; groups: text before, the condition, text after."""
    patterns = {_PYTHON: _PYTHON_CONDITION, _GO: _GO_CONDITION}
    match = patterns.get(suffix, _SCRIPT_CONDITION).match(line)
    return match if match and _is_balanced(match[2]) and b":=" not in match[2] else None


def _is_balanced(text: bytes) -> bool:
    return all(text.count(first) == text.count(last) for first, last in _PAIRS)


def _without_effect(line: bytes, suffix: str) -> bytes | None:
    """Replace a line that is a complete assignment or call by an empty statement; None for other lines."""
    text = line.strip()
    is_complete = _is_balanced(text) and text[-1:] not in b",:\\"
    if not is_complete or not _EFFECT.match(text) or _NO_EFFECT.match(text):
        return None
    empty_statement = b"pass" if suffix == _PYTHON else b"" if suffix == _GO else b";"
    return line[: len(line) - len(line.lstrip())] + empty_statement


def _with_condition(form: Callable[[bytes, str], bytes]) -> "LineChange":
    """Return a change that replaces the condition of a line."""

    def change(line: bytes, suffix: str) -> bytes | None:
        match = _condition(line, suffix)
        if match is None:
            return None
        new = form(match[2], suffix)
        return match[1] + (b" " + new if suffix in {_PYTHON, _GO} else b" (" + new + b")") + match[3]

    return change


def _by_rule(rule: MutationRule) -> "LineChange":
    def change(line: bytes, _: str) -> bytes | None:
        match = rule.pattern.search(line)
        return None if match is None else line[: match.start()] + rule.replace(match) + line[match.end() :]

    return change


LineChange = Callable[[bytes, str], bytes | None]  # (line, file suffix) -> changed line; None: it does not apply
LineChanges = Sequence[tuple[str, LineChange]]
_STATEMENTS: Final[LineChanges] = (
    ("effect-lost", _without_effect),
    ("condition-negated", _with_condition(lambda old, suffix: (b"not (" if suffix == _PYTHON else b"!(") + old + b")")),
    ("condition-true", _with_condition(lambda _, suffix: b"True" if suffix == _PYTHON else b"true")),
    ("condition-false", _with_condition(lambda _, suffix: b"False" if suffix == _PYTHON else b"false")),
)
_DETAILS: Final[LineChanges] = tuple((rule.name, _by_rule(rule)) for rule in MUTATION_RULES)


@dataclass(frozen=True, slots=True)
class _FilePatch:
    """A file's part of a patch: header and hunks."""

    head: bytes
    hunks: tuple[bytes, ...]

    @property
    def text(self) -> bytes:
        return self.head + b"".join(self.hunks)


def wrong_solutions(patch: bytes, most: int, is_code: Callable[[str], bool]) -> dict[str, bytes]:
    """Return at most `most` wrong patches of the same start state, by names of their mistakes.

    Kinds of mistakes take turns, most likely wrong first: a part left out, a changed statement among the added lines,
    an added line changed by a mutation rule, and a changed line beside the change.
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
    """Yield for each hunk the patch without it; for a file without hunks, the patch without the file."""
    number = 0
    for at, file in enumerate(files):
        for which in range(max(1, len(file.hunks))):
            number += 1
            kept = tuple(hunk for index, hunk in enumerate(file.hunks) if index != which)
            less = [_FilePatch(file.head, kept)] if kept else []
            yield f"part-{number}-left-out", b"".join(part.text for part in (*files[:at], *less, *files[at + 1 :]))


def _changed(
    files: list[_FilePatch], changes: LineChanges, is_code: Callable[[str], bool]
) -> Iterator[tuple[str, bytes]]:
    """Yield for each kind of change the patch with the first added line of code to which it applies changed."""
    patch = b"".join(file.text for file in files)
    lines = list(_code_lines(files, is_code, b"+"))
    for name, change in changes:
        changed = ((at, line, new) for at, line, suffix in lines if (new := change(line, suffix)) is not None)
        for at, line, new in islice(changed, 1):
            yield name, patch[:at] + new + patch[at + len(line) :]


def _beside(files: list[_FilePatch], is_code: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield for each context line of code the patch with this line changed too."""
    patch = b"".join(file.text for file in files)
    for at, line, suffix in _code_lines(files, is_code, b" "):
        for name, change in (*_STATEMENTS[1:], *_DETAILS):
            if (new := change(line, suffix)) is not None:
                rest = patch[at + len(line) :]
                end_of_line = b"\r\n" if rest.startswith(b"\r") else b"\n"
                yield f"beside-{name}", patch[: at - 1] + b"-" + line + end_of_line + b"+" + new + rest
                break


def _code_lines(
    files: list[_FilePatch], is_code: Callable[[str], bool], mark: bytes
) -> Iterator[tuple[int, bytes, str]]:
    """Yield position, text and file suffix of each line of code in the patch that begins with `mark`."""
    at = 0
    for file in files:
        path = re.search(rb"^\+\+\+ b/(.+)$", file.head, re.MULTILINE)
        name = path[1].decode(errors="replace") if path else ""
        in_code = bool(name) and is_code(name)
        at += len(file.head)
        for line in b"".join(file.hunks).splitlines(keepends=True):
            if in_code and line.startswith(mark) and not _NO_CODE.match(line, 1):
                yield at + 1, line[1:].rstrip(b"\r\n"), PurePosixPath(name).suffix
            at += len(line)
