"""Files for agents in a trial's workspace: those of the variant take the place of the start state's own."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from scylla_gha.errors import FixtureError
from scylla_gha.model.agent_files import is_agent_file
from scylla_gha.prepare.git_directory import git
from scylla_gha.prepare.start_state import StartState
from scylla_gha.prepare.tree_manifest import TreeManifest, scan_tree


def own_agent_files(start: StartState) -> tuple[str, ...]:
    """Return the paths of the files for agents in a start state, sorted."""
    return tuple(sorted(filter(is_agent_file, start.manifest.entries)))


def with_agent_files(start: StartState, workspace: Path, files: Mapping[str, Path] | None) -> StartState:
    """Put a variant's files for agents into a workspace; return the start state that the agent's change is against.

    The start state's own files for agents are removed. git in the workspace shows none of this: a commit of the agent
    holds what it changed itself.

    Args:
        start: the start state, whose clone the workspace is.
        workspace: the folder that the agent will work in.
        files: by path in the workspace; None: the start state stays as it is.

    Raises:
        FixtureError: a link of the start state leads out of the workspace.
    """
    if files is None:
        return start
    own = own_agent_files(start)
    for path in own:
        _remove(workspace, path)
    for path, source in files.items():
        target = workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.parent.resolve().is_relative_to(workspace.resolve()):
            raise FixtureError(f"{path}: the start state has a symbolic link in its place, which leads elsewhere")
        shutil.copyfile(source, target)
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
    _hide_from_git(workspace, own, files)
    entries = {path: entry for path, entry in start.manifest.entries.items() if not is_agent_file(path)}
    now = scan_tree(workspace)
    entries |= {path: now.entries[path] for path in files}
    return replace(start, manifest=TreeManifest(entries))


def _remove(workspace: Path, path: str) -> None:
    """Remove a file, and the folders that it leaves empty."""
    (workspace / path).unlink()
    for parent in (workspace / path).parents:
        if parent == workspace or any(parent.iterdir()):
            return
        parent.rmdir()


def _hide_from_git(workspace: Path, own: Iterable[str], files: Iterable[str]) -> None:
    git_dir = workspace / ".git"
    names = b"".join(os.fsencode(path) + b"\0" for path in own)
    if names:
        git(git_dir, "update-index", "--skip-worktree", "-z", "--stdin", work_tree=workspace, stdin=names)
    exclude = git_dir / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    with exclude.open("a", encoding="utf-8", errors="surrogateescape") as lines:
        lines.writelines("/" + re.sub(r"([\\*?\[ ])", r"\\\1", path) + "\n" for path in files)
