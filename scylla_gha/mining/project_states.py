"""States of a project in its history: how the tests of a commit are run, and the tools that they need."""

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.mining.languages import PYTEST
from scylla_gha.mining.project_tests import ProjectTests, read_tests, test_tools
from scylla_gha.mining.python_project import read_project
from scylla_gha.mining.repository import LINK, CommitTree, RepositoryCheckout, contents
from scylla_gha.model import digest
from scylla_gha.model.tools import Tools
from scylla_gha.prepare.tools import cache_root, search_path, tool_folders

_MOST_BYTES: Final = 1_000_000  # of a file that is read
# Files that say how a project is built and tested; those with other suffixes are code, data or documentation
_SETTINGS: Final = re.compile(r"(.*/)?([^/]+\.(toml|cfg|ini|txt|lock|json|mod|sum|ya?ml)|setup\.py|Pipfile)")


@dataclass(frozen=True, slots=True)
class ProjectStates:
    """Project at its commits. Files and packages of one commit are reused for all commits with the same settings.

    Attributes:
        checkout: the repository.
        patterns: files that are tests, as lines of a `.gitignore`; empty: those that the project's runner takes.
        setup: the user's own command that installs what tests need; None: it is found out.
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
