"""Tasks and reasons that `init` finds in the commits of a repository."""

from pathlib import Path

from scylla_gha.mining.project_tests import ProjectStates
from scylla_gha.mining.repository import checkout_of
from scylla_gha.model.sandbox import Tools
from scylla_gha.onboarding.scaffold import ScaffoldTask
from scylla_gha.onboarding.task_from_history import Candidate, candidates, task_of


def usable(root: Path) -> list[Candidate]:
    return [commit for commit in candidates(ProjectStates(checkout_of(root)), ()) if isinstance(commit, Candidate)]


def reasons(root: Path) -> list[str]:
    return [reason for reason in candidates(ProjectStates(checkout_of(root)), ()) if isinstance(reason, str)]


def task_from(root: Path, candidate: Candidate, tools: Tools | None = None) -> ScaffoldTask:
    task = task_of(checkout_of(root), candidate, "till", tools or Tools())
    assert not isinstance(task, str), task
    return task
