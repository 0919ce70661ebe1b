"""The harness's own git on what an agent works on.

Its git directory is kept apart from the workspace's, and `info/attributes`, which outranks every `.gitattributes`,
takes away all attributes: no filter, no line-end conversion, no "this is binary" that would hide a change.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scylla_gha import proc
from scylla_gha.errors import FixtureError
from scylla_gha.git import run_git

NO_ATTRIBUTES: Final = (
    "* !text !eol !crlf !ident !filter !diff !merge !whitespace !working-tree-encoding !export-subst !export-ignore\n"
)
_FETCH_SECONDS: Final = 1800.0
_OF_A_REPOSITORY: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
                                     "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_PREFIX"})  # fmt: skip


def git(
    git_dir: Path, *args: str, work_tree: Path | None = None, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> bytes:
    """Run git on the harness's own git directory and return its standard output.

    Raises:
        FixtureError: git reports an error.
    """
    done = run_git(git_dir, *args, work_tree=work_tree, env=env, stdin=stdin)
    if done.code:
        raise FixtureError(f"git {args[0]} in {work_tree or git_dir} failed: {done.message}")
    return done.stdout


def init(git_dir: Path) -> None:
    """Make an empty git directory that knows no attributes and may be fetched from at any commit."""
    git_dir.mkdir(parents=True)
    git(git_dir, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=sha1")
    git(git_dir, "config", "uploadpack.allowAnySHA1InWant", "true")
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text(NO_ATTRIBUTES)


def fetch(git_dir: Path, url: str, commit: str) -> None:
    """Fetch one commit without its history, with the user's own git configuration (proxies, credentials).

    Raises:
        FixtureError: the repository is out of reach, or has no such commit.
    """
    argv = ["git", f"--git-dir={git_dir}", "fetch", "--quiet", "--no-tags", "--depth=1", url, commit]
    # The caller may itself run inside a git hook, whose variables would point git at another repository.
    env = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    done = proc.capture(argv, env={**env, "GIT_TERMINAL_PROMPT": "0"}, seconds=_FETCH_SECONDS)
    if done.code:
        raise FixtureError(f"{url}: cannot fetch commit {commit}: {done.message}; check source.repo and source.hash")
