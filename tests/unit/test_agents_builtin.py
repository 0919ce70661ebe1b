from pathlib import Path

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import Agent, AgentTask, ProcessResult
from scylla_gha.agents.builtin import Oracle
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Outcome
from scylla_gha.system.process import FinishedProcess

WELL = FinishedProcess(0, 1.0)


@pytest.fixture(params=["oracle", "nop"])
def agent(request: pytest.FixtureRequest) -> Agent:
    return AGENTS[request.param]


def ended(folder: Path, stderr: str = "", stdout: str = "", how: FinishedProcess = WELL) -> ProcessResult:
    (folder / "out").write_text(stdout)
    (folder / "err").write_text(stderr)
    return ProcessResult(how, 5.0, folder / "out", folder / "err")


def test_a_built_in_agent_needs_nothing_and_costs_nothing(agent: Agent, tmp_path: Path) -> None:
    assert (agent.package, agent.version("anything")) == (None, "1")
    reading = agent.read(ended(tmp_path))
    assert (reading.outcome, reading.turns) == (Outcome.COMPLETED, 0)


@pytest.mark.parametrize(
    ("how", "said", "outcome", "reason"),
    [
        (FinishedProcess(1, 1.0), "patch does not apply\n", "fixture_error", "exit code 1: patch does not apply"),
        (FinishedProcess(127, 1.0), "", "fixture_error", "exit code 127: it printed nothing"),
        (FinishedProcess(-15, 1.0, timed_out=True), "", "timeout", "ended at the limit of 5 s"),
    ],
)
def test_where_a_built_in_agent_fails_the_scenario_is_at_fault(
    agent: Agent, tmp_path: Path, how: FinishedProcess, said: str, outcome: str, reason: str
) -> None:
    reading = agent.read(ended(tmp_path, said, how=how))
    told, _, hint = reading.reason.partition("; git cannot apply the patch; to make one, ")
    assert (reading.outcome.value, told, reading.retryable) == (outcome, reason, False)
    assert bool(hint) == ("patch does not apply" in told and isinstance(agent, Oracle))


def test_oracle_applies_the_patch_and_nop_does_nothing(tmp_path: Path) -> None:
    task = AgentTask(prompt="Do it.", home=tmp_path, patch=tmp_path / "a b.patch", limits=TrialLimits())
    oracle = AGENTS["oracle"].command(task, "")
    assert oracle.argv == ("git", "apply", "--binary", "--whitespace=nowarn", f"{tmp_path}/a b.patch")
    assert AGENTS["nop"].command(task, "").argv == ("true",)
    assert (oracle.env, oracle.secrets) == ({}, ())


@pytest.mark.parametrize(
    ("stderr", "stdout", "length", "complaint"),
    [
        ("first\nlast\n", "out", 300, "first\nlast"),
        ("  \n", "out\n", 300, "out"),
        ("x" * 500, "", 300, "x" * 300),
        ("a long one", "", 3, "one"),
        ("", "", 300, "it printed nothing"),
    ],
)
def test_a_complaint_is_the_end_of_what_was_said(
    tmp_path: Path, stderr: str, stdout: str, length: int, complaint: str
) -> None:
    assert ended(tmp_path, stderr, stdout).complaint(length) == complaint
