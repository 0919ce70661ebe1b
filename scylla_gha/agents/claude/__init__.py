"""Claude Code, headless: prompt on standard input, stream-json on standard output, a configuration folder per trial.

Flags and environment as of versions 2.1.197 and 2.1.332 (`claude --help`, 2026-11-27).
"""

import dataclasses
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import (
    AgentCommand,
    AgentPackage,
    AgentTask,
    ProcessResult,
    TranscriptSummary,
    copy_skill,
)
from scylla_gha.agents.claude import safety_hook
from scylla_gha.agents.claude.delivery import declared_delivery, observed_delivery
from scylla_gha.agents.claude.transcript import classify_session, read_transcript
from scylla_gha.agents.claude.uptake import SKILLS_FOLDER, observed_uses, tool_watch
from scylla_gha.agents.skill_listing import ListingRules, ModelBudget, SkillListing
from scylla_gha.counting import counted
from scylla_gha.errors import ToolError
from scylla_gha.model.plan import Arm
from scylla_gha.model.scenario import SkillStop
from scylla_gha.model.traffic import StopRule, ToolWatch, WatchedTraffic
from scylla_gha.model.trial import Declared, Observed, Trajectory, Uses
from scylla_gha.model.variant import AgentResources
from scylla_gha.store import write_text
from scylla_gha.system import process

_VERSION_SECONDS: Final = 60.0
_RESOURCES: Final = "team"  # folder in HOME
_PLUGINS: Final = "plugins"  # folder in HOME
_PROMPT: Final = "system-prompt.md"  # file in HOME
# Otherwise the CLI begins while servers still start, so that their tools are missing in the first request.
_WAIT_FOR_SERVERS: Final = {
    "MCP_CONNECTION_NONBLOCKING": "0",
    "MCP_CONNECT_TIMEOUT_MS": "60000",
    "MCP_TIMEOUT": "60000",
    "MCP_SERVER_CONNECTION_BATCH_SIZE": "4",  # servers that start at the same time
}
# Otherwise the CLI lists skills within 1 % of the model's context, and further skills only by name. With this number of
# characters, all skills have descriptions; without added skills, the first request does not change.
_SKILL_LISTING: Final = {"SLASH_COMMAND_TOOL_CHAR_BUDGET": "1000000"}
_OLDER: Final = "Haiku 4.5, Opus 4.5 and 4.6, Sonnet 4.5 and 4.6"
_OLDER_MODELS: Final = (
    "claude-haiku-4-5-20251001",
    "claude-opus-4-5-20251101",
    "claude-opus-4-6",
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-6",
)
_MAX_ARGUMENT_BYTES: Final = 131_071  # of one argument in Linux


