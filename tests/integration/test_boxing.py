"""Agents and checks of a journey in containers: what is kept of them, and whose fault an end is."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.config.library import ConfigSources, Library, toolkit_root
from scylla_gha.errors import ToolError
from scylla_gha.evaluate.context import RunContext
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.images import SandboxPool, select_sandbox
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Outcome
from scylla_gha.plan.cells import plan_cells
from tests.support.agents import BUILT_IN, ShellAgent
from tests.support.command import NO_ENGINE
from tests.support.in_process_run import InProcessRun, make_run_context, with_settings
from tests.support.records import make_checkpoint, make_experiment
from tests.support.repository import Repository, make_repository

pytestmark = pytest.mark.usefixtures("running_engine")
LITTLE = TrialLimits(file_mb=1, processes=64, memory_mb=128, disk_mb=16, cpus=0.5)
SOLVE = "printf '#!/bin/sh\\necho hello\\n' >greet.sh"
CHECKS = (
    make_checkpoint(id="greets", what="It says hello", run="sh greet.sh", stdout="hello\n"),
    make_checkpoint(id="boxed", what="In a box", run="id -u; pwd; sh $CHECKS/hidden.sh; cat $BASE/greet.sh",
                    stdout="10001\n/home/workspace\nhidden\n#!/bin/sh\necho hi\n", required=False),
    make_checkpoint(id="scope", what="Only the script is changed", changes={"only": ("greet.sh",)}, required=False),
)  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "repo", checkpoints=CHECKS, beside={"checks/hidden.sh": "echo hidden\n"})


def boxed(repository: Repository, runs: Path, script: str, **given: Any) -> RunContext:
    """A journey of one shell agent in containers."""
    made = make_run_context(repository, runs, {"shell": ShellAgent(script)}, sandbox="docker", **given)
    library = Library((repository.root, toolkit_root()))
    known = {"shell": BUILT_IN}
    planned = plan_cells(
        made.settings.plan.experiment, library, known, images=SandboxPool("docker", library).image_digests
    )
    return with_settings(made, plan=planned, sources=ConfigSources(library))


def travelled(journey: RunContext) -> InProcessRun:
    done = InProcessRun(journey)
    run_cells(journey, journey.settings.plan.cells, lambda *told: done.told.append(told))
    return done


def test_agent_and_checks_work_in_containers(repository: Repository, tmp_path: Path) -> None:
    script = f"id -u; pwd; echo $HOME; ls /home; touch /x || echo no; {SOLVE}; echo kept >~/kept"
    (told,) = travelled(boxed(repository, tmp_path / "runs", script)).told
    cell, trial, judgment = told
    assert (trial.sandbox, trial.outcome, trial.last.reason) == ("docker", Outcome.COMPLETED, "done")
    said = (tmp_path / "runs" / cell.id / "attempt-1" / "transcript.jsonl").read_text()
    assert said == "10001\n/home/workspace\n/home/dev\ndev\nsolution\nworkspace\nno\n"
    assert trial.last.diff is not None
    assert trial.last.diff.files == ("greet.sh",)
    assert trial.versions["image"].startswith("sha256:")
    assert judgment is not None
    assert {check.id: check.holds for check in judgment.checks} == {"greets": True, "boxed": True, "scope": True}, [
        check.evidence for check in judgment.checks
    ]


def test_what_is_stored_is_taken_as_it_is(repository: Repository, tmp_path: Path) -> None:
    first = travelled(boxed(repository, tmp_path / "runs", SOLVE)).told
    assert travelled(boxed(repository, tmp_path / "runs", "exit 9")).told == first


@pytest.mark.parametrize(
    ("script", "outcome", "words"),
    [
        pytest.param("echo done >kept; for i in $(seq 100); do sleep 60 & done; exit 3", Outcome.AGENT_ERROR,
                     "it started as many processes as its sandbox allows (limits.processes is 64)", id="processes"),
        pytest.param("echo done >kept; python3 -c 'while True: x = [bytearray(1 << 20) for _ in range(900)]'",
                     Outcome.AGENT_ERROR, "for lack of memory: limits.memory_mb is 128", id="memory"),
        pytest.param("echo done >kept; for i in $(seq 40); do head -c 900000 /dev/zero >~/$i || exit 3; done",
                     Outcome.AGENT_ERROR, "its sandbox (full: /home, where limits.disk_mb is 16)", id="disk"),
        pytest.param("echo done >kept; head -c 3000000 /dev/zero; exit 3", Outcome.BUDGET_EXCEEDED,
                     "it wrote more to its output than one file may hold", id="output"),
    ],
)  # fmt: skip
def test_a_limit_of_the_box_is_the_agents_doing_and_what_was_done_is_kept(
    repository: Repository, tmp_path: Path, script: str, outcome: Outcome, words: str
) -> None:
    (told,) = travelled(boxed(repository, tmp_path / "runs", script, limits=LITTLE)).told
    last = told[1].last
    assert (last.outcome, last.retryable) == (outcome, False)
    assert words in last.reason
    assert last.diff is not None
    assert last.diff.files == ("kept",)


def test_an_engine_that_is_gone_is_not_the_agents_fault_and_is_tried_again(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = boxed(repository, tmp_path / "runs", SOLVE)
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)
    (told,) = travelled(journey).told
    trial = told[1]
    assert [attempt.outcome for attempt in trial.attempts] == [Outcome.SANDBOX_ERROR] * 3
    assert trial.last.retryable
    assert "no container engine answers" in trial.last.reason
    assert told[2] is None


def test_an_agent_with_a_model_is_in_containers_where_an_engine_answers() -> None:
    library = Library((toolkit_root(),))
    agents = [AGENTS["claude-code"]]
    assert select_sandbox(make_experiment(), agents, library) == "docker"
    assert select_sandbox(make_experiment(sandbox="host"), agents, library) == "host"
    assert select_sandbox(make_experiment(), [AGENTS["oracle"]], library) == "host"


def test_checks_are_not_run_in_another_image_than_the_planned_one(repository: Repository, tmp_path: Path) -> None:
    journey = boxed(repository, tmp_path / "runs", SOLVE)
    scenario = journey.settings.plan.cells[0].scenario
    assert journey.judging_context(scenario).target.digest == journey.settings.plan.check_images[scenario]
    other = with_settings(
        journey, plan=journey.settings.plan.model_copy(update={"check_images": {scenario: "sha256:0"}})
    )
    with pytest.raises(ToolError, match=r"101-greet: the image of its checks is sha256:.*, but the plan has sha256:0;"):
        other.judging_context(scenario)
