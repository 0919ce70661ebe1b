"""Detection and installation of what a code base's tests need, before the box closes."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.mining.languages import pinned
from scylla_gha.model.scenario import Tools
from scylla_gha.prepare.tools import cache_root, search_path
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.python_project import PythonProject, read_project
from scylla_gha.readiness.source_code import Language
from scylla_gha.sandboxes.base import SandboxTarget

# What the runner itself needs, beside the code base's own requirements
_RUNNER: Final = ("coverage>=7.4", "pytest>=7.4")
_SHOWN: Final = 300
_Attempt = tuple[str, tuple[str, ...], tuple[str, ...]]  # name, requirements, constraints


def detect_environment(tree: Path, language: Language, target_of: Callable[[Tools], SandboxTarget]) -> CodeEnvironment:
    """Find out what the tests of a tree need, and install it into the cache.

    Args:
        tree: a copy of the code base; nothing in it is executed.
        language: its main language.
        target_of: gives the sandbox for a scenario's tools (`SandboxPool.target`).

    Raises:
        ToolError: the sandbox cannot be made ready.
    """
    if language != "python":
        reason = f"tests of {language} cannot be run yet"
        return CodeEnvironment(language, None, Tools(), "", target_of(Tools()), reason=reason)
    project = read_project(tree)
    notes: list[str] = []
    for name, wanted, constraints in _attempts(project):
        try:
            tools = Tools(python=pinned(wanted, _RUNNER, constraints))
            path, target = search_path(tools, cache_root()), target_of(tools)
        except ToolError as error:
            notes.append(f"{name} cannot be installed: {str(error)[:_SHOWN]}")
            continue
        roots = (".", "src", *project.import_roots)
        return CodeEnvironment(
            language,
            "pytest",
            tools,
            path,
            target,
            tuple(dict.fromkeys(roots)),
            files=project.files,
            notes=tuple(notes),
        )
    reason = f"{notes[-1]}; name a command that installs the tests' packages with --setup"
    return CodeEnvironment(language, None, Tools(), "", target_of(Tools()), notes=tuple(notes), reason=reason)


def _attempts(project: PythonProject) -> list[_Attempt]:
    """Return sets of requirements with names and constraints; the next is for packages that cannot be installed."""
    both = tuple(sorted({*project.requirements, *project.test_requirements}))
    attempts: list[_Attempt] = [
        ("what the package and its tests require", both, ()),
        ("what the package requires", project.requirements, ()),
        ("pytest", (), ()),
    ]
    return [("what the lock file pins", both, project.constraints), *attempts] if project.constraints else attempts
