"""Built-in agents, which validate a scenario: `oracle` applies the reference solution, `nop` does nothing.

The reference solution is a patch; for a scenario with GitHub state, it is a shell script that uses git and the tools of
its mode. If these are MCP servers, the script calls their tools by the command `mcp-call`, which only the oracle gets.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from scylla_gha.agents import mcp_client
from scylla_gha.agents.base import AgentCommand, AgentTask, ProcessResult, TranscriptSummary
from scylla_gha.model.agent_manifest import CliModels
from scylla_gha.model.plan import Arm
from scylla_gha.model.scenario import SkillStop
from scylla_gha.model.traffic import ToolWatch, WatchedTraffic
from scylla_gha.model.trial import Outcome, Trajectory
from scylla_gha.model.variant import AgentResources
from scylla_gha.store import write_text

_ADVICE: Final = (
    "git cannot apply the patch; to make one, change the files in the folder that `scylla-gha prepare "
    "SCENARIO` prints, and there run: git add --all && git diff --cached --binary > X.patch"
)
_SCRIPT: Final = 'PATH="$1:$PATH" sh -eux "$0" || exit 3'  # 3 is not an exit code of git apply
_COMMANDS: Final = "commands"  # folder in HOME
_MCP_CALL: Final = """\
#!/bin/sh
folder=$(dirname "$0")
exec python3 -I -S "$folder/mcp_client.py" call "$folder/servers.json" "$@"
"""
_CALL_SECONDS: Final = 60
_GIT_APPLY_ERRORS: Final = (1, 128)  # exit codes for a patch that does not fit, and for a file that is not a patch


class NopAgent:
    """Agent that does nothing and succeeds."""

    package: Final = None
    models: Final = CliModels()
    delivery_sources: Final = ()
    uses_model: Final = False
    digest: Final = None
    circumstances: Final[dict[str, str]] = {}
    api_styles: Final = ()
    instruction_file: Final = None
    skill_listing: Final = None
    skills_folder: Final = None
    prompt_commands: Final = None

    def unsupported(self, arm: Arm, roots: Sequence[Path]) -> tuple[()]:  # noqa: ARG002 the Protocol's signature
        """Return nothing: it gets no treatment."""
        return ()

    @property
    def guarded_tools(self) -> None:
        """None: it calls no tools."""

    def path_aliases(self, workspace: str) -> dict[str, str]:  # noqa: ARG002 the Protocol's signature
        """Return no aliases."""
        return {}

    def version(self, program: str) -> str:  # noqa: ARG002 the Protocol's signature
        """Return the version of the built-in agents; increase it if their behaviour changes."""
        return "1"

    def command(self, task: AgentTask, program: str) -> AgentCommand:  # noqa: ARG002 the Protocol's signature
        """Return a command that does nothing."""
        return AgentCommand(("true",))

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the process; a failure is a fixture error."""
        if ended.finished.timed_out:
            outcome, reason = Outcome.TIMEOUT, f"ended at the limit of {ended.limit_seconds:g} s"
        elif ended.finished.code:
            outcome, reason = Outcome.FIXTURE_ERROR, f"exit code {ended.finished.code}: {ended.complaint()}"
        else:
            outcome, reason = Outcome.COMPLETED, "done"
        return TranscriptSummary(outcome, reason, turns=0)

    def conversation(self, transcript: Path) -> Trajectory:  # noqa: ARG002 the Protocol's signature
        """Return an empty conversation."""
        return Trajectory()

    def stated_usd(self, transcript: Path) -> None:
        """Return None: there is no cost."""

    def declare(self, task: AgentTask, workspace: Path) -> None:
        """Return None: there is no treatment."""

    def stop_rule(self, resources: AgentResources, stop: SkillStop) -> None:
        """Return None: it calls no skills."""

    def observe(self, transcript: Path, request: Path) -> tuple[()]:  # noqa: ARG002 the Protocol's signature
        """Return no observations: there is no request to a model."""
        return ()

    def watch(self, resources: AgentResources) -> ToolWatch:  # noqa: ARG002 the Protocol's signature
        """Return an empty watch: there is no request to a model."""
        return ToolWatch()

    def uses(self, resources: AgentResources, watched: WatchedTraffic, request: Path) -> None:
        """Return None: it calls no tools."""


class Oracle(NopAgent):
    """Agent that applies the reference solution."""

    def command(self, task: AgentTask, program: str) -> AgentCommand:  # noqa: ARG002 the Protocol's signature
        """Return a command that applies the patch, or runs the script in the workspace."""
        if task.patch.suffix == ".sh":
            return AgentCommand(("/bin/sh", "-c", _SCRIPT, str(task.patch), str(_write_commands(task))))
        return AgentCommand(("git", "apply", "--binary", "--whitespace=nowarn", str(task.patch)))

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the process; if git cannot apply the patch, say how to make one."""
        summary = super().read(ended)
        if ended.finished.code in _GIT_APPLY_ERRORS and not ended.finished.timed_out:
            return TranscriptSummary(summary.outcome, f"{summary.reason}; {_ADVICE}", turns=0)
        return summary


def _write_commands(task: AgentTask) -> Path:
    """Write `mcp-call` if the task has MCP servers; return the folder of commands, which may be empty."""
    folder = task.home / _COMMANDS
    folder.mkdir(parents=True)
    if task.resources.mcp_servers:
        for name, source in task.resources.folders.items():
            shutil.copytree(source, folder / name)
        tools = {name: server.tools for name, server in task.resources.mcp_servers.items()}
        servers = [
            {**asdict(server), "tools": tools[name], "seconds": _CALL_SECONDS}
            for name, server in task.started_servers(folder).items()
        ]
        write_text(folder / "servers.json", json.dumps(servers))
        shutil.copyfile(mcp_client.__file__, folder / "mcp_client.py")
        command = folder / "mcp-call"
        write_text(command, _MCP_CALL)
        command.chmod(0o755)
    return folder
