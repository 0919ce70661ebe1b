"""Intents from the history: commits whose subject says what one to three functions are for.

A commit counts if all that it changes in code lies in those functions, they still exist, and a line that it added is
still in them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.mining.languages import is_test
from scylla_gha.mining.repository import RepositoryCheckout, UserCommit, commits
from scylla_gha.prepare.git_directory import git
from scylla_gha.readiness.intent_wording import intent_of_subject
from scylla_gha.readiness.languages import parser_of
from scylla_gha.readiness.source_code import CodeIndex, Function, SourceFile
from scylla_gha.readiness.syntax import lines_of, syntax_tree
from scylla_gha.system.git import GitOutputError, run_git

_MOST_COMMITS: Final = 2000
_MOST_FILES: Final = 2
_MOST_TARGETS: Final = 3
_MOST_OUTPUT: Final = 400_000_000  # bytes of patches
_MOST_BLOB: Final = 1_000_000
_LEAST_LINE: Final = 6  # characters of an added line that can be known again
_FORM: Final = (
    "-r",
    "-p",
    "--unified=0",
    "--full-index",
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
)
_SHA: Final = re.compile(rb"[0-9a-f]{40,64}")
_BLOBS: Final = re.compile(rb"index [0-9a-f]+\.\.([0-9a-f]+)")
_HUNK: Final = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OUTSIDE: Final = re.compile(r"\s*(#|//|/?\*|import\b|from\b|export .* from\b|[\w* ]+,?\s*$|[)}][^=]*$|$)")


@dataclass(frozen=True, slots=True)
class Intent:
    """Sentence that says what functions are for.

    Attributes:
        text: the sentence, without names of code.
        targets: ids of the functions, which exist now.
        commit: the commit whose subject it is; None: it is a docstring's first sentence.
    """

    text: str
    targets: tuple[str, ...]
    commit: str | None


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines that a commit wrote; without any, `first` is the line before what it removed."""

    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _FileChange:
    path: str
    blob: str | None
    hunks: tuple[_Hunk, ...]


def history_intents(checkout: RepositoryCheckout, index: CodeIndex) -> list[Intent]:
    """Return the intents of the latest commits, newest first; a sentence that several commits have is none.

    Raises:
        FixtureError: git cannot read the history.
    """
    plausible = [commit for commit in commits(checkout, _MOST_COMMITS) if intent_of_subject(_subject(commit), ())]
    changes = {sha: files for sha, files in _changes(checkout, plausible) if _is_small(files, index)}
    blobs = _texts(checkout, [file.blob for files in changes.values() for file in files if file.blob])
    intents = [intent for commit in plausible if commit.sha in changes
               and (intent := _intent(commit, changes[commit.sha], blobs, index))]  # fmt: skip
    counts = Counter(intent.text.casefold() for intent in intents)
    return [intent for intent in intents if counts[intent.text.casefold()] == 1]


def _subject(commit: UserCommit) -> str:
    return commit.message.partition("\n")[0]


def _is_small(files: Sequence[_FileChange], index: CodeIndex) -> bool:
    """Return True if a commit changed one or two source files, which still exist."""
    return 0 < len(files) <= _MOST_FILES and all(file.path in index.files and file.blob for file in files)


def _intent(
    commit: UserCommit, files: Sequence[_FileChange], blobs: Mapping[str, str], index: CodeIndex
) -> Intent | None:
    changed: dict[str, list[str]] = {}
    for file in files:
        text = blobs.get(file.blob or "")
        parts = _functions_of(file, text) if text is not None else None
        if parts is None:
            return None
        for name, lines in parts.items():
            changed.setdefault(f"{file.path}::{name}", []).extend(lines)
    if not 0 < len(changed) <= _MOST_TARGETS:
        return None
    targets = sorted(name for name, lines in changed.items() if _is_still_there(name, lines, index))
    text = intent_of_subject(_subject(commit), _names(targets)) if targets else None
    return Intent(text, tuple(targets), commit.sha) if text else None


def _names(targets: Iterable[str]) -> set[str]:
    return {part for target in targets for part in target.rpartition("::")[2].split(".")}


def _is_still_there(name: str, added: Iterable[str], index: CodeIndex) -> bool:
    function = index.functions.get(name)
    if function is None or f"{name}#2" in index.functions:
        return False
    lines = lines_of(index.files[function.path].text)[function.span.first - 1 : function.span.last]
    known = {line for line in map(str.strip, added) if len(line) >= _LEAST_LINE}
    return not known or bool(known & {line.strip() for line in lines})


