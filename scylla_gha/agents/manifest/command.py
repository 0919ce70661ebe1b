"""Command of an agent CLI with a manifest: flags, environment, and files in HOME."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scylla_gha.agents import acp_client
from scylla_gha.agents.base import AgentCommand, AgentTask, copy_skill
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.model.agent_manifest import (
    PLACEHOLDER,
    Additions,
    AgentManifest,
    ManifestTreatment,
    ServerForm,
    SkillForm,
    SubAgentForm,
)
from scylla_gha.model.variant import ServerCommand, SubAgent, SystemPrompt
from scylla_gha.store import write_text

_RESOURCES: Final = "team"  # folder in HOME
_PROMPT: Final = "system-prompt.md"  # files in HOME
_TASK: Final = "task.md"
_ACP_CLIENT: Final = "acp/acp_client.py"
_ACP_SESSION: Final = "acp/session.json"
_MAX_ARGUMENT_BYTES: Final = 131_071  # maximum bytes of one argument in Linux

Values = Mapping[str, object]


@dataclass
class _Start:
    """Parts of a command, collected step by step; files are texts, or JSON values that are merged."""

    task: AgentTask
    values: dict[str, object]
    flags: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)

    def add(self, additions: Additions | None, **values: object) -> None:
        """Add flags, variables and files, filled with the task's values and these."""
        if additions is None:
            return
        known = {**self.values, **values}
        self.flags += [filled(flag, known) for flag in additions.flags]
        self.env |= {name: filled(value, known) for name, value in additions.env.items()}
        for path, file in additions.files.items():
            name = filled(path, known)
            if file.text is not None:
                self.files[name] = filled(file.text, known)
            else:
                self.merge(name, filled_json(file.data, known))

    def merge(self, path: str, content: object) -> None:
        """Merge a JSON value into a file: objects by keys, lists are joined, and other values replace earlier ones."""
        self.files[path] = _merged(self.files.get(path), content)

    def write(self) -> None:
        """Write the files into HOME."""
        for name, content in self.files.items():
            write_text(self.task.home / name, content if isinstance(content, str) else json.dumps(content, indent=1))


def _merged(old: object, new: object) -> object:
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    return [*old, *new] if isinstance(old, list) and isinstance(new, list) else new


def filled(text: str, values: Values) -> str:
    """Return the text with values in place of known placeholders; lists are joined by commas."""

    def value(name: str) -> str:
        inserted = values[name]
        return ",".join(map(str, inserted)) if isinstance(inserted, list | tuple) else str(inserted)

    return PLACEHOLDER.sub(lambda match: value(match[1]) if match[1] in values else match[0], text)


def filled_json(content: object, values: Values) -> object:
    """Return a JSON value with values in place of placeholders; a text that is only a placeholder gets its value."""
    if isinstance(content, str):
        match = PLACEHOLDER.fullmatch(content)
        return values[match[1]] if match and match[1] in values else filled(content, values)
    if isinstance(content, list):
        return [filled_json(item, values) for item in content]
    if isinstance(content, dict):
        return {filled(key, values): filled_json(value, values) for key, value in content.items()}
    return content


def manifest_command(manifest: AgentManifest, task: AgentTask, program: str) -> AgentCommand:
    """Write the files of the CLI and of the treatment into HOME; return the command.

    Raises:
        ConfigError: the CLI cannot use the API of the model.
        ToolError: the task's prompt or another text is too long for an argument.
    """
    start = _Start(task, _values(task))
    start.add(manifest.start)
    if task.access:
        start.add(_style(manifest, task.access.api_style))
    if task.model:
        start.add(manifest.model)
    if task.limits.turns:
        start.add(manifest.turns)
    _add_treatment(start, manifest)
    start.flags += [filled(word, start.values) for word in manifest.prompt]
    argv = (*_acp_client(start), _real_path(program)) if manifest.protocol == "acp" else (program,)
    if any("{prompt_file}" in word for word in manifest.prompt):
        start.files[_TASK] = task.prompt
    start.write()
    longest = max((len(word.encode()) for word in start.flags), default=0)
    if longest > _MAX_ARGUMENT_BYTES:
        raise ToolError(
            f"an argument of {manifest.name} would have {counted(longest, 'byte')}, and Linux allows "
            f"{_MAX_ARGUMENT_BYTES}; use a shorter prompt, or an agent that reads it from a file"
        )
    return AgentCommand((*argv, *start.flags), env=start.env, program=program)


