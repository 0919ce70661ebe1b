"""Uses of declared skills, MCP servers and sub-agents, by the calls in the provider's answers and their results.

Forms of versions 2.1.197 and 2.1.332, seen in requests (2026-11-28):

| what | call in an answer | result in the next request |
|---|---|---|
| skill | `Skill` with `skill`: its name, also after `/` or `PLUGIN:` | `Launching skill: NAME` |
| skill with `context: fork` | the same | `Skill "NAME" completed (forked execution).` |
| skill in the prompt (`/NAME`) | none | the first request has a text `Base directory for this skill: .../NAME` |
| MCP server | `mcp__SERVER__TOOL`, or `ReadMcpResourceTool` with `server` | the server's own, which may be an error |
| sub-agent | `Agent` (or `Task`) with `subagent_type`, in any case of letters | its answer, or that it was launched |

A call that the CLI refuses has an error as its result: in `<tool_use_error>`, or `Agent type 'NAME' not found`. If the
gateway ended the session at the answer with a call, no result can follow, and a call with the exact name counts.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from scylla_gha.config.agent_files import front_matter
from scylla_gha.model.traffic import ToolWatch, WatchedCall, WatchedTraffic
from scylla_gha.model.trial import Uses
from scylla_gha.model.variant import AgentResources
from scylla_gha.providers.base import objects, parse_object

SKILLS_FOLDER: Final = ".claude/skills"
_ARGUMENTS: Final = {"skill": {"Skill": "skill"}, "agent": {"Agent": "subagent_type", "Task": "subagent_type"}}
_READ_RESOURCE: Final = "ReadMcpResourceTool"
_SKILL_FILE: Final = re.compile(r"(?:.+/)?\.claude/skills/([^/]+)/SKILL\.md")
_AGENT_FILE: Final = re.compile(r"(?:.+/)?\.claude/agents/.+\.md")
_NAME: Final = re.compile(r"^name:[ \t]*(['\"]?)([^'\"\n]+?)\1[ \t]*$", re.MULTILINE)
_NOT_IN_TOOL_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_REFUSED: Final = ("<tool_use_error>", "Agent type '")
_EXPANDED: Final = re.compile(r"Base directory for this skill: (?:[^\n]*/)?([^/\n]+)\n")
_MIN_MARK_CHARACTERS: Final = 10  # of a line by which the text of a skill is recognised
_LONG_MARK_CHARACTERS: Final = 30
_MAX_MARK_CHARACTERS: Final = 200


def tool_watch(resources: AgentResources) -> ToolWatch:
    """Return the calls and texts that show uses of the resources, for the gateway to log."""
    kinds = {name.partition("/")[0] for name in _declared(resources)}
    tools: dict[str, tuple[str, ...]] = {
        tool: (argument,) for kind in kinds for tool, argument in _ARGUMENTS.get(kind, {}).items()
    }
    servers = _server_prefixes(resources)
    tools |= {f"{prefix}*": () for prefix in servers}
    tools |= {_READ_RESOURCE: ("server",)} if servers else {}
    return ToolWatch(tools=tools, texts=_marks(_skill_files(resources)))


def observed_uses(resources: AgentResources, watched: WatchedTraffic, request: Path) -> Uses:
    """Return the uses of each declared resource.

    Args:
        resources: resources of the arm.
        watched: calls and results that the gateway logged.
        request: body of the first request, which may be missing.
    """
    names = _declared(resources)
    counts, refused, turns = Counter(dict.fromkeys(names, 0)), Counter[str](), dict[str, int]()
    by_prompt = [name for skill in _expanded_skills(request) if (name := _match(f"skill/{skill}", names))]
    for name in by_prompt:
        counts[name] += 1
        turns[name] = 1
    for call in watched.calls:
        name = _resource(call, names, _server_prefixes(resources))
        if name is None or (call.result is None and not _is_cut_off(call, name)):
            continue
        if call.result and call.result.failed and _is_refusal(name, call.result.text):
            refused.update({name} & counts.keys())
        else:
            counts.update({name} & counts.keys())
            turn = max(1, call.turn)
            turns[name] = min(turns.get(name, turn), turn)
    read = tuple(name for name in watched.shown if not counts[name])
    return Uses(
        counts=dict(counts),
        first_turn=min((turns[name] for name in counts if name in turns), default=None),
        by_prompt=tuple(dict.fromkeys(by_prompt)),
        read=read,
        refused=dict(refused),
        turns={**turns, **{name: max(1, watched.shown[name]) for name in read}},
    )


def _declared(resources: AgentResources) -> tuple[str, ...]:
    """Return the names of the resources, each once, as `skill/NAME`, `mcp/NAME` or `agent/NAME`."""
    files = resources.agent_files or {}
    fronts = (front_matter(file) for path, file in files.items() if _AGENT_FILE.fullmatch(path))
    agents = (*resources.agents, *(name[2].strip() for front in fronts if (name := _NAME.search(front))))
    skills = (f"skill/{name}" for name in _skill_files(resources))
    servers = (f"mcp/{name}" for name in _servers(resources))
    return tuple(dict.fromkeys((*skills, *servers, *(f"agent/{name}" for name in agents))))


def _skill_files(resources: AgentResources) -> dict[str, Path]:
    folders = resources.folders.items()
    declared = {name.removeprefix("skills/"): path / "SKILL.md" for name, path in folders if name.startswith("skills/")}
    files = (resources.agent_files or {}).items()
    return {**{match[1]: file for path, file in files if (match := _SKILL_FILE.fullmatch(path))}, **declared}


def _servers(resources: AgentResources) -> tuple[str, ...]:
    return (*resources.mcp_servers, *resources.project_servers)


def _server_prefixes(resources: AgentResources) -> dict[str, str]:
    """Return the servers by the beginnings of their tools' names."""
    return {f"mcp__{_NOT_IN_TOOL_NAMES.sub('_', name)}__": name for name in _servers(resources)}


