"""Built-in agents, which prove a scenario: `oracle` applies the reference solution, `nop` does nothing.

The reference solution is a patch, or with GitHub state a shell script that works with git and gh.
"""

from pathlib import Path
from typing import Final

from scylla_gha.agents.base import AgentCommand, AgentTask, ProcessResult, TranscriptSummary
from scylla_gha.model.trial import Outcome

_ADVICE: Final = ("git cannot apply the patch; to make one, change the files in the folder that `scylla-gha prepare "
                  "SCENARIO` prints, and there run: git add --all && git diff --cached --binary > X.patch")  # fmt: skip
_SCRIPT: Final = 'sh -eux "$0" || exit 3'  # which is no exit code of git apply
_GIT_APPLY_ERRORS: Final = (1, 128)  # exit codes for a patch that does not fit, and for a file that is not a patch


class NopAgent:
    """Agent that does nothing, successfully."""

    package: Final = None
    uses_model: Final = False

    def path_aliases(self, workspace: str) -> dict[str, str]:  # noqa: ARG002 the Protocol's signature
        """Return no aliases."""
        return {}

    def version(self, program: str) -> str:  # noqa: ARG002 the Protocol's signature
        """Return the version of the built-in agents, to be raised when they do something else."""
        return "1"

    def command(self, task: AgentTask, program: str) -> AgentCommand:  # noqa: ARG002 the Protocol's signature
        """Return a command that does nothing."""
        return AgentCommand(("true",))

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the process; if it fails, the scenario is at fault."""
        if ended.finished.timed_out:
            outcome, reason = Outcome.TIMEOUT, f"ended at the limit of {ended.limit_seconds:g} s"
        elif ended.finished.code:
            outcome, reason = Outcome.FIXTURE_ERROR, f"exit code {ended.finished.code}: {ended.complaint()}"
        else:
            outcome, reason = Outcome.COMPLETED, "done"
        return TranscriptSummary(outcome, reason, turns=0)

    def declare(self, task: AgentTask, workspace: Path) -> None:
        """Declare nothing: there is no treatment."""

    def observe(self, transcript: Path, request: Path) -> tuple[()]:  # noqa: ARG002 the Protocol's signature
        """Return nothing: there is no request to a model."""
        return ()


class Oracle(NopAgent):
    """Agent that applies the reference solution."""

    def command(self, task: AgentTask, program: str) -> AgentCommand:  # noqa: ARG002 the Protocol's signature
        """Return a command that applies the patch, or runs the script in the workspace."""
        if task.patch.suffix == ".sh":
            return AgentCommand(("/bin/sh", "-c", _SCRIPT, str(task.patch)))
        return AgentCommand(("git", "apply", "--binary", "--whitespace=nowarn", str(task.patch)))

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the process; if git cannot apply the patch, say how to make one."""
        summary = super().read(ended)
        if ended.finished.code in _GIT_APPLY_ERRORS and not ended.finished.timed_out:
            return TranscriptSummary(summary.outcome, f"{summary.reason}; {_ADVICE}", turns=0)
        return summary
