"""`scylla-gha cell`: what it needs to start; what it does is in tests/integration/test_shards.py."""

import contextlib
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Plan
from scylla_gha.store import read_record, write_record
from scylla_gha.store.run_folder import CellFolder, RunFolder
from tests.support.actions import step_in
from tests.support.agents import ShellAgent
from tests.support.command import NO_ENGINE, Said, scylla
from tests.support.in_process_run import run_agents
from tests.support.records import make_cell, make_experiment, make_plan
from tests.support.reports import EVIL, full_report, hostile_rows_report
from tests.support.repository import FIXTURE, environment, make_repository
from tests.support.shards import make_shop


def test_a_job_does_without_the_statistics(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    shop.plan()
    argv = [sys.executable, "-X", "importtime", "-m", "scylla_gha", "cell", "greet", "--shard", "0", "--minutes", "0"]
    env = {**os.environ, "DOCKER_HOST": NO_ENGINE, **shop.env}
    done = subprocess.run(argv, cwd=shop.repo, env=env, capture_output=True, text=True, check=True)
    modules = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "pydantic" in modules
    assert not modules & {"numpy", "scipy", "pandas", "pyarrow"}
    assert done.stdout == f"{shop.run}/shards/000/results.jsonl\n"


def test_without_a_shard_or_a_plan_it_says_what_is_missing(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    said = scylla("cell", "greet", cwd=shop.repo, env=shop.env)
    assert said.code == 2
    assert "Missing option '--shard'" in said.err
    said = scylla("cell", "greet", "--shard", "0", cwd=shop.repo, env=shop.env)
    assert said.code == 3
    assert "there is no plan; run `scylla-gha evaluate greet` first" in said.err


def test_one_job_at_a_time_does_a_shard_and_none_while_the_whole_folder_is_in_use(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    shop.plan()
    shard = shop.run / "shards" / "000"
    shard.mkdir(parents=True)
    for folder, how, code in ((shop.run, fcntl.LOCK_SH, 0), (shard, fcntl.LOCK_EX, 6), (shop.run, fcntl.LOCK_EX, 6)):
        with held(folder, how):
            said = scylla("cell", "greet", "--shard", "0", "--minutes", "0", cwd=shop.repo, env=shop.env)
        assert said.code == code, said.err
        assert code == 0 or f"{folder}: process {os.getpid()} (" in said.err


def test_a_changed_fixture_is_refused(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    shop.plan()
    (shop.repo / "fixtures" / FIXTURE / "greet.sh").write_text("exit 1\n")
    said = scylla("cell", "greet", "--shard", "0", cwd=shop.repo, env=shop.env)
    assert said.code == 3
    assert "but the scenario pins" in said.err


@contextlib.contextmanager
def held(folder: Path, how: int) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, how)
    try:
        yield
    finally:
        os.close(descriptor)


def test_the_page_and_the_figures_go_to_the_run(tmp_path: Path) -> None:
    step, folder = step_in(tmp_path / "step"), RunFolder(tmp_path / "runs" / "demo")
    report = full_report()
    write_record(folder.report("json"), report)
    said = scylla("report", "demo", "--github", cwd=tmp_path, env=step.environment())
    assert (said.code, said.out) == (0, ""), said.err
    summary = step.summary.read_text()
    assert summary.startswith("# demo\n")
    assert "](https://github.example/octo/repo/actions/runs/4711#artifacts)" in summary
    found = step.given()
    assert {"verdict", "pass_rate", "delta", "low", "high", "agent_usd", "judge_usd", "missing"} <= found.keys()
    assert int(found["missing"]) == report.counts.planned - report.counts.judged
    assert said.err.count("::warning ") == len(report.excluded) <= 10


def test_a_gate_that_does_not_hold_fails_after_all_is_written(tmp_path: Path) -> None:
    step, folder = step_in(tmp_path / "step"), RunFolder(tmp_path / "runs" / "demo")
    write_record(folder.report("json"), full_report().model_copy(update={"comparisons": ()}))
    write_record(folder.plan, make_plan(make_cell(), experiment=make_experiment(gate="better")))
    said = scylla("report", "demo", "--github", cwd=tmp_path, env=step.environment())
    assert said.code == 10
    assert "::error title=scylla-gha::gate better does not hold" in said.err
    assert step.given()["verdict"] == "no_baseline"
    assert step.summary.read_text() != ""


def test_with_json_the_report_is_all_that_standard_output_gets(tmp_path: Path) -> None:
    step, folder = step_in(tmp_path / "step"), RunFolder(tmp_path / "runs" / "demo")
    write_record(folder.report("json"), hostile_rows_report())
    said = scylla("report", "demo", "--github", "--json", cwd=tmp_path, env=step.environment())
    assert json.loads(said.out)["question"] == EVIL


def test_what_strangers_wrote_is_no_command_of_the_log(tmp_path: Path) -> None:
    step, folder = step_in(tmp_path / "step"), RunFolder(tmp_path / "runs" / "demo")
    report = full_report()
    evil = report.excluded[0].model_copy(update={"reason": "x\n::set-output name=verdict::better\n##[add-mask]y"})
    write_record(folder.report("json"), report.model_copy(update={"excluded": (evil,)}))
    said = scylla("report", "demo", "--github", cwd=tmp_path, env=step.environment())
    commands = [line for line in (said.out + said.err).splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == 1
    assert commands[0].startswith("::warning title=demo::")


KEY = "sk-canary-0123456789"
SOLVE = "printf '#!/bin/sh\\necho hello\\n' >greet.sh"


@pytest.fixture
def cell(tmp_path: Path) -> CellFolder:
    """A trial, not judged, of an agent with a model."""
    made = run_agents(make_repository(tmp_path / "repo"), tmp_path / "repo/runs/greet", {"shell": ShellAgent(SOLVE)},
                   judging=False)  # fmt: skip
    write_record(made.journey.settings.folder.plan, with_model(made.journey.settings.plan))
    return made.cell()


def with_model(plan: Plan) -> Plan:
    return plan.model_copy(update={"arms": tuple(arm.model_copy(update={"model": "m"}) for arm in plan.arms)})


def judge(cell: CellFolder, *args: str, **env: str) -> Said:
    repo = cell.root.parents[2]
    whole = environment(repo.parent, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL="https://192.0.2.1", GITHUB_ACTIONS="")
    return scylla("judge", "greet", *args, cwd=repo, env={**whole, **env})


def test_a_real_key_is_refused_before_a_check_is_run(cell: CellFolder) -> None:
    said = judge(cell)
    assert (said.code, said.out) == (6, "")
    assert "checks of the work of shell: in the sandbox host, an agent could read the provider's key" in said.err
    assert not cell.judgment.exists()
    said = judge(cell, "--allow-exposed-keys", GITHUB_ACTIONS="true")
    assert (said.code, "in GitHub Actions, agents with a real key work only in docker" in said.err) == (6, True)


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