class ClaudeCode:
    """The `claude` command."""

    # The sub-agent Explore of 2.1.197 always requests the side model; that of 2.1.332 requests the main conversation's
    # model. For an alias, a sub-agent requests the main conversation's model if that is of the same family, else the
    # model of the version's inventory; the ids below are of 2.1.332 (seen in requests, 2026-11-27).
    package: Final = AgentPackage(
        npm="@anthropic-ai/claude-code",
        program="claude",
        oldest=(2, 1, 0),
        side_models=("claude-haiku-4-5-20251001",),
        aliases={
            "haiku": "claude-haiku-5-5",
            "sonnet": "claude-sonnet-5-5",
            "opus": "claude-opus-5-5",
            "fable": "claude-fable-5-2",
            "best": "claude-opus-5-5",
            "opusplan": "claude-sonnet-5-5",
            "sonnet[1m]": "claude-sonnet-5-5",
            "opus[1m]": "claude-opus-5-5",
            "fable[1m]": "claude-fable-5-2",
        },
    )
    uses_model: Final = True
    digest: Final = None
    circumstances: Final[dict[str, str]] = {}
    api_styles: Final = ("anthropic-messages",)
    skill_listing: Final = SkillListing(
        versions=(
            ListingRules(
                version="2.1.197",
                own=4_247,
                budgets=(ModelBudget(_OLDER, 8_000, _OLDER_MODELS), ModelBudget("newer models", 6_000)),
                is_cleaned=False,
            ),
            ListingRules(
                version="2.1.332",
                own=6_074,
                budgets=(ModelBudget(_OLDER, 8_000, _OLDER_MODELS), ModelBudget("newer models", 30_000)),
                is_cleaned=True,
            ),
        ),
        longest=1_536,
        setting="skillListingBudgetFraction",
        default_fraction=0.01,
    )

    skills_folder: Final = SKILLS_FOLDER
    # Others end the session without a request, as `/clear` and `/context` do (2.1.197 and 2.1.332, 2026-11-28).
    prompt_commands: Final = ("goal", "init", "insights", "review", "security-review", "team-onboarding")

    def unsupported(self, arm: Arm, roots: Sequence[Path]) -> tuple[()]:  # noqa: ARG002 the Protocol's signature
        """Return nothing: it supports every part of a treatment."""
        return ()

    def path_aliases(self, workspace: str) -> dict[str, str]:
        """Return the session folder's name: the path, with a dash for each character that is no letter or digit."""
        return {re.sub(r"[^A-Za-z0-9]", "-", workspace): "-scylla-workspace"}

    def version(self, program: str) -> str:
        """Return the version that `claude --version` prints.

        Raises:
            ToolError: the program is missing, too old, or answers in an unknown form.
        """
        output = process.capture([program, "--version"], seconds=_VERSION_SECONDS)
        text = output.stdout.decode(errors="replace").strip()
        version = re.match(r"(\d+)\.(\d+)\.(\d+)\b", text)
        if output.code or not version:
            raise ToolError(f"{program} --version: unknown answer {text or output.message!r}; is this Claude Code?")
        if tuple(int(part) for part in version.groups()) < self.package.oldest:
            oldest = ".".join(str(part) for part in self.package.oldest)
            raise ToolError(
                f"{program} is version {version[0]}, older than {oldest}; update it, "
                "or pin a version in the experiment: agents: [claude-code@VERSION]"
            )
        return version[0]

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        """Return the command with the variant's flags; all other settings are the CLI's defaults."""
        config = task.home / ".claude"
        config.mkdir(exist_ok=True)
        argv = [
            program,
            "--print",
            "--verbose",
            "--output-format",
            "stream-json",
            "--permission-mode",
            "bypassPermissions",
            "--strict-mcp-config",
        ]
        argv += ["--model", task.model] if task.model else []
        argv += ["--max-turns", str(task.limits.turns)] if task.limits.turns else []
        env = {
            "CLAUDE_CONFIG_DIR": str(config),
            "CLAUDE_CODE_MAX_RETRIES": str(task.limits.api_retries),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # without it the CLI refuses to work unattended as root
            **({} if task.treatment.skill_listing == "default" else _SKILL_LISTING),
        }
        if task.resources.mcp_servers or task.resources.project_servers:
            env |= _WAIT_FOR_SERVERS
        if task.access:
            env |= {"ANTHROPIC_BASE_URL": task.access.url, "ANTHROPIC_API_KEY": task.access.token}
        managed = safety_hook.write_managed_settings(task)
        argv += [*_treatment_flags(task), *_settings_flags(task), *_resource_flags(task)]
        return AgentCommand(tuple(argv), env=env, managed=managed)

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the transcript, with the outcome that it claims."""
        session = read_transcript(ended.transcript)
        outcome, reason, retryable = classify_session(session, ended)
        safety_net = safety_hook.safety_net_summary(ended.transcript)
        return TranscriptSummary(
            outcome, reason, retryable, session.trajectory, session.turns, session.version, safety_net
        )

    def conversation(self, transcript: Path) -> Trajectory:
        """Return the messages and tool calls so far."""
        return read_transcript(transcript).trajectory

    def stated_usd(self, transcript: Path) -> float | None:
        """Return the cost in the result event."""
        usd = (read_transcript(transcript).result or {}).get("total_cost_usd")
        return float(usd) if isinstance(usd, int | float) else None

    def declare(self, task: AgentTask, workspace: Path) -> Declared:
        """Return the treatment in the CLI's names."""
        return declared_delivery(task, workspace)

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:
        """Return the treatment that the start event, the first request and the hooks show."""
        return observed_delivery(transcript, request)

    def stop_rule(self, resources: AgentResources, stop: SkillStop) -> StopRule:
        """Return the calls of the tool Skill with these names, as the CLI accepts them."""
        plugins = {name: (f"{plugin}:{name}", f"/{plugin}:{name}") for name, plugin in resources.plugins.items()}
        names = tuple((name, f"/{name}", *plugins.get(name, ())) for name in stop.skills)
        return StopRule(tool="Skill", argument="skill", names=names, answers=stop.answers)

    def watch(self, resources: AgentResources) -> ToolWatch:
        """Return the calls and texts that show uses of the resources."""
        return tool_watch(resources)

    def uses(self, resources: AgentResources, watched: WatchedTraffic, request: Path) -> Uses:
        """Return the uses of the declared resources."""
        return observed_uses(resources, watched, request)