def _functions_of(file: _FileChange, text: str) -> dict[str, list[str]] | None:
    """Return the added lines by the innermost function that they lie in; None: code outside of functions changed."""
    parser = parser_of(file.path)
    if parser is None:
        return None
    tree = syntax_tree(text.removeprefix("\ufeff"), parser.language, file.path)
    source = parser.parse(file.path, text, tree.root_node, is_test=False)
    imports = {line.line for line in source.imports}
    parts: dict[str, list[str]] = {}
    for number, line in _touched(file):
        function = _innermost(source, number)
        if function is not None:
            parts.setdefault(function.name, []).append(line)
        elif number not in imports and not _OUTSIDE.match(line):
            return None
    return None if any("#" in name for name in parts) else parts


def _touched(file: _FileChange) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each changed line; lines that were removed stand for their neighbours."""
    for hunk in file.hunks:
        yield from enumerate(hunk.lines, hunk.first)
        if not hunk.lines:
            yield hunk.first, ""


def _innermost(source: SourceFile, line: int) -> Function | None:
    around = [function for function in source.functions if line in function.span]
    return min(around, key=lambda function: function.span.last - function.span.first, default=None)


def _changes(checkout: RepositoryCheckout, plausible: Sequence[UserCommit]) -> Iterator[tuple[str, list[_FileChange]]]:
    """Yield what each commit changes in source files that hold no tests."""
    for sha, lines in _by_commit(_patches(checkout, plausible)):
        files = [file for file in _files(lines) if parser_of(file.path) and not is_test(file.path)]
        yield sha, files


def _patches(checkout: RepositoryCheckout, plausible: Sequence[UserCommit]) -> bytes:
    """Return the patches of the commits, of fewer ones if they are too large."""
    stdin = "".join(f"{commit.sha}\n" for commit in plausible).encode()
    if not stdin:
        return b""
    try:
        done = run_git(checkout.git_dir, "diff-tree", "--stdin", *_FORM, stdin=stdin, most_bytes=_MOST_OUTPUT)
    except GitOutputError:
        return _patches(checkout, plausible[: len(plausible) // 4])
    if done.code:
        raise ToolError(f"git diff-tree in {checkout.root} failed: {done.message}")
    return done.stdout


def _by_commit(patches: bytes) -> Iterator[tuple[str, list[bytes]]]:
    sha, lines = "", list[bytes]()
    for line in patches.split(b"\n"):
        if _SHA.fullmatch(line):
            if sha:
                yield sha, lines
            sha, lines = line.decode(), []
        else:
            lines.append(line)
    if sha:
        yield sha, lines


def _files(lines: Sequence[bytes]) -> Iterator[_FileChange]:
    """Yield the changed files of a patch without context; those with names that git quotes are left out."""
    path, blob, hunks, at = "", None, list[_Hunk](), 0
    while at < len(lines):
        line, at = lines[at], at + 1
        hunk = _HUNK.match(line)
        if line.startswith(b"diff --git "):
            if path:
                yield _FileChange(path, blob, tuple(hunks))
            path, blob, hunks = "", None, []
        elif index := _BLOBS.match(line):
            blob = index[1].decode() if set(index[1]) != {ord("0")} else None
        elif line.startswith((b"--- a/", b"+++ b/")):
            path = line[6:].rstrip(b"\t").decode(errors="replace")
        elif hunk:
            removed, written = (int(hunk[group] or 1) if hunk[group] != b"0" else 0 for group in (1, 3))
            added = [
                text[1:].decode(errors="replace") for text in lines[at : at + removed + written] if text[:1] == b"+"
            ]
            hunks.append(_Hunk(int(hunk[2]), tuple(added)))
            at += removed + written
    if path:
        yield _FileChange(path, blob, tuple(hunks))


def _texts(checkout: RepositoryCheckout, blobs: Sequence[str]) -> dict[str, str]:
    """Return the texts of blobs that are UTF-8 and not too large, in one call of git."""
    names = sorted(set(blobs))
    output = git(checkout.git_dir, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
    texts, at = {}, 0
    for name in names:
        start = output.index(b"\n", at) + 1
        size = int(output[at:start].split()[2])
        try:
            text = output[start : start + size].decode() if size <= _MOST_BLOB else None
        except UnicodeDecodeError:
            text = None
        if text is not None:
            texts[name] = text
        at = start + size + 1
    return texts
