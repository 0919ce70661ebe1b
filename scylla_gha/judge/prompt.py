"""Prompt of the judges: the task, the evidence and the items, without variant, model or cost.

`BlindInput` has no field for a variant, tier, model, arm, cell or cost, so none can reach a judge. Text that the agent
wrote, or made a program print, is quoted (`quote_untrusted`): it is put between tags that are named after a digest of
all quoted text, and in a code fence longer than any run of backticks inside, so it cannot close either. There is no
randomness: the same trial gives the same prompt, which can be recorded and replayed.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Final

from scylla_gha.config.materials import PromptTexts
from scylla_gha.judge.diff_excerpt import (
    DIFF_CHARS,
    NO_NAMED_FILES,
    DiffExcerpt,
    NamedFiles,
    diff_excerpt,
    list_files,
    named_files,
)
from scylla_gha.judge.github_texts import LEGEND, NO_FILES
from scylla_gha.model.judgment import PROMPT_BYTES, CheckResult
from scylla_gha.model.printable_text import head_and_tail, visible
from scylla_gha.model.scenario import Item, Rubric, Scenario

_TAG_DIGITS: Final = 16
_MESSAGE_CHARS: Final = 10_000
_TREE_CHARS: Final = 20_000
_CHECK_CHARS: Final = 1_500
_ALONE_CHARS: Final = 50_000  # of a diff that is shown alone
_ALONE_BYTES: Final = 150_000  # of such a request: it fits into any model's context, even if each byte were a token
_ENVELOPE_BYTES: Final = 1_000  # of a request beside its prompt
_LEAST_DIFF_CHARS: Final = 1_000  # that are always shown
_VOLATILE: Final = (  # differs from one run of a check to the next, and says nothing about the work
    (re.compile(r"(?<![^\s'\":=(])/[^\s'\":=(]{0,300}?\d{1,10}-[a-z0-9_]{8}(?=/)"), ""),  # scratch folders
    (re.compile(r"\b\d+\.\d+ ?(?=(?:s|ms|seconds)\b)"), "N "),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0xN"),
)


def fence_tag(pieces: Iterable[str]) -> str:
    """Return a tag that occurs in none of the pieces, and is the same for the same pieces."""
    whole = "\0".join(pieces)
    tag = f"untrusted-{hashlib.sha256(whole.encode()).hexdigest()[:_TAG_DIGITS]}"
    while tag in whole:
        tag = f"untrusted-{hashlib.sha256(tag.encode()).hexdigest()[:_TAG_DIGITS]}"
    return tag


def quote_untrusted(text: str, what: str, tag: str) -> str:
    """Return the text between tags; `what` is the harness's name for it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f'<{tag} what="{what}">\n{ticks}\n{text.rstrip(chr(10))}\n{ticks}\n</{tag}>'


@dataclass(frozen=True, slots=True)
class JudgeEvidence:
    """Evidence: the patch, the paths of base plus patch, check results, the agent's final message, and `github`.

    `github` are its texts on GitHub, None if the task has no GitHub.
    """

    diff: bytes
    tree: tuple[str, ...]
    checks: tuple[CheckResult, ...]
    final_message: str | None
    github: str | None = None


@dataclass(frozen=True, slots=True)
class BlindInput:
    """Content that a judge is shown; `items` and `steps` are only those that no code decides."""

    task: str
    items: tuple[Item, ...]
    steps: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...]  # id and sentence of each checkpoint
    evidence: JudgeEvidence
    first_files: NamedFiles = NO_NAMED_FILES  # files that are shown first
    diff_alone: bool = False  # no other evidence is shown, and less of the diff


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """Prompt that every judge gets; `cut` is true if a part of the diff is left out."""

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
    """Select the items that judges score (they apply and have no checks) and the steps that depend on them.

    The texts of the hidden `checks` are not shown; the files that they name come first.
    """
    holds = {check.id: check.holds for check in evidence.checks}
    items = tuple(item for item in rubric.items if not item.checks and holds.get(item.applies_if or "", True))
    ids = {item.id for item in items}
    return BlindInput(
        task=task,
        items=items,
        steps=tuple(step.step for step in scenario.progress if step.item in ids),
        conditions=tuple((point.id, point.what) for point in scenario.checkpoints),
        evidence=evidence,
        first_files=named_files(task, scenario, rubric, checks),
    )


def list_tree(tree: Path) -> tuple[str, ...]:
    """Return the paths of all files and links below a folder, sorted, without those of git."""
    paths = (path for path in tree.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(tree) for path in paths)
    return tuple(sorted(name.as_posix() for name in names if ".git" not in name.parts))


def render_prompt(blind: BlindInput, prompts: PromptTexts, faults: tuple[str, ...] = ()) -> JudgePrompt:
    """Render the prompt of all judges; show less of the diff if the request would be too large.

    Args:
        blind: what to show.
        prompts: the texts around it.
        faults: why each item is asked again, in the harness's words; empty: the first request.
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
    """Return the text, cut, without what changes from run to run, so that the same trial gives the same prompt."""
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return head_and_tail(visible(text), room)
