"""What Claude Code was to have and what it had: its own names for a treatment, its start event, its first request.

Forms as of version 2.1.197. The request's `system` holds a billing line, the CLI's line about itself, and then its own
prompt or the one that replaces it; lists of sub-agents and skills stand in a message of role `system`, or for some
models in reminders of the user's. The agent's own process writes both sources: nothing in them may raise.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from scylla_gha.agents.base import AgentTask
from scylla_gha.agents.claude import safety_hook
from scylla_gha.model.variant import Declared, Observed
from scylla_gha.safety_net import hook

PLUGIN: Final = "team"  # the plugin that skills come in; the agent reads it as a part of their names

_LEAST_TOOLS: Final = ("Agent", "Bash", "Edit", "Read", "Skill", "Write")
_SERVERS_TOOLS: Final = ("ListMcpResourcesTool", "ReadMcpResourceDirTool", "ReadMcpResourceTool", "WaitForMcpServers")
_RENAMED: Final = {"Task": "Agent"}  # in the start event, and in the request
_ALL_TOOLS: Final = "default"  # what --tools takes for the CLI's own choice
_SOURCES: Final = ("user", "project", "local")
_GONE: Final = frozenset({"failed", "disabled", "needs-auth"})  # statuses of servers that nothing comes from any more
_MCP: Final = re.compile(r"mcp__([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)__.")
_BILLING: Final = re.compile(r"x-anthropic-billing-header:")
_ITSELF: Final = re.compile(r"You are [^\n]*Claude Agent SDK\.\Z")
_ENVIRONMENT: Final = re.compile(r"^# Environment\n.*?(?=^# |^gitStatus: |\Z)", re.DOTALL | re.MULTILINE)
_GIT_STATUS: Final = re.compile(r"^gitStatus: This is the git status .*", re.DOTALL | re.MULTILINE)
_MEMORY: Final = re.compile(r"`/[^`\n]*/memory/`")
_REMINDER: Final = "<system-reminder>\n"
_AGENTS: Final = "Available agent types for the Agent tool:\n"
_SKILLS: Final = "The following skills are available for use with the Skill tool:\n"
_LISTED: Final = re.compile(r"^- ([\w.:-]+)(?::|$)", re.MULTILINE)  # of many skills, only names are told
_INSTRUCTIONS: Final = re.compile(r"^Contents of (/[^\n]+) \([^()\n]*\):$", re.MULTILINE)
_NAME: Final = re.compile(r"^name:[ \t]*(['\"]?)([^'\"\n]+?)\1[ \t]*$", re.MULTILINE)

Json = dict[str, Any]


def declared_delivery(task: AgentTask, workspace: Path) -> Declared:
    """The treatment in the CLI's names, with what the start state brings of its own; before the agent works."""
    treatment = task.treatment
    sources = _SOURCES if treatment.setting_sources is None else treatment.setting_sources
    folders = [place for place, source in ((workspace, "project"), (task.home, "user")) if source in sources]
    tools = None if treatment.tools is None or _ALL_TOOLS in treatment.tools else treatment.tools
    settings = treatment.settings is not None or _has_settings(folders, workspace if "local" in sources else None)
    return Declared(
        model=task.model,
        system_prompt=treatment.system_prompt,
        tools=None if tools is None else tuple(_RENAMED.get(tool, tool) for tool in tools),
        least_tools=() if settings else _LEAST_TOOLS,
        side_tools=_SERVERS_TOOLS if treatment.mcp_servers else (),
        mcp_servers=treatment.mcp_servers,
        skills=tuple(f"{PLUGIN}:{name}" for name in treatment.skills),
        agents=treatment.agents,
        plugins=(PLUGIN,) if treatment.skills else (),
        own_skills=tuple(name for folder in folders for name in _own_skills(folder / ".claude")),
        own_agents=tuple(name for folder in folders for name in _own_agents(folder / ".claude" / "agents")),
        usual_tools=not settings,
        safety_net=task.limits.safety_net and (tools is None or bool(set(tools) & set(hook.WATCHED))),
        net_is_managed=task.managed is not None,
        usual_prompt=tools is None and not settings,
        places=_places([*folders, workspace / "CLAUDE.local.md"] if "local" in sources else folders),
    )


def _has_settings(folders: Iterable[Path], local: Path | None) -> bool:
    files = [folder / ".claude" / "settings.json" for folder in folders]
    files += [local / ".claude" / "settings.local.json"] if local else []
    return any(file.is_file() for file in files)


def _places(paths: Iterable[Path]) -> tuple[str, ...]:
    """Each as it is named, and as the CLI names it, which follows links."""
    return tuple(dict.fromkeys(str(each) for path in paths for each in (path, path.resolve())))


def _own_skills(config: Path) -> Iterator[str]:
    yield from (path.parent.name for path in sorted(config.glob("skills/*/SKILL.md")))
    commands = config / "commands"
    yield from (":".join(path.relative_to(commands).with_suffix("").parts) for path in sorted(commands.rglob("*.md")))


