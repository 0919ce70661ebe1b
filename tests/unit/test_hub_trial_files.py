"""Files that a trial leaves of its GitHub: two states, the journal of the trial, and a bundle of all repositories."""

import dataclasses
import datetime
import json
from pathlib import Path

from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.records import LabelRecord
from scylla_gha.hub.trial_files import BUNDLE_FILE, STATE_FILE, exported_state, state_digest, write_trial_files
from scylla_gha.system.git import run_git
from tests.support.hub import NAME, OWNER, commit, make_hub


def test_the_files_hold_both_states_and_the_writes_between_them(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    start = exported_state(hub)
    hub.state.journal.clear()
    label = LabelRecord(id=hub.state.new_id(), created_at=hub.state.now(), repository=repository.id, name="bug")
    hub.state.create(repository.owner, label)
    git = hub.git(repository)
    tip = commit(git, {"new.txt": "new\n"}, "New", hub.session("octocat").signature(), git.branch("main"))
    git.set_ref("refs/heads/main", tip)
    write_trial_files(tmp_path, hub, start, {"label.bug": label.id})

    content = json.loads((tmp_path / STATE_FILE).read_text())
    assert content["start"]["records"]["label"] == []
    assert [entry["name"] for entry in content["end"]["records"]["label"]] == ["bug"]
    assert [(entry["action"], entry["kind"], entry["id"]) for entry in content["journal"]] == [
        ("create", "label", label.id)
    ]
    copy = GitRepository.create(tmp_path / "copy.git")
    run_git(copy.path, "fetch", str(tmp_path / BUNDLE_FILE), "+refs/*:refs/*")
    assert copy.ref(f"refs/end/{repository.id}/heads/main") == tip
    assert copy.content(f"refs/start/{repository.id}/heads/main:new.txt") is None
    assert copy.content(f"refs/end/{repository.id}/heads/main:new.txt") == b"new\n"


def test_the_digest_of_a_state_leaves_out_times_alone(tmp_path: Path) -> None:
    hub = make_hub(tmp_path)
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    before = state_digest(exported_state(hub))
    tables = hub.state.tables[type(repository)]
    tables[repository.id] = dataclasses.replace(repository, updated_at=repository.updated_at + datetime.timedelta(1))
    assert state_digest(exported_state(hub)) == before
    tables[repository.id] = dataclasses.replace(repository, description="Another")
    assert state_digest(exported_state(hub)) != before
