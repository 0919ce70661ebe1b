"""The copy of the user's code that is measured: tracked files of a commit, and nothing else."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from scylla_gha.errors import FixtureError
from scylla_gha.readiness.material import at_revision, copy_of_folder, repository_of, working_copy


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *identity, "-C", str(folder), *args], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    lines = [f"{path}{path.lstat().st_mtime_ns}{path.read_bytes() if path.is_file() else b''!r}" for path in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with links, a submodule, a filter that would change files, and uncommitted work."""
    root, other = tmp_path / "shop", tmp_path / "other"
    for folder in (root, other):
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch=main")
        (folder / "shop.py").write_text("def price():\n    return 3\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", "Prices")
    (root / ".gitattributes").write_text("*.py filter=upper text eol=crlf\n*.md export-ignore\n")
    (root / "README.md").write_text("# Shop\n")
    (root / "inside.py").symlink_to("shop.py")
    (root / "outside").symlink_to("../other/shop.py")
    (root / "loop").symlink_to("loop")
    (root / "absolute").symlink_to(root / "shop.py")
    (root / "odd\nname.py").write_text("ODD = 1\n")
    git(root, "submodule", "--quiet", "add", str(other), "vendor/other")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "Links")
    git(root, "config", "filter.upper.smudge", "tr a-z A-Z")
    (root / "shop.py").write_text("def price():\n    return 4\n")
    (root / "untracked.py").write_text("")
    return root


def test_the_copy_has_the_files_of_the_commit_and_the_repository_is_not_written(repository: Path) -> None:
    before = digest(repository)
    copy = working_copy(repository_of(repository), repository.parent / "run")
    assert digest(repository) == before
    files = {str(path.relative_to(copy.root)) for path in copy.root.rglob("*") if not path.is_dir()}
    assert files == {".gitattributes", ".gitmodules", "README.md", "inside.py", "odd\nname.py", "shop.py"}
    assert (copy.root / "shop.py").read_text() == "def price():\n    return 3\n"
    uncommitted, links, submodules = copy.notes
    assert "2 paths with uncommitted changes" in uncommitted
    assert "the last commit is measured" in uncommitted
    assert links.startswith("3 links left out, such as 'absolute'")
    assert submodules == "1 submodule left out, such as 'vendor/other', which is another repository"


def test_the_same_commit_gives_the_same_tree(repository: Path) -> None:
    checkout = repository_of(repository)
    first, second = (working_copy(checkout, repository.parent / name) for name in ("first", "second"))
    assert first.tree == second.tree == copy_of_folder(second.root, repository.parent / "third", first.commit).tree
    earlier = working_copy(at_revision(checkout, "main~1"), repository.parent / "earlier")
    assert earlier.tree != first.tree
    assert not earlier.notes
    assert [path.name for path in earlier.root.iterdir()] == ["shop.py"]


def test_the_message_says_why_a_folder_cannot_be_measured(repository: Path) -> None:
    folder = repository.parent / "empty"
    with pytest.raises(FixtureError, match="is not a folder"):
        repository_of(folder)
    folder.mkdir()
    with pytest.raises(FixtureError, match="is not a git repository; run `git init`"):
        repository_of(folder)
    git(folder, "init", "--quiet")
    with pytest.raises(FixtureError, match="has no commit yet"):
        repository_of(folder)
    with pytest.raises(FixtureError, match="has no commit 'nowhere'; name a branch"):
        at_revision(repository_of(repository), "nowhere")
