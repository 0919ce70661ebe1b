"""The code bases that the readiness tests start from."""

import subprocess
from pathlib import Path

import pytest

from tests.support.git import shell
from tests.support.readiness_repository import CodeBase, readiness_repository


@pytest.mark.parametrize("language", ["python", "javascript", "typescript"])
def test_the_same_commits_are_made_each_time(tmp_path: Path, language: CodeBase) -> None:
    heads = {shell(readiness_repository(tmp_path / name, language), "git rev-parse HEAD") for name in "ab"}
    assert len(heads) == 1


def test_history_changes_nothing_of_the_end(tmp_path: Path) -> None:
    trees = {
        shell(readiness_repository(tmp_path / str(history), "python", history=history), "git rev-parse HEAD^{tree}")
        for history in (False, True)
    }
    assert len(trees) == 1


def test_the_tests_pass(tmp_path: Path) -> None:
    root = readiness_repository(tmp_path / "seats", "javascript")
    done = subprocess.run(["node", "--test"], cwd=root, capture_output=True, text=True, check=False)
    assert "# fail 0" in done.stdout
    assert "# pass 47" in done.stdout
