import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.cli.kept import drop_workspaces, keep_workspace
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import Outcome
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.store import AttemptFolder, CellFolder
from tests.support.records import make_attempt, make_cell, make_judgment, make_score, make_trial

CANARY = "s3cret-canary-0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> AttemptFolder:
    made = AttemptFolder(tmp_path / "cell" / "attempt-1")
    made.root.mkdir(parents=True)
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("work\n")
    return root


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_what_the_agent_left_is_kept(folder: AttemptFolder, workspace: Path) -> None:
    attempt = make_attempt()
    assert keep_workspace(attempt, workspace, folder, Redactor()) == attempt
    assert (folder.file("workspace") / "src" / "a.txt").read_text() == "work\n"
    (workspace / "src" / "a.txt").write_text("again\n")
    keep_workspace(attempt, workspace, folder, Redactor())
    assert (folder.file("workspace") / "src" / "a.txt").read_text() == "again\n"


def test_secrets_are_taken_out_and_counted(folder: AttemptFolder, workspace: Path) -> None:
    (workspace / "leak").write_text(f"it is {CANARY}\n")
    attempt = keep_workspace(make_attempt(redactions=2), workspace, folder, Redactor([CANARY]))
    assert (folder.file("workspace") / "leak").read_text() == "it is [redacted]\n"
    assert attempt.redactions == 3


def test_links_stay_links_and_special_files_are_left_out(folder: AttemptFolder, workspace: Path) -> None:
    (workspace / "link").symlink_to("/etc/passwd")
    (workspace / "dangling").symlink_to("nowhere")
    os.mkfifo(workspace / "pipe")
    keep_workspace(make_attempt(), workspace, folder, Redactor())
    kept = folder.file("workspace")
    assert names(kept) == {"src", "src/a.txt", "link", "dangling"}
    assert (kept / "link").readlink() == Path("/etc/passwd")


def test_no_git_obeys_what_the_agent_configured(folder: AttemptFolder, workspace: Path, tmp_path: Path) -> None:
    for place in (workspace, workspace / "src"):
        subprocess.run(["git", "init", "-q", str(place)], check=True)
        subprocess.run(["git", "-C", str(place), "config", "core.fsmonitor", f"touch {tmp_path}/obeyed"], check=True)
    (workspace / "module").mkdir()
    (workspace / "module" / ".git").write_text("gitdir: ../src/.git\n")
    keep_workspace(make_attempt(), workspace, folder, Redactor())
    kept = folder.file("workspace")
    assert {"dot-git", "src/dot-git", "module/dot-git"} <= names(kept)
    for place in (kept, kept / "src", kept / "module"):
        env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
        done = subprocess.run(["git", "status"], cwd=place, env=env, capture_output=True, check=False)
        assert done.returncode == 128
    assert not (tmp_path / "obeyed").exists()


def verdict(**given: Any) -> Judgment:
    return make_judgment(make_cell(), result=make_score(**given))


@pytest.mark.parametrize(
    ("outcome", "judgment", "stays"),
    [
        pytest.param(Outcome.COMPLETED, verdict(), False, id="passed"),
        pytest.param(Outcome.COMPLETED, verdict(passed=False), True, id="failed"),
        pytest.param(Outcome.COMPLETED, None, False, id="completed, and not judged"),
        pytest.param(Outcome.COMPLETED, make_judgment(make_cell(), result=None, error="no"), True, id="no verdict"),
        pytest.param(Outcome.TIMEOUT, None, True, id="not completed"),
        pytest.param(Outcome.PROVIDER_ERROR, None, True, id="not the agent's fault"),
    ],
)
def test_only_those_of_failures_stay(
    folder: AttemptFolder, workspace: Path, outcome: Outcome, judgment: Judgment | None, stays: bool
) -> None:
    keep_workspace(make_attempt(), workspace, folder, Redactor())
    drop_workspaces(make_trial(make_cell(), make_attempt(outcome=outcome)), judgment, CellFolder(folder.root.parent))
    assert folder.file("workspace").exists() == stays
