"""The agents that prove a scenario: `oracle` applies the reference solution, `nop` does nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import AgentCommand, AgentTask, ProcessResult, TranscriptSummary, read_plain_output

_MAKE: Final = ("git cannot apply the patch; to make one, change the files in the folder that `scylla-gha prepare "
                "SCENARIO` prints, and there run: git add --all && git diff --cached --binary > X.patch")  # fmt: skip
_GITS: Final = (1, 128)  # exit codes of `git apply` for a patch that does not fit, or that is none


class BuiltIn:
    """An agent without a model: a fixed command."""

    package: Final = None
    uses_model: Final = False

    def path_aliases(self, workspace: str) -> dict[str, str]:  # noqa: ARG002 the Protocol's signature
        """Return no aliases."""
        return {}

    def version(self, program: str) -> str:  # noqa: ARG002 the Protocol's signature
        """Raised when what the built-in agents do changes."""
        return "1"

    def command(self, task: AgentTask, program: str) -> AgentCommand:  # noqa: ARG002 the Protocol's signature
        """Do nothing, successfully."""
        return AgentCommand(("true",))

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Completed, unless the process itself failed."""
        return read_plain_output(ended)

    def declare(self, task: AgentTask, workspace: Path) -> None:
        """It has no treatment."""

    def observe(self, transcript: Path, request: Path) -> tuple[()]:  # noqa: ARG002 the Protocol's signature
        """It asks no model."""
        return ()


class Oracle(BuiltIn):
    """Applies the reference solution."""

    def command(self, task: AgentTask, program: str) -> AgentCommand:  # noqa: ARG002 the Protocol's signature
        """Apply the patch with git."""
        return AgentCommand(("git", "apply", "--binary", "--whitespace=nowarn", str(task.patch)))

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Where git cannot apply the patch, the reason says how one is made."""
        reading = super().read(ended)
        is_gits = ended.finished.code in _GITS and not ended.finished.timed_out
        return replace(reading, reason=f"{reading.reason}; {_MAKE}") if is_gits else reading
