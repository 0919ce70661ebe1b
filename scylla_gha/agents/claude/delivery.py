"""Delivery to Claude Code: the declared treatment in its names, and the treatment that the CLI's messages show.

The sources are its start event and its first request, in the forms of versions 2.1.197 and 2.1.332 (2026-11-27). The
request's `system` has a billing line, the CLI's line about itself, and its own prompt or a replacement. Lists of
sub-agents, skills and deferred tools are in a message of role `system`, or for some models in reminders in the user's
messages. The agent's process writes both sources, so no content may raise an error.

A tool is defined in the request's `tools`, or deferred: it is listed by name until the model asks ToolSearch for its
definition, which later requests then have, with `defer_loading`. Version 2.1.332 defers by default, 2.1.197 with
ENABLE_TOOL_SEARCH=true. The model does not see a definition with `defer_loading` unless a message refers to it.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from scylla_gha.agents.base import AgentTask, called_command
from scylla_gha.agents.claude.safety_hook import Json, observed_hooks
from scylla_gha.agents.json_lines import events_with
from scylla_gha.config.agent_files import front_fields, front_matter, skill_exposure, skills_without_description
from scylla_gha.model.trial import Declared, Observed, Source
from scylla_gha.model.variant import AgentResources
from scylla_gha.providers.base import objects, parse_object
from scylla_gha.safety_net import hook

_LEAST_TOOLS: Final = ("Agent", "Bash", "Edit", "Read", "Skill", "Write")
_MCP_TOOLS: Final = ("ListMcpResourcesTool", "ReadMcpResourceDirTool", "ReadMcpResourceTool", "WaitForMcpServers")
_RENAMED: Final = {"Task": "Agent"}  # names in the request by names in the start event
_ALL_TOOLS: Final = "default"  # value of --tools for the CLI's own selection
_SOURCES: Final = ("user", "project", "local")
_GONE: Final = frozenset({"failed", "disabled", "needs-auth"})  # statuses of servers without any tools
_MCP_TOOL: Final = re.compile(r"mcp__([A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*)__.")
_BILLING: Final = re.compile(r"x-anthropic-billing-header:")
_ABOUT_ITSELF: Final = re.compile(r"You are [^\n]*Claude Agent SDK\.\Z")
_ENVIRONMENT: Final = re.compile(r"^# Environment\n.*?(?=^# |^gitStatus: |\Z)", re.DOTALL | re.MULTILINE)
_GIT_STATUS: Final = re.compile(r"^gitStatus: This is the git status .*", re.DOTALL | re.MULTILINE)
_MEMORY: Final = re.compile(r"`/[^`\n]*/memory/`")
_REMINDER: Final = "<system-reminder>\n"
_REMINDER_END: Final = "\n</system-reminder>"
_AGENTS: Final = "Available agent types for the Agent tool:\n"
_SKILLS: Final = "The following skills are available for use with the Skill tool:\n"
_DEFERRED: Final = "The following deferred tools are now available via ToolSearch."
_LISTS: Final = (_AGENTS, _SKILLS, _DEFERRED)
_LISTED: Final = re.compile(r"^- ([\w.:-]+)(?::|$)", re.MULTILINE)  # a long list of skills only has names
_TOOL_NAME: Final = re.compile(r"[\w.-]+")
_BUILT_IN: Final = "@builtin"  # end of the source of the CLI's own plugins
_INSTRUCTIONS: Final = re.compile(r"^Contents of (/[^\n]+) \([^()\n]*\):$", re.MULTILINE)
_SKILL_FILE: Final = re.compile(r"\.claude/skills/[^/]+/SKILL\.md")
_AGENT_FILE: Final = re.compile(r"\.claude/agents/.+\.md")
_MEMORY_FILES: Final = ("CLAUDE.md", ".claude/CLAUDE.md")  # each session reads them; if both are missing, AGENTS.md
_NAME: Final = re.compile(r"^name:[ \t]*(['\"]?)([^'\"\n]+?)\1[ \t]*$", re.MULTILINE)


def declared_delivery(task: AgentTask, workspace: Path) -> Declared:
    """Return the treatment in the CLI's names, with the start state's own parts; call it before the agent starts."""
    treatment = task.treatment
    sources = _SOURCES if treatment.setting_sources is None else treatment.setting_sources
    folders = [folder for folder, source in ((workspace, "project"), (task.home, "user")) if source in sources]
    tools = None if treatment.tools is None or _ALL_TOOLS in treatment.tools else treatment.tools
    is_local = "local" in sources
    files = [folder / ".claude" / "settings.json" for folder in folders]
    files += [workspace / ".claude" / "settings.local.json"] if is_local else []
    settings = treatment.settings is not None or any(file.is_file() for file in files)
    places = [*folders, workspace / "CLAUDE.local.md"] if is_local else folders
    project = _project_files(task.resources.agent_files or (), workspace)
    skills = _delivered_skills(task)
    servers = (*treatment.mcp_servers, *task.resources.project_servers)
    return Declared(
        model=task.model,
        system_prompt=treatment.system_prompt,
        tools=None if tools is None else tuple(_RENAMED.get(tool, tool) for tool in tools),
        least_tools=() if settings else _LEAST_TOOLS,
        side_tools=_MCP_TOOLS if servers else (),
        mcp_servers=servers,
        skills=(*skills.values(), *project.skills),
        unlisted={**_unlisted_skills(task, skills), **project.unlisted},
        may_cut_skills=treatment.skill_listing == "default",
        agents=(*treatment.agents, *project.agents),
        instruction_files=project.instructions,
        descriptions=_descriptions(task.resources, skills),
        plugins=tuple(dict.fromkeys(task.resources.plugins.values())),
        forked_skill=_forked_skill(task, skills),
        repeated_skills=_repeated_skills(skills, workspace) if treatment.reads_project else (),
        own_skills=tuple(name for folder in folders for name in _own_skills(folder / ".claude")),
        own_agents=tuple(name for folder in folders for name in _own_agents(folder / ".claude" / "agents")),
        usual_tools=not settings,
        safety_net=task.limits.safety_net and (tools is None or bool(set(tools) & set(hook.WATCHED))),
        net_is_managed=task.managed is not None,
        usual_prompt=tools is None and not settings,
        # Also the resolved paths, which the CLI reports.
        places=tuple(dict.fromkeys(str(name) for path in places for name in (path, path.resolve()))),
    )


def _descriptions(resources: AgentResources, skills: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the texts by which skills and sub-agents must be listed, by kind and name."""
    of_skills = {
        f"skills/{skills[name]}": (f"- {skills[name]}: {texts[0]}", *texts[1:])
        for name, texts in resources.descriptions.items()
    }
    of_agents = {f"agents/{name}": (f"- {name}: {agent.description}",) for name, agent in resources.agents.items()}
    return of_skills | of_agents


