"""Prepared scenario: its start state and tools, from which each trial gets a fresh workspace."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.prepare.start_state import StartState, start_state
from scylla_gha.prepare.tools import search_path
from scylla_gha.prepare.workspace import Workspace, open_workspace


@dataclass(frozen=True, slots=True)
class PreparedScenario:
    """A scenario with its start state and its installed tools; `path` is the PATH of agents and checks."""

    folder: ScenarioFolder
    start: StartState
    path: str

    def holds(self, text: bytes) -> bool:
        """Return whether the prompt, the reference solution or a file of the start state contains this text."""
        solution = self.folder.solution
        contents = (self.folder.prompt.encode(), solution.read_bytes() if solution.is_file() else b"")
        return any(text in content for content in contents) or self.start.holds(text)


def prepare_scenario(folder: ScenarioFolder, library: Library, cache: Path) -> PreparedScenario:
    """Make the start state and install the tools of a scenario.

    Raises:
        FixtureError: the start state is not the pinned one.
        ToolError: a tool is not available.
    """
    source = folder.scenario.source
    fixture = library.fixture(source.fixture) if source.fixture else None
    return PreparedScenario(folder, start_state(source, fixture, cache), search_path(folder.scenario.tools, cache))


def prepare_workspace(prepared: PreparedScenario, root: Path) -> Workspace:
    """Make a trial's workspace in `root`, equal to the pinned commit, with the scenario's overrides in HOME.

    Raises:
        FixtureError: the copy is not the pinned commit's tree.
    """
    workspace = open_workspace(prepared.start, root)
    for name, source in prepared.folder.scenario.overrides.items():
        target = workspace.home / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(prepared.folder.path / source, target)
    return workspace
