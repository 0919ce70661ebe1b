"""Prompt of the judges: the task, the evidence with an excerpt of the diff, and the items.

`BlindInput` has no field for a variant, tier, model, arm, cell or cost, so none can reach a judge. Text that the agent
wrote, or made a program print, is quoted (`quote_untrusted`): it stands between tags that are named after a digest of
all quoted text, in a code fence that is longer than any run of backticks in it, so it can close neither. There is no
randomness: the same trial gives the same prompt, so that it can be recorded and replayed.

A short diff is shown whole. A longer diff is cut by these rules:

1. Files are sorted by rank, so that many new files cannot hide an important file. An agent chooses the names of new
   files, but not those that task, checks and rubric name, nor those of the start state. The list of files says how
   much of each file is shown; files beyond the length of the list are counted.
2. A rank gets the characters that it needs, but leaves a quarter to later ranks if they need it. Its files share the
   characters: files smaller than their share are whole, the other files share the rest. If there are too many files,
   the smallest are shown.
3. Within a file, runs of added, deleted and unchanged lines share in the same way, so one deleted line among ten
   thousand added lines is shown. If a run is too long, its head and its tail are shown.
4. Each cut states how many lines it removed. Contents of binary files are never shown.
"""

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Final

from scylla_gha.config.materials import PromptTexts
from scylla_gha.counting import head_and_tail
from scylla_gha.judge.github_texts import LEGEND, NO_FILES
from scylla_gha.model import visible
from scylla_gha.model.judgment import PROMPT_BYTES, CheckResult
from scylla_gha.model.scenario import Item, Rubric, Scenario
from scylla_gha.path_patterns import PathPatterns