class _ProjectFiles(NamedTuple):
    """Names of skills and sub-agents, and paths of instructions, that Claude Code takes from the workspace."""

    skills: tuple[str, ...]
    unlisted: dict[str, tuple[Source, ...]]
    agents: tuple[str, ...]
    instructions: tuple[str, ...]


def _project_files(files: Collection[str], workspace: Path) -> _ProjectFiles:
    """Return the skills, sub-agents and instructions of a variant's files that the CLI has to show at the start."""
    skills = {Path(path).parent for path in files if _SKILL_FILE.fullmatch(path)}
    unlisted = {Path(path).parent for path in skills_without_description({path: workspace / path for path in files})}
    shown = sorted(folder.name for folder in skills - unlisted)
    silent = {folder.name: _unlisted(workspace / folder / "SKILL.md") for folder in skills - unlisted}
    agents = [path for path in files if _AGENT_FILE.fullmatch(path)]
    names = sorted(name[2].strip() for path in agents if (name := _NAME.search(front_matter(workspace / path))))
    memory = tuple(path for path in _MEMORY_FILES if path in files) or tuple({"AGENTS.md"} & set(files))
    return _ProjectFiles(
        tuple(shown), {name: sources for name, sources in silent.items() if sources}, tuple(names), memory
    )


def _delivered_skills(task: AgentTask) -> dict[str, str]:
    """Return the names under which the CLI lists the variant's skills, by their own names."""
    plugins = task.resources.plugins
    return {name: f"{plugins[name]}:{name}" if name in plugins else name for name in task.treatment.skills}


def _forked_skill(task: AgentTask, skills: Mapping[str, str]) -> str | None:
    """Return the skill of the variant that the prompt calls by its name, if its SKILL.md has `context: fork`."""
    called = called_command(task.prompt)
    name = next((name for name, listed in skills.items() if called in {name, listed}), None)
    folder = task.resources.folders.get(f"skills/{name}")
    return name if folder and str(front_fields(folder / "SKILL.md").get("context")).lower() == "fork" else None


