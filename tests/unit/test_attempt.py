import datetime
import json
from pathlib import Path

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.attempt import time_limit
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Trajectory
from scylla_gha.store import read_record
from tests.support.agents import Bench, ShellAgent
from tests.support.processes import cancelled_once_there, ends, number_in
from tests.support.records import make_arm
from tests.support.repository import patch_of

SECRET = "sk-canary-0123456789"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.make(tmp_path, number=3)


def test_what_the_agent_did_is_kept(bench: Bench) -> None:
    script = "cat; echo; echo tool Write ok; echo tool Bash failed; echo tool Write ok; echo aside >&2; echo 1 >new"
    made = bench.run(ShellAgent(script))
    assert (made.outcome, made.reason, made.retryable) == (Outcome.COMPLETED, "done", False)
    assert (made.number, made.exit_code, made.turns, made.agent_version) == (3, 0, 3, "7.0")
    assert (made.tool_calls, made.failed_tool_calls) == ({"Write": 2, "Bash": 1}, 1)
    assert made.diff is not None
    assert (made.diff.files, made.diff.added) == (("new",), 1)
    assert (made.base_commit, made.workspace_digest) == (
        bench.prepared.start.commit,
        bench.prepared.start.manifest.tree,
    )
    assert made.started_at <= datetime.datetime.now(datetime.UTC)
    assert read_record(bench.folder.file("attempt.json"), Attempt) == made
    assert {path.name for path in bench.folder.root.iterdir()} == {
        "attempt.json", "prompt.md", "transcript.jsonl", "stderr.txt", "trajectory.json", "diff.patch",
    }  # fmt: skip


def test_the_prompt_goes_in_as_text_and_stands_first_in_the_trajectory(bench: Bench) -> None:
    bench.run(ShellAgent("cat"))
    assert bench.folder.file("transcript.jsonl").read_text() == "Make greet.sh say hello.\n"
    whole = read_record(bench.folder.file("trajectory.json"), Trajectory)
    assert whole is not None
    assert [(step.source, step.text) for step in whole.steps] == [
        ("user", "Make greet.sh say hello.\n"),
        ("agent", "Make greet.sh say hello.\n"),
    ]


def test_an_agent_that_changes_nothing_leaves_no_patch(bench: Bench) -> None:
    made = bench.run(ShellAgent("true"))
    assert made.diff is not None
    assert made.diff.files == ()
    assert not bench.folder.file("diff.patch").exists()