def _resource(call: WatchedCall, names: Collection[str], servers: Mapping[str, str]) -> str | None:
    """Return the declared resource, or the skill even if undeclared, that a call uses; None for other calls."""
    if call.tool == _READ_RESOURCE:
        return _match(f"mcp/{call.arguments.get('server')}", names)
    for kind, tools in _ARGUMENTS.items():
        if call.tool in tools:
            called = _plain_name(call.arguments.get(tools[call.tool], ""))
            name = _match(f"{kind}/{called}", names)
            return name or (f"skill/{called}" if kind == "skill" and called else None)
    prefixes = [prefix for prefix in servers if call.tool.startswith(prefix)]
    return f"mcp/{servers[max(prefixes, key=len)]}" if prefixes else None


def _is_refusal(resource: str, text: str) -> bool:
    """Tell if an error comes from the CLI, and not from a server or a sub-agent that ran."""
    return resource.startswith("skill/") or text.startswith(_REFUSED)


def _is_cut_off(call: WatchedCall, resource: str) -> bool:
    """Tell if a call with an exact name has no result because the gateway ended the session at its answer."""
    name = resource.partition("/")[2]
    return call.is_last and (resource.startswith("mcp/") or _plain_name(*call.arguments.values()) == name)


def _plain_name(text: str = "") -> str:
    """Return a name without a slash and a plug-in before it."""
    return text.removeprefix("/").rpartition(":")[2]


def _match(name: str, names: Collection[str]) -> str | None:
    """Return the equal name, or else one that differs only in case; the call's result decides if it counts."""
    if name in names:
        return name
    return next((known for known in names if known.casefold() == name.casefold()), None)


def _marks(skills: Mapping[str, Path]) -> dict[str, str]:
    """Return one line of each skill's text by which copies are recognised; skip skills without such a line.

    It is the first long line that no other skill has, or else the longest such line.
    """
    lines = {name: list(_body_lines(file)) for name, file in skills.items()}
    owners = Counter(line for skill_lines in lines.values() for line in set(skill_lines))
    marks = {name: [line for line in skill_lines if owners[line] == 1] for name, skill_lines in lines.items()}
    longest = {
        name: max(unique, key=lambda line: min(len(line), _LONG_MARK_CHARACTERS))
        for name, unique in marks.items()
        if unique
    }
    return {f"skill/{name}": line for name, line in longest.items()}


def _body_lines(file: Path) -> Iterator[str]:
    text = file.read_bytes().decode(errors="replace") if file.is_file() else ""
    for line in text.removeprefix(front_matter(file)).splitlines():
        mark = line.strip()[:_MAX_MARK_CHARACTERS]
        if len(mark) >= _MIN_MARK_CHARACTERS:
            yield mark


def _expanded_skills(request: Path) -> Iterator[str]:
    """Yield the skills that the CLI put into the first request because the prompt begins with their names."""
    body = (parse_object(request.read_bytes()) if request.is_file() else None) or {}
    for message in objects(body.get("messages")):
        for block in objects(message.get("content")) if message.get("role") == "user" else ():
            text = block.get("text")
            if isinstance(text, str) and (name := _EXPANDED.match(text)):
                yield name[1]
