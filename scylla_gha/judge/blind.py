"""Blind input of the judges: the task, the evidence and the items, without who worked or at what cost.

`BlindInput` has no field for a variant, tier, model, arm, cell or cost, so none can reach a judge. Text that the agent
wrote, or made a program print, is quoted (`quote_untrusted`): it stands between tags that are named after a digest of
all quoted text, and in a code fence longer than any run of backticks inside, so it cannot close either. There is no
randomness: the same trial gives the same prompt, which can be recorded and replayed.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Final

from scylla_gha.config.judge_prompts import PromptTexts
from scylla_gha.judge.excerpt import (
    DIFF_CHARS,
    NO_NAMED_FILES,
    DiffExcerpt,
    NamedFiles,
    diff_excerpt,
    listed,
    named_files,
)
from scylla_gha.model.judgment import PROMPT_BYTES, CheckResult
from scylla_gha.model.printable_text import head_and_tail, visible
from scylla_gha.model.scenario import Item, Rubric, Scenario

_TAG_DIGITS: Final = 16
_MESSAGE_CHARS: Final = 10_000
_TREE_CHARS: Final = 20_000
_CHECK_CHARS: Final = 1_500
_ALONE_CHARS: Final = 50_000  # of a diff alone
_ALONE_BYTES: Final = 150_000  # of its request: they fit into any model's context, though each were a token
_ENVELOPE_BYTES: Final = 1_000  # of a request beside its prompt
_LEAST_ROOM: Final = 1_000  # characters of a diff that are shown in any case
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
    """Return the text between tags; `what` is the harness's own name for it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f'<{tag} what="{what}">\n{ticks}\n{text.rstrip(chr(10))}\n{ticks}\n</{tag}>'


@dataclass(frozen=True, slots=True)
class JudgeEvidence:
    """What there is to judge: the patch, the paths of base plus patch, check results, and the last message."""

    diff: bytes
    tree: tuple[str, ...]
    checks: tuple[CheckResult, ...]
    final_message: str | None


@dataclass(frozen=True, slots=True)
class BlindInput:
    """All that a judge is shown; `steps` and `items` are only those that no code decides."""

    task: str
    items: tuple[Item, ...]
    steps: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...]  # id and sentence of each checkpoint
    evidence: JudgeEvidence
    named: NamedFiles = NO_NAMED_FILES  # files that are shown first
    diff_alone: bool = False  # of the evidence nothing else is shown, and less of the diff


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """The prompt that every judge gets; `cut` is true if a part of the diff is left out."""

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
    """Select what the judges are asked: items without checks that apply, and the steps that depend on them.

    The texts of the hidden `checks` are not shown; the files that they name come first.
    """
    holds = {check.id: check.holds for check in evidence.checks}
    items = tuple(item for item in rubric.items if not item.checks and holds.get(item.applies_if or "", True))
    asked = {item.id for item in items}
    return BlindInput(
        task=task,
        items=items,
        steps=tuple(step.step for step in scenario.progress if step.item in asked),
        conditions=tuple((point.id, point.what) for point in scenario.checkpoints),
        evidence=evidence,
        named=named_files(task, scenario, rubric, checks),
    )


def list_tree(tree: Path) -> tuple[str, ...]:
    """Return the paths of all files and links below a folder, sorted, without those of git."""
    paths = (path for path in tree.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(tree) for path in paths)
    return tuple(sorted(name.as_posix() for name in names if ".git" not in name.parts))


def render_prompt(blind: BlindInput, prompts: PromptTexts, again: tuple[str, ...] = ()) -> JudgePrompt:
    """Render the prompt of all judges; show less of the diff if the request would be too large.

    Args:
        blind: what to show; its items are those that are asked for.
        prompts: the texts around it.
        again: why each item is asked again, in the harness's own words.
    """
    room, most = (_ALONE_CHARS, _ALONE_BYTES) if blind.diff_alone else (DIFF_CHARS, PROMPT_BYTES)
    prompt = _prompt(blind, prompts, again, room)
    while prompt.size > most and room > _LEAST_ROOM:
        room = max(_LEAST_ROOM, room * most * 9 // (prompt.size * 10))
        prompt = _prompt(blind, prompts, again, room)
    fits = prompt.size <= most or blind.diff_alone
    return prompt if fits else render_prompt(replace(blind, diff_alone=True), prompts, again)


def _prompt(blind: BlindInput, prompts: PromptTexts, again: tuple[str, ...], room: int) -> JudgePrompt:
    """Render the prompt with so many characters of the diff."""
    shown = diff_excerpt(blind.evidence.diff, room, blind.named.rank)
    pieces = {"diff": shown.text} if blind.diff_alone else _pieces(blind, shown)
    tag = fence_tag(pieces.values())
    user = Template(prompts.template).substitute(
        task=quote_untrusted(blind.task, "task", "task"),
        items="\n".join(f"- {item.id} ({item.type}, {item.points:g} points): {item.text}" for item in blind.items),
        steps="\n".join(f"- step-{number}: {step}" for number, step in enumerate(blind.steps, 1)) or "- none",
        checks=_checks(blind),
        told=shown.told,
        evidence="\n\n".join(quote_untrusted(text, what, tag) for what, text in pieces.items()),
        again=_retry_reasons(again),
        tag=tag,
    )
    return JudgePrompt(prompts.system, user, shown.cut)


def _pieces(blind: BlindInput, shown: DiffExcerpt) -> dict[str, str]:
    evidence = blind.evidence
    tree = sorted(evidence.tree, key=lambda path: blind.named.rank(path, path in shown.new))
    return {
        "changed files": shown.listing,
        "diff": shown.text,
        "workspace tree": _tree(tree),
        "output of the checks": _outputs(evidence.checks),
        "final message": _message(evidence.final_message),
    }


def _tree(paths: Sequence[str]) -> str:
    rows = (visible(path.replace("\n", "\\n")) for path in paths)
    return listed(rows, _TREE_CHARS, "files") or "(empty)"


def _checks(blind: BlindInput) -> str:
    results = {check.id: check for check in blind.evidence.checks}
    rows = [
        f"- {name}: {'holds' if results[name].holds else 'DOES NOT HOLD'}: {what}"
        for name, what in blind.conditions
        if name in results
    ]
    return "\n".join(rows) or "- none"


def _outputs(checks: tuple[CheckResult, ...]) -> str:
    outputs = (f"## {check.id}\n{head_and_tail(_without_volatile(check.evidence), _CHECK_CHARS)}" for check in checks)
    return "\n".join(outputs) or "(none)"


def _message(text: str | None) -> str:
    return (
        head_and_tail(_without_volatile(head_and_tail(text, 10 * _MESSAGE_CHARS)), _MESSAGE_CHARS)
        if text
        else "(the agent said nothing)"
    )


def _without_volatile(text: str) -> str:
    """Remove what changes from run to run, so that the same trial gives the same prompt."""
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return visible(text)


def _retry_reasons(faults: tuple[str, ...]) -> str:
    if not faults:
        return ""
    rows = "\n".join(f"- {fault}" for fault in faults)
    return f"Your earlier answer could not be used for these items. Answer for these items only:\n{rows}\n"
