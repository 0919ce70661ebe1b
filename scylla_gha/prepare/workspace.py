"""prepare: a scenario's start state and tools, then a fresh workspace per trial."""

import shutil
from pathlib import Path

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.workspaces.prepared_scenario import PreparedScenario
from scylla_gha.workspaces.start_state import start_state
from scylla_gha.workspaces.tools import search_path
from scylla_gha.workspaces.workspace import Workspace, open_workspace


def prepare_scenario(folder: ScenarioFolder, library: Library, cache: Path) -> PreparedScenario:
    """Make the start state and install the tools of a scenario.

    Raises:
        FixtureError: the start state is not the pinned one.
        ToolError: a tool cannot be had.
    """
    source = folder.scenario.source
    fixture = library.fixture(source.fixture) if source.fixture else None
    return PreparedScenario(folder, start_state(source, fixture, cache), search_path(folder.scenario.tools, cache))


def prepare_workspace(ground: PreparedScenario, root: Path) -> Workspace:
    """Make a trial's workspace in `root`, proved equal to the pinned commit, with the scenario's overrides in HOME.

    Raises:
        FixtureError: the copy is not the pinned commit's tree.
    """
    workspace = open_workspace(ground.start, root)
    for target, source in ground.folder.scenario.overrides.items():
        place = workspace.home / target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ground.folder.path / source, place)
    return workspace