def _unlisted_skills(task: AgentTask, skills: Mapping[str, str]) -> dict[str, tuple[Source, ...]]:
    """Return the sources that do not list a skill of the variant, by the name under which the CLI lists it."""
    folders = {name: task.resources.folders.get(f"skills/{name}") for name in skills}
    silent = {
        skills[name]: _unlisted(folder / "SKILL.md", is_of_plugin=name in task.resources.plugins)
        for name, folder in folders.items()
        if folder
    }
    return {name: sources for name, sources in silent.items() if sources}


def _unlisted(file: Path, *, is_of_plugin: bool = False) -> tuple[Source, ...]:
    """Return the sources that do not list a skill because of the settings in its SKILL.md."""
    for_users, for_model = skill_exposure(file, is_of_plugin=is_of_plugin)
    shows: dict[Source, bool] = {"start event": for_users, "first request": for_model}
    return tuple(source for source, is_shown in shows.items() if not is_shown)


def _repeated_skills(skills: Mapping[str, str], workspace: Path) -> tuple[str, ...]:
    """Return the variant's skills that share a name with the start state's; names in plugins have a prefix."""
    folder = workspace / ".claude" / "skills"
    return tuple(name for skill, name in skills.items() if skill == name and (folder / name / "SKILL.md").is_file())


def _own_skills(config: Path) -> Iterator[str]:
    yield from (path.parent.name for path in sorted(config.glob("skills/*/SKILL.md")))
    commands = config / "commands"
    yield from (":".join(path.relative_to(commands).with_suffix("").parts) for path in sorted(commands.rglob("*.md")))


def _own_agents(folder: Path) -> Iterator[str]:
    """Yield the names stated in the files, which may differ from the files' names."""
    for path in sorted(folder.rglob("*.md")):
        if name := _NAME.search(front_matter(path)):
            yield name[2].strip()


def observed_delivery(transcript: Path, request: Path) -> tuple[Observed, ...]:
    """Return the observations of start event, first request and hooks; skip missing and unreadable sources."""
    inits = events_with(transcript, b'"init"')
    start = next((event for event in inits if (event.get("type"), event.get("subtype")) == ("system", "init")), None)
    body = parse_object(request.read_bytes()) if request.exists() else None
    sources = (_start_event(start) if start else None, _first_request(body) if body else None)
    return tuple(source for source in (*sources, observed_hooks(transcript)) if source)


def _start_event(event: Json) -> Observed:
    servers = {str(_text(server.get("name"))): server.get("status") for server in objects(event.get("mcp_servers"))}
    tools = _texts(event.get("tools"))
    serving = _mcp_servers(tools or ())
    plugins = objects(event.get("plugins")) if isinstance(event.get("plugins"), list) else None
    has_servers = servers or serving or isinstance(event.get("mcp_servers"), list)
    return Observed(
        source="start event",
        model=_text(event.get("model")),
        tools=None if tools is None else tuple(_RENAMED.get(tool, tool) for tool in _own_tools(tools)),
        offered=None if tools is None else len(tools),
        mcp_servers=serving if has_servers else None,
        idle_servers=tuple(
            name for name, status in servers.items() if name not in serving and _text(status) not in _GONE
        ),
        skills=_texts(event.get("skills")),
        agents=_texts(event.get("agents")),
        plugins=None if plugins is None else tuple(str(_text(plugin.get("name"))) for plugin in plugins),
        built_in_plugins=tuple(
            str(_text(plugin.get("name"))) for plugin in plugins or () if str(plugin.get("source")).endswith(_BUILT_IN)
        ),
        remarks=tuple(f"{name}: {_status_text(status)}" for name, status in servers.items()),
    )


