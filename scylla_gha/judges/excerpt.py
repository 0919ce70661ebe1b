"""A diff as a judge can read it: whole if it is short, else cut by rules that are told.

1. Files come in the order of their rank. They are listed with their added and deleted lines, and with how much of
   each is shown; files beyond the room of the list are counted.
2. A rank has the room that it needs, but leaves a quarter to those after it, where they need it. Its files share it:
   those that need less than their share are whole, the others share what is left. Of too many, the smallest are shown.
3. Within a file it is shared in the same way among the runs of added, deleted and unchanged lines, so a deleted line
   amid ten thousand added ones is shown. Of a run that is too long, the head and the tail are shown.
4. Each cut says, at its place, how many lines it took. Contents of binary files are never shown.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.visible import head_and_tail, visible

DIFF_CHARS: Final = 200_000  # about 60,000 tokens: all judges have room for it beside the rest
_LEAST: Final = 200  # characters, below which a piece is not worth its marker
_WORTH: Final = 2_000  # that a file is given where there are too many, or all that it needs
_LISTED_CHARS: Final = 40_000
_NAME_CHARS: Final = 200
Rank = Callable[[str, bool], int]  # of a file's name, and of whether it is new


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is shown of a diff: `told` is the harness's own statement of it, the rest is what the agent wrote."""

    listing: str
    text: str
    told: str
    cut: bool
    new: frozenset[str] = frozenset()  # names of files that the start state does not have


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    head: str
    body: tuple[str, ...]
    binary: bool

    @property
    def is_new(self) -> bool:
        return "\nnew file mode " in self.head

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for line in self.body)

    @property
    def deleted(self) -> int:
        return sum(line.startswith("-") for line in self.body)

    @property
    def size(self) -> int:
        return len(self.head) + sum(len(line) + 1 for line in self.body)


def excerpt(patch: bytes, budget: int = DIFF_CHARS, rank: Rank = lambda _, __: 0) -> Excerpt:
    """Cut a patch of git to about `budget` characters; files of the lowest rank come first."""
    text = visible(patch.decode(errors="replace"))
    parts = (_file(part) for part in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE) if part.strip())
    ranked = sorted(((rank(file.name.strip('"'), file.is_new), file) for file in parts), key=lambda pair: pair[0])
    files = [file for _, file in ranked]
    rooms = _rooms([(number, file.size) for number, file in ranked], budget)
    shown = [_shown(file, room) for file, room in zip(files, rooms, strict=True)]
    states = [_state(file, one) for file, one in zip(files, shown, strict=True)]
    return Excerpt(
        listing=_listing(files, states),
        text="\n".join(one for one in shown if one),
        told=_told(files, states),
        cut=any(state != "whole" for state in states),
        new=frozenset(file.name.strip('"') for file in files if file.is_new),
    )


def _rooms(files: Sequence[tuple[int, int]], budget: int) -> list[int]:
    """The room of each file, given in order of their ranks with their sizes."""
    rooms: list[int] = []
    needed = sum(size for _, size in files)
    for _, group in itertools.groupby(files, key=lambda file: file[0]):
        sizes = [size for _, size in group]
        needed -= sum(sizes)
        left = budget - sum(rooms)
        rooms += _worth(sizes, max(left - needed, left * 3 // 4))
    return rooms


def _worth(sizes: Sequence[int], budget: int) -> list[int]:
    """Share the room among as many as there is some for, the smallest first; the others have none."""
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    needs = itertools.accumulate(min(sizes[index], _WORTH) for index in order)
    fitting = sorted(order[: sum(need <= budget for need in needs)])
    rooms = dict(zip(fitting, share([sizes[index] for index in fitting], budget), strict=True))
    return [rooms.get(index, 0) for index in range(len(sizes))]


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
    rows = (f"+{file.added} -{file.deleted} {file.name} ({state})" for file, state in zip(files, states, strict=True))
    return listed(rows, _LISTED_CHARS, "files")


def listed(rows: Iterable[str], room: int, what: str) -> str:
    """As many rows as there is room for, and how many more there are."""
    every = list(rows)
    ends = itertools.accumulate(len(row) + 1 for row in every)
    count = sum(end <= room for end in ends)
    more = len(every) - count
    return "\n".join([*every[:count], *([f"[and {more} more {what}, not named here]"] if more else [])])


def _told(files: Sequence[_File], states: Sequence[str]) -> str:
    if not files:
        return "Nothing was changed."
    added, deleted = sum(file.added for file in files), sum(file.deleted for file in files)
    counts = f"Changed files: {len(files)}; lines added: {added}, deleted: {deleted}."
    if all(state == "whole" for state in states):
        return f"{counts} The diff is shown whole."
    parts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    return (f"{counts} The diff is NOT shown whole. Of the files: {parts}. First come those that task, checks and "
            "rubric name, then those that were there before the change. Each cut is marked where it is.")  # fmt: skip