def _acp_client(start: _Start) -> tuple[str, ...]:
    """Copy the client of the Agent Client Protocol and its session's values into HOME; return its command."""
    start.merge(_ACP_SESSION, {"cwd": start.values["workspace"]})
    write_text(start.task.home / _ACP_CLIENT, Path(acp_client.__file__).read_text(encoding="utf-8"))
    return ("python3", "-I", "-S", f"{start.values['home']}/{_ACP_CLIENT}", f"{start.values['home']}/{_ACP_SESSION}")


def _real_path(program: str) -> str:
    """Return the path behind a link, which a sandbox resolves for the first word of a command alone."""
    return str(Path(program).resolve()) if Path(program).is_absolute() else program


def _style(manifest: AgentManifest, style: str) -> Additions:
    if style not in manifest.api_styles:
        raise ConfigError(f"{manifest.name} cannot use the API {style}; it can use {', '.join(manifest.api_styles)}")
    return manifest.api_styles[style]


def _values(task: AgentTask) -> dict[str, object]:
    home = task.sandbox_path(task.home)
    access = {"gateway": task.access.url, "token": task.access.token} if task.access else {}
    return {
        **access,
        "model": task.model or "",
        "home": home,
        "workspace": task.sandbox_path(task.workspace),
        "prompt": task.prompt,
        "prompt_file": f"{home}/{_TASK}",
        "turns": task.limits.turns or 0,
        "api_retries": task.limits.api_retries,
    }


def _add_treatment(start: _Start, manifest: AgentManifest) -> None:
    """Add the parts of the treatment; planning has refused parts that the manifest does not describe."""
    forms = manifest.treatment
    _add_choices(start, forms)
    if forms.skills:
        _add_skills(start, forms.skills)
    if forms.mcp_servers:
        _add_servers(start, forms.mcp_servers)
    if forms.agents and start.task.resources.agents:
        _add_agents(start, forms.agents)


def _add_choices(start: _Start, forms: ManifestTreatment) -> None:
    """Add the parts that are texts, names or settings."""
    treatment = start.task.treatment
    if treatment.system_prompt:
        _add_prompt(start, forms, treatment.system_prompt)
    if treatment.setting_sources is not None:
        start.add(forms.setting_sources, names=list(treatment.setting_sources))
    if treatment.tools is not None:
        start.add(forms.tools, names=list(treatment.tools))
    if treatment.settings is not None and forms.settings:
        _add_settings(start, forms.settings, dict(treatment.settings))
    if treatment.skill_listing != "default":
        start.add(forms.skill_listing)


def _add_settings(start: _Start, form: str | Additions, settings: dict[str, Any]) -> None:
    if isinstance(form, str):
        start.merge(form, settings)
    else:
        start.add(form, settings_json=json.dumps(settings))


def _add_prompt(start: _Start, forms: ManifestTreatment, prompt: SystemPrompt) -> None:
    replaces = prompt.replace is not None
    form = forms.system_prompt_replace if replaces else forms.system_prompt_append
    text = (prompt.replace if replaces else prompt.append) or ""
    if form and "{text_file}" in form.model_dump_json():
        start.files[_PROMPT] = text
    start.add(form, text=text, text_json=json.dumps(text), text_file=f"{start.values['home']}/{_PROMPT}")


