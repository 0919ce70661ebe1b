"""The same command goes on: by keys alone, whatever happened before."""

import json
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Said, forked, scylla
from tests.support.library import write_model
from tests.support.processes import ends, number_in
from tests.support.provider import Say, serve
from tests.support.records import make_checkpoint, make_model
from tests.support.repository import (
    CHECKPOINTS,
    SCENARIO,
    cache,
    environment,
    make_repository,
    write_greet_experiment,
)
from tests.support.scripted_claude import ARM, ask, claude_environment, running, say, tell, write_claude_experiment

NOP, ORACLE = f"{SCENARIO}--nop--r01", f"{SCENARIO}--oracle--r01"
CLAUDE = f"{SCENARIO}--{ARM}--r01"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def evaluate(repo: Path, *args: str, env: dict[str, str] | None = None) -> Said:
    said = scylla("evaluate", "greet", "--yes", *args, cwd=repo, env=env or environment(repo.parent))
    assert "Traceback" not in said.err
    return said


def stamps(run: Path) -> dict[str, tuple[int, int]]:
    """Return inode and time of each file of the run's cells, that is, of all but its report and charts."""
    files = [path for path in run.glob("*--*/**/*") if path.is_file()]
    assert files
    return {str(path.relative_to(run)): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def attempts(repo: Path, cell: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((repo / "runs/greet" / cell / "trial.json").read_text())["attempts"]
    return found


def assert_whole(run: Path) -> None:
    """No file is half-written, and none is left over from writing."""
    for path in run.rglob("*"):
        assert not path.name.endswith(".tmp"), path
        if path.suffix == ".json":
            json.loads(path.read_text())


def test_a_second_run_starts_nothing_and_reports_the_same(repo: Path) -> None:
    first = evaluate(repo, "--json")
    before = stamps(repo / "runs" / "greet")
    second = evaluate(repo, "--json")
    assert second.code == 0
    assert stamps(repo / "runs" / "greet") == before
    assert json.loads(second.out)["arms"] == json.loads(first.out)["arms"]
    assert "reused under the same keys: 2 of 2 trials" in second.err


def test_from_another_folder_of_start_states_the_same_is_taken(repo: Path, tmp_path: Path) -> None:
    evaluate(repo)
    before = stamps(repo / "runs" / "greet")
    evaluate(repo, env=environment(tmp_path, SCYLLA_CACHE=str(tmp_path / "new cache"), SCYLLA_WORK=str(tmp_path / "w")))
    assert stamps(repo / "runs" / "greet") == before


def test_a_changed_prompt_runs_again_and_puts_the_old_records_aside(repo: Path) -> None:
    evaluate(repo)
    keys = {cell["id"]: cell["key"] for cell in json.loads((repo / "runs/greet/plan.json").read_text())["cells"]}
    (repo / "scenarios" / "core" / SCENARIO / "prompt.md").write_text("Let greet.sh say hello.\n")
    assert evaluate(repo).code == 0
    old = repo / "runs" / "greet" / "old"
    assert {path.name for path in old.iterdir()} == {f"{cell}--{key[:8]}" for cell, key in keys.items()}
    for place, prompt in ((old / f"{NOP}--{keys[NOP][:8]}", "Make"), (repo / "runs" / "greet" / NOP, "Let")):
        assert (place / "attempt-1" / "prompt.md").read_text() == f"{prompt} greet.sh say hello.\n"
    assert_whole(repo / "runs")


def test_going_back_to_the_old_prompt_runs_again_and_loses_nothing(repo: Path) -> None:
    prompt = repo / "scenarios" / "core" / SCENARIO / "prompt.md"
    for text in ("Make greet.sh say hello.\n", "Another.\n", "Make greet.sh say hello.\n"):
        prompt.write_text(text)
        assert evaluate(repo, "--only", "*nop*").code == 0
    assert len(list((repo / "runs" / "greet" / "old").iterdir())) == 2


def test_a_changed_check_judges_again_and_runs_no_agent(repo: Path) -> None:
    evaluate(repo)
    before = stamps(repo / "runs" / "greet")
    cells = (NOP, ORACLE)
    first = {cell: json.loads((repo / "runs/greet" / cell / "judgment.json").read_text()) for cell in cells}
    scenario = repo / "scenarios" / "core" / SCENARIO / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("sh greet.sh", "sh ./greet.sh"))
    assert evaluate(repo).code == 0
    after = stamps(repo / "runs" / "greet")
    changed = {name for name in after if after[name] != before.get(name)}
    kept = {cell: f"{cell}/judgments/{first[cell]['key'][:8]}.json" for cell in cells}
    assert changed == {*(f"{cell}/judgment.json" for cell in cells), *kept.values()}
    assert {cell: json.loads((repo / "runs/greet" / kept[cell]).read_text()) for cell in cells} == first


def fresh(repo: Path, answer: str, *args: str, env: dict[str, str] | None = None) -> Said:
    """Run with --fresh, and answer what is asked."""
    with tempfile.TemporaryFile("w+") as stdin:
        stdin.write(answer)
        stdin.seek(0)
        given = env or environment(repo.parent)
        said = scylla("evaluate", "greet", "--fresh", *args, cwd=repo, env=given, stdin=stdin.fileno())
    assert "Traceback" not in said.err
    return said


def test_fresh_asks_first_and_without_a_yes_runs_nothing(repo: Path) -> None:
    evaluate(repo)
    before = stamps(repo / "runs" / "greet")
    for answer in ("n\n", "\n", ""):  # no, just return, nobody there
        said = fresh(repo, answer)
        assert said.code == 6
        assert "--fresh runs 2 stored trials again; they cost $0.00" in said.err
        assert "not confirmed; nothing was run" in said.err
        assert stamps(repo / "runs" / "greet") == before


def test_fresh_asks_nothing_where_nothing_is_stored_and_runs_again_once_confirmed(repo: Path) -> None:
    run = repo / "runs" / "greet"
    assert fresh(repo, "").code == 0
    for count, (answer, args) in enumerate((("y\n", ()), ("", ("--yes",))), start=1):
        before = stamps(run)
        assert fresh(repo, answer, *args).code == 0
        assert stamps(run)[f"{NOP}/trial.json"] != before[f"{NOP}/trial.json"]
        assert len(list((run / "old").iterdir())) == 2 * count


def test_fresh_says_what_was_paid_and_what_is_unknown(repo: Path) -> None:
    write_claude_experiment(repo, repetitions=2)
    write_model(repo, make_model(id="claude-sonnet-5"))  # a million tokens in cost $1
    script = f"{ask('x')} >answer; mkdir {repo}/started || {ask('cut')} >answer 2>&1; {tell('ok')}"
    with serve(
        lambda body: Say("Hi.", usage={"input_tokens": 1_000_000}, output_tokens=None if "cut" in str(body) else 25)
    ) as provider:
        env = claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": provider.url}
        assert evaluate(repo, "--jobs", "1", env=env).code == 0
        said = fresh(repo, "n\n", env=env)
    assert "--fresh runs 2 stored trials again; they cost $1.00, and 1 attempt of unknown cost" in said.err
    assert len(provider.requests) == 3, "one of each trial, and the one that told no count; a no asks nothing more"


SLOW = "echo 1 >work; echo $$ >PID; exec sleep 600"


def claude_that_is_slow(repo: Path) -> dict[str, str]:
    write_claude_experiment(repo)
    return claude_environment(repo.parent, SLOW.replace("PID", f"{repo.parent}/pid"))


def go_on(repo: Path) -> list[dict[str, Any]]:
    """Run the same command with an agent that works, and return the attempts."""
    said = evaluate(repo, env=claude_environment(repo.parent, say("ok")))
    assert said.code == 0, said.err
    assert_whole(repo / "runs")
    return attempts(repo, CLAUDE)


def test_after_a_kill_the_same_command_goes_on_and_keeps_the_attempt(repo: Path) -> None:
    env = claude_that_is_slow(repo)
    with forked("evaluate", "greet", "--yes", cwd=repo, env=env) as command:
        agent = number_in(repo.parent / "pid")
        assert command.kill().code == -signal.SIGKILL
        assert ends(agent)
    assert not (repo / "runs/greet" / CLAUDE / "trial.json").exists()
    killed, second = go_on(repo)
    assert (killed["outcome"], killed["reason"]) == ("cancelled", "the harness was killed during the attempt")
    assert killed["usage"]["usd"] is None
    assert (second["number"], second["outcome"]) == (2, "completed")
    assert list((repo.parent / "work").iterdir()) == [], "what the killed process left is reaped"


def test_ctrl_c_exits_with_130_ends_the_agent_and_keeps_everything(repo: Path) -> None:
    env = claude_that_is_slow(repo)
    with running("evaluate", "greet", "--yes", cwd=repo, env=env) as process:
        agent = number_in(repo.parent / "pid")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "interrupted; finished work is stored; run the same command to resume" in err
    assert "Traceback" not in err
    assert ends(agent)
    assert_whole(repo / "runs")
    assert [attempt["outcome"] for attempt in attempts(repo, CLAUDE)] == ["cancelled"]
    assert "+1\n" in (repo / "runs/greet" / CLAUDE / "attempt-1/diff.patch").read_text()
    report = json.loads((repo / "runs" / "greet" / "report.json").read_text())
    assert [one["outcome"] for one in report["excluded"]] == ["cancelled"]
    assert [attempt["outcome"] for attempt in go_on(repo)] == ["cancelled", "completed"]


def test_ctrl_c_while_judging_keeps_the_trial(tmp_path: Path) -> None:
    wait = f"if [ -e {tmp_path}/slow ]; then echo $$ >{tmp_path}/pid; sleep 600; fi"
    repository = make_repository(tmp_path / "repo", checkpoints=(*CHECKPOINTS, make_checkpoint(id="slow", run=wait)))
    (tmp_path / "slow").touch()
    only = ("evaluate", "greet", "--only", "*oracle*")
    with running(*only, cwd=repository.root, env=environment(tmp_path)) as process:
        check = number_in(tmp_path / "pid")
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert ends(check)
    place = repository.root / "runs/greet" / ORACLE
    assert json.loads((place / "trial.json").read_text())["attempts"][0]["outcome"] == "completed"
    assert not (place / "judgment.json").exists()
    before = stamps(repository.root / "runs/greet")[f"{ORACLE}/trial.json"]
    (tmp_path / "slow").unlink()
    assert scylla(*only, cwd=repository.root, env=environment(tmp_path)).code == 0
    assert stamps(repository.root / "runs/greet")[f"{ORACLE}/trial.json"] == before


def test_a_record_that_is_broken_is_named_and_nothing_is_overwritten(repo: Path) -> None:
    evaluate(repo)
    trial = repo / "runs" / "greet" / NOP / "trial.json"
    trial.write_text(trial.read_text()[:100])
    said = evaluate(repo)
    assert said.code == 3
    assert f"{trial}: not a Trial of this version: the file: " in said.err
    assert "move the file away to go on" in said.err
    assert len(trial.read_text()) == 100
    trial.unlink()
    assert evaluate(repo).code == 0


def test_what_a_killed_writer_left_does_no_harm(repo: Path) -> None:
    evaluate(repo)
    left = repo / "runs" / "greet" / NOP / ".trial.json.1.tmp"
    left.write_text('{"half')
    assert evaluate(repo).code == 0


def test_two_runs_at_once_share_a_new_cache(repo: Path, tmp_path: Path) -> None:
    env = environment(tmp_path, SCYLLA_CACHE=str(tmp_path / "cache"))
    assert env["SCYLLA_CACHE"] != str(cache())
    with (
        forked("evaluate", "greet", "--runs", "a", cwd=repo, env=env) as one,
        forked("evaluate", "greet", "--runs", "b", cwd=repo, env=env) as other,
    ):
        said = one.wait(), other.wait()
    assert [each.code for each in said] == [0, 0], said


def grow_old(repo: Path) -> None:
    """The trial of one arm, as if it had been run years ago."""
    stored = repo / "runs/greet" / NOP / "trial.json"
    stored.write_text(stored.read_text().replace(attempts(repo, NOP)[0]["started_at"], "2020-01-02T03:04:05Z"))


def test_a_trial_beyond_the_maximum_age_is_run_again_beside_the_others(repo: Path) -> None:
    write_greet_experiment(repo, max_age_days=30)
    evaluate(repo)
    grow_old(repo)
    said = scylla("collect", "greet", cwd=repo, env=environment(repo.parent))
    assert said.code == 0, said.err
    results = repo / "runs/greet/results.jsonl"
    assert [json.loads(line)["cell"] for line in results.read_text().splitlines()] == [ORACLE], "it counts as not there"
    again = evaluate(repo)
    assert again.code == 0
    assert "reused under the same keys: 1 of 2 trials" in again.err
    assert not attempts(repo, NOP)[0]["started_at"].startswith("2020")
    (aside,) = (repo / "runs/greet/old").iterdir()
    assert aside.name.startswith(f"{NOP}--")
    assert "2020-01-02" in (aside / "trial.json").read_text()
    assert "2020-01-02" not in results.read_text()


def test_a_gate_that_nothing_can_pass_is_refused_before_anything_runs(repo: Path) -> None:
    write_greet_experiment(repo, gate="better")
    for command in ("plan", "evaluate", "run"):
        said = scylla(command, "greet", cwd=repo, env=environment(repo.parent))
        assert said.code == 6
        assert "gate better: " in said.err
        assert "a verdict needs at least 6 scenarios (the experiment has 1)" in said.err
    assert not (repo / "runs").exists()
    part = evaluate(repo, "--only", "*--nop--*")
    assert part.code == 0, "a part of an experiment is not held against its gate"
