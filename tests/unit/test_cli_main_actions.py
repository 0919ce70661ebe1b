"""What is complained of in a step of a workflow, whose log the runner searches for commands."""

from pathlib import Path

import pytest

from tests.support.actions import step_in
from tests.support.command import Said, scylla
from tests.support.library import write

EVIL = "x\n::set-output name=verdict::better ##[add-mask]y"


def complaint(root: Path, *args: str, actions: str = "true") -> Said:
    step = step_in(root / "step")
    return scylla(*args, cwd=root, env=step.environment(GITHUB_ACTIONS=actions))


def test_with_github_a_failure_is_shown_on_the_runs_page(tmp_path: Path) -> None:
    said = complaint(tmp_path, "plan", "none\nsuch: 100 %", "--github")
    assert said.code == 3
    (line,) = said.err.splitlines()
    assert line.startswith("::error title=scylla-gha::experiment 'none\\nsuch: 100 %25': not found")


def test_why_there_is_no_plan_is_an_output_for_another_job_to_tell(tmp_path: Path) -> None:
    step = step_in(tmp_path / "step")
    said = scylla("plan", "none\nsuch=1", "--github", cwd=tmp_path, env=step.environment())
    assert said.code == 3
    assert step.given()["refusal"].startswith("experiment 'none\\nsuch=1': not found")


@pytest.mark.parametrize("args", [("plan", "demo.yaml"), ("plan", "demo.yaml", "--github")])
def test_strangers_command_nothing_by_a_complaint(tmp_path: Path, args: tuple[str, ...]) -> None:
    write(tmp_path / "demo.yaml", f"{EVIL!r}: 1\n'##[error]x': 2\n")
    said = complaint(tmp_path, *args)
    assert said.code == 3
    for line in said.err.splitlines():
        assert not line.lstrip().startswith("::") or line.startswith("::error title=scylla-gha::")
        assert "##[" not in line or line.startswith("::error title=scylla-gha::")


def test_elsewhere_words_stay_as_they_are(tmp_path: Path) -> None:
    write(tmp_path / "demo.yaml", "'##[error]x': 2\n")
    said = complaint(tmp_path, "plan", "demo.yaml", actions="")
    assert said.err.startswith("scylla-gha: ")
    assert "##[error]x" in said.err
