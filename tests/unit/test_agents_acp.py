"""The client of the Agent Client Protocol, against an agent that is made with the protocol's own library."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import acp_client
from scylla_gha.agents.base import AgentTask, ModelAccess, ProcessResult
from scylla_gha.agents.manifest import ManifestAgent
from scylla_gha.model.agent_manifest import AgentManifest
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Outcome
from scylla_gha.system.process import FinishedProcess
from tests.support import acp_agent

MANIFEST = AgentManifest.model_validate_json(
    json.dumps(
        {
            "name": "acme",
            "protocol": "acp",
            "package": {"npm": "@acme/cli", "program": "acme", "oldest": "1.0.0"},
            "api_styles": {"openai-chat": {"env": {"ACME_URL": "{gateway}/v1"}}},
            "start": {"flags": ["acp"]},
        }
    )
)
SERVERS = {"clock": {"command": "/bin/clock", "args": ["-v"], "env": {"A": "b"}}}


class Ended:
    """A session of the client: its lines, exit code, standard error, and what the manifest's rules make of it."""

    def __init__(self, folder: Path, prompt: str, *flags: str, argv: tuple[str, ...] = ()) -> None:
        session = folder / "session.json"
        session.write_text(json.dumps({"cwd": str(folder), "mcpServers": SERVERS}))
        agent = argv or (sys.executable, "-P", acp_agent.__file__, *flags)
        command = [sys.executable, "-I", "-S", acp_client.__file__, str(session), *agent]
        made = subprocess.run(command, input=prompt, capture_output=True, text=True, check=False, timeout=60)
        self.lines = [json.loads(line) for line in made.stdout.splitlines()]
        self.code, self.stderr = made.returncode, made.stderr
        transcript, stderr = folder / "transcript.jsonl", folder / "stderr.txt"
        transcript.write_text(made.stdout)
        stderr.write_text(made.stderr)
        finished = FinishedProcess(code=made.returncode, seconds=1.0)
        self.summary = ManifestAgent(MANIFEST).read(ProcessResult(finished, 10.0, transcript, stderr))

    @property
    def text(self) -> str | None:
        return self.summary.trajectory.final_message


def test_a_session_is_lines_of_json_and_ends(tmp_path: Path) -> None:
    ended = Ended(tmp_path, "say")
    assert (ended.code, ended.lines[-1]) == (0, {"type": "end", "stopReason": "end_turn"})
    assert (ended.summary.outcome, ended.text) == (Outcome.COMPLETED, "Hello.")


def test_permissions_are_given_for_as_long_as_possible(tmp_path: Path) -> None:
    assert json.loads(Ended(tmp_path, "permission").text or "") == {"outcome": "selected", "optionId": "always"}


def test_the_agent_gets_the_folder_and_the_servers(tmp_path: Path) -> None:
    told = json.loads(Ended(tmp_path, "servers").text or "")
    clock = {"name": "clock", "command": "/bin/clock", "args": ["-v"], "env": [{"name": "A", "value": "b"}]}
    assert told == {"cwd": str(tmp_path), "servers": [clock]}


def test_the_client_has_no_files_for_the_agent(tmp_path: Path) -> None:
    assert Ended(tmp_path, "unknown").text == "refused with -32601"


def test_lines_that_are_no_messages_go_to_standard_error(tmp_path: Path) -> None:
    ended = Ended(tmp_path, "noise")
    assert (ended.text, ended.stderr) == ("Hello.", "Loading...\n[1]\n")


@pytest.mark.parametrize(
    ("prompt", "flags", "outcome", "reason"),
    [
        ("refuse", (), Outcome.REFUSED, ""),
        ("turns", (), Outcome.BUDGET_EXCEEDED, ""),
        ("fail", (), Outcome.AGENT_ERROR, 'session/prompt: the model is not there: {"model": "m"}'),
        ("die", (), Outcome.AGENT_ERROR, "the agent ended with exit code 7 before it answered session/prompt"),
        ("say", ("--new",), Outcome.AGENT_ERROR, "the agent speaks version 99 of the protocol, not 1"),
    ],
)
def test_another_end_is_no_success(
    tmp_path: Path, prompt: str, flags: tuple[str, ...], outcome: Outcome, reason: str
) -> None:
    ended = Ended(tmp_path, prompt, *flags)
    assert (ended.code, ended.summary.outcome) == (1, outcome), ended.lines
    assert reason in ended.summary.reason


def test_an_agent_that_does_not_start_or_ends_at_once_is_an_error(tmp_path: Path) -> None:
    assert "No such file" in Ended(tmp_path, "say", argv=("/nowhere/agent",)).summary.reason
    assert "ended with exit code 0" in Ended(tmp_path, "say", argv=("true",)).summary.reason


def test_the_command_starts_the_client_and_provides_the_agents_program(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "acme"
    (tmp_path / "package").mkdir()
    program.parent.mkdir()
    (tmp_path / "package" / "acme").write_text("#!/bin/sh\n")
    program.symlink_to("../package/acme")
    access = ModelAccess("http://127.0.0.1:1", "token", "openai-chat")
    task = AgentTask(prompt="Do it.", home=tmp_path, patch=tmp_path, limits=TrialLimits(), access=access)
    command = ManifestAgent(MANIFEST).command(task, str(program))
    client, session = command.argv[3:5]
    assert command.argv[:3] == ("python3", "-I", "-S")
    assert command.argv[5:] == (str(tmp_path / "package" / "acme"), "acp")
    assert command.program == str(program)
    assert Path(client).read_text() == Path(acp_client.__file__).read_text()
    written: dict[str, Any] = json.loads(Path(session).read_text())
    assert written == {"cwd": "."}
