"""Uses of declared skills, MCP servers and sub-agents, by the calls in the provider's answers and their results.

The names of the tools are data of each CLI (`UseForm`). Claude Code's forms, seen in requests of 2.1.197 and 2.1.332
(2026-11-28):

| what | call in an answer | result in the next request |
|---|---|---|
| skill | `Skill` with `skill`: its name, also after `/` or `PLUGIN:` | `Launching skill: NAME` |
| skill with `context: fork` | the same | `Skill "NAME" completed (forked execution).` |
| skill in the prompt (`/NAME`) | none | the first request has a text `Base directory for this skill: .../NAME` |
| MCP server | `mcp__SERVER__TOOL`, or `ReadMcpResourceTool` with `server` | the server's own, which may be an error |
| sub-agent | `Agent` (or `Task`) with `subagent_type`, in any case of letters | its answer, or that it was launched |

A call that the CLI refuses has an error as its result: in `<tool_use_error>`, or `Agent type 'NAME' not found`. If the
gateway ended the session at the answer with a call, no result can follow, and a call with the exact name counts.

A CLI without a tool for skills gives the model their paths; a skill is used there when the model reads its SKILL.md.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from scylla_gha.config.agent_files import front_matter
from scylla_gha.model.agent_manifest import AgentManifest, UseForm
from scylla_gha.model.traffic import ToolWatch, WatchedCall, WatchedTraffic
from scylla_gha.model.trial import Uses
from scylla_gha.model.variant import AgentResources
from scylla_gha.providers.base import objects, parse_object

_SKILL_FILE: Final = re.compile(r"[^/]+/SKILL\.md")
_NAME: Final = re.compile(r"^name:[ \t]*(['\"]?)([^'\"\n]+?)\1[ \t]*$", re.MULTILINE)
_NOT_IN_TOOL_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_MIN_MARK_CHARACTERS: Final = 10  # of a line by which the text of a skill is recognised
_LONG_MARK_CHARACTERS: Final = 30
_MAX_MARK_CHARACTERS: Final = 200


def tool_watch(manifest: AgentManifest, resources: AgentResources) -> ToolWatch:
    """Return the calls and texts that show uses of the resources, for the gateway to log."""
    form = manifest.uses
    if form is None:
        return ToolWatch()
    kinds = {name.partition("/")[0] for name in _declared(manifest, resources)}
    tools: dict[str, tuple[str, ...]] = {
        tool: (argument,) for kind, names in _tools(form).items() if kind in kinds for tool, argument in names.items()
    }
    tools |= {f"{prefix}*": () for prefix in _server_prefixes(form, resources)}
    return ToolWatch(tools=tools, texts=_marks(_skill_files(manifest, resources)))


def observed_uses(
    manifest: AgentManifest, resources: AgentResources, watched: WatchedTraffic, request: Path
) -> Uses | None:
    """Return the uses of each declared resource; None if the CLI's calls are unknown.

    Args:
        manifest: manifest of the CLI.
        resources: resources of the arm.
        watched: calls and results that the gateway logged.
        request: body of the first request, which may be missing.
    """
    form = manifest.uses
    if form is None:
        return None
    names = _declared(manifest, resources)
    counts, refused, turns = Counter(dict.fromkeys(names, 0)), Counter[str](), dict[str, int]()
    by_prompt = [name for skill in _expanded_skills(form, request) if (name := _match(f"skill/{skill}", names))]
    shown = tuple(name for name in watched.shown if name in counts) if form.reads_skills else ()
    for name, turn in (*((name, 1) for name in by_prompt), *((name, watched.shown[name]) for name in shown)):
        counts[name] += 1
        turns[name] = max(1, turn)
    for call in watched.calls:
        name = _resource(form, call, names, _server_prefixes(form, resources))
        if name is None or (call.result is None and not _is_cut_off(call, name)):
            continue
        if call.result and call.result.failed and _is_refusal(form, name, call.result.text):
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


def _tools(form: UseForm) -> dict[str, dict[str, str]]:
    """Return the tools of each kind of resource, with the argument that has the resource's name."""
    return {"skill": form.skills, "agent": form.agents, "mcp": form.servers}


