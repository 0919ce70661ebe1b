"""A plan from an experiment's name: the agents that are here, what earlier trials cost, and how it is told."""

import datetime
import itertools
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import Agent
from scylla_gha.cli.boxing import Boxes, choose
from scylla_gha.cli.foresight import foresight
from scylla_gha.cli.models import model_notes
from scylla_gha.config.library import Library
from scylla_gha.config.load import did_you_mean
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.estimate import Spent
from scylla_gha.model.experiment import Experiment, SandboxName
from scylla_gha.model.plan import Plan, Range
from scylla_gha.model.result import Result
from scylla_gha.plan import Boxing, Choice, Known, agent_name, plan
from scylla_gha.reuse import judging_of, stored_rows
from scylla_gha.sandboxes.base import Place
from scylla_gha.seeding.cache import cache_root
from scylla_gha.seeding.start import changed_fixture
from scylla_gha.seeding.tools import find_program, npm_program
from scylla_gha.store import RunFolder, read_lines

History = Mapping[tuple[str, str], Sequence[Spent]]


@dataclass(frozen=True, slots=True)
class Installed:
    """An agent as it is on this machine; `version` is None where it was only looked up, not started."""

    agent: Agent
    program: str
    version: str | None

    def started_by(self, place: Place) -> str:
        """The program, which an image has by its name."""
        return self.agent.package.program if self.agent.package and place.image else self.program

    @property
    def known(self) -> Known:
        """What planning knows of it."""
        return Known(self.version, uses_model=self.agent.package is not None)


def find_agents(experiment: Experiment, *, install: bool) -> dict[str, Installed]:
    """The experiment's agents, by the names it gives them.

    Args:
        experiment: names them, with or without a version.
        install: fetch pinned versions, and ask each program for its version; else nothing is started.

    Raises:
        ConfigError: there is no such agent.
        ToolError: an agent CLI is missing, too old, or of another version than pinned.
    """
    return {named: find_agent(named, install=install) for named in experiment.agents}


def find_agent(named: str, *, install: bool) -> Installed:
    """One agent by `name` or `name@version`; as above."""
    name, pinned = agent_name(named)
    if name not in AGENTS:
        raise ConfigError(f"agents: there is no agent {name!r}{did_you_mean(name, list(AGENTS))}; "
                          f"there are: {', '.join(AGENTS)}")  # fmt: skip
    agent = AGENTS[name]
    program = ""
    if agent.package is not None:
        if not install:
            return Installed(agent, program, pinned)
        program = str(npm_program(agent.package.npm, pinned, agent.package.program, cache_root()) if pinned
                      else find_program(agent.package.program, agent.package.npm))  # fmt: skip
    version = agent.version(program)
    if pinned not in {None, version}:
        raise ToolError(f"agents: {named}: the version here is {version}; correct the pin, or remove it")
    return Installed(agent, program, version)


def require_git() -> None:
    """Look for git, by which every start state and every diff is made.

    Raises:
        ToolError: it is not there.
    """
    if shutil.which("git") is None:
        raise ToolError("git: is not on PATH, and start states and diffs are made by it; apt-get install git")


def check_names(name: str, library: Library, choice: Choice) -> dict[str, Installed]:
    """Look up all that an experiment names, before a key is asked for or anything is installed; its agents.

    Raises:
        ConfigError: there is no such agent, scenario, variant, skill or model.
    """
    experiment = library.experiment(name)
    agents = find_agents(experiment, install=False)
    known = {named: installed.known for named, installed in agents.items()}
    made = plan(experiment, library, known, replace(choice, only=(), repetitions=1))
    model_notes(made, library, datetime.datetime.now(datetime.UTC).date())
    return agents


