import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.errors import FixtureError
from scylla_gha.prepare.start_state import StartState, TooLargeError, scan_tree
from scylla_gha.prepare.workspace import (
    materialise_diff,
    open_workspace,
    remove_stale_workspaces,
    remove_tree,
    scratch,
    snapshot,
    work_root,
)
from tests.support.git import shell
from tests.support.processes import without_special_rights
from tests.support.repository import make_start, write_tree
from tests.support.workspaces import act

NO_SPECIAL = "".join(map(chr, range(1, 128))).replace("/", "")


@pytest.fixture
def start(tmp_path: Path) -> StartState:
    return make_start(tmp_path / "fixture")


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work root of the test's own."""
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))
    return tmp_path / "work"


def test_every_repetition_starts_from_the_same(start: StartState, tmp_path: Path) -> None:
    opened = [open_workspace(start, tmp_path / str(number)) for number in range(3)]
    assert {scan_tree(workspace.repo).tree for workspace in opened} == {start.manifest.tree}
    assert {shell(workspace.repo, "git rev-parse HEAD") for workspace in opened} == {start.commit}
    assert [list(workspace.home.iterdir()) for workspace in opened] == [[], [], []]


def test_what_one_agent_does_no_other_sees(start: StartState, tmp_path: Path) -> None:
    first = open_workspace(start, tmp_path / "1").repo
    shell(first, "echo x >>notes/kept.txt; git commit -qam x; git config core.hooksPath /tmp; rm -r .git/objects/pack")
    second = open_workspace(start, tmp_path / "2").repo
    assert scan_tree(second).tree == start.manifest.tree
    assert shell(second, "git fsck 2>&1; git status --porcelain; git log --format=%s") == "Initial commit"


def test_a_start_that_was_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    start = make_start(tmp_path / "fixture", {"only-here": "1"})
    (start.clone / "only-here").write_text("2")
    with pytest.raises(FixtureError, match=rf"its copy is not the tree of commit {start.commit}; try again"):
        open_workspace(start, tmp_path / "root")


def test_nothing_changed_is_an_empty_patch(start: StartState, tmp_path: Path) -> None:
    left = act(start, tmp_path / "w", "touch notes/kept.txt; mkdir -p empty/folder; git gc -q")
    assert (left.diff.files, left.diff.added, left.diff.deleted, left.diff.skipped) == ((), 0, 0, ())
    assert (left.patch, left.diff.sha256) == (b"", hashlib.sha256(b"").hexdigest())


