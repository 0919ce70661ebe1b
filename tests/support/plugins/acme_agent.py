"""An agent CLI that speaks chat completions: `acme -m MODEL`, with the prompt on standard input."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import AgentCommand, AgentTask, ProcessResult, TranscriptSummary
from scylla_gha.model.agent_manifest import CliModels, CliPackage
from scylla_gha.model.plan import Arm
from scylla_gha.model.scenario import SkillStop
from scylla_gha.model.traffic import ToolWatch, WatchedTraffic
from scylla_gha.model.trial import Outcome, Step, Trajectory
from scylla_gha.model.variant import AgentResources


class AcmeCli:
    """The `acme` command."""

    package: Final = CliPackage(npm="@acme/cli", program="acme", oldest="1")
    models: Final = CliModels()
    delivery_sources: Final = ()
    uses_model: Final = True
    digest: Final = None
    circumstances: Final[dict[str, str]] = {}
    api_styles: Final = ("openai-chat",)
    skill_listing: Final = None
    instruction_file: Final = None
    skills_folder: Final = None
    prompt_commands: Final = None

    def unsupported(self, arm: Arm, roots: Sequence[Path]) -> tuple[()]:  # noqa: ARG002 the Protocol's signature
        """Refuse nothing."""
        return ()

    @property
    def guarded_tools(self) -> None:
        """None: it calls no tools."""

    def path_aliases(self, workspace: str) -> dict[str, str]:  # noqa: ARG002 the Protocol's signature
        """Return no aliases."""
        return {}

    def version(self, program: str) -> str:  # noqa: ARG002 the Protocol's signature
        """Return the only version."""
        return "1.0.0"

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        """Start it with the gateway's address and key."""
        assert task.access is not None
        access = {"ACME_BASE_URL": f"{task.access.url}/v1", "ACME_API_KEY": task.access.token}
        return AgentCommand((program, "-m", str(task.model)), access)

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the output: its text, or the reason why it failed."""
        if ended.finished.code:
            return TranscriptSummary(Outcome.AGENT_ERROR, ended.complaint())
        return TranscriptSummary(Outcome.COMPLETED, "done", trajectory=self.conversation(ended.transcript), turns=1)

    def conversation(self, transcript: Path) -> Trajectory:
        """Return the output so far."""
        return Trajectory(steps=(Step(source="agent", text=transcript.read_text(errors="replace")),))

    def stated_usd(self, transcript: Path) -> None:
        """State nothing."""

    def declare(self, task: AgentTask, workspace: Path) -> None:
        """Declare nothing."""

    def stop_rule(self, resources: AgentResources, stop: SkillStop) -> None:
        """Return None: it calls no skills."""

    def observe(self, transcript: Path, request: Path) -> tuple[()]:  # noqa: ARG002 the Protocol's signature
        """Observe nothing."""
        return ()

    def watch(self, resources: AgentResources) -> ToolWatch:  # noqa: ARG002 the Protocol's signature
        """Watch nothing."""
        return ToolWatch()

    def uses(self, resources: AgentResources, watched: WatchedTraffic, request: Path) -> None:
        """Know of no resources."""
