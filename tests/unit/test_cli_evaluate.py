"""`evaluate` in a folder that holds something already, or where another command is at work."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.scenario import FixtureSource
from scylla_gha.prepare.start_state import commit_of
from tests.support.command import Said, scylla
from tests.support.processes import wait_for
from tests.support.provider import Fail, Say, serve
from tests.support.repository import FIXTURE, SCENARIO, environment, make_repository, write_greet_experiment, write_tree
from tests.support.rows import TIMES
from tests.support.scripted_claude import (
    ARM,
    CANARY,
    ask,
    claude_environment,
    running,
    say,
    tell,
    write_claude_experiment,
)

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
NOP, ORACLE = f"{SCENARIO}--nop--r01", f"{SCENARIO}--oracle--r01"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def evaluate(repo: Path, *args: str, env: dict[str, str] | None = None) -> Said:
    said = scylla("evaluate", "--yes", *args, cwd=repo, env=env or environment(repo.parent))
    assert "Traceback" not in said.err
    return said


def rows(repo: Path, run: str = "greet") -> dict[str, dict[str, Any]]:
    lines = (repo / "runs" / run / "results.jsonl").read_text().splitlines()
    return {row["cell"]: row for row in map(json.loads, lines)}


def without_time(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in TIMES} for row in found.values()]


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_the_whole_journey_leaves_its_records(repo: Path) -> None:
    said = evaluate(repo, "greet")
    assert said.code == 0, said.err
    assert {cell: (row["passed"], row["score"]) for cell, row in rows(repo).items()} == {
        ORACLE: (True, 1.0),
        NOP: (False, 0.0),
    }
    attempt = {"attempt.json", "prompt.md", "transcript.jsonl", "stderr.txt"}
    cell = {"cell.json", "trial.json", "judgment.json", *(f"attempt-1/{name}" for name in attempt)}
    written = files(repo / "runs" / "greet")
    assert "charts/forest.svg" in written
    assert {name for name in written if not name.startswith("charts/")} == {
        "plan.json", "results.jsonl", "profile-rows.jsonl", "report.json", "report.md", "report.html", "glossary.md",
        *(f"{NOP}/{name}" for name in cell), *(f"{ORACLE}/{name}" for name in cell), f"{ORACLE}/attempt-1/diff.patch",
    }  # fmt: skip
    assert "oracle" in said.out
    assert "2/2 cells, 1 passed, $0.00" in said.err
    assert f"report: {repo}/runs/greet/report.md\n" in said.err
    assert said.err.endswith(f"page: {repo}/runs/greet/report.html\n")


def test_json_is_all_that_standard_output_gets(repo: Path) -> None:
    said = evaluate(repo, "greet", "--json")
    report = json.loads(said.out)
    assert said.out.count("\n") == 1
    assert report["counts"] == {"planned": 2, "ran": 2, "judged": 2, "scored": 2}
    assert json.loads((repo / "runs" / "greet" / "report.json").read_text()) == report


@pytest.mark.parametrize(
    ("args", "cells"),
    [
        ([], [NOP, ORACLE]),
        (["--only", "*--oracle--*"], [ORACLE]),
        (["--only", "*nop*", "--only", "*oracle*"], [NOP, ORACLE]),
        (["--repetitions", "2", "--only", "*--nop--*"], [NOP, NOP.replace("r01", "r02")]),
    ],
)
def test_a_dry_run_names_the_cells_and_writes_nothing(repo: Path, args: list[str], cells: list[str]) -> None:
    before = files(repo.parent)
    said = evaluate(repo, "greet", "--dry-run", *args)
    assert said.code == 0
    assert sorted(said.out.split()) == cells
    assert "estimate: $0.00" in said.err
    assert files(repo.parent) == before
    assert sorted(path.name for path in repo.iterdir()) == ["config", "fixtures", "scenarios"]


def test_a_dry_run_starts_no_agent_and_needs_no_key(repo: Path) -> None:
    write_claude_experiment(repo)
    said = evaluate(repo, "greet", "--dry-run", env=environment(repo.parent, PATH="/nowhere", ANTHROPIC_API_KEY=""))
    assert (said.code, said.out) == (0, f"{SCENARIO}--{ARM}--r01\n")


def test_a_part_is_chosen_by_globs(repo: Path) -> None:
    assert evaluate(repo, "greet", "--only", "*--nop--*").code == 0
    assert set(rows(repo)) == {NOP}


def test_an_experiment_may_be_a_file_anywhere(repo: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere.yaml"
    write_greet_experiment(repo, question="From a file?").rename(place)
    said = evaluate(repo, str(place), "--json")
    assert (said.code, json.loads(said.out)["question"]) == (0, "From a file?")
    assert (repo / "runs" / "elsewhere" / "report.md").exists()


def test_the_users_own_folders_go_before_the_toolkits(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo").root
    hello = repo / "scenarios" / "mine" / "001-hello-world"
    (repo / "scenarios" / "core" / SCENARIO).rename(hello.parent.with_name("moved"))
    hello.parent.mkdir()
    (repo / "scenarios" / "moved").rename(hello)
    (hello / "scenario.yaml").write_text((hello / "scenario.yaml").read_text().replace(SCENARIO, "001-hello-world"))
    write_greet_experiment(repo, id="quickstart", question="Mine?", scenarios=("001-hello-world",))
    said = evaluate(repo, "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["question"] == "Mine?"
    prompt = repo / "runs/quickstart/001-hello-world--oracle--r01/attempt-1/prompt.md"
    assert prompt.read_text() == "Make greet.sh say hello.\n"


def test_the_toolkits_own_are_there_for_a_folder_without_any(tmp_path: Path) -> None:
    said = evaluate(tmp_path, "--only", "001-hello-world--oracle--*", "--dry-run", env=environment(tmp_path))
    assert (said.code, said.out) == (0, "001-hello-world--oracle--r01\n")


def test_a_fixture_fault_is_excluded_counted_and_exit_code_8(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", source=FixtureSource(repo=f"file://{tmp_path}/gone", hash="1" * 40)).root
    said = evaluate(repo, "greet", "--json")
    report = json.loads(said.out)
    assert said.code == 8
    assert report["counts"] == {"planned": 2, "ran": 2, "judged": 0, "scored": 0}
    assert {one["outcome"] for one in report["excluded"]} == {"fixture_error"}
    assert "no judged trial in 2 of 2 cells" in said.err
    assert {row["passed"] for row in rows(repo).values()} == {None}


def test_a_solution_that_does_not_apply_is_a_fixture_fault_of_oracle_only(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo", beside={"solution/solution.patch": "diff --git a/x b/x\n"}).root
    assert evaluate(repo, "greet").code == 8
    assert {cell: row["outcome"] for cell, row in rows(repo).items()} == {ORACLE: "fixture_error", NOP: "completed"}


def test_a_provider_that_refuses_stops_the_arm_and_says_why(repo: Path) -> None:
    write_claude_experiment(repo, repetitions=3)
    script = f"echo 1 >>{repo}/starts; {ask('Hello?')} >/dev/null 2>&1; {say('401')}"
    with serve(lambda _: Fail(401)) as provider:
        env = claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": provider.url}
        said = evaluate(repo, "greet", "--jobs", "1", env=env)
    assert said.code == 8
    assert f"{provider.url} rejects the value of ANTHROPIC_API_KEY (401 scripted_error)" in said.err
    assert (repo / "starts").read_text() == "1\n"
    assert json.loads((repo / "runs/greet/report.json").read_text())["counts"]["planned"] == 3


def test_the_key_is_in_no_file_and_in_no_environment_of_the_agent(repo: Path) -> None:
    write_claude_experiment(repo)
    script = f'{tell("ok")}; env >environment; echo "$ANTHROPIC_API_KEY" | tee leaked >&2; {ask("Hello?")}'
    with serve(lambda _: Fail(401, message=f"your key {CANARY} is")) as provider:
        env = claude_environment(repo.parent, f"{script}; true") | {"ANTHROPIC_BASE_URL": provider.url}
        said = evaluate(repo, "greet", env=env)
    assert said.code == 0, said.err
    assert provider.keys == [CANARY]
    kept = b"".join(path.read_bytes() for path in (repo / "runs").rglob("*") if path.is_file())
    assert b"+ANTHROPIC_API_KEY=[redacted]" in kept
    assert CANARY.encode() not in kept
    assert CANARY not in said.out + said.err


def test_without_a_key_nothing_is_started(repo: Path) -> None:
    write_claude_experiment(repo)
    env = claude_environment(repo.parent, f"echo 1 >>{repo}/starts") | dict.fromkeys(KEYS, "")
    for command in ("evaluate", "run"):
        said = scylla(command, "greet", cwd=repo, env=env)
        assert said.code == 5
        assert "needs a key of anthropic to reach claude-sonnet-5; set ANTHROPIC_API_KEY, or give --rep" in said.err
    assert not (repo / "starts").exists()
    assert not (repo / "runs").exists()


def test_what_is_recorded_is_replayed_without_a_key_to_the_same_rows(repo: Path) -> None:
    write_claude_experiment(repo)
    script = f"{tell('ok')}; {ask('I am in $PWD')} >said"
    with serve(lambda body: Say(body["messages"][0]["content"])) as provider:
        env = claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": provider.url}
        first = evaluate(repo, "greet", "--record", "config/recordings/greet", env=env)
    assert first.code == 0, first.err
    assert files(repo / "config" / "recordings") == {f"greet/{SCENARIO}--{ARM}--r01--agent.jsonl"}
    before = rows(repo)
    (repo / "runs").rename(repo / "before")
    env = claude_environment(repo.parent, script) | dict.fromkeys(KEYS, "")
    second = evaluate(repo, "greet", "--replay", env=env)
    assert second.code == 0, second.err
    words = "REPLAY of recorded answers: nothing was measured; costs stand as recorded and were not spent"
    run = repo / "runs/greet-replay"
    assert (words in " ".join(second.out.split()), words in (run / "report.md").read_text()) == (True, True)
    assert json.loads((run / "report.json").read_text())["replayed"]
    assert "estimate: $0.00; " in second.err
    assert [row["replayed"] for row in (*before.values(), *rows(repo, "greet-replay").values())] == [False, True]
    assert [row["usd"] for row in before.values()] == [pytest.approx((100 * 2 + 25 * 10) / 1e6)]
    assert without_time(rows(repo, "greet-replay")) == without_time(before)
    assert not (repo / "runs/greet").exists(), "what was replayed is no sample, and no later run may take it for one"


def test_a_replay_without_a_recording_says_where_it_belongs(repo: Path) -> None:
    said = evaluate(repo, "greet", "--replay")
    assert said.code == 3
    assert "recording 'greet': not found in config/recordings/ of this repository or of the toolkit" in said.err
    assert not (repo / "runs").exists()


def test_what_the_agent_is_given_is_the_prompt_and_its_variants_flags(repo: Path) -> None:
    write_claude_experiment(repo)
    script = f'cat >got; for each in "$@"; do echo "$each" >>args; done; env >environment; {say("ok")}'
    env = {**claude_environment(repo.parent, script), "SCYLLA_CANARY": "seen"}
    assert evaluate(repo, "greet", env=env).code == 0
    patch = next((repo / "runs").rglob("diff.patch")).read_text()
    assert "+Make greet.sh say hello.\n" in patch
    assert "+--system-prompt-file\n" in patch, "T0/00-empty is an empty system prompt, in a file"
    assert "SCYLLA_CANARY" not in patch


def test_each_step_by_itself_comes_to_the_same_report(repo: Path) -> None:
    whole = json.loads(evaluate(repo, "greet", "--json").out)
    (repo / "runs").rename(repo / "whole")
    env = environment(repo.parent)
    for step in ("plan", "run", "judge", "collect", "aggregate"):
        said = scylla(step, "greet", cwd=repo, env=env)
        assert said.code == 0, said.err
    parts = json.loads(scylla("report", "greet", "--json", cwd=repo, env=env).out)
    for report in (whole, parts):
        for arm in report["arms"]:
            arm.pop("mean_seconds")
        report.pop("estimate")
        report.pop("analysis")  # of seconds, too, which are others each time
    assert parts == whole


def test_a_prepared_workspace_is_what_a_trial_gets(repo: Path) -> None:
    env = environment(repo.parent, TMPDIR=str(repo.parent))
    facts = json.loads(scylla("prepare", SCENARIO, "--json", cwd=repo, env=env).out)
    evaluate(repo, "greet", "--only", "*nop*")
    row = rows(repo)[NOP]
    assert (row["base_commit"], row["workspace_digest"]) == (facts["commit"], facts["workspace_digest"])
    place = Path(scylla("prepare", SCENARIO, cwd=repo, env=env).out.rstrip("\n"))
    assert place != Path(facts["workspace"]), "each call makes another"
    assert (place / "greet.sh").read_text() == (Path(facts["workspace"]) / "greet.sh").read_text()


def test_a_repository_with_a_broken_scenario_of_another_experiment_can_be_used(repo: Path) -> None:
    write_tree(repo, {"scenarios/core/102-broken/scenario.yaml": "id: ["})
    assert evaluate(repo, "greet").code == 0


NOP, ORACLE = f"{SCENARIO}--nop--r01", f"{SCENARIO}--oracle--r01"


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