def _treatment_flags(task: AgentTask) -> list[str]:
    """Return the flags of prompt, settings files and tools; the prompt is a file, since it may be long."""
    treatment, path = task.treatment, task.home / _PROMPT
    flags: list[str] = []
    if prompt := treatment.system_prompt:
        write_text(path, (prompt.append or "") if prompt.replace is None else prompt.replace)
        flags += ["--append-system-prompt-file" if prompt.replace is None else "--system-prompt-file", str(path)]
    if treatment.setting_sources is not None:
        flags += ["--setting-sources", ",".join(treatment.setting_sources)]
    if treatment.tools is not None:
        flags += ["--tools", ",".join(treatment.tools)]
    return flags


def _settings_flags(task: AgentTask) -> list[str]:
    """Return the flags of the treatment's settings, with the safety net's hook unless it is in managed settings."""
    settings = task.treatment.settings
    if task.limits.safety_net and task.managed is None:
        settings = safety_hook.install_hook(settings, task.home)
    events = ["--include-hook-events"] if task.limits.safety_net else []
    return [*([] if settings is None else ["--settings", json.dumps(settings)]), *events]


def _resource_flags(task: AgentTask) -> list[str]:
    """Copy the treatment's resources into HOME; return their flags, which `--setting-sources` does not disable."""
    resources, folder = task.resources, task.home / _RESOURCES
    flags: list[str] = []
    for name, source in resources.folders.items():
        if not name.startswith("skills/"):
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    flags += _skill_flags(task)
    started = {**resources.project_servers, **task.started_servers(folder)}
    if started:  # also the servers of .mcp.json, since --strict-mcp-config hides that file
        path = task.home / "mcp.json"
        servers = {name: dataclasses.asdict(server) for name, server in started.items()}
        write_text(path, json.dumps({"mcpServers": servers}))
        flags += ["--mcp-config", str(path)]
    return [*flags, *_agent_flags(task)]


def _skill_flags(task: AgentTask) -> list[str]:
    """Copy skills to the user's skills, or into plugins named after their authors; return the plugins' flags."""
    plugins = task.resources.plugins
    sources = {Path(key).name: path for key, path in task.resources.folders.items() if key.startswith("skills/")}
    for name, source in sources.items():
        parent = task.home / _PLUGINS / plugins[name] if name in plugins else task.home / ".claude"
        copy_skill(source, parent / "skills" / name)
    flags = []
    for plugin in dict.fromkeys(plugins.values()):
        manifest = {"name": plugin, "version": "1.0.0", "description": "Skills of an author"}
        write_text(task.home / _PLUGINS / plugin / ".claude-plugin" / "plugin.json", json.dumps(manifest))
        flags += ["--plugin-dir", str(task.home / _PLUGINS / plugin)]
    return flags


def _agent_flags(task: AgentTask) -> list[str]:
    """Write sub-agents as files in HOME; if the variant does not read the user's settings, return them as a flag.

    Raises:
        ToolError: the sub-agents are too long for a flag.
    """
    agents, sources = task.resources.agents, task.treatment.setting_sources
    if sources is None or "user" in sources:
        for name, agent in agents.items():
            front = {
                "name": name,
                "description": agent.description,
                "model": agent.model,
                "tools": None if agent.tools is None else ", ".join(agent.tools),
            }
            lines = [f"{key}: {json.dumps(value)}" for key, value in front.items() if value is not None]
            text = "\n".join(("---", *lines, "---", agent.prompt, ""))
            write_text(task.home / ".claude" / "agents" / f"{name}.md", text)
        return []
    fields = {name: agent.model_dump(exclude={"name"}, exclude_none=True) for name, agent in agents.items()}
    flag = json.dumps(fields)
    size = len(flag.encode())
    if size > _MAX_ARGUMENT_BYTES:
        raise ToolError(
            f"the flag --agents would have {counted(size, 'byte')}, and Linux allows {_MAX_ARGUMENT_BYTES}; "
            "add `user` to setting_sources, so that sub-agents are files"
        )
    return ["--agents", flag] if agents else []
