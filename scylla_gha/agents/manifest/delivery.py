"""Check that the first request of an agent CLI with a manifest contains the declared resources.

That works for every model API and every CLI: an instruction file, a skill's description or a part of a prompt that the
model got is a text in the request. The manifest's patterns find what the CLI adds to it.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import AgentTask
from scylla_gha.agents.manifest.transcript import CliSession, value_at
from scylla_gha.model.agent_manifest import AgentManifest
from scylla_gha.model.trial import Declared, Observed, Source
from scylla_gha.path_patterns import PathPatterns
from scylla_gha.providers.base import Body, objects, parse_object

_MAX_DEPTH: Final = 60  # levels of nesting in a request
_MAX_FILE_BYTES: Final = 1_000_000  # of an instruction file
_SYSTEM_ROLES: Final = ("system", "developer")


def declared_delivery(
    manifest: AgentManifest, task: AgentTask, workspace: Path, sources: tuple[Source, ...]
) -> Declared:
    """Return the treatment with the texts that the first request must contain; call it before the agent starts."""
    treatment = task.treatment
    prompt = treatment.system_prompt
    # CLIs add further texts to a prompt that replaces their default one.
    replaced = {"the declared system prompt": prompt.replace} if prompt and prompt.replace else {}
    return Declared(
        model=task.model if manifest.delivery.has_model else None,
        system_prompt=None if replaced else treatment.system_prompt,
        tools=treatment.tools,
        side_tools=tuple(_resource_tools(manifest, task)),
        mcp_servers=treatment.mcp_servers,
        texts={**replaced, **dict(_texts(manifest, task, workspace))},
        usual_tools=treatment.settings is None,
        usual_prompt=False,
        sources=sources,
        places=(".", *dict.fromkeys(str(name) for path in (workspace, task.home) for name in (path, path.resolve()))),
    )


def _resource_tools(manifest: AgentManifest, task: AgentTask) -> Iterator[str]:
    """Yield the tools that the CLI may offer because there are skills, sub-agents or MCP servers."""
    form, treatment = manifest.uses, task.treatment
    if form:
        yield from form.skills if treatment.skills else ()
        yield from form.agents if treatment.agents else ()
        yield from form.servers if treatment.mcp_servers else ()


def _texts(manifest: AgentManifest, task: AgentTask, workspace: Path) -> Iterator[tuple[str, str]]:
    """Yield each declared part with the text that the first request must contain for it."""
    resources = task.resources
    for name, texts in resources.descriptions.items():
        yield f"skill {name}", texts[0]
    for name, agent in resources.agents.items():
        yield f"sub-agent {name}", agent.description
    patterns = manifest.treatment.agent_files or ()
    read = PathPatterns(patterns)
    for path in resources.agent_files or ():
        is_at_start = "/" not in path or f"/{path}" in patterns  # CLIs read others when they work in that folder
        if path.endswith(".md") and is_at_start and read.match(path):
            text = (workspace / path).read_bytes()[:_MAX_FILE_BYTES].decode(errors="replace").strip()
            yield from ((f"instructions of {path}", text),) if text else ()


def observed_delivery(manifest: AgentManifest, session: CliSession, request: Path) -> tuple[Observed, ...]:
    """Return the observations of start event and first request; skip missing and unreadable sources."""
    body = parse_object(request.read_bytes()) if request.exists() else None
    sources = (_start_event(manifest, session), _first_request(manifest, body) if body else None)
    return tuple(source for source in sources if source)


def _start_event(manifest: AgentManifest, session: CliSession) -> Observed | None:
    event, rule = session.started, session.start_rule
    if event is None or rule is None:
        return None
    tools, model = _names(value_at(event, rule.tools)), value_at(event, rule.model)
    return Observed(
        source="start event",
        model=model if isinstance(model, str) else None,
        tools=None if tools is None else tuple(name for name in tools if not _server_of(manifest, name)),
        offered=None if tools is None else len(tools),
        mcp_servers=None if tools is None else _servers(manifest, tools),
        agents=_names(value_at(event, rule.agents)),
    )


def _first_request(manifest: AgentManifest, body: Body) -> Observed:
    form, names = manifest.delivery, tuple(_tool_names(body))
    texts = tuple(_strings(body))
    prompt = "".join(_system_texts(body))
    stable = prompt
    for pattern in form.unstable:
        stable = re.sub(pattern, "", stable)
    model = body.get("model")
    servers = {*_servers(manifest, names), *_matches(form.server, texts)}
    return Observed(
        source="first request",
        model=model if isinstance(model, str) else None,
        system_prompt=prompt,
        prompt_lines=tuple(line for line in stable.splitlines() if line.strip()),
        tools=tuple(name for name in names if not _server_of(manifest, name)),
        offered=len(names),
        mcp_servers=tuple(sorted(servers)) if form.server or form.tool_of_server else None,
        skills=_matches(form.skill, texts) if form.skill else None,
        agents=_matches(form.agent, texts) if form.agent else None,
        instructions=tuple(map(_instruction_path, _matches(form.instructions, texts))) if form.instructions else None,
        characters={"system_prompt": len(prompt)},
        texts=texts,
    )


def _instruction_path(path: str) -> str:
    """Return the path of an instruction file; a relative path is in the workspace."""
    return path if path.startswith("/") else f"./{path.removeprefix('./')}"


def _names(value: object) -> tuple[str, ...] | None:
    """Return the names in a list of names, or of objects with a name; None if the value is not a list."""
    if not isinstance(value, list):
        return None
    names = (item.get("name") if isinstance(item, dict) else item for item in value)
    return tuple(name for name in names if isinstance(name, str))


def _matches(pattern: str | None, texts: Sequence[str]) -> tuple[str, ...]:
    """Return all distinct texts that the first group of a pattern matches."""
    if pattern is None:
        return ()
    names = (match[1] for text in texts for match in re.finditer(pattern, text, re.MULTILINE))
    return tuple(dict.fromkeys(name for name in names if name))


def _server_of(manifest: AgentManifest, tool: str) -> str | None:
    pattern = manifest.delivery.tool_of_server
    match = re.search(pattern, tool) if pattern else None
    return match[1] if match else None


def _servers(manifest: AgentManifest, tools: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted({server for tool in tools if (server := _server_of(manifest, tool))}))


def _tool_names(body: Body) -> Iterator[str]:
    """Yield the names of the tools that a request defines, in the forms of all model APIs."""
    for tool in objects(body.get("tools")):
        function = tool.get("function")
        definitions = [*objects(tool.get("functionDeclarations")), function if isinstance(function, dict) else tool]
        yield from (name for part in definitions if isinstance(name := part.get("name"), str))


def _system_texts(body: Body) -> Iterator[str]:
    """Yield the texts of the system prompt, in the forms of all model APIs."""
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        yield from _strings(body.get(key), only="text")
    for key in ("messages", "input"):
        for message in objects(body.get(key)):
            if message.get("role") in _SYSTEM_ROLES:
                yield from _strings(message.get("content"), only="text")


def _strings(value: object, only: str | None = None, depth: int = 0) -> Iterator[str]:
    """Yield the strings in a JSON value; with `only`, skip strings under other keys."""
    if isinstance(value, str):
        yield value
    elif depth < _MAX_DEPTH and isinstance(value, list):
        for item in value:
            yield from _strings(item, only, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(value, dict):
        for key, item in value.items():
            if only is None or key == only or not isinstance(item, str):
                yield from _strings(item, only, depth + 1)
