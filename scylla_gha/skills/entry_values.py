"""Readers of the values of an entry: prompt, files, commands and hosts."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.skills import Level
from scylla_gha.skills.json_source import Json, Place

PROMPTS: Final = ("prompt", "query", "input", "question", "messages", "turns")
_LATER_TURNS: Final = ("messages", "turns", "follow_up", "follow_ups", "followups")
_TEXTS: Final = ("content", "text", "prompt", "user", "query", "value")
_USERS: Final = frozenset({"user", "human"})
_PLACEHOLDER: Final = re.compile(
    r"(?<!\$)\{\{\s*[\w-]+\s*\}\}|(?<![\w$\\{}])\{[A-Z][A-Z0-9_]+\}"
    r"|<(?:your|path|file|filename|dir|directory|folder|name|url|repo|project|insert|placeholder|host|port|user|branch|id|token)"
    r"(?:[ _-][\w -]*)?>",
)
_COMMAND_SYNTAX: Final = re.compile(  # `--from <url>`, and the clause `add <url>` of a list of commands
    r"(?:^|\s)--?[\w-]+[ =]<[^<>]*>|(?:(?<=[,;:(])|^)\s*[a-z][\w-]*(?:\s+<[^<>]*>)+\s*(?=[,;.)]|$)", re.MULTILINE
)
_FEWEST_COMMANDS: Final = 2  # clauses that look like commands; one alone may be a request
_CODE: Final = re.compile(r"`[^`\n]*`|```.*?```", re.DOTALL)
_IN_SKILL: Final = re.compile(r"(?:.*/)?skills/[^/]+/(.+)")
_HOST: Final = re.compile(r"(?:\b(?:https?|wss?|ssh|git|ftp)://(?:[^\s/@]*@)?|\bgit@)([A-Za-z0-9][A-Za-z0-9.-]*)")
_NAME_OF_HOST: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}")
_LOCAL: Final = re.compile(r"localhost|127(?:\.\d+){3}|0\.0\.0\.0")


class EntryFault(Exception):  # noqa: N818 a fault of a file, not of this program
    """A fault that excludes one entry; `place` is relative to the file."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place, self.message = place, message


class EntryFaults(list[EntryFault]):
    """All faults of one entry, so that an author sees them together."""

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Collect a fault that is raised inside, and continue."""
        try:
            yield
        except EntryFault as fault:
            self.append(fault)


class SkippedEntry(Exception):  # noqa: N818 not a fault
    """A well-formed entry that cannot be used."""

    def __init__(self, reason: str, level: Level = "note") -> None:
        super().__init__(reason)
        self.reason, self.level = reason, level


def prompt_of(entry: Mapping[str, Json], place: Place) -> tuple[Place, str]:
    """Return the place and the text of an entry's prompt.

    Raises:
        EntryFault: the prompt is missing or empty.
        SkippedEntry: the entry has several user messages, or an unfilled placeholder.
    """
    key = next((key for key in PROMPTS if entry.get(key) is not None), None)
    if key is None:
        raise EntryFault((*place, "prompt"), "is missing; write the user's request")
    said = list(_user_texts(entry[key], (*place, key)))
    later = [key for key in _LATER_TURNS if entry.get(key)] if key not in {"messages", "turns"} else []
    if len(said) > 1 or later:
        count = f"has {counted(len(said), 'user message')}" if len(said) > 1 else f"has a prompt and {later[0]}"
        raise SkippedEntry(f"{count}, but only one user message can be sent; write one eval per message")
    if not said or not said[0].strip():
        raise EntryFault((*place, key), "is empty; write the user's request")
    if placeholder := _unfilled(said[0]):
        raise SkippedEntry(f"the prompt contains the placeholder {placeholder}; replace it with a value")
    return (*place, key), said[0]


def _unfilled(prompt: str) -> str:
    """Return the first placeholder that nobody filled; tags with an end and the syntax of commands are none."""
    commands = [match.span() for match in _COMMAND_SYNTAX.finditer(prompt)]
    commands = commands if len(commands) >= _FEWEST_COMMANDS else []
    spans = [*commands, *(match.span() for match in _CODE.finditer(prompt))]
    for match in _PLACEHOLDER.finditer(prompt):
        is_angled = match[0].startswith("<")
        is_syntax = any(start <= match.start() < end for start, end in spans)
        if not is_angled or not (is_syntax or f"</{match[0][1:]}" in prompt[match.end() :]):
            return match[0]
    return ""


def _user_texts(value: Json, place: Place) -> Iterator[str]:
    """Yield the user's texts: the one text, or the text of each user message."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        text = next((value[key] for key in _TEXTS if isinstance(value.get(key), str)), None)
        if text is None:
            raise EntryFault(place, "must be text")
        yield text
    elif isinstance(value, list):
        for index, message in enumerate(value):
            if not isinstance(message, dict) or message.get("role", "user") in _USERS:
                yield _message_text(message, (*place, index))
    else:
        raise EntryFault(place, "must be text")