def make_plan(
    name: str,
    library: Library,
    agents: dict[str, Installed],
    choice: Choice,
    folder: RunFolder,
    *,
    draw: bool = True,
    history: History | None = None,
    sandbox: SandboxName | None = None,
) -> Plan:
    """Plan an experiment with what is known here.

    Args:
        name: of the experiment, or its file.
        library: where it is found.
        agents: those that are here.
        choice: a part of the experiment.
        folder: of its run.
        draw: make images that are missing, since keys need their digests.
        history: what earlier trials cost; None: by the last rows in the folder.
        sandbox: of all agents and checks; None: the experiment's.

    Raises:
        ConfigError: the experiment is not what it must be.
        ToolError: an image cannot be made.
    """
    experiment = library.experiment(name)
    if sandbox is not None:
        experiment = experiment.model_copy(update={"sandbox": sandbox})
    known = {named: installed.known for named, installed in agents.items()}
    chosen = choose(experiment, (installed.agent for installed in agents.values()), library)
    boxing = Boxes(chosen, library).boxing if draw else Boxing(chosen)
    if chosen == "docker" and not draw:
        click.echo("the images of the containers are not made now, so the keys are not those of a run", err=True)
    past = history_of(folder.results) if history is None else history
    made = plan(experiment, library, known, choice, past, boxing)
    refuse_changed_fixtures({cell.scenario for cell in made.cells}, library)
    now = datetime.datetime.now(datetime.UTC)
    oldest = None if experiment.max_age_days is None else _before(now, experiment.max_age_days)
    made = made.model_copy(update={"not_before": oldest, "judging": judging_of(made, library)})
    return made.model_copy(update={"notes": (*model_notes(made, library, now.date()), *foresight(made, folder))})


def refuse_changed_fixtures(scenarios: Iterable[str], library: Library) -> None:
    """Compare the files of fixtures with what the scenarios pin; a cached start state would hide a change.

    Raises:
        ConfigError: a fixture is not the pinned commit.
    """
    faults: dict[str, None] = {}
    for name in sorted(scenarios):
        folder = library.scenario(name)
        if source := folder.scenario.source.fixture:
            fault = changed_fixture(folder.scenario.source, library.fixture(source))
            faults |= {f"{folder.path / 'scenario.yaml'}: {fault}": None} if fault else {}
    if faults:
        raise ConfigError("\n".join(faults))


def _before(now: datetime.datetime, days: float) -> datetime.datetime | None:
    """So many days ago; None where no calendar goes back so far."""
    try:
        return now - datetime.timedelta(days=days)
    except OverflowError:
        return None


def history_of(results: Path, done: Sequence[Path] = ()) -> History:
    """What the trials of the last report, and those of rows elsewhere, cost; rows of another version are no help."""
    found: dict[tuple[str, str], list[Spent]] = defaultdict(list)
    try:
        rows = list(read_lines(results, Result)) if results.exists() else []
    except ConfigError:
        click.echo(f"{results}: is of another version, so the estimate goes without it", err=True)
        return found
    for row in itertools.chain(rows, stored_rows(done)):
        if row.measures_agent and row.seconds is not None:
            judge_usd = row.judge_usd if row.judged and row.judge_usd else None  # 0: perhaps no panel was there
            found[row.scenario, row.arm].append(Spent(row.usd, row.seconds, judge_usd))
    return found


def tell(made: Plan, jobs: int) -> None:
    """Say on standard error what is planned and what it may cost."""
    scenarios = {cell.scenario for cell in made.cells}
    boxed = ", in containers" if made.sandbox == "docker" else ""
    click.echo(f"{made.experiment.id}: {made.experiment.question}\n"
               f"{counted(len(made.cells), 'cell')}: {counted(len(scenarios), 'scenario')}, "
               f"{counted(len(made.arms), 'arm')}{boxed}",
               err=True)  # fmt: skip
    minutes = made.estimate.minutes
    wall = Range(low=_share(minutes.low, jobs), likely=_share(minutes.likely, jobs), high=_share(minutes.high, jobs))
    click.echo(f"estimate: {_range(made.estimate.usd, '$', 2)}; {_range(wall, '', 1)} minutes with {jobs} at once "
               f"({made.estimate.basis})", err=True)  # fmt: skip
    if made.experiment.judges:
        agents, judges = made.estimate.agents, made.estimate.judges
        click.echo(f"  agents {_range(agents.usd, '$', 2)}; judges {_range(judges.usd, '$', 2)}", err=True)
    for note in made.notes:
        click.echo(f"note: {note}", err=True)


def _share(minutes: float | None, jobs: int) -> float | None:
    return None if minutes is None else minutes / jobs


def _range(one: Range, unit: str, digits: int) -> str:
    if one.low is None or one.likely is None or one.high is None:
        return f"{unit}unknown"
    likely = f"{unit}{one.likely:.{digits}f}"
    return likely if one.low == one.high else f"{likely} ({unit}{one.low:.{digits}f} to {unit}{one.high:.{digits}f})"
