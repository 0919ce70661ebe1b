"""Reader of SKILL.md: the fields of its front matter with their lines, and its body.

A front matter that is not YAML is read line by line, as Claude Code 2.1.197 does, and named.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from scylla_gha.config import require_small_yaml
from scylla_gha.skills import Level

MOST_BYTES: Final = 1024 * 1024
_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # each scalar is a text
_FIELD: Final = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?$")
_UNQUOTED: Final = re.compile(r"^(?:'(.*)'|\"(.*)\")$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SkillField:
    """A field of the front matter: its text, or None if it is a list or a mapping; its line, from 1."""

    text: str | None
    line: int


@dataclass(frozen=True, slots=True)
class SkillFault:
    """A fault of the file itself."""

    rule: str
    level: Level
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class SkillFile:
    """Content of SKILL.md. `body_line` is the line, from 1, on which the body begins."""

    fields: dict[str, SkillField]
    body: str = ""
    body_line: int = 1
    faults: tuple[SkillFault, ...] = ()

    def text(self, name: str) -> str:
        """Return the text of a field; empty if there is none."""
        field = self.fields.get(name)
        return (field.text or "").strip() if field else ""

    def line(self, name: str) -> int:
        """Return the line of a field; 1 if there is none."""
        return self.fields[name].line if name in self.fields else 1

    def is_true(self, name: str) -> bool:
        """Return True if the field is true."""
        return self.text(name).lower() == "true"


def read_skill_file(path: Path) -> SkillFile:
    """Read a file; its faults are in the result, as far as they concern the file's form."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        return _unread("file", "has more than 1 MiB; move what is not always needed into files beside it")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _unread("file", f"is not UTF-8 (byte {error.start}); save it as UTF-8")
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        mark = "begins with a byte-order mark; save it without" if text.startswith("\ufeff") else ""
        return _unread("front-matter", mark or "must begin with a line `---`, then name and description", text)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return _unread("front-matter", "the front matter has no end; write a line `---` after its fields", text)
    fields, faults = _read_fields("\n".join(lines[1:end]))
    return SkillFile(fields, "\n".join(lines[end + 1 :]), end + 2, tuple(faults))


def _unread(rule: str, message: str, body: str = "") -> SkillFile:
    return SkillFile({}, body, 1, (SkillFault(rule, "error", 1, message),))


def _read_fields(head: str) -> tuple[dict[str, SkillField], list[SkillFault]]:
    """Read the front matter, whose first line is the second one of the file."""
    try:
        require_small_yaml(head)
        node = yaml.compose(head, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 2
        reason = getattr(error, "problem", None) or str(error)
        message = (
            f"the front matter is not YAML ({reason}), so skills-ref refuses it, while Claude Code reads it; "
            f"put the whole text in quotes: {_example(head, line)}"
        )
        return _plain_fields(head), [SkillFault("yaml", "warning", line, message)]
    if not isinstance(node, yaml.MappingNode):
        message = "the front matter must have fields such as `name: NAME` and `description: TEXT`"
        return {}, [SkillFault("front-matter", "error", 2, message)]
    fields, faults = {}, list(_strict_faults(head, node))
    for key, value in node.value:
        text = value.value if isinstance(value, yaml.ScalarNode) else None
        fields[str(key.value)] = SkillField(text, key.start_mark.line + 2)
    return fields, faults


def _example(head: str, line: int) -> str:
    name = next((field[1] for text in head.split("\n")[line - 2 :: -1] if (field := _FIELD.match(text))), "description")
    return f'{name}: "..."'


def _plain_fields(head: str) -> dict[str, SkillField]:
    """Read `name: text` of each line; lines that are indented continue the text."""
    fields: dict[str, SkillField] = {}
    name = ""
    for number, line in enumerate(head.split("\n"), 2):
        if found := _FIELD.match(line):
            name = found[1]
            quoted = _UNQUOTED.match((found[2] or "").strip())
            text = next(filter(None, quoted.groups()), "") if quoted else (found[2] or "").strip()
            fields.setdefault(name, SkillField("" if text in {"|", ">", "|-", ">-"} else text, number))
        elif name and line.startswith((" ", "\t")):
            old = fields[name]
            fields[name] = SkillField(f"{old.text} {line.strip()}".strip(), old.line)
    return fields


def _strict_faults(head: str, node: yaml.Node) -> Iterator[SkillFault]:
    """Yield what PyYAML reads and StrictYAML, which skills-ref uses, refuses."""
    for event in yaml.parse(head, Loader=_LOADER):
        line = event.start_mark.line + 2 if event.start_mark else 2
        if isinstance(event, yaml.CollectionStartEvent) and event.flow_style:
            message = (
                "skills-ref refuses lists and mappings in brackets; write `allowed-tools: Read Grep`, or a line each"
            )
            yield SkillFault("yaml", "warning", line, message)
        elif isinstance(event, yaml.AliasEvent) or (isinstance(event, yaml.NodeEvent) and event.anchor):
            yield SkillFault(
                "yaml", "warning", line, "skills-ref refuses anchors (`&`, `*`); write the value, or quote it"
            )
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
            yield SkillFault("yaml", "warning", line, "skills-ref refuses tags (`!`); leave it out, or quote the value")
    for name, line in _repeated_keys(node):
        yield SkillFault("yaml", "warning", line, f"{name}: is there twice; keep one of them")


def _repeated_keys(node: yaml.Node) -> Iterator[tuple[str, int]]:
    names: set[str] = set()
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if str(key.value) in names:
            yield str(key.value), key.start_mark.line + 2
        names.add(str(key.value))
        yield from _repeated_keys(value)