def _message_text(message: Json, place: Place) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return "\n".join(text for part in content for text in _user_texts(part, (*place, "content")))
    return "\n".join(_user_texts(message, place))


def text_of(value: Json) -> str:
    """Return a text unchanged, and an object or a list as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def entry_files(
    entry: Mapping[str, Json], place: Place, folders: Sequence[Path], faults: EntryFaults
) -> dict[str, str | None]:
    """Return the files of an entry: paths relative to the first folder that has them, or names with their content.

    Args:
        entry: entry of a file.
        place: place of the entry.
        folders: folders to which paths are relative, in the order of the search; the first is the skill's.
        faults: collects faults of files that are missing, are links, or lie outside of the folders.
    """
    value, at = entry.get("files"), (*place, "files")
    found: dict[str, str | None] = {}
    if isinstance(value, dict):
        for name, content in value.items():
            with faults.kept():
                found[_safe_path(name, (*at, name))] = text_of(content)
        return found
    for index, file in enumerate(value if isinstance(value, list) else [value] if value else []):
        with faults.kept():
            path = file.get("path") or file.get("name") if isinstance(file, dict) else file
            if not isinstance(path, str) or not path:
                raise EntryFault((*at, index), 'must be a path, or {"path": "..."}')
            content = file.get("content") if isinstance(file, dict) else None
            name = _safe_path(path, (*at, index))
            found[name if content is not None else _existing(name, (*at, index), folders)] = content
    return found


def _safe_path(path: str, place: Place) -> str:
    parts = PurePosixPath(path).parts
    if path.startswith(("/", "~")) or "\\" in path or "\0" in path or re.match(r"[A-Za-z]:", path):
        raise EntryFault(place, f"{path}: must be a relative path with forward slashes")
    if not parts or (".." in parts and os.path.normpath(path).startswith("..")):
        raise EntryFault(place, f"{path}: leads out of the skill's folder; copy the file to evals/files/ and name that")
    return os.path.normpath(path)


def _existing(path: str, place: Place, folders: Sequence[Path]) -> str:
    in_skill = _IN_SKILL.fullmatch(path)  # as of a repository in which the skill is elsewhere, or had another name
    for folder, name in (*((folder, path) for folder in folders), *([(folders[0], in_skill[1])] if in_skill else [])):
        inside = [folder.joinpath(*Path(name).parts[: count + 1]) for count in range(len(Path(name).parts))]
        if any(part.is_symlink() for part in inside):
            raise EntryFault(place, f"{path}: is a link; replace it with the file")
        if inside and (inside[-1].is_file() or inside[-1].is_dir()):
            return str(inside[-1])
    near = Path("evals", "files", Path(path).name)
    remedy = f"write {near}, which is there" if (folders[0] / near).is_file() else "add it, or remove the path"
    raise EntryFault(place, f"{path}: there is no such file; {remedy}")


def has_skill_file(path: Path, skill_file: Path) -> bool:
    """Return True if a file or folder of an entry is a skill's own SKILL.md, or holds it."""
    return skill_file.resolve().is_relative_to(path.resolve())


def entry_setup(entry: Mapping[str, Json], place: Place) -> tuple[str, ...]:
    """Return the commands that run before the agent.

    Raises:
        EntryFault: a command is not text.
    """
    commands: list[str] = []
    for key in ("setup", "pre_test_setup"):
        value = entry.get(key) or []
        for index, command in enumerate(value if isinstance(value, list) else [value]):
            text = command.get("command") or command.get("cmd") if isinstance(command, dict) else command
            if not isinstance(text, str):
                raise EntryFault((*place, key, index), "must be text; write one shell command")
            commands.append(text)
    return tuple(commands)


def undeclared_hosts(entry: Mapping[str, Json], prompt: str, declared: Json) -> tuple[str, ...]:
    """Return the hosts in a prompt that neither its entry nor its file declares; an empty list allows all."""
    lists = [value for value in (entry.get("hosts"), declared) if isinstance(value, list)]
    if [] in lists:
        return ()
    allowed = {host for value in lists for host in value if isinstance(host, str)}
    named = dict.fromkeys(host.rstrip(".").lower() for host in _HOST.findall(prompt))
    return tuple(host for host in named if host not in allowed and not _LOCAL.fullmatch(host))


def declared_hosts(entry: Mapping[str, Json], declared: Json) -> tuple[str, ...]:
    """Return the hosts that an entry or its file declares, in the form of names that a sandbox can allow."""
    lists = [value for value in (entry.get("hosts"), declared) if isinstance(value, list)]
    hosts = (host.lower() for value in lists for host in value if isinstance(host, str))
    return tuple(dict.fromkeys(host for host in hosts if _NAME_OF_HOST.fullmatch(host)))
