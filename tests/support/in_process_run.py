"""A journey of the shell agent, in this process."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scylla_gha.agents import InstalledAgent
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.evaluate.context import RunContext, RunOptions, RunSettings, RunState
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell
from scylla_gha.model.trial import Trial
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.selection import CellSelection
from scylla_gha.store.run_folder import CellFolder, RunFolder
from scylla_gha.system.process import Cancel
from tests.support.agents import BUILT_IN, ShellAgent
from tests.support.records import make_experiment
from tests.support.repository import SCENARIO, Repository


@dataclass
class InProcessRun:
    """Lines about each cell, in the order in which they were done."""

    journey: RunContext
    told: list[tuple[Cell, Trial, Judgment | None]] = field(default_factory=list)

    def cell(self, number: int = 0) -> CellFolder:
        return self.journey.settings.folder.cell(self.journey.settings.plan.cells[number].id)

    def trials(self) -> list[Trial]:
        return [trial for _, trial, _ in self.told]


def make_run_context(repository: Repository, runs: Path, agents: dict[str, ShellAgent], **given: Any) -> RunContext:
    """Plan with the agents, by name; `given` are fields of the experiment, or `cancel`, and options of the run."""
    own = ("cancel", "fresh", "judging", "workers", "epoch", "keep", "not_before", "deadline")
    how = {name: given.pop(name) for name in own if name in given}
    fields = {"id": "greet", "scenarios": (SCENARIO,), "agents": tuple(agents), "baseline": next(iter(agents)),
              "retry": {"attempts": 3, "backoff_seconds": 0.0}, **given}  # fmt: skip
    library = Library((repository.root,))
    known = dict.fromkeys(agents, BUILT_IN)
    made = plan_cells(make_experiment(**fields), library, known, CellSelection(epoch=how.pop("epoch", "")))
    made = made.model_copy(update={"not_before": how.pop("not_before", None)})
    installed = {name: InstalledAgent(agent, "", "1") for name, agent in agents.items()}
    cancel = how.pop("cancel", None) or Cancel()
    settings = RunSettings(made, RunFolder(runs), ConfigSources(library), installed, RunOptions(**how))
    return RunContext(settings, state=RunState(cancel))


def with_settings(context: RunContext, **changes: Any) -> RunContext:
    """Return a context with other settings, and a state of its own."""
    return RunContext(replace(context.settings, **changes), context.services)


def run_agents(
    repository: Repository, runs: Path, agents: dict[str, ShellAgent], jobs: int = 1, **given: Any
) -> InProcessRun:
    """Plan and travel with the agents; `given` as above."""
    travelled = InProcessRun(make_run_context(repository, runs, agents, workers=jobs, **given))
    run_cells(travelled.journey, travelled.journey.settings.plan.cells, lambda *told: travelled.told.append(told))
    return travelled
