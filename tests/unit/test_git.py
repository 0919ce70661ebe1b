from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.system.git import run_git
from tests.support.git import shell


@pytest.fixture
def own(tmp_path: Path) -> Path:
    shell(tmp_path, "git init -q --bare own")
    return tmp_path / "own"


def test_what_git_says_comes_back_with_its_code(own: Path) -> None:
    assert run_git(own, "hash-object", "--stdin", stdin=b"hello\n").stdout == (
        b"ce013625030ba8dba906f756967f9e9ca394464a\n"
    )
    failed = run_git(own, "rev-parse", "nowhere")
    assert (failed.code, "unknown revision" in failed.message) == (128, True)


def test_nothing_of_the_callers_environment_or_configuration_counts(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text("[alias]\n\tx = !echo no\n[core]\n\thooksPath = /x\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".gitconfig"))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert run_git(own, "x").code == 1
    assert run_git(own, "config", "core.hooksPath").stdout == b"/dev/null\n"
    assert run_git(own, "rev-parse", "--git-dir").stdout.decode().strip() in {".", str(own)}


def test_what_is_given_is_added(own: Path) -> None:
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    assert run_git(own, "config", "a.b", env=given).stdout == b"c\n"


def test_one_that_hangs_is_ended(own: Path) -> None:
    with pytest.raises(ToolError, match=r"did not end within 0\.2 s"):
        run_git(own, "-c", "alias.x=!sleep 3", "x", seconds=0.2)
