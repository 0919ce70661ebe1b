"""A run stops for want of disk, and keeps some workspaces."""

import datetime
import time
from pathlib import Path

import pytest

from scylla_gha.evaluate.run_cells import isolation_of, run_cells
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import TIME_OVER, Cell
from scylla_gha.model.trial import Trial
from scylla_gha.model.variant import Treatment, Variant
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store import read_record, write_record
from scylla_gha.store.run_folder import CellFolder
from tests.support.agents import ShellAgent
from tests.support.command import scylla
from tests.support.in_process_run import make_run_context, run_agents
from tests.support.records import WHEN, make_model_arm
from tests.support.repository import Repository, cache, environment, make_repository, write_greet_experiment
from tests.support.trials import SOLVE

NEVER = 10**9  # MB


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCYLLA_CACHE", str(cache()))
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))
    return tmp_path / "work"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "repo")


def test_below_the_disks_floor_nothing_new_starts(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": ShellAgent(f"echo 1 >>{tmp_path}/starts")}
    done = run_agents(repository, tmp_path / "runs", agents, repetitions=2, limits={"free_disk_mb": NEVER})
    assert (done.told, (tmp_path / "starts").exists()) == ([], False)
    assert [why.partition(" has ")[0] for why in done.journey.state.unstarted.values()] == [
        f"the disk of {tmp_path}"
    ] * 2
    assert done.journey.state.full_disk in done.journey.state.unstarted.values()


def test_what_is_stored_is_taken_whatever_the_disk_says(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": ShellAgent(SOLVE)}
    first = run_agents(repository, tmp_path / "runs", agents)
    again = run_agents(repository, tmp_path / "runs", agents, limits={"free_disk_mb": NEVER})
    assert again.told == first.told, "the floor is in no key"


@pytest.mark.parametrize("command", [("evaluate", "--yes"), ("run", "--yes")])
def test_a_full_disk_is_an_early_end_that_the_command_line_tells(
    repository: Repository, tmp_path: Path, command: tuple[str, ...]
) -> None:
    write_greet_experiment(repository.root, limits={"free_disk_mb": NEVER})
    said = scylla(*command, "greet", cwd=repository.root, env=environment(tmp_path))
    assert said.code == 8, said.err
    assert "but a new cell needs 1000000000 MB (limits.free_disk_mb)" in said.err
    assert "but a new cell needs" in (repository.root / "runs" / "greet" / "unstarted.json").read_text()


@pytest.mark.parametrize(
    ("keep", "script", "kept"),
    [
        ("none", "echo left >new", False),
        ("failed", "echo left >new", True),
        ("failed", f"{SOLVE}; echo left >new.log", False),
        ("all", f"{SOLVE}; echo left >new.log", True),
        ("failed", "echo left >new; exit 1", True),
    ],
    ids=["none", "not passed", "passed", "all", "not completed"],
)
def test_workspaces_are_kept_as_asked(
    repository: Repository, tmp_path: Path, work: Path, keep: str, script: str, kept: bool
) -> None:
    done = run_agents(repository, tmp_path / "runs", {"shell": ShellAgent(script)}, keep=keep)
    workspace = done.cell().attempt(1).file("workspace")
    assert workspace.exists() == kept
    assert not kept or any(path.read_text() == "left\n" for path in workspace.glob("new*"))
    assert list(work.iterdir()) == []


def test_a_trial_says_what_its_sandbox_gave(repository: Repository, tmp_path: Path) -> None:
    (trial,) = run_agents(repository, tmp_path / "runs", {"shell": ShellAgent(SOLVE)}).trials()
    assert (trial.sandbox, trial.isolation) == ("host", SANDBOXES["host"].isolation)


@pytest.mark.parametrize(
    ("sandbox", "tools", "network"),
    [("docker", ("web_search",), "provider"), ("docker", (), "gateway"), ("bubblewrap", ("web_fetch",), "provider"),
     ("host", ("web_search",), "open")],
)  # fmt: skip
def test_tools_of_the_provider_leave_the_network_not_closed(sandbox: str, tools: tuple[str, ...], network: str) -> None:
    treatment = Treatment.model_validate({"server_tools": tools})
    arm = make_model_arm(variant=Variant(id="T5/01-search", treatment=treatment))
    assert isolation_of(sandbox, arm) == SANDBOXES[sandbox].isolation.model_copy(update={"network": network})


def test_a_real_key_is_refused_before_anything_is_written(repository: Repository, tmp_path: Path) -> None:
    from tests.support.scripted_claude import claude_environment, write_claude_experiment

    write_claude_experiment(repository.root)
    env = {**claude_environment(tmp_path, "exit 1"), "ANTHROPIC_BASE_URL": "https://192.0.2.1", "GITHUB_ACTIONS": ""}
    for command in ("evaluate", "run"):
        said = scylla(command, "greet", "--yes", cwd=repository.root, env=env)
        assert said.code == 6, said.err
        assert "claude-code: in the sandbox host, an agent could read the provider's key" in said.err
        assert not (repository.root / "runs" / "greet" / "plan.json").exists()
    said = scylla("run", "greet", "--yes", cwd=repository.root, env={**env, "GITHUB_ACTIONS": "true"})
    assert (said.code, "only in docker" in said.err) == (6, True)
    said = scylla("run", "greet", "--yes", "--allow-exposed-keys", cwd=repository.root, env=env)
    assert "--allow-exposed-keys allows it" in said.err
    assert (repository.root / "runs" / "greet" / "plan.json").exists()


@pytest.mark.parametrize("budget_usd", [None, 1.0])
def test_after_the_deadline_no_cell_starts(repository: Repository, tmp_path: Path, budget_usd: float | None) -> None:
    deadline = time.monotonic() + 3.0
    agents = {"shell": ShellAgent(SOLVE)}
    context = make_run_context(
        repository, tmp_path / "runs", agents, repetitions=3, budget_usd=budget_usd, deadline=deadline
    )
    done: list[str] = []

    def end_time(cell: Cell, _trial: Trial, _judgment: Judgment | None) -> None:
        done.append(cell.id)
        time.sleep(max(0.0, deadline - time.monotonic()))

    run_cells(context, context.settings.plan.cells, end_time)
    first, *others = [cell.id for cell in context.settings.plan.cells]
    assert (done, context.state.unstarted) == ([first], dict.fromkeys(others, TIME_OVER))


def test_a_trial_beyond_the_maximum_age_is_put_aside_and_run_again(repository: Repository, tmp_path: Path) -> None:
    agents = {"shell": ShellAgent(SOLVE)}
    done = run_agents(repository, tmp_path / "runs", agents)
    (trial,) = done.trials()
    limit = WHEN + datetime.timedelta(days=1)
    old = trial.model_copy(update={"attempts": (trial.last.model_copy(update={"started_at": WHEN}),)})
    write_record(done.cell().trial, old)
    assert run_agents(repository, tmp_path / "runs", agents, not_before=WHEN).trials() == [old]
    again = run_agents(repository, tmp_path / "runs", agents, not_before=limit)
    assert again.trials() != [old]
    (aside,) = (tmp_path / "runs" / "old").iterdir()
    assert read_record(CellFolder(aside).trial, Trial) == old
    assert [attempt.number for attempt in again.trials()[0].attempts] == [1]
    third = run_agents(repository, tmp_path / "runs", agents, not_before=limit)
    assert third.trials() == again.trials()
