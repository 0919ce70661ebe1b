"""What a judge is shown: the task, what to judge, and the evidence; never who worked, with what, or at what cost.

`BlindInput` has no field for a variant, tier, model, arm, cell or cost, so none can slip in. All that the agent wrote,
or made a program print, is between fences (`fence`); outside of them stand only the harness's own words.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.judges.excerpt import DIFF_CHARS, Excerpt, excerpt, listed
from scylla_gha.judges.fence import fenced, tag_of
from scylla_gha.judges.relevance import NOTHING, Named, named_by
from scylla_gha.model.judgment import CheckResult
from scylla_gha.model.record import digest
from scylla_gha.model.rubric import Item, Rubric
from scylla_gha.model.scenario import Scenario
from scylla_gha.model.visible import head_and_tail, visible

_FIELDS: Final = ("task", "items", "steps", "checks", "told", "evidence", "again", "tag")
_MESSAGE_CHARS: Final = 10_000
_TREE_CHARS: Final = 20_000
_CHECK_CHARS: Final = 1_500
_ALONE_CHARS: Final = 50_000  # of a diff alone: its tokens fit, though each character were three
_VOLATILE: Final = (  # differs from one run of a check to the next, and says nothing about the work
    (re.compile(r"(?<![^\s'\":=(])/[^\s'\":=(]{0,300}?\d{1,10}-[a-z0-9_]{8}(?=/)"), ""),  # scratch folders
    (re.compile(r"\b\d+\.\d+ ?(?=(?:s|ms|seconds)\b)"), "N "),
    (re.compile(r"\b0x[0-9a-f]{6,16}\b"), "0xN"),
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What there is to judge by: the patch, the paths of base plus patch, verified conditions, the last message."""

    diff: bytes
    tree: tuple[str, ...]
    checks: tuple[CheckResult, ...]
    final_message: str | None


@dataclass(frozen=True, slots=True)
class BlindInput:
    """All that a judge learns. `steps` and `items` are only those that no code decides."""

    task: str
    items: tuple[Item, ...]
    steps: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...]  # id and sentence of each checkpoint
    evidence: Evidence
    named: Named = NOTHING  # files that are shown first
    diff_alone: bool = False  # of the evidence nothing else is shown, and less of the diff


@dataclass(frozen=True, slots=True)
class Wording:
    """The judges' system prompt and the template of the user's message, with its version."""

    system: str
    template: str
    version: int

    @property
    def digest(self) -> str:
        """Covers both texts."""
        return digest([self.system, self.template])


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent to every judge; `cut` says that not all of the diff is in it."""

    system: str
    user: str
    cut: bool

    @property
    def digest(self) -> str:
        """SHA-256 of both texts."""
        return hashlib.sha256(f"{self.system}\0{self.user}".encode()).hexdigest()


def read_wording(roots: Iterable[Path]) -> Wording:
    """The wording of the first root that has one (`config/judge/`); a user's repository may bring its own.

    Raises:
        ConfigError: a file is missing, has no version, or has not the places that must be filled.
    """
    tried = [root / "config" / "judge" for root in roots]
    folder = next((place for place in tried if place.is_dir()), None)
    if folder is None:
        raise ConfigError(f"{', '.join(map(str, tried))}: no such folder; the judges' prompts belong there")
    return wording_in(folder)


def wording_in(folder: Path) -> Wording:
    """The wording of `system_prompt.md` and `user_template.md` in a folder.

    Raises:
        ConfigError: a file is missing, has no version, or has not the places that must be filled.
    """
    system, template = (_text(folder / name) for name in ("system_prompt.md", "user_template.md"))
    first, _, rest = template.partition("\n")
    found = re.fullmatch(r"version: (\d{1,6})", first.strip())
    if not found:
        raise ConfigError(f"{folder / 'user_template.md'}:1: must be `version: 1` or a later number, not {first!r}")
    named = Template(rest)
    if not named.is_valid() or set(named.get_identifiers()) != set(_FIELDS):
        names = ", ".join(f"${name}" for name in _FIELDS)
        raise ConfigError(f"{folder / 'user_template.md'}: must use exactly {names} (a dollar sign is written $$)")
    return Wording(system, rest, int(found[1]))


def blind_input(
    task: str, scenario: Scenario, rubric: Rubric, evidence: Evidence, checks: Iterable[str] = ()
) -> BlindInput:
    """Choose what the judges are asked: items without checks that apply, and the steps that hang on them.

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
        named=named_by(task, scenario, rubric, checks),
    )