def _declared(manifest: AgentManifest, resources: AgentResources) -> tuple[str, ...]:
    """Return the names of the resources, each once, as `skill/NAME`, `mcp/NAME` or `agent/NAME`.

    Kinds whose calls are unknown are left out, so that their uses are unknown and not 0.
    """
    form = manifest.uses or UseForm()
    known = {"skill": form.skills or form.reads_skills, "agent": form.agents, "mcp": form.server_tool}
    names = _names(manifest, resources)
    return tuple(name for name in dict.fromkeys(names) if known[name.partition("/")[0]])


def _names(manifest: AgentManifest, resources: AgentResources) -> Iterator[str]:
    folder = manifest.treatment.agents.project if manifest.treatment.agents else None
    files = _in_folder(folder, resources)
    fronts = (front_matter(file) for path, file in files.items() if path.endswith(".md"))
    agents = (*resources.agents, *(name[2].strip() for front in fronts if (name := _NAME.search(front))))
    yield from (f"skill/{name}" for name in _skill_files(manifest, resources))
    yield from (f"mcp/{name}" for name in _servers(resources))
    yield from (f"agent/{name}" for name in agents)


def _in_folder(folder: str | None, resources: AgentResources) -> dict[str, Path]:
    """Return the variant's files in a folder that the CLI reads in a repository, by their paths in that folder.

    The folder may also be in a part of the repository.
    """
    if folder is None:
        return {}
    parts = ((path, file, f"/{path}".rpartition(f"/{folder}/")) for path, file in (resources.agent_files or {}).items())
    return {rest: file for _, file, (_, mark, rest) in parts if mark}


def _skill_files(manifest: AgentManifest, resources: AgentResources) -> dict[str, Path]:
    folders = resources.folders.items()
    declared = {name.removeprefix("skills/"): path / "SKILL.md" for name, path in folders if name.startswith("skills/")}
    form = manifest.treatment.skills
    files = _in_folder(form.project if form else None, resources)
    own = {path.removesuffix("/SKILL.md"): file for path, file in files.items() if _SKILL_FILE.fullmatch(path)}
    return {**own, **declared}


def _servers(resources: AgentResources) -> tuple[str, ...]:
    return (*resources.mcp_servers, *resources.project_servers)


def _server_prefixes(form: UseForm, resources: AgentResources) -> dict[str, str]:
    """Return the servers by the beginnings of their tools' names."""
    start = form.server_tool
    if start is None:
        return {}
    return {start.replace("{name}", _NOT_IN_TOOL_NAMES.sub("_", name)): name for name in _servers(resources)}


def _resource(form: UseForm, call: WatchedCall, names: Collection[str], servers: Mapping[str, str]) -> str | None:
    """Return the declared resource, or the skill even if undeclared, that a call uses; None for other calls."""
    for kind, tools in _tools(form).items():
        if call.tool in tools:
            called = call.arguments.get(tools[call.tool], "")
            if kind == "mcp":
                return _match(f"mcp/{called}", names) or _server_of(called, servers)
            name = _match(f"{kind}/{_plain_name(called)}", names)
            return name or (f"skill/{_plain_name(called)}" if kind == "skill" and called else None)
    return _server_of(call.tool, servers)


def _server_of(tool: str, servers: Mapping[str, str]) -> str | None:
    prefixes = [prefix for prefix in servers if tool.startswith(prefix)]
    return f"mcp/{servers[max(prefixes, key=len)]}" if prefixes else None


def _is_refusal(form: UseForm, resource: str, text: str) -> bool:
    """Tell if an error comes from the CLI, and not from a server or a sub-agent that ran."""
    return resource.startswith("skill/") or text.startswith(form.refused)


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


def _expanded_skills(form: UseForm, request: Path) -> Iterator[str]:
    """Yield the skills that the CLI put into the first request because the prompt begins with their names."""
    if form.expanded is None:
        return
    pattern = re.compile(form.expanded)
    body = (parse_object(request.read_bytes()) if request.is_file() else None) or {}
    for message in objects(body.get("messages")):
        for block in objects(message.get("content")) if message.get("role") == "user" else ():
            text = block.get("text")
            if isinstance(text, str) and (name := pattern.match(text)):
                yield name[1]
