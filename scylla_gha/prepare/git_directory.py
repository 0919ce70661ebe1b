"""Git directories of the harness, and the agent's clone of the repository on the fixture's GitHub.

The file `info/attributes` of these directories outranks every `.gitattributes` and removes all attributes, so that no
filter, line-end conversion or "binary" mark can hide a change.

The agent's clone comes from the hub's seed, which is made here and reused by the hub's process. Modules of the hub are
imported only when needed, since most scenarios have no GitHub state.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.system import process
from scylla_gha.system.git import run_git

NO_ATTRIBUTES: Final = (
    "* !text !eol !crlf !ident !filter !diff !merge !whitespace !working-tree-encoding !export-subst !export-ignore\n"
)
_FETCH_SECONDS: Final = 1800.0
_LIST_SECONDS: Final = 60.0
_MAX_LISTED_BYTES: Final = 32 * 1024 * 1024  # of names
_MAX_FILES: Final = 100_000
_MAX_BYTES: Final = 512 * 1024 * 1024
_FILE_SIZE: Final = re.compile(rb"\d+ \S+ \S+ +(\d+|-)\t.*", re.DOTALL)
_REPOSITORY_VARIABLES: Final = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_PREFIX",
    }
)
_DEFAULT_BRANCH: Final = "refs/heads/github-start"  # in the harness's git directory


def git(
    git_dir: Path, *args: str, work_tree: Path | None = None, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> bytes:
    """Run git on the harness's own git directory and return its standard output.

    Raises:
        FixtureError: git reports an error.
    """
    result = run_git(git_dir, *args, work_tree=work_tree, env=env, stdin=stdin)
    if result.code:
        raise FixtureError(f"git {args[0]} in {work_tree or git_dir} failed: {result.message}")
    return result.stdout


def init(git_dir: Path) -> None:
    """Make an empty bare git directory without attributes, from which any commit can be fetched."""
    _init(git_dir)
    git(git_dir, "config", "uploadpack.allowAnySHA1InWant", "true")


def init_clone(work_tree: Path) -> Path:
    """Make an empty git directory without attributes in a work tree, and return it."""
    git_dir = work_tree / ".git"
    _init(git_dir)
    git(git_dir, "config", "core.bare", "false")
    return git_dir


def _init(git_dir: Path) -> None:
    git_dir.mkdir(parents=True)
    git(git_dir, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=sha1")
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text(NO_ATTRIBUTES)


def fetch(git_dir: Path, url: str, commit: str) -> None:
    """Fetch one commit without its history, with the user's own git configuration (proxies, credentials).

    Raises:
        FixtureError: the repository cannot be reached, or has no such commit.
    """
    argv = ["git", f"--git-dir={git_dir}", "fetch", "--quiet", "--no-tags", "--depth=1", "--", url, commit]
    # This process may run inside a git hook, whose variables point git at another repository.
    env = {name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES}
    result = process.capture(argv, env={**env, "GIT_TERMINAL_PROMPT": "0"}, seconds=_FETCH_SECONDS)
    if result.code:
        raise FixtureError(f"{url}: cannot fetch commit {commit}: {result.message}; check source.repo and source.hash")


def check_out_foreign(git_dir: Path, commit: str, work_tree: Path) -> None:
    """Check out a commit that an agent wrote; its git directory is in the work tree, and bare until then.

    A few objects can stand for millions of files, or for more bytes than any disk has. A commit with too many is
    refused.

    Raises:
        FixtureError: the commit is too large, or git cannot write its files.
    """
    try:
        listed = run_git(
            git_dir,
            "ls-tree",
            "-r",
            "-l",
            "-z",
            "--full-tree",
            commit,
            seconds=_LIST_SECONDS,
            most_bytes=_MAX_LISTED_BYTES,
        )
    except ToolError as error:
        raise FixtureError(f"{commit}: its files cannot be listed: {error}") from None
    if listed.code:
        raise FixtureError(f"{commit}: its files cannot be listed: {listed.message}")
    sizes = [matched[1] for line in listed.stdout.split(b"\0") if (matched := _FILE_SIZE.fullmatch(line))]
    size = sum(int(number) for number in sizes if number != b"-")
    if len(sizes) > _MAX_FILES or size > _MAX_BYTES:
        most = f"{counted(_MAX_FILES, 'file')} with {counted(_MAX_BYTES, 'byte')}"
        raise FixtureError(
            f"{commit}: it has {counted(len(sizes), 'file')} with {counted(size, 'byte')}; "
            f"at most {most} are checked out"
        )
    git(git_dir, "config", "core.bare", "false")
    git(git_dir, "update-ref", "--no-deref", "HEAD", commit)
    check_out(git_dir, commit, work_tree)


def check_out(git_dir: Path, commit: str, work_tree: Path) -> None:
    """Write the files of a commit, and an index that has them."""
    git(git_dir, "read-tree", commit, work_tree=work_tree)
    git(git_dir, "checkout-index", "--all", "--force", "--index", work_tree=work_tree)


def tidy(git_dir: Path) -> None:
    """Pack a repository, and remove folders that each trial would spend time to copy and remove."""
    git(git_dir, "repack", "-adq")
    git(git_dir, "prune-packed", "--quiet")
    (git_dir / "FETCH_HEAD").unlink(missing_ok=True)
    for unused in ("info", "logs", "objects/info", "branches"):
        shutil.rmtree(git_dir / unused, ignore_errors=True)


def default_tip(git_dir: Path) -> str | None:
    """Return the default branch's commit at the start; None if the git directory is incomplete."""
    done = run_git(git_dir, "rev-parse", "--verify", "--quiet", _DEFAULT_BRANCH)
    return done.stdout.decode().strip() or None


