"""Checks of SKILL.md: rules of the specification (as in skills-ref), and the use of descriptions by agents."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.skills import Level, SkillFinding
from scylla_gha.skills.find import SKILL_FILE, SkillFolder
from scylla_gha.skills.read_evals import EvalFile
from scylla_gha.skills.skill_file import SkillFile

_FIELDS: Final = frozenset({"name", "description", "license", "allowed-tools", "metadata", "compatibility"})
_CLAUDE_FIELDS: Final = frozenset(  # https://code.claude.com/docs/en/skills, and fields in Anthropic's own plugins
    {"when_to_use", "argument-hint", "arguments", "disable-model-invocation", "user-invocable", "model", "context"}
    | {"agent", "hooks", "paths", "shell", "effort", "disallowed-tools", "version"}
)
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 1_024
_LONGEST_COMPATIBILITY: Final = 500
_TAG: Final = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>")
_PLACEHOLDER: Final = re.compile(
    r"\W*(?:TODO\b|TBD\b|FIXME\b|lorem ipsum|replace (?:this|with)\b|your description|insert "
    r"|description of (?:the|what|this))",
    re.IGNORECASE,
)
_WHEN: Final = re.compile(
    r"\b(?:when|whenever|while|if|before|after|during|trigger\w*|asks?|asked|use (?:this|it|for|to|as|with|proactively)"
    r"|used (?:for|to|by|in)|for (?:use|any|all|tasks|projects|users)|use for|activat\w+)\b",
    re.IGNORECASE,
)
_ENGLISH: Final = re.compile(r"\b(?:the|and|of|with|for|from|to)\b", re.IGNORECASE)
_MOST_UNSURE_WORDS: Final = 4  # words of a description that is too short to detect its language
_FEWEST_EVALS: Final = 6
_FEWEST_QUERIES: Final = 8  # queries with each label


def specification_findings(skill: SkillFolder, file: SkillFile) -> Iterator[SkillFinding]:
    """Yield differences from the specification, and problems that agents will have with the skill."""
    path = skill.shown(skill.file)
    for fault in file.faults:
        yield SkillFinding(fault.rule, fault.level, path, fault.line, fault.message)
    if skill.file.name != SKILL_FILE:
        level: Level = "note" if skill.file.name == "skill.md" else "error"
        yield SkillFinding("file", level, path, 1, f"is named {skill.file.name}; rename it SKILL.md, as agents expect")
    if not file.fields:
        return
    for rule, level, line, message in (
        *_field_faults(file),
        *_name_faults(skill, file),
        *_description_faults(file),
        *_compatibility_faults(file),
    ):
        yield SkillFinding(rule, level, path, line, message)


_Fault = tuple[str, Level, int, str]


def _field_faults(file: SkillFile) -> Iterator[_Fault]:
    for name, field in file.fields.items():
        if name == "disable-model-invocation" and file.is_true(name):
            message = f"{name}: the model cannot invoke it, only a user can, so its trigger queries are not used"
            yield "not-for-model", "note", field.line, message
        elif name in _CLAUDE_FIELDS:
            yield "claude-field", "note", field.line, f"{name}: is a field of Claude Code; other agents do not know it"
        elif name not in _FIELDS:
            message = f"{name[:60]}: is not a field of the specification; put it below `metadata:`, or remove it"
            yield "field", "error", field.line, message


def _name_faults(skill: SkillFolder, file: SkillFile) -> Iterator[_Fault]:
    line = file.line("name")
    if not file.text("name"):
        yield "name", "error", line, f"name: is missing or not text; write name: {skill.name}"
        return
    name = unicodedata.normalize("NFKC", file.text("name"))
    shown = name[:80]
    if len(name) > _LONGEST_NAME:
        yield "name", "error", line, f"name: has {counted(len(name), 'character')}; the maximum is {_LONGEST_NAME}"
    if name != name.lower():
        yield "name", "error", line, f"name: {shown!r} has capital letters; write {shown.lower()}"
    if name.startswith("-") or name.endswith("-") or "--" in name:
        yield "name", "error", line, f"name: {shown!r} begins or ends with `-`, or has two in a row; remove them"
    if not all(character.isalnum() or character == "-" for character in name):
        yield "name", "error", line, f"name: {shown!r} has characters other than letters, digits and `-`; remove them"
    folder = unicodedata.normalize("NFKC", skill.folder.name)
    if folder == name:
        return
    if skill.name != skill.folder.name:  # a cloned repository may have any folder name
        message = f"name: is {shown!r}; install it in a folder of this name, since Claude Code uses the folder's name"
        yield "name", "note", line, message
    else:
        message = f"name: is {shown!r}, the folder is {folder!r}, and Claude Code uses the folder's name"
        yield "name", "error", line, f"{message}; rename one of them"


def _description_faults(file: SkillFile) -> Iterator[_Fault]:
    text, line = file.text("description"), file.line("description")
    if not text:
        message = (
            "description: is missing or not text; say what the skill does and when to use it, since agents "
            "choose a skill by it"
        )
        yield "description", "error", line, message
        return
    if len(text) > _LONGEST_DESCRIPTION:
        message = (
            f"description: has {counted(len(text), 'character')}; the specification allows {_LONGEST_DESCRIPTION:,}"
        )
        yield "description", "error", line, message
    if tag := _TAG.search(text):
        yield "description", "warning", line, f"description: contains the tag {tag[0][:40]}; remove < and >"
    if _PLACEHOLDER.match(text):
        yield (
            "description",
            "warning",
            line,
            "description: is a placeholder; say what the skill does and when to use it",
        )
    elif _is_english(text) and not _says_when(file, text):
        message = 'description: does not say when to use the skill; add "Use it when ..."'
        yield "description", "warning", line, message


def _says_when(file: SkillFile, text: str) -> bool:
    """Return True if the description says when to use the skill, or if the model never chooses it."""
    return bool(file.text("when_to_use") or file.is_true("disable-model-invocation") or _WHEN.search(text))


def _is_english(text: str) -> bool:
    """Return False if a text may be in another language, where `_WHEN` finds nothing."""
    is_latin = all(character.isascii() or not character.isalpha() for character in text)
    return is_latin and (_ENGLISH.search(text) is not None or len(text.split()) <= _MOST_UNSURE_WORDS)


def _compatibility_faults(file: SkillFile) -> Iterator[_Fault]:
    if (field := file.fields.get("compatibility")) is None:
        return
    if field.text is None:
        yield "compatibility", "error", field.line, "compatibility: must be text; put it in quotes"
    elif len(field.text) > _LONGEST_COMPATIBILITY:
        length = counted(len(field.text), "character")
        message = f"compatibility: has {length}; the specification allows {_LONGEST_COMPATIBILITY}"
        yield "compatibility", "error", field.line, message


def duplicate_findings(skills: Sequence[tuple[SkillFolder, SkillFile]]) -> Iterator[SkillFinding]:
    """Yield a warning for each skill with the name of another one; for an exact copy, a note."""
    by_name: dict[str, list[tuple[SkillFolder, SkillFile]]] = defaultdict(list)
    for skill, file in skills:
        by_name[skill.name].append((skill, file))
    for (first, first_file), *others in by_name.values():
        for skill, file in others:
            is_copy = (file.body, file.text("description")) == (first_file.body, first_file.text("description"))
            what = "is a copy of" if is_copy else "is also the name of"
            message = f"name: {what} {first.shown(first.folder)}; an agent lists only one of them; rename or remove one"
            level: Level = "note" if is_copy else "warning"
            yield SkillFinding("duplicate-name", level, skill.shown(skill.file), file.line("name"), message)


def count_findings(files: Sequence[EvalFile], *, user_only: bool) -> Iterator[SkillFinding]:
    """Yield findings on evals and queries that are too few to measure the skill."""
    used = [file for file in files if file.kind != "not evals"]
    paths = {file.kind: file.path for file in reversed(used)}
    if any(file.is_unreadable for file in used):
        return  # their number is not known
    evals = sum(len(file.evals) for file in used)
    if any(file.kind == "evals" for file in used) and evals < _FEWEST_EVALS:
        message = (
            f"{counted(evals, 'eval')}: results hold for these only; write at least {_FEWEST_EVALS} for results "
            "that hold for similar tasks"
        )
        yield SkillFinding("evals", "note", paths["evals"], 1, message)
    queries = [query for file in used for query in file.queries if file.kind == "triggers"]
    if user_only or not any(file.kind == "triggers" for file in used):
        return
    positive = sum(bool(query.label.expected) for query in queries)
    negative = len(queries) - positive
    if not negative or not positive:
        lack, state = ("should not trigger", "always") if not negative else ("should trigger", "never")
        message = f"no query has the label `{lack}`, so a skill that {state} triggers looks perfect; add such queries"
        yield SkillFinding("triggers", "warning", paths["triggers"], 1, message)
    elif min(positive, negative) < _FEWEST_QUERIES:
        message = (
            f"{positive} queries should trigger the skill and {negative} should not; write at least "
            f"{_FEWEST_QUERIES} of each"
        )
        yield SkillFinding("triggers", "note", paths["triggers"], 1, message)
