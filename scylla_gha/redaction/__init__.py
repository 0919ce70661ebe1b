"""Removes secrets from everything that is stored of an attempt: bytes, records, folders, and names of files.

Bytes are cleaned in one pass with limited memory, and the result does not depend on the size of the chunks. A search
for literals finds anchors (the beginnings of encodings and of tokens), and patterns are matched only at anchors. Of the
engines that `tests/benchmarks/redaction.py` measures, this one is the fastest that starts in a millisecond. It uses
vector instructions only for a small number of literals, so literals are searched in groups.

New names of files keep each file in its folder. Two files never get the same name, nor the name of an existing file.
"""

import contextlib
import copy
import functools
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import ahocorasick_rs

from scylla_gha.errors import ConfigError
from scylla_gha.model import Record
from scylla_gha.redaction.patterns import (
    MARK,
    REACH,
    TOKEN_PATTERNS,
    end_of_escape,
    secret_encodings,
    secret_parts,
    unsearchable_reason,
)
from scylla_gha.store import atomic

_MARK: Final = MARK.encode()
_CHUNK_BYTES: Final = 1 << 20
_BEHIND_BYTES: Final = 256  # before an anchor that may belong to its secret, or decide whether it is a secret
_CACHED_TOKENS: Final = 1024  # for which the answer of the test for public tokens is stored
_SEARCH_BYTES: Final = 256 * 1024  # of one search; other threads wait until it ends
_SECRET_GROUP: Final = 62  # literals; beyond 64 the search uses no vector instructions
_TOKEN_GROUP: Final = 16  # literals of well-known tokens, which are short and often match by accident
_LEFTMOST = ahocorasick_rs.MatchKind.LeftmostFirst
Span = tuple[int, int]
R = TypeVar("R", bound=Record)
Clean = Callable[[bytes], bytes]
_MAX_NAME_BYTES: Final = 255  # of a file's name
_NUMBERED: Final = re.compile(rb"\[redacted-([0-9]{1,9})\]")


@dataclass(frozen=True, slots=True)
class _Rule:
    """Function that finds a secret at an anchor; `is_token`: only its form makes it a secret, so it may be public."""

    find: Callable[[bytes, int], Span | None]
    is_token: bool


_Rules = dict[bytes, list[_Rule]]


