import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import Attempt, Outcome
from scylla_gha.prepare import drop_workspaces, keep_workspace
from scylla_gha.prepare.workspace import remove_tree
from scylla_gha.redaction import Redactor
from scylla_gha.store.run_folder import AttemptFolder, CellFolder
from tests.support.hostile import plant
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


@pytest.mark.parametrize("taken", ["mkdir dot-git", "touch dot-git", "ln -s / dot-git", "mkdir dot-git dot-git-2"])
def test_a_name_that_is_taken_is_no_fault(folder: AttemptFolder, workspace: Path, taken: str) -> None:
    subprocess.run(["sh", "-c", f"git init -q; {taken}"], cwd=workspace, check=True)
    keep_workspace(make_attempt(), workspace, folder, Redactor())
    kept = folder.file("workspace")
    free = "dot-git-3" if "dot-git-2" in taken else "dot-git-2"
    assert (kept / free / "HEAD").exists()
    assert os.path.lexists(kept / "dot-git")
    assert not os.path.lexists(kept / ".git")


def test_a_workspace_that_is_gone_is_an_empty_one(folder: AttemptFolder, tmp_path: Path) -> None:
    keep_workspace(make_attempt(), tmp_path / "gone", folder, Redactor())
    assert names(folder.file("workspace")) == set()
    assert folder.file("workspace-left-out.txt").read_text() == "the workspace\n"


def test_what_no_disk_holds_is_left_out_and_told(folder: AttemptFolder, workspace: Path) -> None:
    with (workspace / "sparse").open("wb") as file:
        file.truncate(1 << 42)
    os.mkfifo(os.fsencode(workspace) + b"/\xff")
    keep_workspace(make_attempt(), workspace, folder, Redactor())
    assert names(folder.file("workspace")) == {"src", "src/a.txt"}
    assert folder.file("workspace-left-out.txt").read_bytes() == b"sparse\n\xff\n"
    drop_workspaces(make_trial(make_cell()), verdict(), CellFolder(folder.root.parent))
    assert not folder.file("workspace-left-out.txt").exists()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_an_agent_left_nothing_ends_the_run(folder: AttemptFolder, tmp_path: Path, seed: int) -> None:
    workspace = tmp_path / "w"
    plant(workspace, random.Random(seed))
    try:
        attempt = keep_workspace(make_attempt(), workspace, folder, Redactor([CANARY]))
        Attempt.model_validate_json(attempt.model_dump_json())
        for place, folders, files in os.walk(folder.root):
            assert ".git" not in {*folders, *files}
            assert all(os.access(Path(place, name), os.W_OK) for name in folders if not Path(place, name).is_symlink())
    finally:
        remove_tree(workspace)
    remove_tree(folder.root)
    assert not folder.root.exists()


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
