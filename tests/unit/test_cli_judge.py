"""Checks execute what agents wrote: no real key is beside them. All else is in tests/integration/test_judge_again.py"""

from pathlib import Path

import pytest

from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Plan
from scylla_gha.store.records import read_record, write_record
from scylla_gha.store.run_folder import CellFolder
from tests.support.agents import ShellAgent
from tests.support.command import Said, scylla
from tests.support.in_process_run import run_agents
from tests.support.repository import environment, make_repository

KEY = "sk-canary-0123456789"
SOLVE = "printf '#!/bin/sh\\necho hello\\n' >greet.sh"


@pytest.fixture
def cell(tmp_path: Path) -> CellFolder:
    """A trial, not judged, of an agent with a model."""
    made = run_agents(make_repository(tmp_path / "repo"), tmp_path / "repo/runs/greet", {"shell": ShellAgent(SOLVE)},
                   judging=False)  # fmt: skip
    write_record(made.journey.folder.plan, with_model(made.journey.plan))
    return made.cell()


def with_model(plan: Plan) -> Plan:
    return plan.model_copy(update={"arms": tuple(arm.model_copy(update={"model": "m"}) for arm in plan.arms)})


def judge(cell: CellFolder, *args: str, **env: str) -> Said:
    repo = cell.root.parents[2]
    whole = environment(repo.parent, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL="http://192.0.2.1", GITHUB_ACTIONS="")
    return scylla("judge", "greet", *args, cwd=repo, env={**whole, **env})


def test_a_real_key_is_refused_before_a_check_is_run(cell: CellFolder) -> None:
    said = judge(cell)
    assert (said.code, said.out) == (6, "")
    assert "checks of what shell wrote: in the sandbox host, an agent could read the provider's key" in said.err
    assert not cell.judgment.exists()
    said = judge(cell, "--allow-exposed-keys", GITHUB_ACTIONS="true")
    assert (said.code, "in GitHub Actions, agents with a real key work in Docker only" in said.err) == (6, True)


@pytest.mark.parametrize(
    ("args", "env"),
    [
        pytest.param(("--allow-exposed-keys",), {}, id="where it is allowed"),
        pytest.param((), {"ANTHROPIC_API_KEY": ""}, id="without a key"),
        pytest.param((), {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, id="with a key of nobody"),
    ],
)
def test_it_is_judged_otherwise(cell: CellFolder, args: tuple[str, ...], env: dict[str, str]) -> None:
    said = judge(cell, *args, **env)
    assert said.code == 0, said.err
    assert ("keys are exposed in the sandbox host" in said.err) == bool(args)
    made = read_record(cell.judgment, Judgment)
    assert made is not None
    assert made.result is not None
    assert made.result.passed
    again = judge(cell)
    assert again.code == 0, "with nothing left to run, there is nothing to refuse"


def test_what_built_in_agents_wrote_is_no_strangers(cell: CellFolder) -> None:
    plan = read_record(cell.root.parent / "plan.json", Plan)
    assert plan is not None
    own = plan.model_copy(update={"arms": tuple(arm.model_copy(update={"model": None}) for arm in plan.arms)})
    write_record(cell.root.parent / "plan.json", own)
    assert judge(cell, GITHUB_ACTIONS="true").code == 0