class Redactor:
    """Remover of given values in every encoding, and of tokens of well-known kinds. Threads may share it."""

    def __init__(self, secrets: Iterable[str] = (), public: Callable[[bytes], bool] = lambda _: False) -> None:
        """Build the search.

        Args:
            secrets: values that must not be stored.
            public: returns True for a token that may be stored, since the task itself contains it.

        Raises:
            ConfigError: a secret is too short or too common, so that large parts of every file would be removed.
        """
        self._secrets = tuple(dict.fromkeys(secrets))
        self._public = public
        self._reach = REACH
        tokens: _Rules = {}
        for kind in TOKEN_PATTERNS:
            tokens |= {anchor: [*tokens.get(anchor, ()), _Rule(kind.find, is_token=True)] for anchor in kind.anchors}
        rules = self._secret_rules()
        self._groups = [*_groups(tokens, _TOKEN_GROUP), *_groups(rules, _SECRET_GROUP)]
        self._longest = max(map(len, (*tokens, *rules)))

    def _secret_rules(self) -> _Rules:
        rules: defaultdict[bytes, list[_Rule]] = defaultdict(list)
        for secret in self._secrets:
            if reason := unsearchable_reason(secret):
                raise ConfigError(f"a secret to be redacted is {reason}; use a longer random value")
            for encoding in itertools.chain.from_iterable(map(secret_encodings, secret_parts(secret))):
                self._reach = max(self._reach, encoding.reach)
                for anchor, offset in encoding.anchors:
                    rules[anchor].append(_Rule(functools.partial(encoding.find, offset=offset), is_token=False))
        return rules

    def with_secrets(self, secrets: Iterable[str]) -> "Redactor":
        """Return a redactor that removes these values too."""
        more = [secret for secret in secrets if secret not in self._secrets]
        return Redactor((*self._secrets, *more), self._public) if more else self

    def with_public_tokens(self, public: Callable[[bytes], bool]) -> "Redactor":
        """Return a redactor with another test for public tokens."""
        other = copy.copy(self)
        other._public = functools.lru_cache(maxsize=_CACHED_TOKENS)(public)
        return other

    def redact_bytes(self, data: bytes) -> tuple[bytes, int]:
        """Return bytes without secrets, and the number of removed secrets."""
        stream = _Stream(data)
        return b"".join(self._clean(stream, is_last=True)), stream.count

    def redact(self, source: BinaryIO, target: BinaryIO) -> int:
        """Copy a stream without secrets; return the number of removed secrets."""
        stream = _Stream()
        target.writelines(self._pass(_chunks(source), stream))
        return stream.count

    def redact_file(self, path: Path) -> int:
        """Remove the secrets of a file; return their number. A file without secrets is not written."""
        stream = _Stream()
        with path.open("rb") as source:
            for _ in self._pass(_chunks(source), stream):
                if stream.count:
                    break
        if not stream.count:
            return 0
        with path.open("rb") as source, atomic(path) as temporary, temporary.open("wb") as target:
            return self.redact(source, target)

    def spans(self, text: str) -> list[Span]:
        """Return start and end of all secrets in a text, in characters, in order and without overlap."""
        data = text.encode(errors="surrogatepass")
        merged: list[Span] = []
        for span in sorted(span for at, rules in self._anchors(data) for span in self._matches(data, at, rules)):
            _merge(merged, span)
        return [(_characters(data, start), _characters(data, end)) for start, end in merged]

    def _pass(self, chunks: Iterable[bytes], stream: "_Stream") -> Iterator[bytes]:
        for chunk in chunks:
            stream.buffer += chunk
            yield from self._clean(stream, is_last=False)
        yield from self._clean(stream, is_last=True)

    def _clean(self, stream: "_Stream", *, is_last: bool) -> Iterator[bytes]:
        """Yield the bytes that no further byte can change: those far enough before the first undecided anchor."""
        data = stream.buffer
        decided = len(data) if is_last else len(data) - self._reach
        undecided = len(data) + _BEHIND_BYTES if is_last else len(data) - self._longest + 1
        spans: list[Span] = []
        for at, rules in self._anchors(data):
            if at < decided:
                for span in self._matches(data, at, rules):
                    _merge(spans, span)
            else:
                undecided = min(undecided, at)
        yield from stream.release(sorted(spans), min(undecided - _BEHIND_BYTES, len(data)))

    def _anchors(self, data: bytes) -> Iterator[tuple[int, list[_Rule]]]:
        for group in self._groups:
            yield from group.search(data)

    def _matches(self, data: bytes, at: int, rules: list[_Rule]) -> Iterator[Span]:
        for rule in rules:
            span = rule.find(data, at)
            if span is not None and not (rule.is_token and self._public(data[span[0] : span[1]])):
                start, end = end_of_escape(data, span[0]), end_of_escape(data, span[1])
                if start < end:
                    yield start, end


@dataclass(slots=True)
class _Stream:
    """State of one pass: bytes that are not released yet, and the last released bytes, which matches may need."""

    buffer: bytes = b""
    released: int = 0  # bytes of the buffer
    count: int = 0  # removed secrets

    def release(self, spans: list[Span], safe: int) -> Iterator[bytes]:
        """Yield the bytes up to `safe`, with one mark instead of each span, or group of overlapping spans."""
        view = memoryview(self.buffer)
        for start, end in spans:
            if start >= safe:
                break
            if start >= self.released:
                yield bytes(view[self.released : start])
                yield _MARK
                self.count += 1
            self.released = max(self.released, end)
        if self.released < safe:
            is_whole = safe - self.released == len(view)  # it has no secret and need not be copied
            yield self.buffer if is_whole else bytes(view[self.released : safe])
            self.released = safe
        keep_from = max(0, min(self.released, safe - _BEHIND_BYTES))
        self.buffer = self.buffer[keep_from:]
        self.released -= keep_from


