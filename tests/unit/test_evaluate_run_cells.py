import gc
import shutil
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError, IncompleteError
from scylla_gha.evaluate.context import stored_trial
from scylla_gha.evaluate.run_cells import low_disk_space
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.model.trial import NO_USAGE, Outcome, Trial, Usage
from scylla_gha.store import read_record, without_garbage_collection, write_record
from scylla_gha.system.process import Cancel
from tests.support.agents import ShellAgent
from tests.support.in_process_run import run_agents
from tests.support.processes import cancelled_once_there
from tests.support.records import make_attempt, make_trial
from tests.support.repository import SCENARIO, Repository, cache, make_repository
from tests.support.trials import SOLVE


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCYLLA_CACHE", str(cache()))
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))
    return tmp_path / "work"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "repo")


def counting(folder: Path, script: str) -> ShellAgent:
    """An agent that notes that it was started, and whose script sees in `$n` for which time."""
    return ShellAgent(f"echo 1 >>{folder}/starts; n=$(wc -l <{folder}/starts); {script}")


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text().splitlines())


def test_a_cell_goes_from_workspace_to_judgment(repository: Repository, tmp_path: Path, work: Path) -> None:
    done = run_agents(repository, tmp_path / "runs", {"shell": ShellAgent(SOLVE)})
    ((cell, trial, judgment),) = done.told
    assert cell.id == f"{SCENARIO}--shell--r01"
    assert (trial.outcome, trial.key, len(trial.attempts)) == (Outcome.COMPLETED, cell.key, 1)
    assert judgment is not None
    assert judgment.result is not None
    assert judgment.result.passed
    assert {"scylla-gha", "agent"} <= trial.versions.keys()
    assert trial.versions["agent"] == "7.0", "what the transcript says"
    place = done.cell()
    assert read_record(place.cell, Cell) == cell
    assert read_record(place.trial, Trial) == trial
    assert read_record(place.judgment, Judgment) == judgment
    assert list(work.iterdir()) == []


def test_what_is_stored_under_its_key_is_taken_as_it_is(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE)}
    first = run_agents(repository, tmp_path / "runs", agents, repetitions=2)
    second = run_agents(repository, tmp_path / "runs", agents, repetitions=2)
    assert starts(tmp_path) == 2
    assert second.told == first.told


def test_another_repetition_or_epoch_is_another_trial(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE)}
    run_agents(repository, tmp_path / "runs", agents, repetitions=1)
    run_agents(repository, tmp_path / "runs", agents, repetitions=2)
    assert starts(tmp_path) == 2
    run_agents(repository, tmp_path / "runs", agents, repetitions=2, epoch="later")
    assert starts(tmp_path) == 4


@pytest.mark.parametrize("outcome", ["timeout", "refused", "agent_error", "budget_exceeded"])
def test_a_failure_of_the_agent_stands_and_is_not_tried_again(
    repository: Repository, tmp_path: Path, outcome: str
) -> None:
    agents = {"shell": counting(tmp_path, f"echo end {outcome}")}
    done = run_agents(repository, tmp_path / "runs", agents)
    run_agents(repository, tmp_path / "runs", agents)
    assert starts(tmp_path) == 1
    ((_, trial, judgment),) = done.told
    assert trial.outcome.value == outcome
    assert judgment is not None
    assert judgment.result is not None
    assert not judgment.result.passed


@pytest.mark.parametrize(
    ("script", "attempts"),
    [
        pytest.param("[ $n = 3 ] || echo end provider_error again", ["provider_error"] * 2 + ["completed"], id="well"),
        pytest.param("echo end provider_error again", ["provider_error"] * 3, id="never well"),
        pytest.param("[ $n = 1 ] && echo end provider_error again || echo end timeout", ["provider_error", "timeout"],
                     id="then the agent's own fault"),
        pytest.param("echo end sandbox_error", ["sandbox_error"], id="would fare alike"),
    ],
)  # fmt: skip
def test_faults_that_are_not_the_agents_are_tried_again_and_all_attempts_kept(
    repository: Repository, tmp_path: Path, script: str, attempts: list[str]
) -> None:
    done = run_agents(repository, tmp_path / "runs", {"shell": counting(tmp_path, f"{SOLVE}; {script}")})
    ((_, trial, judgment),) = done.told
    assert [attempt.outcome.value for attempt in trial.attempts] == attempts
    assert [attempt.number for attempt in trial.attempts] == list(range(1, len(attempts) + 1))
    assert [folder.number for folder in done.cell().attempts()] == list(range(1, len(attempts) + 1))
    assert (judgment is not None) == trial.outcome.measures_agent


def test_what_does_not_measure_the_agent_is_run_again_next_time_and_kept(
    repository: Repository, tmp_path: Path
) -> None:
    agents = {"shell": counting(tmp_path, f"{SOLVE}; [ $n -gt 3 ] || echo end provider_error again")}
    run_agents(repository, tmp_path / "runs", agents)
    done = run_agents(repository, tmp_path / "runs", agents)
    ((_, trial, _),) = done.told
    assert [attempt.outcome.value for attempt in trial.attempts] == ["provider_error"] * 3 + ["completed"]


