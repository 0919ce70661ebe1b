"""The Protocol of an agent: commands that start it, and readers of its transcript and delivery."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Outcome, SafetyNetSummary, Trajectory
from scylla_gha.model.variant import AgentResources, Declared, Observed, Treatment
from scylla_gha.process import FinishedProcess


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The gateway's address, and the dummy key that names the trial there."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class AgentTask:
    """Input of an agent for one cell. `patch` is the reference solution, which only the oracle may use.

    `names` are what folders are called where the agent works. Where their paths stand in its command, the sandbox puts
    those; in files that are laid for it, `seen` has to. `managed` is a folder for what only the machine's
    administrator may change; None where the agent could write anywhere.
    """

    prompt: str
    home: Path
    patch: Path
    limits: TrialLimits
    access: ModelAccess | None = None
    model: str | None = None
    treatment: Treatment = Treatment()
    outfit: AgentResources = AgentResources()
    names: Mapping[Path, str] = field(default_factory=dict)
    managed: Path | None = None

    def seen(self, path: Path) -> str:
        """Return the name of a path where the agent works."""
        for folder, name in self.names.items():
            if path.is_relative_to(folder):
                return str(Path(name) / path.relative_to(folder))
        return str(path)


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """Command line of an agent, which reads the prompt on standard input. `secrets` must not be stored.

    `managed` maps read-only paths in the sandbox to folders of the host.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    managed: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Result of an agent's process: exit, time limit in seconds, and output files."""

    finished: FinishedProcess
    limit_seconds: float
    transcript: Path
    stderr: Path

    def complaint(self, length: int = 300) -> str:
        """Return the end of standard error, or of standard output if that is empty."""
        for path in (self.stderr, self.transcript):
            text = path.read_bytes()[-10_000:].decode(errors="replace").strip()
            if text:
                return text[-length:]
        return "it said nothing"


@dataclass(frozen=True, slots=True)
class TranscriptSummary:
    """Summary of an attempt by its transcript. `retryable`: another attempt at the cell may end differently.

    It holds no cost: Claude Code invents a price for a model that it does not know.
    """

    outcome: Outcome
    reason: str
    retryable: bool = False
    trajectory: Trajectory = Trajectory()
    turns: int | None = None
    version: str | None = None
    safety_net: SafetyNetSummary | None = None


@dataclass(frozen=True, slots=True)
class AgentPackage:
    """Package of an agent CLI: npm name, program in it, and the oldest supported version.

    `side_models` are those that it asks for by itself, whatever model it is started with. `aliases` are its short
    names of models, with what it asks for by them; a name that stands in the id of its own model means that one.
    """

    npm: str
    program: str
    oldest: tuple[int, ...]
    side_models: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


class Agent(Protocol):
    """An agent CLI, or a built-in agent."""

    @property
    def package(self) -> AgentPackage | None:
        """Package that it is installed from; None for a built-in agent."""

    @property
    def uses_model(self) -> bool:
        """True if it sends requests to a model; a built-in agent sends none and costs nothing."""

    def path_aliases(self, workspace: str) -> Mapping[str, str]:
        """Return names that it derives from the workspace's path, with the neutral names that recordings hold."""

    def version(self, program: str) -> str:
        """Return the version of the program; ToolError if it is unsupported or unknown."""

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        """Return the command that starts it on a task; may write files into the task's HOME."""

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the transcript."""

    def declare(self, task: AgentTask, workspace: Path) -> Declared | None:
        """Return what the treatment gives it, in its own names; None if there is nothing to prove."""

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:
        """Return what it really had, by its transcript and its first request to the model."""


def read_plain_output(ended: ProcessResult) -> TranscriptSummary:
    """Summarise a built-in agent, which uses no model; if it fails, the scenario is at fault."""
    if ended.finished.timed_out:
        outcome, reason = Outcome.TIMEOUT, f"ended at the limit of {ended.limit_seconds:g} s"
    elif ended.finished.code:
        outcome, reason = Outcome.FIXTURE_ERROR, f"exit code {ended.finished.code}: {ended.complaint()}"
    else:
        outcome, reason = Outcome.COMPLETED, "done"
    return TranscriptSummary(outcome, reason, turns=0)