def list_tree(tree: Path) -> tuple[str, ...]:
    """The paths of all files and links below a folder, in order; git's own are left out."""
    paths = (path for path in tree.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (path.relative_to(tree) for path in paths)
    return tuple(sorted(name.as_posix() for name in names if ".git" not in name.parts))


def render(blind: BlindInput, wording: Wording, again: tuple[str, ...] = ()) -> Prompt:
    """The prompt of all judges.

    Args:
        blind: what to show; its items are those that are asked for.
        wording: the texts around it.
        again: why each item is asked again, in the harness's own words.
    """
    room = _ALONE_CHARS if blind.diff_alone else DIFF_CHARS
    shown = excerpt(blind.evidence.diff, room, blind.named.rank)
    pieces = {"diff": shown.text} if blind.diff_alone else _pieces(blind, shown)
    tag = tag_of(pieces.values())
    user = Template(wording.template).substitute(
        task=fenced(blind.task, "task", "task"),
        items="\n".join(f"- {item.id} ({item.type}, {item.points:g} points): {item.text}" for item in blind.items),
        steps="\n".join(f"- step-{number}: {step}" for number, step in enumerate(blind.steps, 1)) or "- none",
        checks=_checks(blind),
        told=shown.told,
        evidence="\n\n".join(fenced(text, what, tag) for what, text in pieces.items()),
        again=_again(again),
        tag=tag,
    )
    return Prompt(wording.system, user, shown.cut)


def _pieces(blind: BlindInput, shown: Excerpt) -> dict[str, str]:
    evidence = blind.evidence
    tree = sorted(evidence.tree, key=lambda path: blind.named.rank(path, path in shown.new))
    return {
        "changed files": shown.listing,
        "diff": shown.text,
        "workspace tree": _tree(tree),
        "output of the checks": _outputs(evidence.checks),
        "final message": _message(evidence.final_message),
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}; it is a part of the judges' prompt") from None


def _tree(paths: Sequence[str]) -> str:
    rows = (visible(path.replace("\n", "\\n")) for path in paths)
    return listed(rows, _TREE_CHARS, "files") or "(empty)"


def _checks(blind: BlindInput) -> str:
    found = {check.id: check for check in blind.evidence.checks}
    rows = [
        f"- {name}: {'holds' if found[name].holds else 'DOES NOT HOLD'}: {what}"
        for name, what in blind.conditions
        if name in found
    ]
    return "\n".join(rows) or "- none"


def _outputs(checks: tuple[CheckResult, ...]) -> str:
    said = (f"## {check.id}\n{head_and_tail(_steady(check.evidence), _CHECK_CHARS)}" for check in checks)
    return "\n".join(said) or "(none)"


def _message(text: str | None) -> str:
    return (
        head_and_tail(_steady(head_and_tail(text, 10 * _MESSAGE_CHARS)), _MESSAGE_CHARS)
        if text
        else "(the agent said nothing)"
    )


def _steady(text: str) -> str:
    """The text without what changes from run to run, so that the same trial gives the same prompt."""
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return visible(text)


def _again(faults: tuple[str, ...]) -> str:
    if not faults:
        return ""
    rows = "\n".join(f"- {fault}" for fault in faults)
    return f"Your earlier answer could not be used for these items. Answer for these items only:\n{rows}\n"