def _first_request(body: Json) -> Observed:
    definitions = [tool for tool in objects(body.get("tools")) if tool.get("defer_loading") is not True]
    prompt = _system_prompt(body.get("system"))
    # Without the parts that depend on the folder, the day and the repository.
    stable = _MEMORY.sub("`MEMORY`", _GIT_STATUS.sub("", _ENVIRONMENT.sub("", prompt)))
    messages = objects(body.get("messages"))
    listings = [text for message in messages for text in _listings(message)]
    lists = {"skills": _section(listings, _SKILLS), "agents": _section(listings, _AGENTS)}
    skills, agents = _entries(lists["skills"]), _entries(lists["agents"])
    deferred = _deferred_tools(_section(listings, _DEFERRED))
    tools = tuple(dict.fromkeys((*filter(None, (_text(tool.get("name")) for tool in definitions)), *deferred)))
    texts = (text for message in messages for text in _text_blocks(message.get("content")))
    reminders = (text for text in texts if text.startswith(_REMINDER))
    return Observed(
        source="first request",
        model=_text(body.get("model")),
        system_prompt=prompt,
        prompt_lines=tuple(line for line in stable.splitlines() if line.strip()),
        tools=_own_tools(tools),
        offered=len(definitions),
        deferred=deferred,
        mcp_servers=_mcp_servers(tools),
        skills=tuple(skills),
        agents=tuple(agents),
        listings=lists,
        characters={
            "system_prompt": len(prompt),
            **_tool_characters(definitions, deferred),
            **{f"skills/{name}": len(text) for name, text in skills.items()},
            **{f"agents/{name}": len(text) for name, text in agents.items()},
        },
        instructions=tuple(path for text in reminders for path in _INSTRUCTIONS.findall(text)),
    )


def _section(listings: Iterable[str], heading: str) -> str:
    """Return the text below a heading, in the first text with that heading, up to the next heading or the end."""
    rest = next((rest for text in listings for _, mark, rest in [text.partition(heading)] if mark), "")
    ends = [rest.find(mark) for mark in (*_LISTS, _REMINDER_END)]
    return rest[: min((end for end in ends if end >= 0), default=len(rest))]


def _deferred_tools(section: str) -> tuple[str, ...]:
    """Return the names on the lines below the heading, one per line."""
    names = itertools.takewhile(_TOOL_NAME.fullmatch, section.splitlines()[1:])
    return tuple(dict.fromkeys(names))


def _entries(listing: str) -> dict[str, str]:
    """Return the entries of a list of skills or sub-agents, by name."""
    starts = list(_LISTED.finditer(listing))
    ends = [*(match.start() for match in starts[1:]), len(listing)]
    return {match[1]: listing[match.start() : end].strip() for match, end in zip(starts, ends, strict=bool(starts))}


def _tool_characters(definitions: Iterable[Json], deferred: Iterable[str]) -> dict[str, int]:
    """Return the characters of each tool, and of each MCP server's tools together; deferred tools count by name."""
    characters = Counter[str]()
    texts = [(str(tool.get("name")), json.dumps(tool, ensure_ascii=False)) for tool in definitions]
    for name, text in (*texts, *((name, f"{name}\n") for name in deferred)):
        server = _MCP_TOOL.match(name)
        characters[f"mcp/{server[1]}" if server else f"tools/{name}"] += len(text)
    return dict(characters)


def _own_tools(tools: Iterable[str]) -> tuple[str, ...]:
    return tuple(tool for tool in tools if not tool.startswith("mcp__"))


def _mcp_servers(tools: Iterable[str]) -> tuple[str, ...]:
    """Return the sorted names of the servers that offer tools."""
    return tuple(sorted({match[1] for tool in tools if (match := _MCP_TOOL.match(tool))}))


def _system_prompt(system: object) -> str:
    """Return the system prompt without the two blocks that the CLI adds before it."""
    blocks = _text_blocks(system)
    if isinstance(system, list):
        blocks = blocks[1:] if blocks and _BILLING.match(blocks[0]) else blocks
        blocks = blocks[1:] if blocks and _ABOUT_ITSELF.match(blocks[0]) else blocks
    return "".join(blocks)


def _listings(message: Json) -> Iterator[str]:
    """Yield the texts that list sub-agents, skills or tools; skip the task's prompt and instruction files."""
    begin = tuple(f"{_REMINDER}{heading}" for heading in _LISTS)
    for text in _text_blocks(message.get("content")):
        if message.get("role") == "system" or text.startswith(begin):
            yield text


def _status_text(status: object) -> str:
    if status == "pending":
        return "it had not answered when the agent began"
    return "it works, but has no tool" if status == "connected" else f"its status is {_text(status)}"


def _text_blocks(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    texts = (block.get("text") for block in objects(content) if block.get("type") == "text")
    return [text for text in texts if isinstance(text, str)]


def _texts(value: object) -> tuple[str, ...] | None:
    """Return the strings of a list; None if the value is not a list."""
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