def test_the_agent_is_told_its_task_and_sees_only_its_own_environment(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCYLLA_CANARY", "seen")
    agent = ShellAgent('echo "$MODEL $PROGRAM $TURNS ${SCYLLA_CANARY-unseen}"; pwd; echo "$HOME"')
    bench.run(agent, program="/bin/agent", limits=TrialLimits(turns=5))
    work = bench.folder.root.parent.parent / "w-3"
    said = bench.folder.file("transcript.jsonl").read_text().splitlines()
    assert said == ["m /bin/agent 5 unseen", str(work / "workspace"), str(work / "home")]


def test_oracle_applies_the_solution(bench: Bench) -> None:
    made = bench.run(AGENTS["oracle"], arm=make_arm(id="oracle", agent="oracle"))
    assert (made.outcome, made.usage, made.turns) == (Outcome.COMPLETED, NO_USAGE, 0)
    assert made.diff is not None
    assert made.diff.files == ("greet.sh",)
    assert not bench.folder.file("trajectory.json").exists()


def test_oracle_applies_another_patch_where_it_is_given_one(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "other.patch").write_text(patch_of("echo other"))
    bench.run(AGENTS["oracle"], patch=tmp_path / "other.patch")
    assert "+echo other" in bench.folder.file("diff.patch").read_text()


def test_nop_does_nothing(bench: Bench) -> None:
    made = bench.run(AGENTS["nop"])
    assert (made.outcome, made.usage) == (Outcome.COMPLETED, NO_USAGE)
    assert made.diff is not None
    assert made.diff.files == ()


def test_secrets_are_kept_nowhere(bench: Bench) -> None:
    script = 'echo "$KEY"; echo "key: $KEY!" >&2; echo "KEY=$KEY" >.env; printf "x\\0$KEY" >bin'
    made = bench.run(ShellAgent(script, env={"KEY": SECRET}, secrets=(SECRET,)))
    assert bench.folder.file("transcript.jsonl").read_text() == "[redacted]\n"
    assert bench.folder.file("stderr.txt").read_text() == "key: [redacted]!\n"
    assert "+KEY=[redacted]\n" in bench.folder.file("diff.patch").read_text()
    kept = b"".join(path.read_bytes() for path in bench.folder.root.iterdir())
    assert SECRET.encode() not in kept
    assert SECRET not in made.model_dump_json()


def test_a_secret_in_the_reason_or_in_a_file_name_is_not_kept_either(bench: Bench) -> None:
    script = 'echo "bad key: $KEY" >&2; : >"$KEY.txt"; exit 1'
    made = bench.run(ShellAgent(script, env={"KEY": SECRET}, secrets=(SECRET,)))
    assert made.reason == "bad key: [redacted]"
    assert SECRET not in made.model_dump_json()


def test_a_diff_without_its_secret_still_applies(bench: Bench, tmp_path: Path) -> None:
    bench.run(ShellAgent('echo "$KEY" >>greet.sh', env={"KEY": SECRET}, secrets=(SECRET,)))
    again = bench.another(1, tmp_path / "again")
    made = bench.run(AGENTS["oracle"], again, patch=bench.folder.file("diff.patch"))
    assert made.outcome is Outcome.COMPLETED
    assert "+[redacted]" in again.file("diff.patch").read_text()


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        pytest.param(TrialLimits(), 600.0, id="the scenario's"),
        pytest.param(TrialLimits(timeout_seconds=5), 5.0, id="the experiment's goes before it"),
    ],
)
def test_the_time_limit(bench: Bench, limits: TrialLimits, seconds: float) -> None:
    assert time_limit(limits, bench.prepared) == seconds


def test_at_the_time_limit_the_work_so_far_is_kept(bench: Bench, tmp_path: Path) -> None:
    script = f"echo 1 >new; sleep 600 & echo $! >{tmp_path}/pid; wait"
    made = bench.run(ShellAgent(script), limits=TrialLimits(timeout_seconds=1))
    assert (made.outcome, made.reason) == (Outcome.TIMEOUT, "ended at the limit of 1 s")
    assert made.seconds >= 1
    assert made.diff is not None
    assert made.diff.files == ("new",)
    assert ends(number_in(tmp_path / "pid"))


def test_an_interrupted_agent_is_cancelled_whatever_its_transcript_says(bench: Bench, tmp_path: Path) -> None:
    script = f"echo 1 >new; sleep 600 & echo $! >{tmp_path}/pid; wait"
    with cancelled_once_there(tmp_path / "pid") as cancel:
        made = bench.run(ShellAgent(script), cancel=cancel)
    assert (made.outcome, made.reason, made.retryable) == (Outcome.CANCELLED, "interrupted by the user", False)


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        pytest.param("head -c 2000000 /dev/zero >big", Outcome.AGENT_ERROR, id="a large file"),
        pytest.param("truncate -s 1T big", Outcome.AGENT_ERROR, id="a sparse terabyte"),
        pytest.param("head -c 2000000 /dev/zero >big; sleep 600", Outcome.AGENT_ERROR, id="at the time limit too"),
    ],
)
def test_a_diff_that_is_too_large_is_the_agents_error(bench: Bench, script: str, outcome: Outcome) -> None:
    # the limit of a file's size is for what is really written; a sparse file is a matter of the diff
    made = bench.run(ShellAgent(script), limits=TrialLimits(diff_mb=1, timeout_seconds=2, file_mb=2_000_000))
    assert (made.outcome, made.diff) == (outcome, None)
    assert made.reason.startswith("left more than 1.0 MB beyond the start state, the limit of a diff (limits.diff_mb)")
    assert not bench.folder.file("diff.patch").exists()


