"""What Claude Code was to have and what it had: its own names for a treatment, its start event, its first request.

Forms as of version 2.1.197. The request's `system` holds a billing line, the CLI's line about itself, and then its own
prompt or the one that replaces it; lists of sub-agents and skills stand in a message of role `system`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from scylla_gha.agents.base import Task
from scylla_gha.model.delivery import Declared, Observed

PLUGIN: Final = "team"  # the plugin that skills come in; the agent reads it as a part of their names

_LEAST_TOOLS: Final = ("Agent", "Bash", "Edit", "Read", "Skill", "Write")
_RENAMED: Final = {"Task": "Agent"}  # in the start event, and in the request
_MCP: Final = re.compile(r"mcp__([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)__.")
_FRAME: Final = re.compile(r"x-anthropic-billing-header:|You are [^\n]*Claude Agent SDK\.\Z")
_ENVIRONMENT: Final = re.compile(r"^# Environment\n.*?(?=^# |^gitStatus: |\Z)", re.DOTALL | re.MULTILINE)
_GIT_STATUS: Final = re.compile(r"^gitStatus: This is the git status .*", re.DOTALL | re.MULTILINE)
_MEMORY: Final = re.compile(r"`/[^`\n]*/memory/`")
_AGENTS: Final = "Available agent types for the Agent tool:\n"
_SKILLS: Final = "The following skills are available for use with the Skill tool:\n"
_LISTED: Final = re.compile(r"^- ([\w.:-]+): ", re.MULTILINE)
_INSTRUCTIONS: Final = re.compile(r"^Contents of (/[^\n]+?) \(", re.MULTILINE)

Json = dict[str, Any]


def declare(task: Task, workspace: Path) -> Declared:
    """The treatment in the CLI's names, with what the start state brings of its own; before the agent works."""
    treatment = task.treatment
    sources = treatment.setting_sources
    project = sources is None or "project" in sources
    user = sources is None or "user" in sources
    places = [path for path, read in ((workspace, project), (task.home, user)) if read]
    return Declared(
        model=task.model,
        system_prompt=treatment.system_prompt,
        tools=None if treatment.tools is None else tuple(_RENAMED.get(tool, tool) for tool in treatment.tools),
        least_tools=_LEAST_TOOLS,
        mcp_servers=treatment.mcp_servers,
        skills=tuple(f"{PLUGIN}:{name}" for name in treatment.skills),
        agents=treatment.agents,
        plugins=(PLUGIN,) if treatment.skills else (),
        own_skills=tuple(name for place in places for name in _names(place / ".claude", "skills/*/", "commands/*.md")),
        own_agents=tuple(name for place in places for name in _names(place / ".claude", "agents/*.md")),
        usual_prompt=treatment.tools is None and treatment.settings is None,
        places=tuple(str(place) for place in places),
    )


def observe(transcript: Path, request: Path) -> tuple[Observed, ...]:
    """What the start event and the first request say; a source that is missing or unreadable is left out."""
    start = next(_starts(transcript), None)
    asked = _object(request.read_bytes()) if request.exists() else None
    found = (_of_start(start) if start else None, _of_request(asked) if asked else None)
    return tuple(one for one in found if one)


def _names(folder: Path, *patterns: str) -> list[str]:
    return [path.stem for pattern in patterns for path in sorted(folder.glob(pattern))]


def _starts(transcript: Path) -> Iterator[Json]:
    with transcript.open("rb") as file:
        for line in file:
            event = _object(line) if b'"init"' in line else None
            if event and (event.get("type"), event.get("subtype")) == ("system", "init"):
                yield event


def _of_start(event: Json) -> Observed:
    servers = [each for each in _list(event.get("mcp_servers")) if isinstance(each, dict)]
    tools = [str(tool) for tool in _list(event.get("tools"))]
    serving = {found[1] for tool in tools if (found := _MCP.match(tool))}
    working = [str(each.get("name")) for each in servers if each.get("status") == "connected"]
    return Observed(
        source="start event",
        model=_text(event.get("model")),
        tools=tuple(_RENAMED.get(tool, tool) for tool in tools if not tool.startswith("mcp__")),
        offered=len(tools),
        mcp_servers=tuple(dict.fromkeys([*(name for name in working if name in serving), *sorted(serving)])),
        skills=tuple(map(str, _list(event.get("skills")))),
        agents=tuple(map(str, _list(event.get("agents")))),
        plugins=tuple(str(each.get("name")) for each in _list(event.get("plugins")) if isinstance(each, dict)),
        remarks=tuple(f"{each.get('name')}: its status is {each.get('status')}" for each in servers),
    )


def _of_request(body: Json) -> Observed:
    tools = [str(tool.get("name")) for tool in _list(body.get("tools")) if isinstance(tool, dict)]
    prompt = "".join(text for text in _texts(body.get("system")) if not _FRAME.match(text))
    said = [text for message in _list(body.get("messages")) for text in _texts(message.get("content"))]
    lists = "\n".join(said)
    reminders = (text for text in said if text.startswith("<system-reminder>"))
    return Observed(
        source="first request",
        model=_text(body.get("model")),
        system_prompt=prompt,
        prompt_lines=tuple(line for line in _steady(prompt).splitlines() if line.strip()),
        tools=tuple(tool for tool in tools if not tool.startswith("mcp__")),
        offered=len(tools),
        # With a tool to search for tools, those of servers may be named only when they are looked for.
        mcp_servers=None if "ToolSearch" in tools else tuple(sorted({m[1] for t in tools if (m := _MCP.match(t))})),
        skills=_listed(lists, _SKILLS, "\n\n\n"),
        agents=_listed(lists, _AGENTS, "\n\n"),
        instructions=tuple(path for text in reminders for path in _INSTRUCTIONS.findall(text)),
    )


def _steady(prompt: str) -> str:
    """The prompt without what tells of the place, the day and the repository."""
    return _MEMORY.sub("`MEMORY`", _GIT_STATUS.sub("", _ENVIRONMENT.sub("", prompt)))


def _listed(text: str, heading: str, end: str) -> tuple[str, ...]:
    _, _, rest = text.partition(heading)
    return tuple(_LISTED.findall(rest.lstrip("\n").partition(end)[0]))


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    blocks = (block for block in _list(content) if isinstance(block, dict))
    return [str(block["text"]) for block in blocks if block.get("type") == "text"]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _object(text: bytes) -> Json | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
