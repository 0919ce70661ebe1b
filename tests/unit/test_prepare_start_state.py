import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scylla_gha.errors import FixtureError
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.prepare.git_directory import git
from scylla_gha.prepare.start_state import StartState, commit_of, scan_tree, start_state
from tests.support.git import shell
from tests.support.repository import FILES, make_start, write_tree

# As git alone has it. It must stay what scenarios have pinned, in every later version of the toolkit.
PINNED = "d32ec45844f7cd5ed37446316dde0fab968cee48"
NEVER = "1" * 40


def start_from(fixture: Path, cache: Path, commit: str | None = None) -> StartState:
    return start_state(FixtureSource(fixture="any", hash=commit or commit_of(fixture)), fixture, cache)


def start_from_remote(repo: Path, commit: str, cache: Path) -> StartState:
    return start_state(FixtureSource(repo=f"file://{repo}", hash=commit), None, cache)


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    folder = write_tree(tmp_path / "fixture", FILES)
    (folder / "link").symlink_to("./notes")
    return folder


def test_the_commit_of_a_fixture_is_always_the_same(fixture: Path) -> None:
    assert commit_of(fixture) == PINNED


def later(fixture: Path) -> None:
    for path in fixture.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)


def other_rights(fixture: Path) -> None:
    for path in fixture.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(later, id="times"),
        pytest.param(other_rights, id="rights of others"),
        pytest.param(lambda f: (f / "empty" / "d").mkdir(parents=True), id="empty folders"),
        pytest.param(lambda f: write_tree(f, {"debug.log": "x", "build/out": "x"}), id="what its own rules ignore"),
    ],
)
def test_what_git_does_not_keep_does_not_change_the_commit(fixture: Path, change: Callable[[Path], object]) -> None:
    change(fixture)
    assert commit_of(fixture) == PINNED


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_umask_changes_neither_commit_nor_tree(fixture: Path, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        start = start_from(fixture, tmp_path / "cache")
    finally:
        os.umask(before)
    assert start.commit == PINNED
    assert start.manifest == scan_tree(start.clone)


def test_neither_the_users_configuration_nor_a_running_hooks_variables_change_it(
    fixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = f"""
[core]\n\tautocrlf = true\n\thooksPath = {tmp_path}/hooks\n\tfileMode = false\n\texcludesFile = {tmp_path}/ignored
[user]\n\tname = Somebody\n\temail = else@example.com
[commit]\n\tgpgSign = true
[init]\n\tdefaultBranch = trunk\n\ttemplateDir = {tmp_path}
[i18n]\n\tcommitEncoding = latin1
"""
    canary = f"#!/bin/sh\ntouch {tmp_path}/ran\n"
    write_tree(tmp_path, {"home/.gitconfig": config, "ignored": "*.sh\n", "hooks/reference-transaction": canary})
    (tmp_path / "hooks" / "reference-transaction").chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    # as in a hook of the user's, where git sets these
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other.index"))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    start = start_from(fixture, tmp_path / "cache", PINNED)
    assert set(start.manifest.entries) == {*FILES, "link"}
    assert not (tmp_path / "other.git").exists()
    assert not (tmp_path / "ran").exists(), "the user's hooks must not run"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda f: (f / "greet.sh").chmod(0o644), id="the right to execute"),
        pytest.param(lambda f: write_tree(f, {"notes/kept.txt": "kept"}), id="a last line end"),
        pytest.param(lambda f: write_tree(f, {"new": ""}), id="a new empty file"),
        pytest.param(lambda f: (f / "data.bin").rename(f / "data2.bin"), id="a name"),
    ],
)
def test_a_changed_fixture_is_refused_with_both_hashes_and_what_to_do(
    fixture: Path, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    change(fixture)
    made = commit_of(fixture)
    with pytest.raises(FixtureError) as caught:
        start_from(fixture, tmp_path / "cache", PINNED)
    assert str(caught.value) == (
        f"{fixture}: this fixture is commit {made}, but the scenario pins {PINNED}; "
        "undo the change to the fixture, or set source.hash to the new commit on purpose"
    )
    assert not list((tmp_path / "cache" / "starts").glob("*/"))


def test_the_clone_is_a_clean_repository_on_main_without_remote_or_hint(fixture: Path, tmp_path: Path) -> None:
    start = start_from(fixture, tmp_path / "cache")
    assert shell(start.clone, "git status --porcelain") == ""
    assert shell(start.clone, "git log --format='%H %an <%ae> %s %aI'") == (
        f"{PINNED} Maintainer <maintainer@example.com> Initial commit 2026-01-01T00:00:00+00:00"
    )
    assert shell(start.clone, "git branch --show-current; git remote; git tag; git stash list") == "main"
    assert shell(start.clone, "git fsck --strict 2>&1") == ""
    own = b"".join(path.read_bytes() for path in (start.clone / ".git").rglob("*") if path.is_file())
    assert str(tmp_path).encode() not in own, "no file of it may tell where it comes from"


def test_the_clone_is_the_pinned_tree(fixture: Path, tmp_path: Path) -> None:
    start = start_from(fixture, tmp_path / "cache")
    assert start.manifest.tree == git(start.git_dir, "rev-parse", f"{PINNED}^{{tree}}").decode().strip()
    assert (start.clone / "greet.sh").stat().st_mode & 0o100
    assert os.readlink(start.clone / "link") == "./notes"  # noqa: PTH115 a Path would drop the dot


def test_a_cached_start_needs_no_fixture_any_more(fixture: Path, tmp_path: Path) -> None:
    start_from(fixture, tmp_path / "cache")
    (tmp_path / "again").symlink_to("cache")  # another name, so that nothing held in memory answers
    shutil.rmtree(fixture)
    assert start_from(fixture, tmp_path / "again", PINNED).commit == PINNED


@pytest.mark.parametrize(
    "tamper",
    [
        pytest.param(lambda place: (place / "clone" / "notes" / "kept.txt").write_text("other"), id="edited"),
        pytest.param(lambda place: (place / "clone" / "notes" / "kept.txt").unlink(), id="removed"),
        pytest.param(lambda place: (place / "clone" / "more").touch(), id="added"),
        pytest.param(lambda place: (place / "clone" / "greet.sh").chmod(0o644), id="mode"),
        pytest.param(lambda place: shutil.rmtree(place / "clone"), id="no clone"),
        pytest.param(lambda place: shutil.rmtree(place / "git"), id="no git directory"),
        pytest.param(lambda place: shutil.rmtree(place / "git" / "objects"), id="no objects"),
    ],
)
def test_a_tampered_cache_is_made_anew(fixture: Path, tmp_path: Path, tamper: Callable[[Path], object]) -> None:
    tree = start_from(fixture, tmp_path / "cache").manifest.tree
    tamper(tmp_path / "cache" / "starts" / PINNED)
    (tmp_path / "again").symlink_to("cache")
    again = start_from(fixture, tmp_path / "again")
    assert (again.manifest.tree, scan_tree(again.clone).tree) == (tree, tree)
    assert git(again.git_dir, "cat-file", "-t", PINNED) == b"commit\n"


def test_what_a_killed_process_left_half_made_is_no_start(fixture: Path, tmp_path: Path) -> None:
    left = tmp_path / "cache" / "starts" / f"{PINNED}.{os.getpid()}.tmp"
    write_tree(left, {"clone/half": "x", "git/HEAD": "broken"})
    assert start_from(fixture, tmp_path / "cache").manifest.tree == scan_tree(fixture).tree
    assert not left.exists()


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    """A user's repository: two commits on main, and one that no branch has."""
    folder = write_tree(tmp_path / "remote", {"a": "1\n", "d/run.sh": "exit 0\n"})
    shell(
        folder,
        """
git init -q -b main; git config uploadpack.allowAnySHA1InWant true
git add .; git commit -qm one; git tag first
echo 2 >a; git commit -qam two
git checkout -q --detach; echo 3 >a; git commit -qam three; git rev-parse HEAD >../three; git checkout -q main
""",
    )
    return folder


def test_a_remote_repository_starts_at_its_tip(remote: Path, tmp_path: Path) -> None:
    start = start_from_remote(remote, shell(remote, "git rev-parse main"), tmp_path / "cache")
    assert (start.clone / "a").read_text() == "2\n"
    assert shell(start.clone, "git log --format=%s; git status --porcelain; git remote") == "two"


@pytest.mark.parametrize(("commit", "content"), [("first", "1\n"), ("$(cat ../three)", "3\n")])
def test_a_remote_repository_starts_at_a_commit_that_is_no_tip(
    remote: Path, tmp_path: Path, commit: str, content: str
) -> None:
    start = start_from_remote(remote, shell(remote, f"git rev-parse {commit}^{{}}"), tmp_path / "cache")
    assert (start.clone / "a").read_text() == content
    assert set(start.manifest.entries) == {"a", "d/run.sh"}


def test_two_commits_of_one_repository_share_a_mirror(remote: Path, tmp_path: Path) -> None:
    for name in ("main", "first"):
        start_from_remote(remote, shell(remote, f"git rev-parse {name}"), tmp_path / "cache")
    assert len(list((tmp_path / "cache" / "mirrors").glob("*/"))) == 1


def test_a_commit_that_the_remote_repository_has_not_is_refused(remote: Path, tmp_path: Path) -> None:
    with pytest.raises(FixtureError) as caught:
        start_from_remote(remote, NEVER, tmp_path / "cache")
    message = str(caught.value)
    assert message.startswith(f"file://{remote}: cannot fetch commit {NEVER}: ")
    assert message.endswith("check source.repo and source.hash")
    assert not list((tmp_path / "cache" / "starts").glob("*/")), "nothing half-made may stay"


def test_line_ends_and_filters_that_a_remote_repository_asks_for_are_not_applied(remote: Path, tmp_path: Path) -> None:
    write_tree(remote, {".gitattributes": "* text=auto eol=crlf\n*.id ident\n", "x.id": "$Id$\n"})
    shell(remote, "git add .; git commit -qm attributes")
    start = start_from_remote(remote, shell(remote, "git rev-parse main"), tmp_path / "cache")
    assert ((start.clone / "a").read_bytes(), (start.clone / "x.id").read_bytes()) == (b"2\n", b"$Id$\n")


RULES = {
    ".gitignore": "*.log\nbuild/\n/top\n!keep.log\n# a comment\ntrailing \n",
    "sub/.gitignore": "!wanted.log\nlocal\n",
    "sub/file": "",
    "data/.gitignore": "*\n!.gitignore\n",
}


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("x.log", True),
        ("sub/x.log", True),
        ("keep.log", False),
        ("sub/wanted.log", False),  # the nearest rule decides
        ("wanted.log", True),
        ("build/", True),
        ("sub/build/", True),
        ("build", False),  # a file, and the rule is of folders
        ("top", True),
        ("sub/top", False),
        ("sub/local", True),
        ("local", False),
        ("data/x", True),
        ("data/", False),
        ("trailing", True),
        ("# a comment", False),
        (".gitignore", False),
        ("sub/file", False),
        ("\n.log", True),
        (os.fsdecode(b"\xff.log"), True),
    ],
)
def test_the_bases_ignore_rules_are_gits(tmp_path: Path, path: str, ignored: bool) -> None:
    assert make_start(tmp_path / "fixture", RULES).ignored(path) is ignored


def test_tracked_files_and_their_folders_are_never_ignored(remote: Path, tmp_path: Path) -> None:
    write_tree(remote, {".gitignore": "dist/\n*.log\n", "dist/js/kept.js": "", "kept.log": ""})
    shell(remote, "git add --force .; git commit -qm tracked")
    ignored = start_from_remote(remote, shell(remote, "git rev-parse main"), tmp_path / "cache").ignored
    assert not any(ignored(path) for path in ("dist/", "dist/js/", "dist/js/kept.js", "kept.log"))
    assert all(ignored(path) for path in ("dist/new.js", "dist/js/new.js", "dist/new/", "new.log"))


def test_a_link_called_gitignore_gives_no_rules_as_with_git(tmp_path: Path) -> None:
    fixture = write_tree(tmp_path / "fixture", {"rules": "*\n"})
    (fixture / ".gitignore").symlink_to("rules")
    assert not start_from(fixture, tmp_path / "cache").ignored("new")
