"""All that the trials of one scenario have in common on this machine."""

from dataclasses import dataclass

from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.workspaces.start_state import StartState


@dataclass(frozen=True, slots=True)
class PreparedScenario:
    """A scenario with its start state made and its tools installed; `path` is the PATH of agents and checks."""

    folder: ScenarioFolder
    start: StartState
    path: str

    def holds(self, text: bytes) -> bool:
        """Whether the prompt, the reference solution or a file of the start state has this text."""
        solution = self.folder.solution
        given = (self.folder.prompt.encode(), solution.read_bytes() if solution.is_file() else b"")
        return any(text in each for each in given) or self.start.holds(text)
