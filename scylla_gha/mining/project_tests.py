"""Tests of a project, now and in its history, as its files describe them: runners, test files, needed tools."""

import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.mining.languages import GO, NODE, PYTEST, RUNNERS, RunnerProgram
from scylla_gha.mining.node_project import NodeProject, read_node_project
from scylla_gha.mining.python_project import PythonProject, read_project
from scylla_gha.mining.python_requirements import pinned
from scylla_gha.mining.repository import LINK, CommitTree, RepositoryCheckout, contents
from scylla_gha.model import digest
from scylla_gha.model.sandbox import Tools
from scylla_gha.path_patterns import PathPatterns
from scylla_gha.prepare.tools import cache_root, search_path, tool_folders

_SHOWN: Final = 300
_Attempt = tuple[str, tuple[str, ...], tuple[str, ...]]  # name, requirements, constraints
PYTHON_RUNNER: Final = ("pytest>=7.4",)
_MOST_BYTES: Final = 1_000_000  # of a file that is read
# Files that say how a project is built and tested; those with other suffixes are code, data or documentation
_SETTINGS: Final = re.compile(r"(.*/)?([^/]+\.(toml|cfg|ini|txt|lock|json|mod|sum|ya?ml)|setup\.py|Pipfile)")


@dataclass(frozen=True, slots=True)
class ProjectTests:
    """Tests of one runner in a state of a project.

    Attributes:
        files: the files that the runner takes for tests.
        options: the project's own options of the runner.
        import_roots: folders below the root from which Python modules are imported.
        added: files that a build would write and the tree has not, by path.
        reason: why the tests cannot be run; None: they can.
    """

    runner: RunnerProgram
    files: PathPatterns
    options: tuple[str, ...] = ()
    import_roots: tuple[str, ...] = (".",)
    added: Mapping[str, bytes] = field(default_factory=dict)
    reason: str | None = None

    def runs(self, path: str) -> bool:
        """Return whether a path is a test file of the runner."""
        return PurePosixPath(path).suffix in self.runner.suffixes and self.files.match(path)

    @property
    def command(self) -> str:
        """The shell command that runs the test files that $FILES lists."""
        roots = ":".join("$PWD" if root == "." else f"$PWD/{root}" for root in self.import_roots)
        options = "".join(f"{shlex.quote(option)} " for option in self.options)
        return self.runner.command.replace("{roots}", roots).replace("{options}", options)


def read_tests(tree: Path, patterns: tuple[str, ...] = ()) -> list[ProjectTests]:
    """Return how the tests of each language of a project are run; nothing is installed or executed.

    Args:
        tree: root of the project.
        patterns: files that are tests, as lines of a `.gitignore`; empty: those that the project's runner takes.
    """
    wished = PathPatterns(patterns) if patterns else None
    python, node = read_project(tree), read_node_project(tree, is_resolved=False)
    own = PathPatterns(python.test_files) if python.test_files else PYTEST.default_files
    roots = tuple(dict.fromkeys((".", *(root for root in ("src", *python.import_roots) if (tree / root).is_dir()))))
    runner = RUNNERS[node.framework] if node.framework else NODE
    script_files = PathPatterns(node.test_files) if node.test_files else runner.default_files
    return [
        ProjectTests(PYTEST, wished or own, python.pytest_options, roots, python.files),
        ProjectTests(runner, wished or script_files, node.options, reason=node.reason),
        ProjectTests(GO, wished or GO.default_files),
    ]


def python_tools(project: PythonProject, beside: tuple[str, ...]) -> Iterator[Tools | str]:
    """Yield sets of packages for a project's tests, best first, or why no versions of a set exist.

    Each is tried if the one before cannot be installed. `beside` are the requirements of the test runner.
    """
    for name, requirements, constraints in _attempts(project):
        try:
            yield Tools(python=pinned(requirements, beside, constraints), editable=project.install)
        except ToolError as error:
            yield f"{name} cannot be installed: {str(error)[:_SHOWN]}"