class _Group:
    """Literals that are searched together."""

    def __init__(self, rules: _Rules) -> None:
        self._rules = list(rules.values())
        self._search = ahocorasick_rs.BytesAhoCorasick(list(rules), matchkind=_LEFTMOST)
        self._longest = max(map(len, rules))

    def search(self, data: bytes) -> Iterator[tuple[int, list[_Rule]]]:
        """Yield every anchor, some of them twice; also anchors that begin inside another anchor.

        Data is searched in parts, since all its anchors may be too many for the memory.
        """
        for base in range(0, len(data), _SEARCH_BYTES):
            part = data[base : base + _SEARCH_BYTES + self._longest - 1]
            yield from ((base + at, rules) for at, rules in self._search_part(part))

    def _search_part(self, data: bytes) -> Iterator[tuple[int, list[_Rule]]]:
        for index, start, end in self._search.find_matches_as_indexes(data):
            yield start, self._rules[index]
            at = start + 1
            while at < end:
                inner = self._search.find_matches_as_indexes(data[at : end + self._longest - 1])
                if not inner or at + inner[0][1] >= end:
                    break
                yield at + inner[0][1], self._rules[inner[0][0]]
                at += inner[0][1] + 1


def _merge(spans: list[Span], span: Span) -> None:
    """Add a span, or extend the last span if they overlap, since both are removed together."""
    if spans and spans[-1][0] <= span[0] < spans[-1][1]:
        spans[-1] = (spans[-1][0], max(span[1], spans[-1][1]))
    else:
        spans.append(span)


def _groups(rules: _Rules, size: int) -> list[_Group]:
    """Split rules into groups; if one anchor begins with another anchor, search only the shorter one."""
    folded: _Rules = {}
    last = b""
    for anchor in sorted(rules):
        if last and anchor.startswith(last):
            folded[last] += rules[anchor]
        else:
            last = anchor
            folded[last] = list(rules[anchor])
    anchors = list(folded)
    count = -(-len(anchors) // size)
    cuts = [len(anchors) * number // count for number in range(count + 1)] if anchors else []
    return [
        _Group({anchor: folded[anchor] for anchor in anchors[start:end]}) for start, end in itertools.pairwise(cuts)
    ]


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    return iter(functools.partial(source.read, _CHUNK_BYTES), b"")


def _characters(data: bytes, end: int) -> int:
    return len(data[:end].decode(errors="replace"))


@dataclass(slots=True)
class RedactionSession:
    """A redactor that counts the removed secrets; a secret in two files counts twice.

    Cleaning is repeated until no secret is found, since the text beside a removed secret may then have the form of a
    token. So a second cleaning changes nothing, and digests of cleaned files stay valid.
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
        """Return a record whose texts have no secrets."""
        text = record.model_dump_json().encode()
        clean = self.clean(text)
        return record if clean == text else type(record).model_validate_json(clean)

    def file(self, path: Path) -> None:
        """Clean a file; do nothing if it is missing or is not a regular file."""
        if not path.is_symlink() and path.is_file():  # the target of a link may have a name that is too long
            while removed := self.redactor.redact_file(path):
                self.count += removed

    def folder(self, root: Path, excluded: Container[Path] = ()) -> None:
        """Clean all files below a folder, except the `excluded` ones."""
        for folder, _, names in os.walk(root):
            for name in names:
                if (path := Path(folder, name)) not in excluded:
                    self.file(path)

    @contextlib.contextmanager
    def guarding(self, root: Path) -> Iterator[None]:
        """Clean an attempt's folder at the end of the block, also after an error.

        The diff is left out. It is made from clean files; a part of it, for instance across files, may look like a
        secret, and without that part the diff would not apply. A git bundle is also left out: it is compressed, and
        unreadable after a change.
        """
        try:
            yield
        finally:
            self.folder(root, excluded={root / "diff.patch", root / "github.bundle"})


def redacted_names(added: Sequence[bytes], base: Iterable[bytes], clean: Clean) -> dict[bytes, bytes]:
    """Return new paths for files whose paths contain a secret: `[redacted-N]`, with a different N for each name.

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
    """New names for parts of paths; a part has the same new name in all paths."""

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
        # A secret spans several parts: the parts before it stay, and the others become one name.
        same = len(os.path.commonprefix([below, clean]))  # noqa: RUF071 the prefix is one of bytes, not of paths
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
        fits = mark in name and len(name) <= _MAX_NAME_BYTES and self._clean(name) == name
        return name if fits else mark


def _folders(path: bytes) -> Iterator[bytes]:
    """Return all folders above a file, each with a slash at its end."""
    return itertools.accumulate(part + b"/" for part in path.split(b"/")[:-1])
