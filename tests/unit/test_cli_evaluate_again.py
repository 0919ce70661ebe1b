"""`evaluate` in a folder that holds something already, or where another command is at work."""

import json
from pathlib import Path

import pytest

from scylla_gha.prepare.start_state import commit_of
from tests.support.command import scylla
from tests.support.processes import wait_for
from tests.support.repository import FIXTURE, SCENARIO, environment, make_repository, write_greet_experiment
from tests.support.scripted_claude import claude_environment, running, say, write_claude_experiment
from tests.unit.test_cli_evaluate import evaluate, rows

NOP, ORACLE = f"{SCENARIO}--nop--r01", f"{SCENARIO}--oracle--r01"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def test_a_changed_fixture_is_refused_though_its_old_start_is_cached(repo: Path) -> None:
    assert evaluate(repo, "greet").code == 0
    run, place = repo / "runs" / "greet", repo / "fixtures" / FIXTURE
    before, pinned = (run / "report.json").read_bytes(), commit_of(place)
    (place / "greet.sh").write_text("exit 1\n")
    words = f"this fixture is commit {commit_of(place)}, but the scenario pins {pinned}; undo the change"
    for command in (("evaluate", "greet", "--yes"), ("evaluate", "greet", "--dry-run"), ("run", "greet", "--yes"),
                    ("plan", "greet"), ("judge", "greet", "--yes"), ("validate", "scenarios/core")):  # fmt: skip
        said = scylla(*command, cwd=repo, env=environment(repo.parent))
        assert (said.code, words in said.err) == (3, True), (command, said.err)
        assert str(place) in said.err
    assert (run / "report.json").read_bytes() == before


def test_two_runs_do_not_work_in_one_folder(repo: Path, tmp_path: Path) -> None:
    wait = f"touch {tmp_path}/there; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    write_claude_experiment(repo)
    env = claude_environment(repo.parent, f"echo 1 >>{repo}/starts; {wait}; {say('ok')}")
    with running("evaluate", "greet", "--yes", cwd=repo, env=env) as first:
        assert wait_for((tmp_path / "there").exists)
        for command in ("evaluate", "run"):
            said = scylla(command, "greet", "--yes", cwd=repo, env=env)
            assert said.code == 6
            assert f"{repo}/runs/greet: process {first.pid} (" in said.err
            assert "evaluate greet --yes) is at work in it" in said.err
        first.kill()
    (tmp_path / "go").touch()
    assert scylla("evaluate", "greet", "--yes", cwd=repo, env=env).code != 6, "the lock went with its process"
    assert (repo / "starts").read_text() == "1\n" * 2


def test_a_part_that_is_run_later_leaves_the_whole_report(repo: Path) -> None:
    assert evaluate(repo, "greet").code == 0
    said = evaluate(repo, "greet", "--only", "*--nop--*", "--fresh")
    assert said.code == 0, said.err
    assert "note: the report keeps 1 further cell of the earlier plan" in said.err
    report = json.loads((repo / "runs/greet/report.json").read_text())
    assert report["counts"] == {"planned": 2, "ran": 2, "judged": 2, "scored": 2}
    assert set(rows(repo)) == {ORACLE, NOP}
    assert json.loads((repo / "runs/greet/plan.json").read_text())["only"] == []


def test_parts_that_are_run_one_after_the_other_become_the_whole(repo: Path) -> None:
    write_greet_experiment(repo, repetitions=2)
    for number, parts in enumerate(("*--nop--r01", "*--oracle--*", "*--nop--r02"), start=1):
        assert evaluate(repo, "greet", "--only", parts).code == 0
        plan = json.loads((repo / "runs/greet/plan.json").read_text())
        assert (len(plan["cells"]), bool(plan["only"])) == ((1, True), (3, True), (4, False))[number - 1]
    assert len(rows(repo)) == 4


def test_cells_of_an_earlier_experiment_do_not_stay(repo: Path) -> None:
    assert evaluate(repo, "greet").code == 0
    write_greet_experiment(repo, limits={"timeout_seconds": 77})
    assert evaluate(repo, "greet", "--only", "*--nop--*").code == 0
    assert set(rows(repo)) == {NOP}, "the other cell has another key by now"
