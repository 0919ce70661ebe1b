"""Claude Code, headless: the prompt on standard input, stream-json out, a configuration folder of the trial's own.

Flags and environment as of version 2.1.197 (`claude --help`, 2026-11-21).
"""

import json
import re
import shutil
from pathlib import Path
from typing import Final

from scylla_gha import process
from scylla_gha.agents.base import AgentCommand, AgentPackage, AgentTask, ProcessResult, TranscriptSummary
from scylla_gha.agents.claude import delivery, safety_hook, session_outcome, stream_json
from scylla_gha.errors import ToolError
from scylla_gha.model.variant import FOLDER, Declared, McpServer, Observed, Treatment
from scylla_gha.store.records import write_text

_VERSION_SECONDS: Final = 60.0
_LAID: Final = "team/{}"  # in HOME


class ClaudeCode:
    """The `claude` command."""

    # Its sub-agent Explore asks for the side model beside any other. By an alias, a sub-agent asks for the model of the
    # main conversation where that is of the same family, else for these (seen in requests of 2.1.197, 2026-11-23).
    package: Final = AgentPackage(npm="@anthropic-ai/claude-code", program="claude", oldest=(2, 1, 0),
                             side_models=("claude-haiku-4-5-20251001",),
                             aliases={"haiku": "claude-haiku-4-5-20251001", "sonnet": "claude-sonnet-5",
                                      "opus": "claude-opus-4-8", "fable": "claude-fable-5", "best": "claude-opus-4-8",
                                      "opusplan": "claude-sonnet-5", "sonnet[1m]": "claude-sonnet-5",
                                      "opus[1m]": "claude-opus-4-8", "fable[1m]": "claude-fable-5"})  # fmt: skip

    uses_model: Final = True

    def path_aliases(self, workspace: str) -> dict[str, str]:
        """Return the name of the session folder: the path with a dash for each character but letters and digits."""
        return {re.sub(r"[^A-Za-z0-9]", "-", workspace): "-scylla-workspace"}

    def version(self, program: str) -> str:
        """What `claude --version` says.

        Raises:
            ToolError: it is missing, too old, or answers in an unknown form.
        """
        said = process.capture([program, "--version"], seconds=_VERSION_SECONDS)
        text = said.stdout.decode(errors="replace").strip()
        found = re.match(r"(\d+)\.(\d+)\.(\d+)\b", text)
        if said.code or not found:
            raise ToolError(f"{program} --version: unknown answer {text or said.message!r}; is this Claude Code?")
        if tuple(int(part) for part in found.groups()) < self.package.oldest:
            oldest = ".".join(str(part) for part in self.package.oldest)
            raise ToolError(f"{program} is version {found[0]}, older than {oldest}; update it, "
                            "or pin a version in the experiment: agents: [claude-code@VERSION]")  # fmt: skip
        return found[0]

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        """Start with the variant's flags; every setting that the variant does not name is the CLI's default."""
        config = task.home / ".claude"
        config.mkdir(exist_ok=True)
        argv = [program, "--print", "--verbose", "--output-format", "stream-json",
                "--permission-mode", "bypassPermissions", "--strict-mcp-config"]  # fmt: skip
        argv += ["--model", task.model] if task.model else []
        argv += ["--max-turns", str(task.limits.turns)] if task.limits.turns else []
        env = {
            "CLAUDE_CONFIG_DIR": str(config),
            "CLAUDE_CODE_MAX_RETRIES": str(task.limits.api_retries),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # without it the CLI refuses to work unattended as root
        }
        if task.access:
            env |= {"ANTHROPIC_BASE_URL": task.access.url, "ANTHROPIC_API_KEY": task.access.token}
        managed = safety_hook.write_managed_settings(task)
        settings = _settings_flags(task)
        return AgentCommand((*argv, *_flags(task.treatment), *settings, *_outfit_flags(task)), env=env, managed=managed)

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Read the transcript, then decide by rule."""
        session = stream_json.read_transcript(ended.transcript)
        outcome, reason, retryable = session_outcome.classify_session(session, ended)
        watched = safety_hook.safety_net_summary(ended.transcript)
        return TranscriptSummary(
            outcome, reason, retryable, session.trajectory, session.turns, session.version, watched
        )

    def declare(self, task: AgentTask, workspace: Path) -> Declared:
        """The treatment in the CLI's names."""
        return delivery.declared_delivery(task, workspace)

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:
        """What the start event and the first request say."""
        return delivery.observed_delivery(transcript, request)


def _flags(treatment: Treatment) -> list[str]:
    flags: list[str] = []
    if treatment.system_prompt and treatment.system_prompt.replace is not None:
        flags += ["--system-prompt", treatment.system_prompt.replace]
    if treatment.system_prompt and treatment.system_prompt.append is not None:
        flags += ["--append-system-prompt", treatment.system_prompt.append]
    if treatment.setting_sources is not None:
        flags += ["--setting-sources", ",".join(treatment.setting_sources)]
    if treatment.tools is not None:
        flags += ["--tools", ",".join(treatment.tools)]
    return flags


def _settings_flags(task: AgentTask) -> list[str]:
    """The treatment's settings; with the safety net's hook, where that is not among the administrator's."""
    given = task.treatment.settings
    if task.limits.safety_net and task.managed is None:
        given = safety_hook.install_hook(given, task.home)
    events = ["--include-hook-events"] if task.limits.safety_net else []
    return [*([] if given is None else ["--settings", json.dumps(given)]), *events]


def _outfit_flags(task: AgentTask) -> list[str]:
    """Lay what the treatment names into HOME, outside of what settings sources govern, and name it."""
    outfit, home = task.outfit, task.home
    flags: list[str] = []
    for name, folder in outfit.folders.items():
        shutil.copytree(folder, home / _LAID.format(name), ignore=shutil.ignore_patterns("__pycache__"))
    if any(name.startswith("skills/") for name in outfit.folders):
        plugin = home / _LAID.format("")
        manifest = {"name": delivery.PLUGIN, "version": "1.0.0", "description": "Skills of this team"}
        write_text(plugin / ".claude-plugin" / "plugin.json", json.dumps(manifest))
        flags += ["--plugin-dir", str(plugin)]
    if outfit.mcp_servers:
        servers = {name: _server(server, task.seen(home / _LAID.format(f"mcp/{name}")))
                   for name, server in outfit.mcp_servers.items()}  # fmt: skip
        write_text(home / "mcp.json", json.dumps({"mcpServers": servers}))
        flags += ["--mcp-config", str(home / "mcp.json")]
    if outfit.agents:
        agents = {name: agent.model_dump(exclude={"name"}, exclude_none=True) for name, agent in outfit.agents.items()}
        flags += ["--agents", json.dumps(agents)]
    return flags


def _server(server: McpServer, folder: str) -> dict[str, object]:
    args = [arg.replace(FOLDER, folder) for arg in server.args]
    return {"command": server.command.replace(FOLDER, folder), "args": args, "env": server.env}
