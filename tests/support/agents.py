"""A tiny agent: a shell command, whose output is its transcript."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scylla_gha.agents import AGENTS, InstalledAgent
from scylla_gha.agents.base import AgentCommand, AgentTask, ProcessResult, TranscriptSummary
from scylla_gha.attempt import run_attempt
from scylla_gha.attempt.equip import AgentRunner
from scylla_gha.model.agent_manifest import CliModels, CliPackage
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.plan import Arm
from scylla_gha.model.scenario import SkillStop
from scylla_gha.model.traffic import ToolWatch, WatchedTraffic
from scylla_gha.model.trial import Attempt, Declared, Observed, Outcome, Source, Step, ToolCall, Trajectory
from scylla_gha.model.variant import AgentResources, Treatment, Variant
from scylla_gha.prepare import PreparedScenario, prepare_workspace
from scylla_gha.sandboxes.base import SandboxTarget
from scylla_gha.sandboxes.host import HostSandbox
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.system.process import Cancel
from tests.support.records import make_model_arm
from tests.support.repository import make_repository

PACKAGE = CliPackage(npm="@example/shell", program="sh", oldest="1")

BUILT_IN = InstalledAgent(AGENTS["nop"], "", "1")


def cli_agent(version: str | None) -> InstalledAgent:
    """An agent CLI of a version, which uses models."""
    return InstalledAgent(AGENTS["claude-code"], "", version)


@dataclass(frozen=True)
class ShellAgent:
    """Fits the Agent protocol; a line `tool NAME ok|failed` of its output is a tool call, `end OUTCOME [again]` how it
    ended, where that is not told by its exit code. What it had is what `seen` says, whatever it does."""

    script: str = "true"
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    package: CliPackage | None = None
    declared: Declared | None = None
    seen: tuple[Observed, ...] = ()
    instruction_file: str | None = None

    @property
    def models(self) -> CliModels:
        return CliModels()

    @property
    def delivery_sources(self) -> tuple[Source, ...]:
        return ("start event", "first request")

    @property
    def uses_model(self) -> bool:
        return self.package is not None

    @property
    def api_styles(self) -> tuple[str, ...]:
        return ("anthropic-messages",) if self.uses_model else ()

    @property
    def skill_listing(self) -> None:
        return None

    @property
    def digest(self) -> None:
        return None

    @property
    def circumstances(self) -> dict[str, str]:
        return {}

    def unsupported(self, arm: Arm, roots: Sequence[Path]) -> tuple[()]:  # noqa: ARG002 the Protocol's signature
        return ()

    @property
    def guarded_tools(self) -> None:
        """None: it calls no tools."""

    def path_aliases(self, workspace: str) -> dict[str, str]:
        """The session folder as Claude Code names it."""
        return dict(AGENTS["claude-code"].path_aliases(workspace))

    def version(self, program: str) -> str:
        return program or "1"

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        told = {"MODEL": str(task.model), "PROGRAM": program, "PATCH": str(task.patch), "TURNS": str(task.limits.turns)}
        if task.access:
            told |= {"ANTHROPIC_BASE_URL": task.access.url, "ANTHROPIC_API_KEY": task.access.token}
        return AgentCommand(("/bin/sh", "-c", self.script), {**told, **self.env}, self.secrets)

    def conversation(self, transcript: Path) -> Trajectory:
        return Trajectory(steps=(Step(source="agent", text=transcript.read_text(errors="replace")),))

    def stated_usd(self, transcript: Path) -> None: ...

    def declare(self, task: AgentTask, workspace: Path) -> Declared | None:  # noqa: ARG002 the Protocol's signature
        return self.declared

    def stop_rule(self, resources: AgentResources, stop: SkillStop) -> None:
        """Return None: it calls no skills."""

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:  # noqa: ARG002 the Protocol's signature
        return self.seen

    @property
    def skills_folder(self) -> None:
        return None

    @property
    def prompt_commands(self) -> None:
        return None

    def watch(self, resources: AgentResources) -> ToolWatch:  # noqa: ARG002 the Protocol's signature
        return ToolWatch()

    def uses(self, resources: AgentResources, watched: WatchedTraffic, request: Path) -> None: ...

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        text = ended.transcript.read_text(errors="replace")
        calls = [line.split() for line in text.splitlines() if line.startswith("tool ")]
        made = tuple(ToolCall(id=name, name=name, arguments={}, failed=how == "failed") for _, name, how in calls)
        ends = [line.split() for line in text.splitlines() if line.startswith("end ")]
        outcome, reason = (Outcome(ends[-1][1]), "as it said") if ends else (Outcome.COMPLETED, "done")
        if ended.finished.timed_out:
            outcome, reason = Outcome.TIMEOUT, f"ended at the limit of {ended.limit_seconds:g} s"
        elif ended.finished.code:
            outcome, reason = Outcome.AGENT_ERROR, ended.complaint()
        said = Step(source="agent", text=text, tool_calls=made)
        again = bool(ends) and "again" in ends[-1]
        return TranscriptSummary(outcome, reason, again, Trajectory(steps=(said,)), len(calls), "7.0")


def make_runner(agent: Any, **given: Any) -> AgentRunner:
    """The agent on the host, without a gateway."""
    variant = Variant(id="T0/00-empty", treatment=Treatment(models=("dear", "new", "stubborn", "dearer")))
    fields = {
        "arm": make_model_arm(variant=variant),
        "program": "",
        "gateway": None,
        "target": SandboxTarget(HostSandbox()),
        "limits": TrialLimits(),
        "cancel": Cancel(),
    }
    return AgentRunner(agent=agent, **{**fields, **given})


@dataclass(frozen=True)
class Bench:
    """A prepared scenario, and the folder of an attempt at it. Other attempts have folders beside it."""

    prepared: PreparedScenario
    folder: AttemptFolder

    @classmethod
    def make(cls, root: Path, number: int = 1, **scenario: Any) -> "Bench":
        prepared = make_repository(root / "repo", **scenario).prepared()
        return cls(prepared, AttemptFolder(root / "cell" / f"attempt-{number}"))

    def another(self, number: int = 2, root: Path | None = None) -> AttemptFolder:
        """The folder of another attempt, at this cell or below another root."""
        return AttemptFolder((root / "cell" if root else self.folder.root.parent) / f"attempt-{number}")

    def run(self, agent: Any, folder: AttemptFolder | None = None, **runner: Any) -> Attempt:
        """Run an agent in a fresh workspace, `w-NUMBER` two folders above the attempt's."""
        folder = folder or self.folder
        workspace = prepare_workspace(self.prepared, folder.root.parent.parent / f"w-{folder.number}")
        return run_attempt(make_runner(agent, **runner), self.prepared, workspace, folder)