def test_a_crowd_of_files_is_the_agents_error(bench: Bench) -> None:
    made = bench.run(ShellAgent("mkdir new; cd new; touch $(seq 60)"), limits=TrialLimits(diff_files=60))
    assert (made.outcome, made.diff) == (Outcome.AGENT_ERROR, None)
    assert "files and folders beyond the start state, the limit of a diff (limits.diff_files)" in made.reason


def test_an_interruption_stays_one_with_a_large_diff(bench: Bench, tmp_path: Path) -> None:
    script = f"head -c 2000000 /dev/zero >big; echo $$ >{tmp_path}/pid; exec sleep 600"
    with cancelled_once_there(tmp_path / "pid") as cancel:
        made = bench.run(ShellAgent(script), limits=TrialLimits(diff_mb=1), cancel=cancel)
    assert made.outcome is Outcome.CANCELLED
    assert made.reason.endswith("(limits.diff_mb); interrupted by the user")


def test_an_agent_that_writes_without_end_is_ended_by_the_files_limit(bench: Bench) -> None:
    made = bench.run(ShellAgent("exec head -c 8M /dev/zero"), limits=TrialLimits(file_mb=1))
    assert (made.outcome, made.exit_code) == (Outcome.BUDGET_EXCEEDED, -15)
    assert bench.folder.file("transcript.jsonl").stat().st_size == 1_000_000 // 512 * 512


def test_what_is_written_is_whole_json(bench: Bench) -> None:
    bench.run(ShellAgent("printf '\\377\\0\\033[2J\\n'; : >\"$(printf 'a\\377')\""))
    assert json.loads(bench.folder.file("attempt.json").read_text())["diff"]["files"] == ["a\\xff"]
    assert not list(bench.folder.root.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("script", "outcome", "told"),
    [
        pytest.param("yes", Outcome.BUDGET_EXCEEDED, "output: it wrote more", id="its words are cut"),
        pytest.param(
            "trap '' XFSZ; yes 2>/dev/null; sleep 600", Outcome.BUDGET_EXCEEDED, "output: ", id="and it goes on"
        ),
        pytest.param("exec yes >&2", Outcome.BUDGET_EXCEEDED, "output: ", id="what it says aside counts too"),
        pytest.param("yes >big; exit 1", Outcome.AGENT_ERROR, "", id="another file is its own affair"),
    ],
)
def test_an_output_at_its_limit_ends_the_trial_with_its_own_reason(
    bench: Bench, script: str, outcome: Outcome, told: str
) -> None:
    made = bench.run(ShellAgent(script), limits=TrialLimits(file_mb=1))
    assert (made.outcome, made.retryable) == (outcome, False)
    assert made.reason.startswith(told)
    assert made.diff is not None, "what was done is kept"


@pytest.mark.parametrize("name", ["transcript.jsonl", "stderr.txt"])
@pytest.mark.parametrize(
    "vandalise", ["rm FILE", "rm FILE; mkfifo FILE", "ln -sf /dev/zero FILE", "rm FILE; mkdir FILE"]
)
def test_outputs_that_the_agent_made_unreadable_are_its_failure(bench: Bench, vandalise: str, name: str) -> None:
    made = bench.run(ShellAgent(f"echo 1 >new; {vandalise.replace('FILE', str(bench.folder.file(name)))}"))
    assert (made.outcome, made.retryable) == (Outcome.AGENT_ERROR, False)
    assert made.diff is not None
    assert made.diff.files == ("new",)


def test_what_an_agent_lays_beside_its_workspace_is_in_nobodys_way(bench: Bench) -> None:
    made = bench.run(ShellAgent("echo 1 >new; mkdir ../harness-git ../harness-git/objects"))
    assert (made.outcome, made.diff and made.diff.files) == (Outcome.COMPLETED, ("new",))