def _attempts(project: PythonProject) -> list[_Attempt]:
    both = tuple(sorted({*project.requirements, *project.test_requirements}))
    attempts: list[_Attempt] = [
        ("what the package and its tests require", both, ()),
        ("what the package requires", project.requirements, ()),
        ("pytest", (), ()),
    ]
    locked: list[_Attempt] = [("what the lock file pins", both, project.constraints)] if project.constraints else []
    return [*locked, *dict.fromkeys(attempts)]


def node_tools(project: NodeProject) -> Tools:
    """Return the tools of a JavaScript or TypeScript project, whose packages are resolved."""
    return Tools(node=dict(project.packages), system=("node",))


def test_tools(tree: Path, runner: RunnerProgram) -> Iterator[Tools | str]:
    """Yield sets of tools for the tests of a project, or why one cannot be installed; each replaces the one before."""
    if runner is PYTEST:
        yield from python_tools(read_project(tree), PYTHON_RUNNER)
        return
    try:
        if runner is GO:
            from scylla_gha.mining.go_project import go_setup
            from scylla_gha.prepare.tools import cache_root

            yield go_setup(tree, cache_root())
        else:
            yield node_tools(read_node_project(tree))
    except ToolError as error:
        yield str(error)


@dataclass(frozen=True, slots=True)
class ProjectStates:
    """Project at its commits. Files and packages of one commit are reused for all commits with the same settings.

    Attributes:
        checkout: the repository.
        patterns: files that are tests, as lines of a `.gitignore`; empty: those that the project's runner takes.
        setup: the user's own command that installs what tests need; None: it is detected.
    """

    checkout: RepositoryCheckout
    patterns: tuple[str, ...] = ()
    setup: str | None = None
    _tests: dict[str, list[ProjectTests]] = field(default_factory=dict)
    _tools: dict[tuple[str, str], Tools | str] = field(default_factory=dict)

    def tests(self, tree: CommitTree) -> list[ProjectTests]:
        """Return how the tests of a commit are run, by language."""
        key = _settings_key(tree)
        if key not in self._tests:
            with tempfile.TemporaryDirectory() as folder:
                self._write(tree, Path(folder))
                self._tests[key] = read_tests(Path(folder), self.patterns)
        return self._tests[key]

    def tools(self, tree: CommitTree, tests: ProjectTests) -> Tools | str:
        """Return the tools of a commit's tests, installed on this machine; or why they cannot be installed."""
        key = (_settings_key(tree), tests.runner.name)
        if key not in self._tools:
            with tempfile.TemporaryDirectory() as folder:
                self._write(tree, Path(folder))
                self._tools[key] = self._installed(Path(folder), tests)
        return self._tools[key]

    def _installed(self, tree: Path, tests: ProjectTests) -> Tools | str:
        if self.setup:
            install = read_project(tree).install if tests.runner is PYTEST else None
            return Tools(setup=self.setup, editable=install, system=tests.runner.system)
        reason = ""
        for tools in test_tools(tree, tests.runner):
            try:
                if isinstance(tools, str):
                    reason = reason or tools
                    continue
                search_path(tools, cache_root())
                tool_folders(tools, cache_root())
            except ToolError as error:
                reason = reason or str(error)
            else:
                return tools
        return reason

    def _write(self, tree: CommitTree, into: Path) -> None:
        """Write the files of a commit that are not large; links are left out."""
        blobs = {path: blob for path, blob in tree.blobs.items() if blob.mode != LINK and blob.size <= _MOST_BYTES}
        for path, content in zip(blobs, contents(self.checkout, list(blobs.values())), strict=True):
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            (into / path).write_bytes(content)


def _settings_key(tree: CommitTree) -> str:
    settings = sorted((path, blob.sha) for path, blob in tree.blobs.items() if _SETTINGS.fullmatch(path))
    folders = sorted({path.partition("/")[0] for path in tree.blobs if "/" in path})
    return digest([settings, folders])
