from pathlib import Path

import pytest

from scylla_gha.errors import FixtureError
from scylla_gha.prepare.git_directory import NO_ATTRIBUTES, fetch, git, init
from tests.support.git import shell
from tests.support.repository import write_tree


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A git directory of the harness."""
    init(tmp_path / "own")
    return tmp_path / "own"


def test_a_new_git_directory_is_bare_on_main_and_knows_no_attributes(own: Path) -> None:
    assert git(own, "symbolic-ref", "HEAD") == b"refs/heads/main\n"
    assert git(own, "config", "core.bare") == b"true\n"
    assert (own / "info" / "attributes").read_text() == NO_ATTRIBUTES
    assert not (own / "hooks").exists()


def test_a_git_directory_is_not_made_twice(own: Path) -> None:
    with pytest.raises(FileExistsError):
        init(own)


def test_standard_input_goes_in_and_standard_output_comes_out(own: Path) -> None:
    assert git(own, "hash-object", "--stdin", stdin=b"hello\n") == b"ce013625030ba8dba906f756967f9e9ca394464a\n"


def test_an_error_of_git_names_command_folder_and_reason(own: Path) -> None:
    with pytest.raises(FixtureError, match=rf"git rev-parse in {own} failed: fatal: .*nowhere"):
        git(own, "rev-parse", "nowhere")


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param("GIT_CONFIG_GLOBAL", id="another global configuration"),
        pytest.param("HOME", id="the user's own"),
        pytest.param("XDG_CONFIG_HOME", id="the user's own in .config"),
    ],
)
def test_no_configuration_of_the_users_is_read(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    for name in ("mine", "home/.gitconfig", "config/git/config"):
        write_tree(tmp_path, {name: "[user]\n\tname = Canary\n"})
    places = {"GIT_CONFIG_GLOBAL": "mine", "HOME": "home", "XDG_CONFIG_HOME": "config"}
    monkeypatch.setenv(setting, str(tmp_path / places[setting]))
    assert b"Canary" not in git(own, "config", "--list")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_DIR", "/nonexistent"),
        ("GIT_WORK_TREE", "/nonexistent"),
        ("GIT_INDEX_FILE", "/nonexistent/index"),
        ("GIT_OBJECT_DIRECTORY", "/nonexistent/objects"),
        ("GIT_EXTERNAL_DIFF", "false"),
        ("GIT_CONFIG_PARAMETERS", "'core.bare=false'"),
        ("GIT_TRACE", "1"),
    ],
)
def test_no_git_variable_of_the_parent_is_seen(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    tree = write_tree(tmp_path / "tree", {"a": "a\n"})
    monkeypatch.setenv(name, value)
    git(own, "add", "--all", ".", work_tree=tree)
    assert git(own, "ls-files") == b"a\n"
    assert git(own, "config", "core.bare") == b"true\n"


def test_files_are_taken_as_they_are_whatever_the_attributes_ask(own: Path, tmp_path: Path) -> None:
    asked = "* text eol=lf ident working-tree-encoding=UTF-16\n[attr]secret -diff\n*.bin filter=lfs secret\n"
    tree = write_tree(tmp_path / "tree", {".gitattributes": asked, "crlf": "$Id$\r\nx\r\n", "a.bin": "\r\n"})
    git(own, "add", "--all", ".", work_tree=tree)
    assert git(own, "cat-file", "blob", ":crlf") == b"$Id$\r\nx\r\n"
    assert git(own, "cat-file", "blob", ":a.bin") == b"\r\n"
    empty = git(own, "hash-object", "-t", "tree", "-w", "--stdin").decode().strip()
    shown = git(own, "diff-index", "--cached", "--patch", empty)
    assert b"+$Id$\r\n+x\r\n" in shown, "neither `ident` nor a macro may change or hide a line"


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A user's repository with two commits."""
    folder = write_tree(tmp_path / "remote", {"a": "1\n"})
    shell(folder, "git init -q; git add a; git commit -qm one; echo 2 >a; git commit -qam two")
    return folder


def test_the_tip_is_fetched_without_its_history(own: Path, remote: Path) -> None:
    tip = shell(remote, "git rev-parse HEAD")
    fetch(own, f"file://{remote}", tip)
    assert git(own, "cat-file", "blob", f"{tip}:a") == b"2\n"
    with pytest.raises(FixtureError):
        git(own, "rev-parse", "--verify", f"{tip}~1")


def test_a_commit_that_is_not_the_tip_is_fetched(own: Path, remote: Path) -> None:
    first = shell(remote, "git config uploadpack.allowAnySHA1InWant true; git rev-parse HEAD~1")
    fetch(own, f"file://{remote}", first)
    assert git(own, "cat-file", "blob", f"{first}:a") == b"1\n"


@pytest.mark.parametrize(
    ("url", "commit"),
    [
        pytest.param("file://{remote}", "1" * 40, id="no such commit"),
        pytest.param("file:///nowhere/at/all", "HEAD", id="no such repository"),
    ],
)
def test_what_cannot_be_fetched_is_named_with_the_keys_to_check(own: Path, remote: Path, url: str, commit: str) -> None:
    place = url.format(remote=remote)
    with pytest.raises(FixtureError) as caught:
        fetch(own, place, commit)
    message = str(caught.value)
    assert message.startswith(f"{place}: cannot fetch commit {commit}: ")
    assert message.endswith("; check source.repo and source.hash")


def test_a_fetch_uses_the_users_own_configuration(
    own: Path, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = shell(remote, "git rev-parse HEAD")
    config = f'[url "file://{remote}"]\n\tinsteadOf = company:project\n'
    write_tree(tmp_path, {"gitconfig": config})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    fetch(own, "company:project", tip)
    assert git(own, "cat-file", "-t", tip) == b"commit\n"
