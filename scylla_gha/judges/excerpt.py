"""A diff as a judge can read it: whole if it is short, else cut by rules that are told.

1. Every changed file is listed with its added and deleted lines, and with how much of it is shown.
2. The room is shared among the files: those that need less than their share are whole, the others share what is left.
3. Within a file it is shared in the same way among the runs of added, deleted and unchanged lines, so a deleted line
   amid ten thousand added ones is shown. Of a run that is too long, the head and the tail are shown.
4. Each cut says, at its place, how many lines it took. Contents of binary files are never shown.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.visible import head_and_tail, visible

DIFF_CHARS: Final = 200_000  # about 60,000 tokens: all judges have room for it beside the rest
_LEAST: Final = 200  # characters, below which a piece is not worth its marker
_LISTED: Final = 500
_NAME_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is shown of a diff: `told` is the harness's own statement of it, the rest is what the agent wrote."""

    listing: str
    text: str
    told: str
    cut: bool


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    head: str
    body: tuple[str, ...]
    binary: bool

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for line in self.body)

    @property
    def deleted(self) -> int:
        return sum(line.startswith("-") for line in self.body)

    @property
    def size(self) -> int:
        return len(self.head) + sum(len(line) + 1 for line in self.body)


def excerpt(patch: bytes, budget: int = DIFF_CHARS) -> Excerpt:
    """Cut a patch of git to about `budget` characters."""
    text = visible(patch.decode(errors="replace"))
    files = [_file(part) for part in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE) if part.strip()]
    rooms = share([file.size for file in files], budget)
    shown = [_shown(file, room) for file, room in zip(files, rooms, strict=True)]
    states = [_state(file, one) for file, one in zip(files, shown, strict=True)]
    return Excerpt(
        listing=_listing(files, states),
        text="\n".join(one for one in shown if one),
        told=_told(files, states),
        cut=any(state != "whole" for state in states),
    )


def share(sizes: Sequence[int], budget: int) -> list[int]:
    """Divide the budget fairly: who needs less than an equal share gets it all, and leaves the rest to the others."""
    rooms = [0] * len(sizes)
    for done, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        rooms[index] = min(sizes[index], budget // (len(sizes) - done))
        budget -= rooms[index]
    return rooms


def _file(part: str) -> _File:
    lines = part.rstrip("\n").split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith(("@@ ", "GIT binary patch"))), len(lines))
    head, body = lines[:start], lines[start:]
    binary = bool(body) and not body[0].startswith("@@ ")
    return _File(_name(head), "\n".join(head), () if binary else tuple(body), binary)


def _name(head: Sequence[str]) -> str:
    named = [line[4:] for line in head if line.startswith(("+++ ", "--- ")) and line[4:] != "/dev/null"]
    if not named:  # a change of mode only, an empty file, or a binary one
        twice = re.fullmatch(r'diff --git ("?)a/(.+)\1 \1b/\2\1', head[0])
        return (twice[2] if twice else head[0])[:_NAME_CHARS]
    return re.sub(r'^("?)[ab]/', r"\1", named[-1].rstrip("\t"))[:_NAME_CHARS]


def _shown(file: _File, room: int) -> str:
    """The file's part of the diff within its room; nothing where the room is not worth it."""
    if file.binary:
        return f"{file.head}\n[binary: its content is not shown]" if len(file.head) <= room else ""
    if file.size <= room:
        return "\n".join([file.head, *file.body])
    if room < _LEAST:
        return ""
    runs = ["\n".join(run) for _, run in itertools.groupby(file.body, key=lambda line: line[:1])]
    left = max(0, room - len(file.head))
    if left // len(runs) < _LEAST:
        runs = ["\n".join(file.body)]
    rooms = share([len(run) for run in runs], left)
    return "\n".join([file.head, *(head_and_tail(run, one) for run, one in zip(runs, rooms, strict=True))])


def _state(file: _File, shown: str) -> str:
    if file.binary:
        return "binary, content not shown"
    if not shown:
        return "not shown"
    return "whole" if len(shown) == file.size else "cut"


def _listing(files: Sequence[_File], states: Sequence[str]) -> str:
    rows = [f"+{file.added} -{file.deleted} {file.name} ({state})" for file, state in zip(files, states, strict=True)]
    more = len(rows) - _LISTED
    return "\n".join([*rows[:_LISTED], *([f"[and {more} more files]"] if more > 0 else [])])


def _told(files: Sequence[_File], states: Sequence[str]) -> str:
    if not files:
        return "Nothing was changed."
    added, deleted = sum(file.added for file in files), sum(file.deleted for file in files)
    counts = f"Changed files: {len(files)}; lines added: {added}, deleted: {deleted}."
    if all(state == "whole" for state in states):
        return f"{counts} The diff is shown whole."
    parts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    return f"{counts} The diff is NOT shown whole. Of the files: {parts}. Each cut is marked where it is."