def clone_github(fixture: Path, new: Path, commit: str, cache: Path) -> str:
    """Clone the repository of the fixture's GitHub for the agent, into `new`/clone; return the default branch's tip.

    Raises:
        FixtureError: the fixture's GitHub has no commit.
        ConfigError: its `github.yaml` is invalid.
    """
    from scylla_gha.hub.fixture import StartCommit
    from scylla_gha.hub.git_store import GitRepository
    from scylla_gha.hub.seeds import find_seed

    seed = find_seed(fixture, cache, StartCommit(commit, new / "git") if _has_files(new / "git", commit) else None)
    repository = GitRepository(seed.folder / f"repositories/{seed.facts['names']['repo.main']}.git")
    facts = seed.facts["bindings"]["repo.main"]
    branch, tip = facts["default_branch"], repository.branch(facts["default_branch"])
    if tip is None:
        raise FixtureError(f"{fixture}: its GitHub has no commit; add files, or a commit to github.yaml")
    git(new / "git", "fetch", "--quiet", "--no-tags", str(repository.path), tip)
    git(new / "git", "update-ref", _DEFAULT_BRANCH, tip)
    clone_git = init_clone(new / "clone")
    refs = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
    git(clone_git, "fetch", "--quiet", "--no-tags", str(repository.path), *refs)
    settings = {
        "remote.origin.url": f"{facts['url']}.git",
        "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
        f"branch.{branch}.remote": "origin",
        f"branch.{branch}.merge": f"refs/heads/{branch}",
    }
    for name, value in settings.items():
        git(clone_git, "config", name, value)
    git(clone_git, "update-ref", f"refs/heads/{branch}", tip)
    git(clone_git, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    git(clone_git, "symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{branch}")
    check_out(clone_git, tip, new / "clone")
    git(clone_git, "pack-refs", "--all")
    tidy(clone_git)
    return tip


def own_commit(git_dir: Path, commit: str) -> str | None:
    """Return the pinned commit of a fixture; None if the fixture has no files beside its GitHub state."""
    return commit if _has_files(git_dir, commit) else None


def _has_files(git_dir: Path, commit: str) -> bool:
    return git(git_dir, "ls-tree", commit) != b""
