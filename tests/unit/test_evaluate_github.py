"""Trials of a scenario with GitHub state: their files, their rows, and a hub that dies."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from scylla_gha.agents import InstalledAgent
from scylla_gha.agents.base import AgentCommand, AgentTask
from scylla_gha.attempt.github import open_github
from scylla_gha.attempt.workflow_steps import WorkflowBox
from scylla_gha.collect import rows
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.evaluate.context import RunContext, RunServices, RunSettings
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.hub.client import HubProcess
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from scylla_gha.model.variant import AgentResources, McpServer
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.selection import CellSelection
from scylla_gha.redaction import Redactor
from scylla_gha.sandboxes.base import SandboxTarget, socket_folder
from scylla_gha.sandboxes.host import HostSandbox
from scylla_gha.store.run_folder import AttemptFolder, RunFolder
from tests.support.agents import BUILT_IN, ShellAgent
from tests.support.git_bombs import COMMIT, SHELL
from tests.support.hub_clients import McpSession
from tests.support.hub_scenario import ID, SOLUTION, write_hub_scenario
from tests.support.hub_server import BIN
from tests.support.library import write
from tests.support.records import make_experiment


@pytest.fixture(scope="module")
def hub() -> Iterator[HubProcess]:
    with HubProcess.start() as process:
        yield process


class HubKiller(ShellAgent):
    """Its script finds the number of the hub's process in `$HUB`."""

    hub: ClassVar[HubProcess]

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        command = super().command(task, program)
        return replace(command, env={**command.env, "HUB": str(self.hub.pid)})


def context_of(root: Path, hub: HubProcess, script: str, rubric: str | None = None) -> RunContext:
    """A run of the scenario by an agent with a script, perhaps with another rubric."""
    folder = write_hub_scenario(root)
    if rubric is not None:
        write(folder / "rubric.yaml", rubric)
    HubKiller.hub = hub
    library, agent = Library.here(root), HubKiller(f"set -eu\n{script}")
    experiment = make_experiment(
        id="fix", scenarios=(ID,), agents=("sh",), baseline="sh", retry={"attempts": 3, "backoff_seconds": 0.0}
    )
    plan = plan_cells(experiment, library, {"sh": BUILT_IN}, CellSelection())
    installed = {"sh": InstalledAgent(agent, "", "1")}
    return RunContext(
        RunSettings(plan, RunFolder(root / "runs"), ConfigSources(library), installed), RunServices(hub=hub)
    )


def row_of(context: RunContext) -> Result:
    run_cells(context, context.settings.plan.cells, lambda *_: None)
    (row,) = rows(context.settings.plan, context.settings.folder, context.settings.library)
    return row


def test_a_trial_leaves_its_github_and_is_judged_by_it(tmp_path: Path, hub: HubProcess) -> None:
    context = context_of(tmp_path, hub, SOLUTION)
    row = row_of(context)
    assert (row.outcome, row.passed, row.score) == (Outcome.COMPLETED, True, 1.0)
    assert (row.github, row.github_gaps) == ("hub", 0)
    assert (row.github_requests or 0) > 3
    assert (row.github_writes or 0) >= 3
    assert row.github_calls["git.write"] == row.github_calls["pr.write"] == row.github_calls["issue.write"] == 1
    assert row.github_failed == 0
    assert row.checkpoints == row.checkpoints_passed == 5
    folder = context.settings.folder.cell(row.cell).attempt(1)
    names = {"github.json", "github.bundle", "github-requests.jsonl"}
    assert names <= {path.name for path in folder.root.iterdir()}
    trial = context.settings.stored_trial(context.settings.plan.cells[0])
    assert trial is not None
    assert names <= trial.last.files.keys()
    assert folder.file("prompt.md").read_text() == "Fix #2 of octo-org/demo.\n"


def test_a_gap_is_counted_and_no_work_on_github_is_no_change(tmp_path: Path, hub: HubProcess) -> None:
    row = row_of(context_of(tmp_path, hub, "gh api repos/octo-org/demo/pages || true; gh api user"))
    assert (row.github_requests, row.github_gaps, row.github_writes) == (2, 1, 0)
    assert (row.passed, row.failure) == (False, "changed nothing")


def test_a_hub_that_dies_in_the_middle_is_no_failure_of_the_agent(tmp_path: Path, hub: HubProcess) -> None:
    dies = f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; kill -9 $HUB; sleep 0.2; }}\n"
    row = row_of(context_of(tmp_path, hub, dies + SOLUTION))
    assert (row.outcome, row.passed, row.attempts) == (Outcome.COMPLETED, True, 2)
    assert row.excused_attempts == {"sandbox_error": 1}
    assert "the state of this cell's GitHub" in (row.excuse or "")


