import datetime
from pathlib import Path

import pytest

from scylla_gha.model.trial import Trial
from scylla_gha.store.records import read_record, write_record
from scylla_gha.store.run_folder import CellFolder
from tests.support.agents import ShellAgent
from tests.support.in_process_run import run_agents
from tests.support.records import WHEN
from tests.support.repository import Repository, cache, make_repository
from tests.support.trials import SOLVE


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("SCYLLA_CACHE", str(cache()))
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))
    return make_repository(tmp_path / "repo")


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
