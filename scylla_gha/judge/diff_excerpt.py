"""Excerpt of a diff for judges: the whole diff if it is short, else cut by these rules.

1. Files are sorted by rank, so that many new files cannot hide an important one: an agent chooses the names of new
   files, but neither those that task, checks and rubric name nor those of the start state. The list of files says
   how much of each is shown; files beyond the length of the list are counted.
2. A rank gets the characters that it needs, but leaves a quarter to the ranks after it if they need it. Its files
   share that: files below their share are whole, the others share the rest. If there are too many, the smallest are
   shown.
3. Within a file, runs of added, deleted and unchanged lines share in the same way, so one deleted line among ten
   thousand added ones is shown. Of a run that is too long, head and tail are shown.
4. Each cut states how many lines it removed. Contents of binary files are never shown.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.printable_text import head_and_tail, visible
from scylla_gha.model.scenario import Rubric, Scenario
from scylla_gha.path_patterns import PathPatterns

_WORD: Final = re.compile(r"[\w.@+~-][\w.@+~/-]*")
DIFF_CHARS: Final = 200_000  # about 60,000 tokens: all judges have room for it beside the rest
_LEAST_PIECE_CHARS: Final = 200  # a shorter piece is not worth its marker
_LEAST_FILE_CHARS: Final = 2_000  # of a file, or all of it, if there are too many files
_LISTED_CHARS: Final = 40_000
_NAME_CHARS: Final = 200
_UNLISTED: Final = "more files, not named here"  # recordings are found by the prompt, so its words stay
Rank = Callable[[str, bool], int]  # by a file's name, and by whether it is new


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """Files that a scenario names: words that may be paths, and patterns of what may be changed."""

    words: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()

    def rank(self, path: str, is_new: bool) -> int:
        """Return the rank of a file: named files, then files of the start state, then files like a named one."""
        if path in self.words:
            return 0
        if not is_new:
            return 1
        is_allowed = bool(self.patterns) and _spec(self.patterns).match(path)
        return 2 if is_allowed or path.rpartition("/")[2] in self.words else 3


NO_NAMED_FILES: Final = NamedFiles()


@functools.lru_cache(maxsize=64)
def _spec(patterns: tuple[str, ...]) -> PathPatterns:
    return PathPatterns(patterns)


def named_files(task: str, scenario: Scenario, rubric: Rubric, checks: Iterable[str] = ()) -> NamedFiles:
    """Collect the files that a scenario names.

    Args:
        task: the prompt.
        scenario: scenario, with its checkpoints.
        rubric: rubric, with its items.
        checks: texts of the hidden checks.
    """
    points = scenario.checkpoints
    texts = [task, *(item.text for item in rubric.items), *checks]
    texts += [text for point in points for text in (point.what, point.run, point.file) if text]
    words = (word.rstrip(".,:;").removeprefix("./") for text in texts for word in _WORD.findall(text))
    only = tuple(dict.fromkeys(glob for point in points if point.changes for glob in point.changes.only))
    return NamedFiles(frozenset(words), only)


@dataclass(frozen=True, slots=True)
class DiffExcerpt:
    """Part of a diff that is shown: `summary` is the harness's text, the rest is the agent's."""

    listing: str
    text: str
    summary: str
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


def diff_excerpt(patch: bytes, budget: int = DIFF_CHARS, rank: Rank = lambda _, __: 0) -> DiffExcerpt:
    """Cut a git patch to about `budget` characters; files of the lowest rank come first."""
    text = visible(patch.decode(errors="replace"))
    parts = (_file(part) for part in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE) if part.strip())
    ranked = sorted(((rank(file.name.strip('"'), file.is_new), file) for file in parts), key=lambda pair: pair[0])
    files = [file for _, file in ranked]
    rooms = _rooms([(number, file.size) for number, file in ranked], budget)
    shown = [_shown(file, room) for file, room in zip(files, rooms, strict=True)]
    states = [_state(file, text_part) for file, text_part in zip(files, shown, strict=True)]
    rows = (f"+{file.added} -{file.deleted} {file.name} ({state})" for file, state in zip(files, states, strict=True))
    return DiffExcerpt(
        listing=list_files(rows, _LISTED_CHARS),
        text="\n".join(text_part for text_part in shown if text_part),
        summary=_summary(files, states),
        cut=any(state != "whole" for state in states),
        new=frozenset(file.name.strip('"') for file in files if file.is_new),
    )


def _rooms(files: Sequence[tuple[int, int]], budget: int) -> list[int]:
    """Return the characters for each file, given in order of their ranks with their sizes."""
    rooms: list[int] = []
    needed = sum(size for _, size in files)
    for _, group in itertools.groupby(files, key=lambda file: file[0]):
        sizes = [size for _, size in group]
        needed -= sum(sizes)
        left = budget - sum(rooms)
        rooms += _share_rooms(sizes, max(left - needed, left * 3 // 4))
    return rooms


def _share_rooms(sizes: Sequence[int], budget: int) -> list[int]:
    """Share the characters among as many files as possible, smallest first; the others get none."""
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    needs = itertools.accumulate(min(sizes[index], _LEAST_FILE_CHARS) for index in order)
    fitting = sorted(order[: sum(need <= budget for need in needs)])
    rooms = dict(zip(fitting, share([sizes[index] for index in fitting], budget), strict=True))
    return [rooms.get(index, 0) for index in range(len(sizes))]


def share(sizes: Sequence[int], budget: int) -> list[int]:
    """Divide a budget: an item below the equal share gets its size, and leaves the rest to the others."""
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
    paths = [line[4:] for line in head if line.startswith(("+++ ", "--- ")) and line[4:] != "/dev/null"]
    if not paths:  # a change of mode only, an empty file, or a binary one
        twice = re.fullmatch(r'diff --git ("?)a/(.+)\1 \1b/\2\1', head[0])
        return (twice[2] if twice else head[0])[:_NAME_CHARS]
    return re.sub(r'^("?)[ab]/', r"\1", paths[-1].rstrip("\t"))[:_NAME_CHARS]


def _shown(file: _File, room: int) -> str:
    """Return the file's part of the diff within its room, or nothing if the room is too small."""
    if file.binary:
        return f"{file.head}\n[binary: its content is not shown]" if len(file.head) <= room else ""
    if file.size <= room:
        return "\n".join([file.head, *file.body])
    if room < _LEAST_PIECE_CHARS:
        return ""
    runs = ["\n".join(run) for _, run in itertools.groupby(file.body, key=lambda line: line[:1])]
    left = max(0, room - len(file.head))
    if left // len(runs) < _LEAST_PIECE_CHARS:
        runs = ["\n".join(file.body)]
    rooms = share([len(run) for run in runs], left)
    return "\n".join([file.head, *(head_and_tail(run, run_room) for run, run_room in zip(runs, rooms, strict=True))])


def _state(file: _File, shown: str) -> str:
    if file.binary:
        return "binary, content not shown"
    if not shown:
        return "not shown"
    return "whole" if len(shown) == file.size else "cut"


def list_files(rows: Iterable[str], room: int) -> str:
    """Return as many rows as fit into `room` characters, and the number of the others."""
    all_rows = list(rows)
    ends = itertools.accumulate(len(row) + 1 for row in all_rows)
    count = sum(end <= room for end in ends)
    more = [f"[and {len(all_rows) - count} {_UNLISTED}]"] if count < len(all_rows) else []
    return "\n".join([*all_rows[:count], *more])


def _summary(files: Sequence[_File], states: Sequence[str]) -> str:
    if not files:
        return "Nothing was changed."
    added, deleted = sum(file.added for file in files), sum(file.deleted for file in files)
    counts = f"Changed files: {len(files)}; lines added: {added}, deleted: {deleted}."
    if all(state == "whole" for state in states):
        return f"{counts} The diff is shown whole."
    parts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    return (f"{counts} The diff is NOT shown whole. Of the files: {parts}. First come those that task, checks and "
            "rubric name, then those that were there before the change. Each cut is marked where it is.")  # fmt: skip
