"""A journey of the shell agent, in this process."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scylla_gha.cli.journey import Journey
from scylla_gha.cli.planning import Installed
from scylla_gha.cli.sources import Sources
from scylla_gha.cli.travel import travel
from scylla_gha.config.library import Library
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell
from scylla_gha.model.trial import Trial
from scylla_gha.plan import Choice, Known, plan
from scylla_gha.proc import Cancel
from scylla_gha.store import CellFolder, RunFolder
from tests.support.agents import ShellAgent
from tests.support.records import make_experiment
from tests.support.repository import SCENARIO, Repository


@dataclass
class Travelled:
    """What was told of each cell, in the order in which they were done."""

    journey: Journey
    told: list[tuple[Cell, Trial, Judgment | None]] = field(default_factory=list)

    def cell(self, number: int = 0) -> CellFolder:
        return self.journey.folder.cell(self.journey.plan.cells[number].id)

    def trials(self) -> list[Trial]:
        return [trial for _, trial, _ in self.told]


def make_journey(repository: Repository, runs: Path, agents: dict[str, ShellAgent], **given: Any) -> Journey:
    """Plan with the agents, by name; `given` are fields of the experiment, or `cancel` and `fresh`."""
    own = ("cancel", "fresh", "judging", "epoch", "keep", "not_before")
    how = {name: given.pop(name) for name in own if name in given}
    fields = {"id": "greet", "scenarios": (SCENARIO,), "agents": tuple(agents), "baseline": next(iter(agents)),
              "retry": {"attempts": 3, "backoff_seconds": 0.0}, **given}  # fmt: skip
    library = Library((repository.root,))
    known = {name: Known("1", uses_model=False) for name in agents}
    made = plan(make_experiment(**fields), library, known, Choice(epoch=how.pop("epoch", "")))
    made = made.model_copy(update={"not_before": how.pop("not_before", None)})
    installed = {name: Installed(agent, "", "1") for name, agent in agents.items()}
    cancel = how.pop("cancel", None) or Cancel()
    return Journey(made, RunFolder(runs), Sources(library), installed, cancel, **how)


def set_out(
    repository: Repository, runs: Path, agents: dict[str, ShellAgent], jobs: int = 1, **given: Any
) -> Travelled:
    """Plan and travel with the agents; `given` as above."""
    travelled = Travelled(make_journey(repository, runs, agents, **given))
    travel(travelled.journey, travelled.journey.plan.cells, jobs, lambda *told: travelled.told.append(told))
    return travelled
