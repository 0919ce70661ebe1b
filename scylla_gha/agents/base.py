"""Protocol of agents: the command that starts an agent, and readers of its transcript and delivery."""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from scylla_gha.agents.skill_listing import SkillListing
from scylla_gha.config.materials import is_undelivered
from scylla_gha.model.agent_manifest import CliModels, CliPackage
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.plan import Arm
from scylla_gha.model.safety_net import GuardedTool, SafetyNetSummary
from scylla_gha.model.scenario import SkillStop
from scylla_gha.model.traffic import StopRule, ToolWatch, WatchedTraffic
from scylla_gha.model.trial import Declared, Observed, Outcome, Source, Trajectory, Uses
from scylla_gha.model.variant import AgentResources, ServerCommand, Treatment
from scylla_gha.system.process import FinishedProcess

_COMMAND: Final = re.compile(r"/([A-Za-z0-9:_-]+)(?=\s|$)")


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """Address of the gateway, the dummy key that identifies the trial there, and the style of the model's API."""

    url: str
    token: str
    api_style: str = "anthropic-messages"


@dataclass(frozen=True, slots=True)
class AgentTask:
    """Input of an agent for one cell.

    Attributes:
        prompt: prompt of the task.
        home: HOME of the agent.
        patch: reference solution, which only the oracle may use.
        limits: limits of the trial.
        access: access to the gateway; None: the agent uses no model.
        model: id of the model.
        treatment: treatment of the variant.
        resources: files of the variant.
        names: folders' paths in the sandbox, by their paths on the host. The sandbox replaces them in the command;
            in files that are written for the agent, use `sandbox_path`.
        managed: folder of files that only the machine's administrator may change; None: the agent can write anywhere.
        workspace: path of the workspace on the host.
        programs: paths of installed programs on the host, by their paths in sandboxes that isolate files; empty in such
            a sandbox.
    """

    prompt: str
    home: Path
    patch: Path
    limits: TrialLimits
    access: ModelAccess | None = None
    model: str | None = None
    treatment: Treatment = Treatment()
    resources: AgentResources = AgentResources()
    names: Mapping[Path, str] = field(default_factory=dict)
    managed: Path | None = None
    workspace: Path = Path()
    programs: Mapping[str, str] = field(default_factory=dict)

    def sandbox_path(self, path: Path) -> str:
        """Return the path that a path on the host has in the sandbox."""
        for folder, name in self.names.items():
            if path.is_relative_to(folder):
                return str(Path(name) / path.relative_to(folder))
        return str(path)

    def started_servers(self, folder: Path) -> dict[str, ServerCommand]:
        """Return the commands of the MCP servers, whose folders have been copied to `folder`/mcp."""
        workspace = self.sandbox_path(self.workspace)
        return {
            name: server.started(name, self.sandbox_path(folder / "mcp" / name), workspace, self.programs)
            for name, server in self.resources.mcp_servers.items()
        }


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """Command line of an agent, which reads the prompt from standard input. `secrets` must not be stored.

    `managed` maps read-only paths in the sandbox to folders of the host. `program` is the path of the CLI if another
    program starts it; empty: it is the first word of `argv`.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    managed: Mapping[str, Path] = field(default_factory=dict)
    program: str = ""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Result of an agent's process: its end, its time limit in seconds, and its output files."""

    finished: FinishedProcess
    limit_seconds: float
    transcript: Path
    stderr: Path

    def complaint(self, length: int = 300) -> str:
        """Return the end of standard error; if that is empty, of standard output."""
        for path in (self.stderr, self.transcript):
            text = path.read_bytes()[-10_000:].decode(errors="replace").strip()
            if text:
                return text[-length:]
        return "it printed nothing"


@dataclass(frozen=True, slots=True)
class TranscriptSummary:
    """Summary of an attempt's transcript. `retryable`: another attempt at the cell may end differently.

    `proves_end` is False if the CLI may report half an answer or a failed request as success.
    It has no cost, since Claude Code invents a price for a model that it does not know.
    """

    outcome: Outcome
    reason: str
    retryable: bool = False
    trajectory: Trajectory = Trajectory()
    turns: int | None = None
    version: str | None = None
    safety_net: SafetyNetSummary | None = None
    proves_end: bool = True


