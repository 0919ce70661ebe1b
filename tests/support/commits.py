"""Tasks and reasons that `init` finds in the commits of a repository."""

from pathlib import Path

from scylla_gha.mining.repository import checkout_of
from scylla_gha.model.sandbox import Tools
from scylla_gha.onboarding.scaffold import ScaffoldTask
from scylla_gha.onboarding.task_from_history import Candidate, UnusableCommit, candidates, task_of


def usable(root: Path) -> list[Candidate]:
    return [commit for commit in candidates(checkout_of(root), ()) if isinstance(commit, Candidate)]


def reasons(root: Path) -> list[str]:
    return [commit.reason for commit in candidates(checkout_of(root), ()) if isinstance(commit, UnusableCommit)]


def task_from(root: Path, candidate: Candidate, tools: Tools | None = None) -> ScaffoldTask:
    task = task_of(checkout_of(root), candidate, "till", tools or Tools())
    assert not isinstance(task, str), task
    return task
