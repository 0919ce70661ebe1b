"""The file of ProfileRow lines that grows while a run goes on: whole lines, one for each trial, whatever happens."""

import json
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.evaluate.run_experiment import ProfileLog
from tests.support.agents import ShellAgent
from tests.support.command import Said, forked, scylla
from tests.support.in_process_run import make_run_context
from tests.support.processes import number_in
from tests.support.provider import Say, serve
from tests.support.records import make_cell, make_result
from tests.support.repository import SCENARIO, Repository, environment, make_repository, write_greet_experiment
from tests.support.scripted_claude import claude_environment, say, write_claude_experiment
from tests.support.shards import make_shop
from tests.support.trials import SOLVE

FILE = "runs/greet/profile-rows.jsonl"
NOP, ORACLE = f"{SCENARIO}--nop--r01", f"{SCENARIO}--oracle--r01"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def evaluate(repo: Path, *args: str, env: dict[str, str] | None = None) -> Said:
    said = scylla("evaluate", "greet", "--yes", *args, cwd=repo, env=env or environment(repo.parent))
    assert said.code == 0, said.err
    return said


def lines(repo: Path, file: str = FILE) -> dict[str, Any]:
    """The lines by cell; each cell has one, and each ends."""
    text = (repo / file).read_text()
    assert text.endswith("\n")
    profiles = [json.loads(line) for line in text.splitlines()]
    by_cell = {profile["sessionId"]: profile for profile in profiles}
    assert len(by_cell) == len(profiles)
    return by_cell


def test_the_lines_are_those_that_export_writes(repo: Path) -> None:
    evaluate(repo)
    own = (repo / FILE).read_bytes()
    assert {cell: profile["success"] for cell, profile in lines(repo).items()} == {NOP: False, ORACLE: True}
    assert scylla("export", "greet", "--to", "profile", cwd=repo, env=environment(repo.parent)).code == 0
    assert sorted((repo / FILE).read_bytes().splitlines()) == sorted(own.splitlines())


def test_the_same_command_again_adds_nothing(repo: Path) -> None:
    evaluate(repo)
    before, inode = (repo / FILE).read_bytes(), (repo / FILE).stat().st_ino
    evaluate(repo)
    assert ((repo / FILE).read_bytes(), (repo / FILE).stat().st_ino) == (before, inode)


def test_a_part_of_the_experiment_adds_its_lines_to_those_that_are_there(repo: Path) -> None:
    evaluate(repo, "--only", "*nop*")
    assert set(lines(repo)) == {NOP}
    first = (repo / FILE).read_bytes()
    evaluate(repo, "--only", "*oracle*")
    assert (repo / FILE).read_bytes().startswith(first)
    assert set(lines(repo)) == {NOP, ORACLE}


def test_a_trial_that_is_judged_or_run_again_replaces_its_line(repo: Path) -> None:
    evaluate(repo)
    scenario = repo / "scenarios/core" / SCENARIO
    checks = scenario / "scenario.yaml"
    checks.write_text(checks.read_text().replace("hello\n", "hi\n", 1))
    evaluate(repo)
    assert {cell: profile["success"] for cell, profile in lines(repo).items()} == {NOP: False, ORACLE: False}
    started = lines(repo)[NOP]["startedAt"]
    (scenario / "prompt.md").write_text("Let greet.sh say hi.\n")
    evaluate(repo)
    assert lines(repo)[NOP]["startedAt"] > started


def test_a_cell_that_is_no_longer_planned_loses_its_line(repo: Path) -> None:
    evaluate(repo)
    write_greet_experiment(repo, agents=("nop",), baseline="nop")
    evaluate(repo)
    assert set(lines(repo)) == {NOP}


def test_a_line_is_there_while_the_run_goes_on_and_stays_after_a_kill(repo: Path) -> None:
    write_claude_experiment(repo, repetitions=2)
    script = f"if mkdir {repo}/started; then {say('ok')}; else echo $$ >{repo.parent}/pid; exec sleep 600; fi"
    with serve(lambda _: Say("Hi.")) as provider:
        env = claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": provider.url}
        with forked("evaluate", "greet", "--yes", "--jobs", "1", cwd=repo, env=env) as command:
            number_in(repo.parent / "pid")
            first = (repo / FILE).read_bytes()
            assert len(lines(repo)) == 1
            assert command.kill().code == -signal.SIGKILL
    assert (repo / FILE).read_bytes() == first
    (repo / FILE).write_bytes(first + b'{"runId": "greet", "sess')  # as a machine without power leaves it
    evaluate(repo, env=claude_environment(repo.parent, say("ok")))
    assert (repo / FILE).read_bytes().startswith(first)
    assert len(lines(repo)) == 2


def test_each_shard_has_a_file_beside_the_trials(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    shop.plan("--most-shards", "2")
    for shard in shop.packing().shards:
        for attempt in (1, 2):
            assert shop.cell(shard.number, attempt=attempt)[0].code == 0
        profiles = lines(shop.repo, f"runs/greet/profile-rows-{shard.name}.jsonl")
        assert set(profiles) == set(shard.cells)
        assert {path.name for path in (shop.run / "shards" / shard.name).iterdir()} == {
            "manifest.json",
            "results.jsonl",
        }


def limited(kilobytes: int, work: Callable[[], None]) -> None:
    """Run with a limit on the size of files, above which a write is cut short."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * kilobytes, before[1]))
    try:
        work()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_line_for_which_there_is_no_room_leaves_whole_lines(tmp_path: Path) -> None:
    repository = Repository(make_repository(tmp_path / "repo").root)
    context = make_run_context(repository, tmp_path / "runs", {"shell": ShellAgent(SOLVE)})
    path = tmp_path / "profile-rows.jsonl"
    cells = [make_cell(repetition=repetition) for repetition in (1, 2)]
    log = ProfileLog(path, {cell.id for cell in cells})
    log.add(context.settings, make_result(cells[0]))
    before = path.read_bytes()

    def add_second() -> None:
        with pytest.raises(OSError, match=r"profile-rows\.jsonl|File too large"):
            log.add(context.settings, make_result(cells[1], reason="x" * 3000, passed=False))

    limited(len(before) // 1024 + 1, add_second)
    assert path.read_bytes() == before
    log.add(context.settings, make_result(cells[1]))
    assert path.read_bytes().startswith(before)
    assert len(path.read_bytes().splitlines()) == 2