def test_a_provider_that_refuses_stops_its_arm_and_no_other(repository: Repository, tmp_path: Path) -> None:
    refused = counting(tmp_path, "echo end provider_error")
    done = run_agents(repository, tmp_path / "runs", {"shell": ShellAgent(SOLVE), "other": refused}, repetitions=5)
    assert starts(tmp_path) == 1
    assert done.journey.state.stopped == {"other": "as it said"}
    assert [trial.outcome for trial in done.trials()].count(Outcome.COMPLETED) == 5


def test_a_cell_without_ground_is_a_fixture_error_with_its_reason(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", source=FixtureSource(fixture="greeting", hash="1" * 40))
    done = run_agents(repository, tmp_path / "runs", {"shell": counting(tmp_path, SOLVE)}, repetitions=2)
    for trial in done.trials():
        assert (trial.outcome, trial.last.usage, trial.last.retryable) == (Outcome.FIXTURE_ERROR, NO_USAGE, False)
        assert "undo the change to the fixture" in trial.last.reason
    assert not (tmp_path / "starts").exists()


def test_records_under_another_key_are_put_aside(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE)}
    first = run_agents(repository, tmp_path / "runs", agents, epoch="a")
    run_agents(repository, tmp_path / "runs", agents, epoch="b")
    old = tmp_path / "runs" / "old" / f"{SCENARIO}--shell--r01--{first.told[0][0].key[:8]}"
    assert read_record(old / "trial.json", Trial) == first.trials()[0]
    assert (old / "attempt-1" / "transcript.jsonl").exists()
    assert starts(tmp_path) == 2


def test_fresh_runs_again_and_puts_the_paid_records_aside_each_time(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE)}
    done = [run_agents(repository, tmp_path / "runs", agents, fresh=True) for _ in range(3)]
    assert starts(tmp_path) == 3
    key = done[0].told[0][0].key[:8]
    names = sorted(path.name for path in (tmp_path / "runs" / "old").iterdir())
    assert names == [f"{SCENARIO}--shell--r01--{key}", f"{SCENARIO}--shell--r01--{key}-2"]


def test_an_attempt_without_a_record_was_killed_and_its_cost_is_unknown(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": ShellAgent(SOLVE)}
    done = run_agents(repository, tmp_path / "runs", agents)
    done.cell().trial.unlink()
    done.cell().attempt(1).file("attempt.json").unlink()
    ((_, trial, _),) = run_agents(repository, tmp_path / "runs", agents).told
    killed, second = trial.attempts
    assert (killed.outcome, killed.reason) == (Outcome.CANCELLED, "the harness was killed during the attempt")
    assert (killed.usage, second.outcome) == (Usage(), Outcome.COMPLETED)


def test_an_attempt_whose_trial_was_not_written_is_taken_as_it_is(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE)}
    done = run_agents(repository, tmp_path / "runs", agents)
    done.cell().trial.unlink()
    assert run_agents(repository, tmp_path / "runs", agents).trials() == done.trials()
    assert starts(tmp_path) == 1


def test_a_judgment_is_made_anew_where_what_judges_changed_and_no_agent_is_started(tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE)}
    before = make_repository(tmp_path / "a", beside={"checks/x": "1"})
    after = make_repository(tmp_path / "b", beside={"checks/x": "2"})
    first = run_agents(before, tmp_path / "runs", agents).told[0][2]
    second = run_agents(after, tmp_path / "runs", agents).told[0][2]
    assert starts(tmp_path) == 1
    assert first is not None
    assert second is not None
    assert (first.key == second.key, first.result) == (False, second.result)


def test_a_judgment_that_is_gone_or_failed_is_made_again(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE)}
    done = run_agents(repository, tmp_path / "runs", agents)
    first = done.told[0][2]
    assert first is not None
    done.cell().judgment.unlink()
    second = run_agents(repository, tmp_path / "runs", agents).told[0][2]
    failed = Judgment(cell=first.cell, key=first.key, trial_key=first.trial_key, error="disk full")
    write_record(done.cell().judgment, failed)
    third = run_agents(repository, tmp_path / "runs", agents).told[0][2]
    assert [made.result if made else None for made in (second, third)] == [first.result, first.result]
    assert starts(tmp_path) == 1


def test_without_judging_nothing_is_judged(repository: Repository, tmp_path: Path) -> None:
    done = run_agents(repository, tmp_path / "runs", {"shell": ShellAgent(SOLVE)}, judging=False)
    assert done.told[0][2] is None
    assert not done.cell().judgment.exists()


def test_several_lanes_do_every_cell_once(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE), "other": ShellAgent("true")}
    done = run_agents(repository, tmp_path / "runs", agents, jobs=4, repetitions=6)
    assert sorted(cell.id for cell, _, _ in done.told) == sorted(cell.id for cell in done.journey.settings.plan.cells)
    assert starts(tmp_path) == 6


def test_one_lane_goes_in_the_order_of_the_plan(repository: Repository, tmp_path: Path) -> None:
    agents = {name: ShellAgent("true") for name in ("a", "b", "c")}
    done = run_agents(repository, tmp_path / "runs", agents, repetitions=3)
    assert [cell for cell, _, _ in done.told] == list(done.journey.settings.plan.cells)


