"""Secrets out of bytes, in one pass of bounded memory: same result however the bytes are cut into chunks.

In the JSON lines of a transcript, what is split over events of a stream is found as well.

A literal search finds anchors (the beginnings of spellings and of tokens); only where one stands is looked closer.
Of the engines measured in `tests/benchmarks/redaction.py`, this is the fastest that starts in a millisecond, as long
as it has few enough literals to search with vector instructions: so they are searched in groups.
"""

import copy
import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import ahocorasick_rs

from scylla_gha.errors import ConfigError
from scylla_gha.redaction.eligibility import MARK, secret_parts, unsearchable_reason
from scylla_gha.redaction.encodings import secret_encodings
from scylla_gha.redaction.escapes import end_of_escape
from scylla_gha.redaction.token_patterns import KINDS, REACH
from scylla_gha.store.records import atomic

_MARK: Final = MARK.encode()
_CHUNK: Final = 1 << 20
_BEHIND: Final = 256  # bytes before an anchor that may belong to its secret, or decide whether it is one
_REMEMBERED: Final = 1024  # opinions of what is public
_SEARCHED: Final = 256 * 1024  # bytes that are searched at once
_GROUP: Final = 62  # literals of given secrets; beyond 64 the search has no vector instructions
_KIND_GROUP: Final = 16  # short ones of well-known tokens, which are often found by chance
_MATCH = ahocorasick_rs.MatchKind.LeftmostFirst