def _own_agents(folder: Path) -> Iterator[str]:
    """Their names are those in the files, whatever the files are called."""
    for path in sorted(folder.rglob("*.md")):
        text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
        found = _NAME.search(text.partition("\n---")[0])
        if found:
            yield found[2].strip()


def observed_delivery(transcript: Path, request: Path) -> tuple[Observed, ...]:
    """What the start event, the first request and the hooks say; a source that is missing or unreadable is left out."""
    start = next(_starts(transcript), None)
    asked = _object(request.read_bytes()) if request.exists() else None
    hooks = safety_hook.observed_hooks(transcript)
    found = (_of_start(start) if start else None, _of_request(asked) if asked else None, hooks)
    return tuple(one for one in found if one)


def _starts(transcript: Path) -> Iterator[Json]:
    with transcript.open("rb") as file:
        for line in file:
            event = _object(line) if b'"init"' in line else None
            if event and (event.get("type"), event.get("subtype")) == ("system", "init"):
                yield event


def _of_start(event: Json) -> Observed:
    servers = {str(_text(each.get("name"))): each.get("status") for each in _objects(event.get("mcp_servers"))}
    tools = _words(event.get("tools"))
    serving = {found[1] for tool in tools or () if (found := _MCP.match(tool))}
    told = servers or serving or isinstance(event.get("mcp_servers"), list)
    return Observed(
        source="start event",
        model=_text(event.get("model")),
        tools=None if tools is None else tuple(_RENAMED.get(one, one) for one in tools if not one.startswith("mcp__")),
        offered=None if tools is None else len(tools),
        mcp_servers=tuple(sorted(serving)) if told else None,
        idle_servers=tuple(
            name for name, status in servers.items() if name not in serving and _text(status) not in _GONE
        ),
        skills=_words(event.get("skills")),
        agents=_words(event.get("agents")),
        plugins=_plugins(event.get("plugins")),
        remarks=tuple(f"{name}: {_state(status)}" for name, status in servers.items()),
    )


def _of_request(body: Json) -> Observed:
    named = [tool.get("name") for tool in _objects(body.get("tools"))]
    tools = [name for name in named if isinstance(name, str)]
    prompt = _prompt(body.get("system"))
    messages = _objects(body.get("messages"))
    listing = "\n".join(text for message in messages for text in _listings(message))
    reminders = (text for message in messages for text in _texts(message.get("content")) if text.startswith(_REMINDER))
    return Observed(
        source="first request",
        model=_text(body.get("model")),
        system_prompt=prompt,
        prompt_lines=tuple(line for line in _steady(prompt).splitlines() if line.strip()),
        tools=tuple(tool for tool in tools if not tool.startswith("mcp__")),
        offered=len(named),
        # With a tool to search for tools, those of servers may be named only when they are looked for.
        mcp_servers=None if "ToolSearch" in tools else tuple(sorted({m[1] for t in tools if (m := _MCP.match(t))})),
        skills=_listed(listing.partition(_SKILLS)[2]),
        agents=_listed(listing.partition(_AGENTS)[2].partition(_SKILLS)[0]),
        instructions=tuple(path for text in reminders for path in _INSTRUCTIONS.findall(text)),
    )


def _prompt(system: object) -> str:
    """The system prompt without the two blocks that the CLI puts before it, whatever it begins with itself."""
    blocks = _texts(system)
    if isinstance(system, list):
        blocks = blocks[1:] if blocks and _BILLING.match(blocks[0]) else blocks
        blocks = blocks[1:] if blocks and _ITSELF.match(blocks[0]) else blocks
    return "".join(blocks)


def _steady(prompt: str) -> str:
    """The prompt without what tells of the place, the day and the repository."""
    return _MEMORY.sub("`MEMORY`", _GIT_STATUS.sub("", _ENVIRONMENT.sub("", prompt)))


def _listings(message: Json) -> Iterator[str]:
    """The texts that list sub-agents or skills; the task's words and instruction files are none."""
    begin = tuple(f"{_REMINDER}{heading}" for heading in (_AGENTS, _SKILLS))
    for text in _texts(message.get("content")):
        if message.get("role") == "system" or text.startswith(begin):
            yield text


def _listed(text: str) -> tuple[str, ...]:
    """The names of a list; a description that has a list of its own adds to them."""
    return tuple(_LISTED.findall(text))


def _state(status: object) -> str:
    if status == "pending":
        return "it had not answered when the agent began"
    return "it works, but has no tool" if status == "connected" else f"its status is {_text(status)}"


def _plugins(value: object) -> tuple[str, ...] | None:
    return tuple(str(_text(each.get("name"))) for each in _objects(value)) if isinstance(value, list) else None


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    found = (block.get("text") for block in _objects(content) if block.get("type") == "text")
    return [text for text in found if isinstance(text, str)]


def _objects(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _words(value: object) -> tuple[str, ...] | None:
    """The strings of a list; None where it is none, and so says nothing."""
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object(text: bytes) -> Json | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
