"""Work of an agent in a workspace, as the harness sees it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.model.trial import DiffStat
from scylla_gha.prepare.start_state import StartState, scan_tree
from scylla_gha.prepare.workspace import Workspace, materialise_diff, open_workspace, snapshot
from tests.support.git import shell

MOST_BYTES = 10_000_000
Act = Callable[[Path], object]


@dataclass(frozen=True)
class Left:
    """The agent's change, and base plus patch made anew."""

    workspace: Workspace
    diff: DiffStat
    patch: bytes
    judged: Path


def act(start: StartState, root: Path, do: str | Act) -> Left:
    """Let an agent do something (a shell script, or a function of the folder) in a fresh workspace in `root`.

    What is judged must be what was left, whatever the agent did.
    """
    root.mkdir()
    workspace = open_workspace(start, root)
    if isinstance(do, str):
        shell(workspace.repo, do)
    else:
        do(workspace.repo)
    left = scan_tree(workspace.repo, start.ignored)
    diff, patch = snapshot(start, workspace, MOST_BYTES)
    materialise_diff(start, patch, root / "judged")
    assert scan_tree(root / "judged").tree == left.tree, "base plus patch is not what the agent left"
    return Left(workspace, diff, patch, root / "judged")