def _add_skills(start: _Start, form: SkillForm) -> None:
    """Copy skills to the user's skills, or into plug-ins named after their authors."""
    folders = start.task.resources.folders.items()
    skills = {Path(key).name: path for key, path in folders if key.startswith("skills/")}
    plugins = start.task.resources.plugins
    if skills:
        start.add(Additions(flags=form.flags))
    if form.plugin:
        for plugin in dict.fromkeys(plugins.values()):
            start.add(form.plugin.start, plugin=plugin)
    for name, source in skills.items():
        in_plugin = filled(form.plugin.folder, {"plugin": plugins[name]}) if form.plugin and name in plugins else None
        copy_skill(source, start.task.home / (in_plugin or form.folder) / name)


def _add_agents(start: _Start, form: SubAgentForm) -> None:
    """Write sub-agents as files, or as flags for a variant that does not read the user's settings.

    Raises:
        ToolError: the sub-agents are too long for a flag.
    """
    agents, sources = start.task.resources.agents, start.task.treatment.setting_sources
    if not form.flags or sources is None or "user" in sources:
        for name, agent in agents.items():
            start.files[filled(form.file, {**start.values, "name": name})] = _agent_file(form, agent)
        return
    fields = {name: agent.model_dump(exclude={"name"}, exclude_none=True) for name, agent in agents.items()}
    text = json.dumps(fields)
    size = len(text.encode())
    if size > _MAX_ARGUMENT_BYTES:
        raise ToolError(
            f"the flag {form.flags[0]} would have {counted(size, 'byte')}, and Linux allows {_MAX_ARGUMENT_BYTES}; "
            "add `user` to setting_sources, so that sub-agents are files"
        )
    start.add(Additions(flags=form.flags), agents_json=text)


def _agent_file(form: SubAgentForm, agent: SubAgent) -> str:
    """Return the Markdown of a sub-agent; JSON values are valid YAML in its front matter."""
    names = form.tools or {}
    tools = None if agent.tools is None else [names.get(name, name) for name in agent.tools]
    all_values = {
        "name": agent.name,
        "description": agent.description,
        "agent_model": agent.model,
        "tools": tools,
        "tools_text": None if tools is None else ", ".join(tools),
    }
    values = {key: value for key, value in all_values.items() if value is not None}
    lines = [
        f"{key}: {json.dumps(filled_json(value, values), ensure_ascii=False)}"
        for key, value in form.front.items()
        if not {*PLACEHOLDER.findall(json.dumps(value))} & (all_values.keys() - values.keys())
    ]
    return "\n".join(("---", *lines, "---", agent.prompt, ""))


def _add_servers(start: _Start, form: ServerForm) -> None:
    """Copy the folders of the MCP servers, and add their entries and flags."""
    task, folder = start.task, start.task.home / _RESOURCES
    for name, source in task.resources.folders.items():
        if name.startswith("mcp/"):
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    started = {**(task.resources.project_servers if form.project else {}), **task.started_servers(folder)}
    if not started:
        return
    servers = {name: {**start.values, **_server_values(name, server)} for name, server in started.items()}
    if form.file is not None:
        entries = {name: filled_json(form.entry, values) for name, values in servers.items()}
        start.merge(form.file, {form.key: entries})
    start.add(Additions(flags=form.flags, env=form.env))
    for values in servers.values():
        start.flags += [_flag(flag, values) for flag in form.each]


def _server_values(name: str, server: ServerCommand) -> dict[str, object]:
    command, args = server.command, list(server.args)
    table = ",".join(f"{json.dumps(key)}={json.dumps(value)}" for key, value in server.env.items())
    env = {"env": dict(server.env), "env_toml": f"{{{table}}}"}
    return {"name": name, "command": command, "args": args, "argv": [command, *args], **env}


def _flag(flag: str, values: Values) -> str:
    """Return a flag of a server, with lists and objects as JSON."""
    texts = {key: value if isinstance(value, str | int) else json.dumps(value) for key, value in values.items()}
    return filled(flag, texts)