@pytest.mark.parametrize(
    ("do", "files", "added", "deleted"),
    [
        pytest.param("echo 1 >new", ["new"], 1, 0, id="untracked"),
        pytest.param("echo 1 >new; git add new", ["new"], 1, 0, id="staged"),
        pytest.param("echo 1 >new; git add new; git commit -qm x", ["new"], 1, 0, id="committed"),
        pytest.param("echo 1 >new; git add -N new", ["new"], 1, 0, id="intent to add"),
        pytest.param("git checkout -qb b; echo 1 >new; git add new; git commit -qm x", ["new"], 1, 0, id="on a branch"),
        pytest.param("echo 1 >new; git add new; rm new", [], 0, 0, id="staged, then removed"),
        pytest.param("echo 1 >new; git stash -qu", [], 0, 0, id="stashed away"),
        pytest.param("git rm -q --cached notes/kept.txt", [], 0, 0, id="taken out of the index only"),
        pytest.param("git update-index --assume-unchanged greet.sh; echo x >greet.sh", ["greet.sh"], 1, 2,
                     id="assumed unchanged"),
        pytest.param("git update-index --skip-worktree greet.sh; echo x >greet.sh", ["greet.sh"], 1, 2,
                     id="skip-worktree"),
        pytest.param("rm notes/kept.txt", ["notes/kept.txt"], 0, 1, id="deleted"),
        pytest.param("git rm -q notes/kept.txt; git commit -qm x", ["notes/kept.txt"], 0, 1, id="deletion committed"),
        pytest.param("rm -r ./* .gitignore", [".gitignore", "data.bin", "greet.sh", "notes/kept.txt"], 0, 5,
                     id="all deleted"),
        pytest.param("chmod -x greet.sh", ["greet.sh"], 0, 0, id="mode"),
        pytest.param("printf '\\0\\1\\3' >data.bin", ["data.bin"], 0, 0, id="binary"),
        pytest.param("head -c 100000 /dev/urandom >random", ["random"], None, 0, id="new binary"),
        pytest.param(": >empty", ["empty"], 0, 0, id="empty file"),
        pytest.param("printf x >new", ["new"], 1, 0, id="no line end"),
        pytest.param("printf 'a\\r\\nb\\r\\n' >new", ["new"], 2, 0, id="line ends of another system"),
        pytest.param("git mv notes/kept.txt moved", ["moved", "notes/kept.txt"], 1, 1, id="renamed"),
        pytest.param("ln -s greet.sh link", ["link"], 1, 0, id="link"),
        pytest.param("ln -s /etc/passwd link; ln -s nowhere gone", ["gone", "link"], 2, 0, id="links to elsewhere"),
        pytest.param("rm greet.sh; ln -s data.bin greet.sh", ["greet.sh"], 1, 2, id="link for a file"),
        pytest.param("rm -r notes; ln -s . notes", ["notes", "notes/kept.txt"], 1, 1, id="link for a folder"),
        pytest.param("rm -r notes; echo 1 >notes", ["notes", "notes/kept.txt"], 1, 1, id="file for a folder"),
        pytest.param("rm greet.sh; mkdir greet.sh; echo 1 >greet.sh/x", ["greet.sh", "greet.sh/x"], 1, 2,
                     id="folder for a file"),
        pytest.param("rm greet.sh; mkfifo greet.sh", ["greet.sh"], 0, 2, id="pipe for a file"),
        pytest.param("rm -r notes; mkfifo notes", ["notes/kept.txt"], 0, 1, id="pipe for a folder"),
    ],
)  # fmt: skip
def test_all_work_is_in_the_diff(
    start: StartState, tmp_path: Path, do: str, files: list[str], added: int | None, deleted: int
) -> None:
    left = act(start, tmp_path / "w", do)
    assert list(left.diff.files) == files
    assert left.diff.added == (left.diff.added if added is None else added)
    assert left.diff.deleted == deleted
    assert left.diff.sha256 == hashlib.sha256(left.patch).hexdigest()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a\nb", id="newline"),
        pytest.param("\ndiff --git a/x b/x\n", id="what looks like a patch"),
        pytest.param("1\t2\tx", id="what looks like a number of lines"),
        pytest.param('a"b', id="quote"),
        pytest.param("a\\b", id="backslash"),
        pytest.param("a\tb", id="tab"),
        pytest.param(" a ", id="spaces around"),
        pytest.param("b b/b", id="what looks like two names"),
        pytest.param("a /b", id="a folder with a space at its end"),
        pytest.param("-rf", id="option"),
        pytest.param(":(exclude)x", id="pathspec magic"),
        pytest.param("*", id="glob"),
        pytest.param("\u00e9\U0001f600", id="UTF-8"),
        pytest.param(os.fsdecode(b"\xff\xfe"), id="no UTF-8"),
        pytest.param(NO_SPECIAL, id="every ASCII character"),
        pytest.param("x" * 255, id="long"),
        pytest.param("git~1", id="refused by git on other systems"),
    ],
)
def test_odd_names_arrive(start: StartState, tmp_path: Path, name: str) -> None:
    left = act(start, tmp_path / "w", lambda repo: write_tree(repo, {name: "1\n", f"new/{name}/{name}": ""}))
    assert left.diff.added == 1
    assert (left.judged / name).read_text() == "1\n"
    assert (left.judged / "new" / name / name).read_text() == ""
    assert not any("\ud800" <= character <= "\udfff" for character in "".join(left.diff.files)), "not storable as JSON"