def copy_skill(source: Path, target: Path) -> None:
    """Copy a skill's folder without files that are not delivered to agents."""

    def undelivered(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if is_undelivered(source, Path(folder, name))}

    shutil.copytree(source, target, ignore=undelivered)


def called_command(prompt: str) -> str:
    """Return the NAME of a prompt that begins with `/NAME` and is not a path; empty for other prompts."""
    name = _COMMAND.match(prompt)
    return name[1] if name and not Path(f"/{name[1]}").exists() else ""


class Agent(Protocol):
    """An agent CLI, or a built-in agent."""

    @property
    def package(self) -> CliPackage | None:
        """Package to install it from; None for a built-in agent."""

    @property
    def models(self) -> CliModels:
        """Models that it chooses by itself."""

    @property
    def uses_model(self) -> bool:
        """True if it sends requests to a model; a built-in agent sends none and costs nothing."""

    @property
    def digest(self) -> str | None:
        """Digest of its manifest, which is a part of its trials' keys; None: its version identifies its behaviour."""

    def unsupported(self, arm: Arm, roots: Sequence[Path]) -> Iterable[str]:
        """Return the parts of an arm's treatment that it does not support; `roots` have the configuration."""

    @property
    def api_styles(self) -> tuple[str, ...]:
        """Styles of model APIs that it uses (`ApiStyle.name`); none for a built-in agent."""

    @property
    def instruction_file(self) -> str | None:
        """Path in the workspace of the file with instructions that it reads first; None: it reads none."""

    @property
    def skill_listing(self) -> SkillListing | None:
        """Rules by which it lists skills to its model; None: unknown, or it lists none."""

    @property
    def skills_folder(self) -> str | None:
        """Folder of skills in a repository, each in a folder of its name; None: it knows no skills."""

    @property
    def prompt_commands(self) -> tuple[str, ...] | None:
        """Built-in commands, beside skills, by which a prompt `/NAME` asks the model; None: `/NAME` is plain text."""

    @property
    def circumstances(self) -> Mapping[str, str]:
        """Regular expressions for texts of its requests that differ between equal runs, with constant replacements."""

    @property
    def guarded_tools(self) -> Mapping[str, GuardedTool] | None:
        """Tools whose calls the gateway judges for the safety net, if it has no hook; None: it has one, or no tools."""

    def path_aliases(self, workspace: str) -> Mapping[str, str]:
        """Map the names that it derives from the workspace's path to their aliases in recordings."""

    def version(self, program: str) -> str:
        """Return the version of the program; ToolError if it is unsupported or unknown."""

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        """Return the command that starts it on a task; it may write files into the task's HOME."""

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the transcript."""

    def conversation(self, transcript: Path) -> Trajectory:
        """Return the conversation of a transcript that the agent may still be writing; empty for a built-in agent."""

    def stated_usd(self, transcript: Path) -> float | None:
        """Return the cost by the CLI's own price list; None if it states none. Results do not use it."""

    @property
    def delivery_sources(self) -> tuple[Source, ...]:
        """Sources that show its treatment in each trial that reaches the model."""

    def declare(self, task: AgentTask, workspace: Path) -> Declared | None:
        """Return the treatment in the CLI's own names; None if there is nothing to prove."""

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:
        """Return the treatment that it really had, by its transcript and its first request to the model."""

    def stop_rule(self, resources: AgentResources, stop: SkillStop) -> StopRule | None:
        """Return the calls of these skills at which the gateway ends the session; None if it cannot call skills."""

    def watch(self, resources: AgentResources) -> ToolWatch:
        """Return the tool calls that the gateway has to log, so that `uses` can tell which resources were used."""

    def uses(self, resources: AgentResources, watched: WatchedTraffic, request: Path) -> Uses | None:
        """Return the uses of the declared resources; None if they are unknown, or it cannot use resources.

        Args:
            resources: resources that the arm declares.
            watched: calls and results that the gateway logged.
            request: body of the first request to the model, which may be missing.
        """
