from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError, FixtureError, ToolError
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.prepare import prepare_scenario, prepare_workspace
from scylla_gha.prepare.start_state import scan_tree
from tests.support.git import shell
from tests.support.repository import FILES, SCENARIO, cache, make_repository, write_tree


def test_a_workspace_is_the_fixture_and_an_empty_home_outside_of_any_repository(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo")
    workspace = prepare_workspace(repository.prepared(), tmp_path / "w")
    assert scan_tree(workspace.repo) == scan_tree(repository.fixture)
    assert set(scan_tree(workspace.repo).entries) == set(FILES)
    assert list(workspace.home.iterdir()) == []
    assert shell(workspace.repo, "git rev-parse --show-toplevel") == str(workspace.repo)


def test_nothing_of_the_scenario_is_in_a_workspace(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", beside={"checks/secret.sh": "# a hidden check\n"})
    workspace = prepare_workspace(repository.prepared(), tmp_path / "w")
    names = {path.name for path in workspace.root.rglob("*")}
    assert not names & {"secret.sh", "solution.patch", "rubric.yaml", "scenario.yaml", "prompt.md"}


def test_overrides_are_laid_into_the_home(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"files/rc": "set -o vi\n", "files/config": "[tool]\n"}
    overrides = {".shrc": "files/rc", ".config/tool/config": "files/config"}
    repository = make_repository(tmp_path / "repo", beside=files, overrides=overrides)
    workspace = prepare_workspace(repository.prepared(), tmp_path / "w")
    assert (workspace.home / ".shrc").read_text() == "set -o vi\n"
    assert (workspace.home / ".config" / "tool" / "config").read_text() == "[tool]\n"
    assert scan_tree(workspace.repo) == scan_tree(repository.fixture)


def test_the_fixture_is_the_users_own_before_the_toolkits(tmp_path: Path) -> None:
    mine = make_repository(tmp_path / "mine")
    theirs = make_repository(tmp_path / "theirs", files={"other": ""})
    library = Library((mine.root, theirs.root))
    assert "greet.sh" in prepare_scenario(library.scenario(SCENARIO), library, cache()).start.manifest.entries


def test_a_remote_repository_is_a_start_as_well(tmp_path: Path) -> None:
    remote = write_tree(tmp_path / "remote", {"greet.sh": "exit 0\n", "notes/kept.txt": ""})
    commit = shell(remote, "git init -q; git add .; git commit -qm one; git rev-parse HEAD")
    source = FixtureSource(repo=f"file://{remote}", hash=commit)
    prepared = make_repository(tmp_path / "repo", source=source).prepared()
    workspace = prepare_workspace(prepared, tmp_path / "w")
    assert scan_tree(workspace.repo) == scan_tree(remote)
    assert shell(workspace.repo, "git rev-parse HEAD; git remote") == commit


def test_a_fixture_that_is_not_the_pinned_one_is_refused(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, source=FixtureSource(fixture="greeting", hash="1" * 40))
    with pytest.raises(FixtureError, match=f"the scenario pins {'1' * 40}"):
        repository.prepared()


def test_a_fixture_that_is_nowhere_is_named(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, source=FixtureSource(fixture="greetings", hash="1" * 40))
    with pytest.raises(ConfigError, match=r"fixture 'greetings': not found .*did you mean \"greeting\"\?"):
        repository.prepared()


def test_a_missing_tool_is_named(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, tools={"system": ("no-such-tool",)})
    with pytest.raises(ToolError, match="the scenario needs 'no-such-tool'"):
        repository.prepared()


def test_the_trials_of_a_scenario_have_one_ground(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)
    first, second = repository.prepared(), repository.prepared()
    assert first == second
    assert first.folder == repository.folder()
    assert first.start.commit == first.folder.scenario.source.hash
    assert first.path.endswith(":/usr/local/bin:/usr/bin:/bin")


def test_what_the_task_itself_holds_is_known(tmp_path: Path) -> None:
    files = {"greet.sh": "echo bye\n", "a/b.bin": "x\0 deep-inside\n", "keys.pem": "--one\ntwo\n--a longer line\n"}
    prepared = make_repository(tmp_path, files=files).prepared()
    held = (b"deep-inside", b"says hello".removeprefix(b"says "), b"echo bye", b"--one\nno\n--a longer line")
    assert [prepared.holds(text) for text in held] == [True] * 4
    assert not prepared.holds(b"deep.inside")
    assert not prepared.holds(b"nowhere")