def test_a_name_that_is_no_utf8_is_shown_with_its_bytes(start: StartState, tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff")
    assert act(start, tmp_path / "w", lambda repo: write_tree(repo, {name: ""})).diff.files == ("a\\xff",)


def test_the_same_work_is_the_same_patch_each_time(start: StartState, tmp_path: Path) -> None:
    do = "git mv notes/kept.txt z; printf '\\0' >bin; echo 1 >b; git add b; git commit -qm x; echo 2 >a; chmod +x a"
    patches = {act(start, tmp_path / str(number), do).patch for number in range(3)}
    assert len(patches) == 1


def test_what_the_base_ignores_is_left_out_and_what_the_agent_ignores_is_not(start: StartState, tmp_path: Path) -> None:
    left = act(
        start,
        tmp_path / "w",
        """
mkdir build node_modules; echo 1 >build/out; echo 1 >debug.log; echo 1 >node_modules/x
echo '*' >.gitignore; mkdir -p .git/info; echo '*' >.git/info/exclude; git config core.excludesFile .gitignore
""",
    )
    assert left.diff.files == (".gitignore", "node_modules/x")


def test_what_is_no_file_is_named_and_left_out(start: StartState, tmp_path: Path) -> None:
    left = act(start, tmp_path / "w", "mkfifo pipe; echo 1 >new")
    assert (left.diff.files, left.diff.skipped) == (("new",), ("pipe",))


def test_what_is_cleaned_is_not_in_the_patch_and_it_applies(start: StartState, tmp_path: Path) -> None:
    workspace = open_workspace(start, tmp_path / "w")
    shell(workspace.repo, r"printf 'a\0SECRET' >bin; ln -s SECRET link; echo SECRET >>greet.sh; : >SECRET")
    diff, patch = snapshot(start, workspace, 1000, lambda content: content.replace(b"SECRET", b"[redacted]"))
    assert diff.sha256 == hashlib.sha256(patch).hexdigest()
    materialise_diff(start, patch, tmp_path / "judged")
    assert (tmp_path / "judged/bin").read_bytes() + (tmp_path / "judged/[redacted-1]").read_bytes() == b"a\0[redacted]"
    assert [(tmp_path / "judged/link").readlink(), b"SECRET" in patch] == [Path("[redacted]"), False]


def test_more_data_than_allowed_is_refused(start: StartState, tmp_path: Path) -> None:
    workspace = open_workspace(start, tmp_path / "w")
    write_tree(workspace.repo, {"big": "x" * 1001})
    with pytest.raises(TooLargeError):
        snapshot(start, workspace, 1000)
    write_tree(workspace.repo, {"big": "x" * 1000})
    assert snapshot(start, workspace, 1000)[0].files == ("big",)


def test_a_patch_that_does_not_apply_is_refused(start: StartState, tmp_path: Path) -> None:
    patch = b"diff --git a/greet.sh b/greet.sh\n--- a/greet.sh\n+++ b/greet.sh\n@@ -1 +1 @@\n-no such line\n+x\n"
    with pytest.raises(FixtureError, match=r"^git apply in .* failed: error: patch failed: greet.sh:1"):
        materialise_diff(start, patch, tmp_path / "judged")


@pytest.mark.parametrize("patch", [b"", b"\n"])
def test_no_patch_is_the_base_without_its_git_directory(start: StartState, tmp_path: Path, patch: bytes) -> None:
    materialise_diff(start, patch, tmp_path / "judged")
    assert scan_tree(tmp_path / "judged").tree == start.manifest.tree
    assert not (tmp_path / "judged" / ".git").exists()


def test_a_patch_cannot_write_outside_of_its_folder(start: StartState, tmp_path: Path) -> None:
    patch = b"diff --git a/../out b/../out\nnew file mode 100644\n--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(FixtureError):
        materialise_diff(start, patch, tmp_path / "judged")
    assert not (tmp_path / "out").exists()


def test_a_scratch_folder_is_private_and_gone_afterwards(work: Path) -> None:
    with scratch() as folder:
        assert folder.parent == work
        assert folder.name.startswith(f"{os.getpid()}-")
        assert (folder.stat().st_mode & 0o777, work.stat().st_mode & 0o777) == (0o700, 0o700)
        write_tree(folder, {"a/b": "x"})
    assert list(work.iterdir()) == []


@pytest.mark.usefixtures("work")
def test_a_scratch_folder_is_gone_after_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), scratch() as folder:
        _ = 1 / 0
    assert not folder.exists()