def test_githubs_mcp_server_alone_is_led_to_the_trials_github(tmp_path: Path, hub: HubProcess) -> None:
    prepared = context_of(tmp_path, hub, "true").prepared_scenario(ID)
    token = {"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}
    servers = {"github": McpServer(description="G", command="g", env=token),
               "time": McpServer(description="T", command="t")}  # fmt: skip
    with socket_folder() as sockets:
        box = WorkflowBox(SandboxTarget(HostSandbox()), prepared.path)
        github = open_github(hub, prepared, sockets, AttemptFolder(tmp_path / "attempt-1"), HostSandbox(), box)
        assert github is not None
        equipped = github.with_servers(AgentResources(mcp_servers=servers)).mcp_servers
        with subprocess.Popen([BIN / "github-mcp-server", "stdio"], env=equipped["github"].env, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # fmt: skip
            session = McpSession(process)
            session.start()
            assert session.tool("get_issue", issue_number=2)["title"] == "add subtracts"
            process.kill()
        hub.detach(github.attached)
    assert equipped["time"] == servers["time"]


def test_a_request_that_ends_the_hub_again_and_again_is_the_agents_failure(tmp_path: Path, hub: HubProcess) -> None:
    # What a request that kills the process leaves: the mark, and no process.
    logs = tmp_path / "runs" / "*" / "attempt-*" / "github-requests.jsonl"
    marks = f"for log in {logs}; do touch ${{log%.jsonl}}.answering; done"
    row = row_of(context_of(tmp_path, hub, f"{marks}; kill -9 $HUB; sleep 0.2"))
    assert (row.outcome, row.passed, row.attempts) == (Outcome.AGENT_ERROR, False, 2)
    assert row.reason.startswith("twice in a row, GitHub's process died while it answered a request of this trial")


def test_a_push_of_many_bytes_is_searched_for_secrets_and_judged(tmp_path: Path, hub: HubProcess) -> None:
    large = "head -c 17000000 /dev/urandom > large\ngit add large\n"
    row = row_of(context_of(tmp_path, hub, SOLUTION.replace("git commit", f"{large}git commit")))
    assert (row.outcome, row.attempts, row.passed) == (Outcome.COMPLETED, 1, False)
    assert row.checkpoints_passed == 4


def test_a_push_that_cannot_be_searched_for_secrets_is_the_agents_failure(tmp_path: Path, hub: HubProcess) -> None:
    grow = ("for at in 1 2 3 4 5 6 7 8 9; do (echo $at; head -c 31000000 /dev/zero) > zeros-$at; git add zeros-$at\n"
            "git commit --quiet -m $at; git push --quiet origin fix; done\n")  # fmt: skip
    row = row_of(context_of(tmp_path, hub, f"{SOLUTION}{grow}"))
    assert (row.outcome, row.attempts, row.passed) == (Outcome.AGENT_ERROR, 1, False)
    assert row.reason.startswith("pushed 279")


def test_a_github_that_cannot_be_stored_is_the_agents_failure(tmp_path: Path, hub: HubProcess) -> None:
    row = row_of(context_of(tmp_path, hub, f"for at in {tmp_path}/runs/*/attempt-1; do mkdir $at/github.json; done"))
    assert (row.outcome, row.attempts, row.passed) == (Outcome.AGENT_ERROR, 1, False)
    assert row.reason.startswith("left GitHub in a state that cannot be stored: ")


@pytest.mark.parametrize(
    "tree", [SHELL, "tree=$(printf '100644 blob %s\\t%0300d\\n' $(git hash-object -w app.py) 7 | git mktree)\n"]
)
def test_a_branch_that_cannot_be_checked_out_fails_its_checks(tmp_path: Path, hub: HubProcess, tree: str) -> None:
    push = f"commit=$({COMMIT} -p HEAD $tree)\ngit push --quiet --force origin $commit:refs/heads/fix\n"
    context = context_of(tmp_path, hub, f"{tree}{push}")
    row = row_of(context)
    assert (row.outcome, row.passed) == (Outcome.COMPLETED, False)
    judgment = context.settings.folder.cell(row.cell).root / "judgment.json"
    assert "it cannot be checked out" in judgment.read_text()


def test_commits_with_a_secret_are_not_stored(tmp_path: Path, hub: HubProcess) -> None:
    context = context_of(tmp_path, hub, SOLUTION.replace("print(1 + 1)", "print(1 + 1)  # sesame-open-4711"))
    services = replace(context.services, redactor=Redactor(("sesame-open-4711",)))
    context = replace(context, services=services)
    row = row_of(context)
    assert (row.outcome, row.passed) == (Outcome.AGENT_ERROR, False)
    assert row.reason.startswith("pushed text to GitHub that looks like a secret")
    folder = context.settings.folder.cell(row.cell).attempt(1)
    assert not folder.file("github.bundle").exists()
    assert folder.file("github.json").exists()
