"""The agent's repository in a scenario with GitHub state: a clone of the one on the fixture's GitHub.

The seed of the hub is made here, and found again by the hub's process. It is imported when needed: most scenarios have
no GitHub state.
"""

from pathlib import Path
from typing import Final

from scylla_gha.errors import FixtureError
from scylla_gha.git import run_git
from scylla_gha.prepare.git_directory import git, init, tidy

_DEFAULT_BRANCH: Final = "refs/heads/github-start"  # in the harness's git directory


def seed_name(fixture: Path) -> str:
    """Return the digest of what a fixture's GitHub is made of beside its own files, and of the code that makes it."""
    from scylla_gha.hub.seeds import seed_digest

    return seed_digest(fixture, None)[:16]


def default_tip(git_dir: Path) -> str | None:
    """Return the commit of the default branch at the start; None if the directory is not whole."""
    done = run_git(git_dir, "rev-parse", "--verify", "--quiet", _DEFAULT_BRANCH)
    return done.stdout.decode().strip() or None


def clone_github(fixture: Path, new: Path, own: str, cache: Path) -> str:
    """Make the agent's repository as a clone of the one on the fixture's GitHub; return the default branch's tip.

    Raises:
        FixtureError: the fixture's GitHub has no commit.
        ConfigError: its `github.yaml` is invalid.
    """
    from scylla_gha.hub.fixture import StartCommit
    from scylla_gha.hub.git_store import GitRepository
    from scylla_gha.hub.seeds import find_seed

    seed = find_seed(fixture, cache, StartCommit(own, new / "git") if _has_files(new / "git", own) else None)
    repository = GitRepository(seed.folder / f"repositories/{seed.facts['names']['repo.main']}.git")
    facts = seed.facts["bindings"]["repo.main"]
    branch, tip = facts["default_branch"], repository.branch(facts["default_branch"])
    if tip is None:
        raise FixtureError(f"{fixture}: its GitHub has no commit; add files, or a commit to github.yaml")
    git(new / "git", "fetch", "--quiet", "--no-tags", str(repository.path), tip)
    git(new / "git", "update-ref", _DEFAULT_BRANCH, tip)
    clone, own_git = new / "clone", new / "clone" / ".git"
    init(own_git)
    git(own_git, "config", "core.bare", "false")
    git(own_git, "config", "--unset", "uploadpack.allowAnySHA1InWant")
    refs = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
    git(own_git, "fetch", "--quiet", "--no-tags", str(repository.path), *refs)
    settings = {"remote.origin.url": f"{facts['url']}.git",
                "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
                f"branch.{branch}.remote": "origin", f"branch.{branch}.merge": f"refs/heads/{branch}"}  # fmt: skip
    for name, value in settings.items():
        git(own_git, "config", name, value)
    git(own_git, "update-ref", f"refs/heads/{branch}", tip)
    git(own_git, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
    git(own_git, "symbolic-ref", "refs/remotes/origin/HEAD", f"refs/remotes/origin/{branch}")
    git(own_git, "read-tree", tip, work_tree=clone)
    git(own_git, "checkout-index", "--all", "--force", "--index", work_tree=clone)
    git(own_git, "pack-refs", "--all")
    tidy(own_git)
    return tip


def own_commit(git_dir: Path, commit: str) -> str | None:
    """Return the pinned commit of a fixture with GitHub state; None if the fixture has no files of its own."""
    return commit if _has_files(git_dir, commit) else None


def _has_files(git_dir: Path, commit: str) -> bool:
    return git(git_dir, "ls-tree", commit) != b""