def test_only_what_ended_processes_left_is_reaped(work: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = [f"{ended.pid}-left", f"{os.getpid()}-mine", "1-of-init", "somebody-else", "-x", "12x-y", "plain"]
    for name in names:
        (work / name).mkdir(parents=True)
    remove_stale_workspaces()
    assert sorted(path.name for path in work.iterdir()) == sorted(names[1:])


def test_there_may_be_nothing_to_reap(work: Path) -> None:
    remove_stale_workspaces()
    assert not work.exists()


@pytest.mark.parametrize(
    ("place", "mode"),
    [
        pytest.param("top/a/b", 0, id="closed"),
        pytest.param("top/a/b", 0o500, id="write-protected"),
        pytest.param("top/a", 0, id="closed above"),
        pytest.param("top", 0o400, id="closed itself"),
    ],
)
def test_a_folder_without_rights_is_removed(tmp_path: Path, place: str, mode: int) -> None:
    with without_special_rights(tmp_path):
        write_tree(Path("top"), {"a/b/c": ""})
        Path(place).chmod(mode)
        remove_tree(Path("top"))
        assert not Path("top").exists()


def test_removing_takes_no_rights_to_what_links_lead_to(tmp_path: Path) -> None:
    with without_special_rights(tmp_path):
        elsewhere, top = write_tree(Path("elsewhere"), {"file": ""}), write_tree(Path("top"), {"closed/file": ""})
        elsewhere.chmod(0o750)
        (top / "closed" / "link").symlink_to("../../elsewhere")
        (top / "closed").chmod(0o500)  # so that the link is still there when rights are taken
        remove_tree(top)
        assert not top.exists()
        assert (elsewhere.stat().st_mode & 0o777, (elsewhere / "file").exists()) == (0o750, True)


def test_of_a_link_only_the_link_is_removed(tmp_path: Path) -> None:
    elsewhere = write_tree(tmp_path / "elsewhere", {"folder/file": ""})
    elsewhere.chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    remove_tree(link)
    assert (link.is_symlink(), (elsewhere / "folder/file").exists()) == (False, True)
    assert elsewhere.stat().st_mode & 0o777 == 0o755


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """3000 folders in one another, which is too deep for pytest to remove."""
    nest = "import os\nos.mkdir('top'); os.chdir('top')\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    subprocess.run([sys.executable, "-c", nest], cwd=tmp_path, check=True)
    yield tmp_path / "top"
    subprocess.run(["rm", "-rf", "top"], cwd=tmp_path, check=True)


def test_folders_nested_beyond_measure_are_removed(deep: Path) -> None:
    remove_tree(deep)
    assert not deep.exists()


def test_the_default_work_root_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCYLLA_WORK", raising=False)
    assert work_root().name == f"work-{os.getuid()}"


@pytest.mark.parametrize("git", ["folder", "file of a worktree"])
def test_a_work_root_inside_a_repository_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: str) -> None:
    write_tree(tmp_path, {"repo/.git" if git != "folder" else "repo/.git/HEAD": ""})
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "repo" / "deep" / "work"))
    with pytest.raises(FixtureError) as caught:
        work_root()
    assert f"{tmp_path}/repo is one; set SCYLLA_WORK to another folder" in str(caught.value)
