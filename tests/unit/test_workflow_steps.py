"""Box of a workflow's job: the steps are an agent's, and what one leaves must not reach this machine or end a run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.attempt.workflow_steps import JobBox, StepEnd, StepOutput, WorkflowBox
from scylla_gha.errors import FixtureError
from scylla_gha.hub.workflow_records import WorkflowStep
from scylla_gha.model.sandbox import Tools
from scylla_gha.prepare.tools import search_path
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from scylla_gha.system.process import Cancel
from tests.support.git_bombs import commit_of_many_files


@pytest.fixture
def box(tmp_path: Path) -> Iterator[JobBox]:
    root, cancel = tmp_path / "job", Cancel()
    root.mkdir()
    yield JobBox(WorkflowBox(SandboxTarget(SANDBOXES["bubblewrap"]), search_path(Tools(), tmp_path)), root, cancel)
    cancel.close()


def run(box: JobBox, script: str, output: StepOutput | None = None, **step: Any) -> StepEnd:
    return box.run_script(WorkflowStep(name="x", script=script, **step), {}, 60.0, output or StepOutput())


def test_a_link_in_place_of_the_runners_folder_leads_nowhere(tmp_path: Path, box: JobBox) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "summary").mkdir(parents=True)
    (elsewhere / "output").write_text("key=of-this-machine\n")
    (elsewhere / "env").write_text("KEY=of-this-machine\n")
    elsewhere.chmod(0o755)
    link = f"rm -rf ~/_runner && ln -s {elsewhere} ~/_runner"
    assert (run(box, link).outputs, box.variables) == ({}, {})
    output = StepOutput()
    assert run(box, 'echo "kept=1" >> "$GITHUB_OUTPUT"; python -c "print(6 * 7)"', output).outputs == {"kept": "1"}
    assert "42" in output.lines
    assert {path.name: path.is_dir() or path.read_text() for path in elsewhere.iterdir()} == {
        "summary": True, "output": "key=of-this-machine\n", "env": "KEY=of-this-machine\n"}  # fmt: skip
    assert elsewhere.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "leftover",
    [
        "rm -rf ~/_runner; touch ~/_runner",
        "rm -rf ~/_runner; ln -s /nowhere ~/_runner",
        "rm -rf ~/_runner; mkfifo ~/_runner",
        "rm $GITHUB_ENV $GITHUB_PATH; mkdir $GITHUB_ENV; mkfifo $GITHUB_PATH; ln -s /etc/passwd $GITHUB_OUTPUT || true",
        "rm -rf ~/_temp; ln -s /nowhere ~/_temp",
        "chmod 000 ~/_runner/* ~/_runner ~",
    ],
)
def test_whatever_a_step_leaves_the_next_one_runs(box: JobBox, leftover: str) -> None:
    run(box, leftover)
    assert run(box, "python -c 'print(1)'").code == 0


def test_what_is_left_in_the_folder_for_temporary_files_is_there_for_the_next_step(box: JobBox) -> None:
    run(box, "echo left > $RUNNER_TEMP/note")
    output = StepOutput()
    run(box, "cat $RUNNER_TEMP/note", output)
    assert output.lines[0] == "left"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"folder": "a\0b"}, "not valid text"),
        ({"script": "echo \ud800"}, "not valid text"),
        ({"folder": "a/" * 3000}, "too long"),
    ],
)
def test_a_step_that_no_program_can_be_started_for_fails(box: JobBox, step: dict[str, str], message: str) -> None:
    output = StepOutput()
    assert run(box, output=output, **{"script": "true", **step}).code == 1
    assert message in output.text


def test_a_job_cannot_set_more_than_a_limit(box: JobBox) -> None:
    large = "printf 'x=%s\\n' $(head -c 400000 /dev/zero | tr '\\0' a) >> $GITHUB_OUTPUT"
    assert [run(box, large).code for _ in range(3)] == [0, 0, 1]


def test_a_commit_that_git_cannot_fetch_fails_the_step(tmp_path: Path, box: JobBox) -> None:
    repository, commit = commit_of_many_files(tmp_path / "broken.git")
    (repository / "objects" / commit[:2] / commit[2:]).unlink()
    with pytest.raises(FixtureError, match="cannot be run: git -c"):
        box.check_out(repository, commit)


def test_a_commit_that_stands_for_millions_of_files_is_not_checked_out(tmp_path: Path, box: JobBox) -> None:
    repository, commit = commit_of_many_files(tmp_path / "bomb.git")
    with pytest.raises(FixtureError, match=r"cannot be listed|at most"):
        box.check_out(repository, commit)
    assert [path.name for path in box.workspace.iterdir()] == [".git"]