def test_after_an_interruption_nothing_more_is_started_and_the_attempt_is_kept(
    repository: Repository, tmp_path: Path
) -> None:
    slow = counting(tmp_path, f"{SOLVE}; echo $$ >{tmp_path}/pid; exec sleep 600")
    with cancelled_once_there(tmp_path / "pid") as cancel:
        done = run_agents(repository, tmp_path / "runs", {"shell": slow}, cancel=cancel, repetitions=3)
    assert starts(tmp_path) == 1
    assert [trial.outcome for trial in done.trials()] == [Outcome.CANCELLED]
    again = run_agents(repository, tmp_path / "runs", {"shell": ShellAgent(SOLVE)}, repetitions=3)
    first = next(trial for cell, trial, _ in again.told if cell.id == done.told[0][0].id)
    assert [attempt.outcome.value for attempt in first.attempts] == ["cancelled", "completed"]


def test_an_interruption_ends_the_pause_before_another_attempt(repository: Repository, tmp_path: Path) -> None:
    agent = counting(tmp_path, f"echo end provider_error again; echo $$ >{tmp_path}/pid")
    pause = {"attempts": 3, "backoff_seconds": 600.0}
    with cancelled_once_there(tmp_path / "pid") as cancel:
        run_agents(repository, tmp_path / "runs", {"shell": agent}, cancel=cancel, retry=pause)
    assert starts(tmp_path) == 1


def test_a_cancel_before_the_start_starts_nothing(repository: Repository, tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.set()
    assert run_agents(repository, tmp_path / "runs", {"shell": counting(tmp_path, SOLVE)}, cancel=cancel).told == []
    assert not (tmp_path / "starts").exists()


def test_a_disk_that_cannot_be_written_stops_the_run_and_says_so(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": ShellAgent(SOLVE)}
    run_agents(repository, tmp_path / "runs", agents, epoch="a")
    (tmp_path / "runs" / "old").touch()  # a file where the folder of old records must be
    with pytest.raises(IncompleteError, match=rf"^{SCENARIO}--shell--r01: .*run the same command again to resume"):
        run_agents(repository, tmp_path / "runs", agents, epoch="b")


def test_where_an_agents_work_cannot_be_told_its_cost_is_unknown_and_not_0(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCYLLA_CACHE", str(tmp_path / "cache"))
    spoil = f"{SOLVE}; rm -r {tmp_path}/cache/starts/*/git"
    ((_, trial, _),) = run_agents(repository, tmp_path / "runs", {"shell": ShellAgent(spoil)}).told
    assert (trial.outcome, trial.last.usage) == (Outcome.FIXTURE_ERROR, Usage())


def test_a_broken_record_is_named_and_never_overwritten(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": counting(tmp_path, SOLVE)}
    done = run_agents(repository, tmp_path / "runs", agents)
    done.cell().trial.write_text('{"schema_version": 1, "cell"')
    with pytest.raises(ConfigError, match=r"trial\.json: not a Trial of this version: .*move the file away to go on"):
        run_agents(repository, tmp_path / "runs", agents)
    assert starts(tmp_path) == 1
    assert done.cell().trial.read_text() == '{"schema_version": 1, "cell"'


@pytest.mark.parametrize(
    ("outcome", "key", "stored"),
    [("completed", None, True), ("timeout", None, True), ("cancelled", None, False), ("completed", "other", False)],
)
def test_a_stored_trial_counts_under_its_key_and_where_it_measures_the_agent(
    repository: Repository, tmp_path: Path, outcome: str, key: str | None, stored: bool
) -> None:
    done = run_agents(repository, tmp_path / "runs", {"shell": ShellAgent(SOLVE)})
    cell, place = done.told[0][0], done.cell()
    made = make_trial(cell, make_attempt(outcome=Outcome(outcome)), key=key or cell.key)
    write_record(place.trial, made)
    assert stored_trial(cell, place) == (made if stored else None)
    place.trial.unlink()
    assert stored_trial(cell, place) is None


def test_with_enough_room_nothing_is_lacking(tmp_path: Path) -> None:
    assert low_disk_space((tmp_path, tmp_path / "not" / "there"), 0) is None
    assert low_disk_space((tmp_path,), shutil.disk_usage(tmp_path).free // 2_000_000) is None


def test_below_the_floor_it_names_the_disk_and_what_to_do(tmp_path: Path) -> None:
    floor = shutil.disk_usage(tmp_path).total // 1_000_000 + 1
    why = low_disk_space((tmp_path / "not" / "there",), floor) or ""
    assert why.startswith(f"the disk of {tmp_path} has ")
    assert f"but a new cell needs {floor} MB (limits.free_disk_mb); make room" in why


def test_garbage_is_collected_again_afterwards_also_after_an_error() -> None:
    with without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="broken"), without_garbage_collection():
        raise ValueError("broken")
    assert gc.isenabled()


def test_who_collects_by_hand_is_left_to_it() -> None:
    gc.disable()
    try:
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
