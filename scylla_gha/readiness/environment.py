"""Detection and installation of what a code base's tests need, before the box closes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from scylla_gha.errors import SandboxError, ToolError
from scylla_gha.mining.go_project import go_tools
from scylla_gha.mining.node_project import read_node_project
from scylla_gha.mining.project_tests import node_tools, python_tools
from scylla_gha.mining.python_project import PythonProject, read_project
from scylla_gha.model.sandbox import Tools
from scylla_gha.prepare import add_packages, added_files, run_setup
from scylla_gha.prepare.tools import (
    cache_root,
    prepared_code,
    prepared_folders,
    search_path,
    tool_folders,
    virtual_environment,
)
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.source_code import Language
from scylla_gha.sandboxes.base import SandboxTarget

# What the runner itself needs, beside the code base's own requirements
_RUNNER: Final = ("coverage>=7.4", "pytest>=7.4")
_SHOWN: Final = 300
_ADVICE: Final = "name a command that installs what the tests need with --setup"
TargetOf = Callable[[Tools], SandboxTarget]


def detect_environment(
    tree: Path, language: Language, target_of: TargetOf, setup: str | None = None
) -> CodeEnvironment:
    """Find out what the tests of a tree need, and install it into the cache.

    Args:
        tree: a copy of the code base; nothing in it is executed, unless `setup` does.
        language: its main language.
        target_of: gives the sandbox for a scenario's tools (`SandboxPool.target`).
        setup: the user's own command that installs what tests need; it runs in a copy of the tree.

    Raises:
        SandboxError: the sandbox cannot be made ready.
    """
    if setup:
        try:
            return _prepared(tree, language, target_of, setup)
        except SandboxError:
            raise
        except ToolError as error:
            return _without_tests(language, target_of, str(error))
    return _detected(tree, language, target_of)


def _detected(tree: Path, language: Language, target_of: TargetOf) -> CodeEnvironment:
    if language == "python":
        return _python(tree, target_of)
    return _go(tree, target_of) if language == "go" else _node(tree, language, target_of)


def _without_tests(
    language: Language, target_of: TargetOf, reason: str, notes: tuple[str, ...] = ()
) -> CodeEnvironment:
    path = search_path(Tools(), cache_root())
    return CodeEnvironment(language, None, Tools(), path, target_of(Tools()), notes=notes, reason=reason)


def _prepared(tree: Path, language: Language, target_of: TargetOf, setup: str) -> CodeEnvironment:
    """Return the environment that the user's own command makes; what it does not install is found out as without it."""
    cache = cache_root()
    name = run_setup(tree, setup, cache)
    code = prepared_code(name, cache)
    is_python = language == "python"
    files = added_files(tree, code)
    if language == "go" or not (virtual_environment(code) if is_python else prepared_folders(code)):
        environment = _detected(code if language == "go" else tree, language, target_of)
        return replace(environment, files={**environment.files, **files})
    tools = Tools(prepared=name, system=() if is_python else ("node",))
    if is_python:
        add_packages(code, _RUNNER)
    python, node = read_project(tree), read_node_project(tree, is_resolved=False)
    return CodeEnvironment(
        language=language,
        framework="pytest" if is_python else node.framework,
        tools=tools,
        path=search_path(tools, cache),
        target=target_of(tools),
        options=python.pytest_options if is_python else node.options,
        import_roots=_import_roots(python),
        programs=tool_folders(tools, cache),
        files={**python.files, **files},
        reason=None if is_python else node.reason,
    )


def _import_roots(project: PythonProject) -> tuple[str, ...]:
    return tuple(dict.fromkeys((".", "src", *project.import_roots)))


def _python(tree: Path, target_of: TargetOf) -> CodeEnvironment:
    project = read_project(tree)
    notes: list[str] = []
    for tools in python_tools(project, _RUNNER):
        if isinstance(tools, str):
            notes.append(tools)
            continue
        try:
            path, target = search_path(tools, cache_root()), target_of(tools)
        except SandboxError:
            raise
        except ToolError as error:
            notes.append(f"packages cannot be installed: {str(error)[:_SHOWN]}")
            continue
        return CodeEnvironment(
            language="python",
            framework="pytest",
            tools=tools,
            path=path,
            target=target,
            options=project.pytest_options,
            import_roots=_import_roots(project),
            files=project.files,
            notes=tuple(notes),
        )
    return _without_tests("python", target_of, f"{notes[-1]}; {_ADVICE}", tuple(notes))


def _go(tree: Path, target_of: TargetOf) -> CodeEnvironment:
    try:
        cache = cache_root()
        tools = go_tools(tree, cache)
        return CodeEnvironment(
            language="go",
            framework="go",
            tools=tools,
            path=search_path(tools, cache),
            target=target_of(tools),
            programs=tool_folders(tools, cache),
        )
    except SandboxError:
        raise
    except ToolError as error:
        return _without_tests("go", target_of, f"{str(error)[:_SHOWN]}; {_ADVICE}")


def _node(tree: Path, language: Language, target_of: TargetOf) -> CodeEnvironment:
    try:
        project = read_node_project(tree)
        if project.framework is None:
            return _without_tests(language, target_of, str(project.reason))
        tools = node_tools(project)
        path, folders = search_path(tools, cache_root()), tool_folders(tools, cache_root())
        return CodeEnvironment(
            language=language,
            framework=project.framework,
            tools=tools,
            path=path,
            target=target_of(tools),
            options=project.options,
            programs=folders,
            notes=project.notes,
        )
    except SandboxError:
        raise
    except ToolError as error:
        return _without_tests(language, target_of, f"{str(error)[:_SHOWN]}; {_ADVICE}")
