"""The start state of a scenario: a commit, made once from a fixture folder or fetched once, then copied per trial.

A fixture becomes one commit with fixed author, dates and modes, so its hash depends on its content alone and can be
pinned. A remote repository is kept as one bare mirror, into which pinned commits are fetched without history.
"""

import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pathspec

from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.model.scenario import Source
from scylla_gha.seeding.cache import locked
from scylla_gha.seeding.git import fetch, git, init
from scylla_gha.seeding.manifest import Manifest, scan

_WHEN: Final = "2026-01-01T00:00:00+00:00"
_WHO: Final = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Maintainer"), ("EMAIL", "maintainer@example.com"), ("DATE", _WHEN))
}


@dataclass(frozen=True, slots=True)
class Start:
    """A commit ready to be copied: the harness's git directory, and a clone with a `.git` of its own for the agent."""

    commit: str
    git_dir: Path
    clone: Path
    manifest: Manifest
    ignored: Callable[[str], bool]

    def holds(self, text: bytes) -> bool:
        """Whether a file of the commit has this text; of one of several lines, its longest line."""
        line = os.fsdecode(max(text.splitlines(), key=len, default=b""))
        try:
            git(self.git_dir, "grep", "--quiet", "--text", "--fixed-strings", "-e", line, self.commit)
        except FixtureError:  # its exit code when there is none
            return False
        return True


def commit_of(fixture: Path) -> str:
    """The hash that a fixture folder has as a commit."""
    with tempfile.TemporaryDirectory() as folder:
        git_dir = Path(folder) / "git"
        init(git_dir)
        return _commit(git_dir, fixture)


def changed_fixture(source: Source, fixture: Path) -> str | None:
    """What is wrong with a fixture whose files are not the pinned commit, whatever is cached; None: they are."""
    made = commit_of(fixture)
    return None if made == source.hash else _changed(fixture, made, source.hash)


def start_of(source: Source, fixture: Path | None, cache: Path) -> Start:
    """The start state of a scenario, made if it is not cached, and proved to be the pinned commit's tree.

    Args:
        source: what the scenario pins.
        fixture: the fixture's folder, where the source is one.
        cache: the folder to keep starts in.

    Raises:
        FixtureError: the content is not the pinned one, or cannot be had.
    """
    return _start(source.hash, source.repo or "", fixture, cache)


@functools.cache
def _start(commit: str, repo: str, fixture: Path | None, cache: Path) -> Start:
    place = cache / "starts" / commit
    if fixture is not None and fixture.is_dir() and (made := commit_of(fixture)) != commit:
        raise FixtureError(_changed(fixture, made, commit))
    with locked(place):
        if place.exists() and not _is_whole(place, commit):
            shutil.rmtree(place)  # something wrote to the cache: make it anew rather than trust it
        if not place.exists():
            _make(place, commit, repo, fixture, cache)
    manifest = scan(place / "clone")
    return Start(commit, place / "git", place / "clone", manifest, _ignore_rules(place / "clone", manifest))


def _make(place: Path, commit: str, repo: str, fixture: Path | None, cache: Path) -> None:
    new = place.with_name(f"{place.name}.{os.getpid()}.tmp")
    for left in place.parent.glob(f"{place.name}.*.tmp"):  # by a process that was killed; who lives waits for the lock
        shutil.rmtree(left, ignore_errors=True)
    try:
        init(new / "git")
        if fixture is not None:
            _commit_pinned(new / "git", fixture, commit)
        else:
            fetch(_mirror(repo, cache), repo, commit)
            fetch(new / "git", str(_mirror(repo, cache)), commit)
        _clone(new / "git", commit, new / "clone")
        if not _is_whole(new, commit):
            raise FixtureError(f"{repo or fixture}: the checked-out files are not those of commit {commit}")
        new.replace(place)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _commit_pinned(git_dir: Path, fixture: Path, commit: str) -> None:
    made = _commit(git_dir, fixture)
    if made != commit:
        raise FixtureError(_changed(fixture, made, commit))


def _changed(fixture: Path, made: str, commit: str) -> str:
    return (f"{fixture}: this fixture is commit {made}, but the scenario pins {commit}; "
            "undo the change to the fixture, or set source.hash to the new commit on purpose")  # fmt: skip


def _commit(git_dir: Path, folder: Path) -> str:
    git(git_dir, "add", "--all", ".", work_tree=folder)
    tree = git(git_dir, "write-tree").decode().strip()
    commit = git(git_dir, "commit-tree", "-m", "Initial commit", tree, env=_WHO).decode().strip()
    git(git_dir, "update-ref", "refs/heads/main", commit)
    return commit


def _clone(git_dir: Path, commit: str, clone: Path) -> None:
    """Make what the agent gets: a repository on branch main at the commit, with an index and no remote."""
    own = clone / ".git"
    init(own)
    git(own, "config", "core.bare", "false")
    git(own, "config", "--unset", "uploadpack.allowAnySHA1InWant")
    fetch(own, str(git_dir), commit)
    git(own, "update-ref", "refs/heads/main", commit)
    git(own, "read-tree", commit, work_tree=clone)
    git(own, "checkout-index", "--all", "--force", "--index", work_tree=clone)
    git(own, "repack", "-adq")
    git(own, "prune-packed", "--quiet")
    (own / "FETCH_HEAD").unlink(missing_ok=True)
    # Each folder that every trial copies and removes costs time.
    for needless in ("info", "logs", "objects/info", "refs/tags", "branches"):
        shutil.rmtree(own / needless, ignore_errors=True)


def _mirror(repo: str, cache: Path) -> Path:
    mirror = cache / "mirrors" / hashlib.sha256(repo.encode()).hexdigest()[:16]
    with locked(mirror):
        if not mirror.exists():
            init(mirror)
    return mirror


def _is_whole(place: Path, commit: str) -> bool:
    try:
        tree = git(place / "git", "rev-parse", f"{commit}^{{tree}}").decode().strip()
    except (FixtureError, ToolError):  # there is no such commit, or no git directory at all
        return False
    return scan(place / "clone").tree == tree


def _ignore_rules(clone: Path, manifest: Manifest) -> Callable[[str], bool]:
    """The base's own ignore rules; the agent's later ones must not hide its files."""
    rules: list[tuple[str, pathspec.GitIgnoreSpec]] = []
    # As git has it, what is nearest to a file decides.
    for path in sorted(manifest.entries, key=lambda path: -path.count("/")):
        if path.rpartition("/")[2] == ".gitignore" and not (clone / path).is_symlink():
            lines = (clone / path).read_text(errors="replace").splitlines()
            rules.append((path.removesuffix(".gitignore"), pathspec.GitIgnoreSpec.from_lines(lines)))
    tracked = {*manifest.entries, *_folders(manifest)}

    def ignored(path: str) -> bool:
        if path in tracked:
            return False  # tracked files are never ignored
        verdicts = (spec.check_file(path[len(top) :]).include for top, spec in rules if path.startswith(top))
        return next((verdict for verdict in verdicts if verdict is not None), False)

    return ignored


def _folders(manifest: Manifest) -> Iterator[str]:
    """The folders that hold tracked files, each with a slash at its end."""
    for path in manifest.entries:
        while path := path.rpartition("/")[0]:
            yield f"{path}/"