_SKILL_LINE: Final = re.compile(r"^[^\n]*(?:Base directory for this skill|Launching skill):[^\n]*\n?", re.MULTILINE)
_WORD: Final = re.compile(r"[\w.@+~-][\w.@+~/-]*")
DIFF_CHARS: Final = 200_000  # about 60,000 tokens, for which all judges have room in addition to the rest
_LEAST_PIECE_CHARS: Final = 200  # a shorter piece is not worth its marker
_LEAST_FILE_CHARS: Final = 2_000  # room that a shown file gets at least, unless it is smaller
_LISTED_CHARS: Final = 40_000
_NAME_CHARS: Final = 200
_UNLISTED: Final = "more files, not named here"  # recordings are found by the prompt, so its words stay
Rank = Callable[[str, bool], int]  # arguments: the file's name, and True if the file is new
_TAG_DIGITS: Final = 16
_MESSAGE_CHARS: Final = 10_000
_TREE_CHARS: Final = 20_000
_CHECK_CHARS: Final = 1_500
_ALONE_CHARS: Final = 50_000  # of a diff that is shown alone
_ALONE_BYTES: Final = 150_000  # of a request with the diff alone: it fits any context, even if each byte is a token
_ENVELOPE_BYTES: Final = 1_000  # of a request in addition to its prompt
_LEAST_DIFF_CHARS: Final = 1_000  # of a diff that are always shown
_VOLATILE: Final = (  # text that differs from one run of a check to the next and says nothing about the work
    (re.compile(r"(?<![^\s'\":=(])/[^\s'\":=(]{0,300}?\d{1,10}-[a-z0-9_]{8}(?=/)"), ""),  # scratch folders
    (re.compile(r"\b\d+\.\d+ ?(?=(?:s|ms|seconds)\b)"), "N "),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0xN"),
)


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """Files that a scenario names: words that may be paths, and patterns of the files that may be changed."""

    words: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()

    def rank(self, path: str, is_new: bool) -> int:
        """Return the rank of a file: named files, files of the start state, files that match, other files."""
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
        task: prompt of the task.
        scenario: scenario with its checkpoints.
        rubric: rubric with its items.
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
    """The part of a diff that is shown; the harness wrote `summary`, the other texts are the agent's."""

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
    """Cut a git patch to about `budget` characters, with files of the lowest rank first."""
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
    """Return the characters for each file; `files` are ranks and sizes, ordered by rank."""
    rooms: list[int] = []
    needed = sum(size for _, size in files)
    for _, group in itertools.groupby(files, key=lambda file: file[0]):
        sizes = [size for _, size in group]
        needed -= sum(sizes)
        left = budget - sum(rooms)
        rooms += _share_rooms(sizes, max(left - needed, left * 3 // 4))
    return rooms


def _share_rooms(sizes: Sequence[int], budget: int) -> list[int]:
    """Share the characters among as many files as possible, the smallest first; other files get none."""
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    needs = itertools.accumulate(min(sizes[index], _LEAST_FILE_CHARS) for index in order)
    fitting = sorted(order[: sum(need <= budget for need in needs)])
    rooms = dict(zip(fitting, share([sizes[index] for index in fitting], budget), strict=True))
    return [rooms.get(index, 0) for index in range(len(sizes))]


def share(sizes: Sequence[int], budget: int) -> list[int]:
    """Divide a budget: an item smaller than the equal share gets its size, and the others share what it leaves."""
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
    """Return the file's part of the diff in at most `room` characters, or "" if that is too little."""
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
    """Return as many rows as fit into `room` characters, and the number of the other rows."""
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
    return (
        f"{counts} The diff is NOT shown whole. Of the files: {parts}. First come those that task, checks and "
        "rubric name, then those that were there before the change. Each cut is marked where it is."
    )


def fence_tag(pieces: Iterable[str]) -> str:
    """Return a tag that occurs in none of the pieces, and is the same for the same pieces."""
    whole = "\0".join(pieces)
    tag = f"untrusted-{hashlib.sha256(whole.encode()).hexdigest()[:_TAG_DIGITS]}"
    while tag in whole:
        tag = f"untrusted-{hashlib.sha256(tag.encode()).hexdigest()[:_TAG_DIGITS]}"
    return tag


def quote_untrusted(text: str, what: str, tag: str) -> str:
    """Return the text between tags; `what` is the harness's name for the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f'<{tag} what="{what}">\n{ticks}\n{text.rstrip(chr(10))}\n{ticks}\n</{tag}>'


@dataclass(frozen=True, slots=True)
class JudgeEvidence:
    """Evidence for judges.

    Attributes:
        diff: patch of the agent.
        tree: paths of the base with the patch.
        checks: results of the checks.
        final_message: last message of the agent.
        github: the agent's texts on GitHub; None if the task has no GitHub.
    """

    diff: bytes
    tree: tuple[str, ...]
    checks: tuple[CheckResult, ...]
    final_message: str | None
    github: str | None = None


@dataclass(frozen=True, slots=True)
class BlindInput:
    """Content for a judge; `items` and `steps` are only those that code does not decide."""

    task: str
    items: tuple[Item, ...]
    steps: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...]  # id and sentence of each checkpoint
    evidence: JudgeEvidence
    first_files: NamedFiles = NO_NAMED_FILES  # files that are shown first
    diff_alone: bool = False  # no other evidence is shown, and less of the diff


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """Prompt for every judge; `cut` is True if a part of the diff is left out."""

    system: str
    user: str
    cut: bool

    @property
    def size(self) -> int:
        """Size of the request in bytes."""
        texts = json.dumps([self.system, self.user], ensure_ascii=False)
        return len(texts.encode(errors="replace")) + _ENVELOPE_BYTES

    @property
    def digest(self) -> str:
        """SHA-256 of both texts."""
        return hashlib.sha256(f"{self.system}\0{self.user}".encode()).hexdigest()


def blind_input(
    task: str, scenario: Scenario, rubric: Rubric, evidence: JudgeEvidence, checks: Iterable[str] = ()
) -> BlindInput:
    """Select the items that judges score (they apply and have no checks) and the steps that depend on these items.

    The texts of the hidden `checks` are not shown, but files that they name come first in the diff.
    """
    holds = {check.id: check.holds for check in evidence.checks}
    items = tuple(item for item in rubric.items if not item.checks and holds.get(item.applies_if or "", True))
    ids = {item.id for item in items}
    expected, masked = scenario.validation.expected, _mask(scenario.validation.masked_names)
    text = f"{task.rstrip()}\n\nExpected result, which the agent did not see:\n{expected}" if expected else task
    return BlindInput(
        task=masked(text),
        items=tuple(item.model_copy(update={"text": masked(item.text)}) for item in items),
        steps=tuple(step.step for step in scenario.progress if step.item in ids),
        conditions=tuple((point.id, masked(point.what)) for point in scenario.checkpoints),
        evidence=_masked_evidence(evidence, masked) if scenario.validation.masked_names else evidence,
        first_files=named_files(task, scenario, rubric, checks),
    )


def _mask(names: Sequence[str]) -> Callable[[str], str]:
    """Return a function that hides calls of skills in a text, and the lines in which the CLI says where one is."""
    if not names:
        return lambda text: text
    any_name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    distinct = "|".join(re.escape(name) for name in names if "-" in name)  # others are words such as `pdf`
    called = (
        rf"(?<![\w/])[/$](?:[\w.-]{{1,99}}:)?(?:{any_name})(?![\w/.-])"
        rf"|\b[`'\"*]{{0,3}}(?:{any_name})[`'\"*]{{0,3}} skill\b|\bskill [`'\"*]{{0,3}}(?:{any_name})\b[`'\"*]{{0,3}}"
    )
    pattern = re.compile(called + (rf"|(?<![\w-])(?:{distinct})(?![\w-])" if distinct else ""), re.IGNORECASE)
    return lambda text: pattern.sub("[skill]", _SKILL_LINE.sub("", text))


def _masked_evidence(evidence: JudgeEvidence, masked: Callable[[str], str]) -> JudgeEvidence:
    checks = (check.model_copy(update={"evidence": masked(check.evidence)}) for check in evidence.checks)
    return replace(
        evidence,
        diff=masked(evidence.diff.decode(errors="surrogateescape")).encode(errors="surrogateescape"),
        tree=tuple(masked(path) for path in evidence.tree),
        checks=tuple(checks),
        final_message=masked(evidence.final_message) if evidence.final_message else evidence.final_message,
    )


def list_tree(tree: Path) -> tuple[str, ...]:
    """Return the paths of all files and links below a folder, sorted, without those of git."""
    paths = (path for path in tree.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(tree) for path in paths)
    return tuple(sorted(name.as_posix() for name in names if ".git" not in name.parts))


def render_prompt(blind: BlindInput, prompts: PromptTexts, faults: tuple[str, ...] = ()) -> JudgePrompt:
    """Render the prompt of all judges; show less of the diff if the request would be too large.

    Args:
        blind: content to show.
        prompts: texts around the content.
        faults: why each item is asked again, in the harness's words; empty for the first request.
    """
    room, most = (_ALONE_CHARS, _ALONE_BYTES) if blind.diff_alone else (DIFF_CHARS, PROMPT_BYTES)
    prompt = _prompt(blind, prompts, faults, room)
    while prompt.size > most and room > _LEAST_DIFF_CHARS:
        room = max(_LEAST_DIFF_CHARS, room * most * 9 // (prompt.size * 10))
        prompt = _prompt(blind, prompts, faults, room)
    fits = prompt.size <= most or blind.diff_alone
    return prompt if fits else render_prompt(replace(blind, diff_alone=True), prompts, faults)


def _prompt(blind: BlindInput, prompts: PromptTexts, faults: tuple[str, ...], room: int) -> JudgePrompt:
    """Render the prompt with at most `room` characters of the diff."""
    excerpt = diff_excerpt(blind.evidence.diff, room, blind.first_files.rank)
    texts = {} if blind.evidence.github is None else {"text on GitHub": blind.evidence.github or "(none)"}
    pieces = {"diff": excerpt.text, **texts} if blind.diff_alone else {**_pieces(blind, excerpt), **texts}
    tag = fence_tag(pieces.values())
    reasons = "\n".join(f"- {fault}" for fault in faults)
    again = f"Your earlier answer could not be used for these items. Answer for these items only:\n{reasons}\n"
    user = Template(prompts.template).substitute(
        task=quote_untrusted(blind.task, "task", "task"),
        items="\n".join(f"- {item.id} ({item.type}, {item.points:g} points): {item.text}" for item in blind.items),
        steps="\n".join(f"- step-{number}: {step}" for number, step in enumerate(blind.steps, 1)) or "- none",
        checks=_checks(blind),
        told=f"{excerpt.summary if excerpt.text else NO_FILES} {LEGEND}" if texts else excerpt.summary,
        evidence="\n\n".join(quote_untrusted(text, what, tag) for what, text in pieces.items()),
        again=again if faults else "",
        tag=tag,
    )
    return JudgePrompt(prompts.system, user, excerpt.cut)


def _checks(blind: BlindInput) -> str:
    results = {check.id: check for check in blind.evidence.checks}
    rows = [
        f"- {name}: {'holds' if results[name].holds else 'DOES NOT HOLD'}: {what}"
        for name, what in blind.conditions
        if name in results
    ]
    return "\n".join(rows) or "- none"


def _pieces(blind: BlindInput, excerpt: DiffExcerpt) -> dict[str, str]:
    """Return the untrusted parts of the evidence by their names in the prompt."""
    evidence = blind.evidence
    tree = sorted(evidence.tree, key=lambda path: blind.first_files.rank(path, path in excerpt.new))
    names = (visible(path.replace("\n", "\\n")) for path in tree)
    outputs = (f"## {check.id}\n{_stable_text(check.evidence, _CHECK_CHARS)}" for check in evidence.checks)
    message = head_and_tail(evidence.final_message or "", 10 * _MESSAGE_CHARS)
    return {
        "changed files": excerpt.listing,
        "diff": excerpt.text,
        "workspace tree": list_files(names, _TREE_CHARS) or "(empty)",
        "output of the checks": "\n".join(outputs) or "(none)",
        "final message": _stable_text(message, _MESSAGE_CHARS) if message else "(the agent said nothing)",
    }


def _stable_text(text: str, room: int) -> str:
    """Return the text, cut, without parts that change from run to run: the same trial must give the same prompt."""
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return head_and_tail(visible(text), room)