Find = Callable[[bytes, int], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class _Rule:
    """How to look closer where an anchor stands. `by_form`: it is a secret by its looks alone."""

    find: Find
    by_form: bool


class Redactor:
    """Takes out given values, in every spelling, and tokens of well-known kinds. For any number of threads."""

    def __init__(self, secrets: Iterable[str] = (), public: Callable[[bytes], bool] = lambda _: False) -> None:
        """Build the search.

        Args:
            secrets: values that must not be stored.
            public: tells of what only looks like a token whether it may stay, since the task itself holds it.

        Raises:
            ConfigError: a secret is too short or too common: half of every file would go.
        """
        rules: defaultdict[bytes, list[_Rule]] = defaultdict(list)
        kinds: defaultdict[bytes, list[_Rule]] = defaultdict(list)
        self._reach = REACH
        self._secrets = tuple(dict.fromkeys(secrets))
        for secret in self._secrets:
            if reason := unsearchable_reason(secret):
                raise ConfigError(f"a secret to be redacted is {reason}; use a longer random value")
            for part in secret_parts(secret):
                self._add(rules, part)
        for kind in KINDS:
            for anchor in kind.anchors:
                kinds[anchor].append(_Rule(kind.find, by_form=True))
        self._groups = [*_groups(kinds, _KIND_GROUP), *_groups(rules, _GROUP)]
        self._longest = max(map(len, (*kinds, *rules)))
        self._public = public

    def _add(self, rules: defaultdict[bytes, list[_Rule]], secret: str) -> None:
        for spelling in secret_encodings(secret):
            self._reach = max(self._reach, spelling.reach)
            for anchor, offset in spelling.anchors:
                find = functools.partial(spelling.find, offset=offset)
                rules[anchor].append(_Rule(find, by_form=False))

    def with_secrets(self, secrets: Iterable[str]) -> "Redactor":
        """The same, with more values to look for."""
        more = [secret for secret in secrets if secret not in self._secrets]
        return Redactor((*self._secrets, *more), self._public) if more else self

    def knowing(self, public: Callable[[bytes], bool]) -> "Redactor":
        """The same, with another opinion of what is public."""
        other = copy.copy(self)
        other._public = functools.lru_cache(maxsize=_REMEMBERED)(public)
        return other

    def redact_bytes(self, data: bytes) -> tuple[bytes, int]:
        """Clean bytes, and how many secrets were taken out."""
        flow = _Flow(data)
        return b"".join(self._clean(flow, is_last=True)), flow.found

    def redact(self, source: BinaryIO, target: BinaryIO) -> int:
        """Copy, without secrets; returns how many were taken out."""
        flow = _Flow()
        target.writelines(self._pass(_chunks(source), flow))
        return flow.found

    def redact_file(self, path: Path) -> int:
        """Clean a file; it is only written, as a whole, where something was found."""
        flow = _Flow()
        with path.open("rb") as source:
            for _ in self._pass(_chunks(source), flow):
                if flow.found:
                    break
        if not flow.found:
            return 0
        with path.open("rb") as source, atomic(path) as temporary, temporary.open("wb") as target:
            return self.redact(source, target)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets stand in a text, as from and to, in order and apart from each other."""
        data = text.encode(errors="surrogatepass")
        merged: list[tuple[int, int]] = []
        for start, end in sorted(span for at, rules in self._anchors(data) for span in self._found(data, at, rules)):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return [(_characters(data, start), _characters(data, end)) for start, end in merged]

    def _pass(self, chunks: Iterable[bytes], flow: "_Flow") -> Iterator[bytes]:
        """Clean chunks; `flow` counts. Whatever is decided is decided by the bytes around it, not by the chunks."""
        for chunk in chunks:
            flow.buffer += chunk
            yield from self._clean(flow, is_last=False)
        yield from self._clean(flow, is_last=True)

    def _clean(self, flow: "_Flow", *, is_last: bool) -> Iterator[bytes]:
        """Give out what no further byte can change: what lies far enough before the first anchor left undecided."""
        data = flow.buffer
        ready = len(data) if is_last else len(data) - self._reach
        undecided = len(data) + _BEHIND if is_last else len(data) - self._longest + 1
        spans: list[tuple[int, int]] = []
        for at, rules in self._anchors(data):
            if at < ready:
                _join(spans, self._found(data, at, rules))
            else:
                undecided = min(undecided, at)
        yield from flow.give(sorted(spans), min(undecided - _BEHIND, len(data)))

    def _anchors(self, data: bytes) -> Iterator[tuple[int, list[_Rule]]]:
        for group in self._groups:
            yield from group.search(data)

    def _found(self, data: bytes, at: int, rules: list[_Rule]) -> Iterator[tuple[int, int]]:
        for rule in rules:
            span = rule.find(data, at)
            if span is not None and not (rule.by_form and self._public(data[span[0] : span[1]])):
                start, end = end_of_escape(data, span[0]), end_of_escape(data, span[1])
                if start < end:
                    yield start, end


@dataclass(slots=True)
class _Flow:
    """One pass: what is not given out yet, with a little of what was, which may decide what follows it."""

    buffer: bytes = b""
    given: int = 0  # bytes of the buffer that are through already
    found: int = 0

    def give(self, spans: list[tuple[int, int]], safe: int) -> Iterator[bytes]:
        """All up to `safe`, with a mark for every span that begins before it; overlapping ones have one together."""
        view = memoryview(self.buffer)
        for start, end in spans:
            if start >= safe:
                break
            if start >= self.given:
                yield bytes(view[self.given : start])
                yield _MARK
                self.found += 1
            self.given = max(self.given, end)
        if self.given < safe:
            yield bytes(view[self.given : safe])
            self.given = safe
        keep_from = max(0, min(self.given, safe - _BEHIND))
        self.buffer = self.buffer[keep_from:]
        self.given -= keep_from


class _Group:
    """Literals that are searched together."""

    def __init__(self, rules: dict[bytes, list[_Rule]]) -> None:
        self._rules = list(rules.values())
        self._search = ahocorasick_rs.BytesAhoCorasick(list(rules), matchkind=_MATCH)
        self._longest = max(map(len, rules))

    def search(self, data: bytes) -> Iterator[tuple[int, list[_Rule]]]:
        """Every place of an anchor, some perhaps twice; one that begins within another is looked for as well.

        It is searched part by part: all places at once may be many, and other threads wait until a search ends.
        """
        for base in range(0, len(data), _SEARCHED):
            part = data[base : base + _SEARCHED + self._longest - 1]
            yield from ((base + at, rules) for at, rules in self._within(part))

    def _within(self, data: bytes) -> Iterator[tuple[int, list[_Rule]]]:
        for index, start, end in self._search.find_matches_as_indexes(data):
            yield start, self._rules[index]
            at = start + 1
            while at < end:
                inner = self._search.find_matches_as_indexes(data[at : end + self._longest - 1])
                if not inner or at + inner[0][1] >= end:
                    break
                yield at + inner[0][1], self._rules[inner[0][0]]
                at += inner[0][1] + 1


def _join(spans: list[tuple[int, int]], more: Iterable[tuple[int, int]]) -> None:
    """Add spans; one that overlaps the last only prolongs it, since both are taken out together."""
    for start, end in more:
        if spans and spans[-1][0] <= start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))


def _groups(rules: dict[bytes, list[_Rule]], most: int) -> list[_Group]:
    """Of two anchors that begin alike the shorter one stands for both: wherever the longer one is, it is too."""
    folded: dict[bytes, list[_Rule]] = {}
    last = b""
    for anchor in sorted(rules):
        if last and anchor.startswith(last):
            folded[last] += rules[anchor]
        else:
            last = anchor
            folded[last] = list(rules[anchor])
    names = list(folded)
    count = -(-len(names) // most)
    cuts = [len(names) * number // count for number in range(count + 1)] if names else []
    return [_Group({name: folded[name] for name in names[at:to]}) for at, to in itertools.pairwise(cuts)]


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    return iter(functools.partial(source.read, _CHUNK), b"")


def _characters(data: bytes, end: int) -> int:
    return len(data[:end].decode(errors="replace"))
