"""Plan of an experiment: agents of this machine, costs of earlier trials, and the printed summary."""

import contextlib
import datetime
import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import Agent
from scylla_gha.config import did_you_mean
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.counting import counted, dollars
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.images import SandboxImages, SandboxPool, select_sandbox
from scylla_gha.model.experiment import Experiment, SandboxName
from scylla_gha.model.plan import CostRange, Plan
from scylla_gha.model.result import Result
from scylla_gha.plan import AgentInfo, agent_name, plan_cells
from scylla_gha.plan.agent_files import unread_notes
from scylla_gha.plan.best_sub_tests import best_sub_tests
from scylla_gha.plan.estimate import History, PastCost
from scylla_gha.plan.model_ids import alias_notes, with_model_ids
from scylla_gha.plan.modes import comparison_notes, impossible_notes, unproved_notes
from scylla_gha.plan.notes import choice_notes, model_notes, power_notes
from scylla_gha.plan.reuse_results import judging_of, stored_rows
from scylla_gha.plan.selection import CellSelection, select
from scylla_gha.prepare.start_state import changed_fixture
from scylla_gha.prepare.tools import cache_root, find_program, npm_program
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from scylla_gha.store.records import read_lines
from scylla_gha.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent on this machine; `version` is None if it was only looked up, not started."""

    agent: Agent
    program: str
    version: str | None

    def program_in(self, target: SandboxTarget) -> str:
        """Return the path of the program; in an image it is found by its name."""
        return self.agent.package.program if self.agent.package and target.image else self.program

    @property
    def info(self) -> AgentInfo:
        """The facts that planning needs."""
        return AgentInfo(self.version, uses_model=self.agent.uses_model)


def find_agents(experiment: Experiment, *, install: bool) -> dict[str, InstalledAgent]:
    """Find the agents of an experiment, by their names in it.

    Args:
        experiment: names them, with or without a version.
        install: fetch pinned versions, and ask each program for its version; else nothing is started.

    Raises:
        ConfigError: there is no such agent.
        ToolError: an agent CLI is missing, too old, or of another version than pinned.
    """
    return {name: find_agent(name, install=install) for name in experiment.agents}


def find_agent(agent_id: str, *, install: bool) -> InstalledAgent:
    """Find one agent by `name` or `name@version`; arguments and errors as in `find_agents`."""
    name, pinned = agent_name(agent_id)
    if name not in AGENTS:
        raise ConfigError(f"agents: there is no agent {name!r}{did_you_mean(name, list(AGENTS))}; "
                          f"there are: {', '.join(AGENTS)}")  # fmt: skip
    agent = AGENTS[name]
    program = ""
    if agent.package is not None:
        if not install:
            return InstalledAgent(agent, program, pinned)
        program = str(npm_program(agent.package.npm, pinned, agent.package.program, cache_root()) if pinned
                      else find_program(agent.package.program, agent.package.npm))  # fmt: skip
    version = agent.version(program)
    if pinned not in {None, version}:
        raise ToolError(f"agents: {agent_id}: the version here is {version}; correct the pin, or remove it")
    return InstalledAgent(agent, program, version)


def require_git() -> None:
    """Check that git is installed; start states and diffs are made with it.

    Raises:
        ToolError: it is not installed.
    """
    if shutil.which("git") is None:
        raise ToolError("git is not on PATH; start states and diffs need it; run `apt-get install git`")


def check_names(name: str, library: Library, choice: CellSelection) -> dict[str, InstalledAgent]:
    """Look up everything that an experiment names, before a key is needed or a tool is installed; return its agents.

    Raises:
        ConfigError: there is no such agent, scenario, variant, skill or model.
    """
    experiment = choice.apply(library.experiment(name))
    agents = find_agents(experiment, install=False)
    infos = {name: installed.info for name, installed in agents.items()}
    plan = plan_cells(experiment, library, infos, replace(choice, only=(), repetitions=1))
    model_notes(plan, library, datetime.datetime.now(datetime.UTC).date())
    return agents


def make_plan(
    name: str,
    library: Library,
    agents: Mapping[str, InstalledAgent],
    choice: CellSelection,
    folder: RunFolder,
    *,
    build_images: bool = True,
    history: History | None = None,
    sandbox: SandboxName | None = None,
    done: Sequence[Path] = (),
) -> Plan:
    """Plan an experiment.

    Args:
        name: id of the experiment, or its file.
        library: holds the experiment.
        agents: those of this machine.
        choice: part or variation of the experiment.
        folder: the run's folder.
        build_images: build missing images, since keys need their digests.
        history: costs of earlier trials; None: those of the rows in the folder.
        sandbox: for all agents and checks; None: the experiment's.
        done: files and folders with stored rows, beside the runs in the same folder.

    Raises:
        ConfigError: the experiment is not valid.
        ToolError: an image cannot be built.
    """
    experiment = choice.apply(library.experiment(name))
    if sandbox is not None:
        experiment = experiment.model_copy(update={"sandbox": sandbox})
    infos = {name: installed.info for name, installed in agents.items()}
    chosen = select_sandbox(experiment, (installed.agent for installed in agents.values()), library)
    pool = SandboxPool(chosen, library, sources=ConfigSources.of(library, choice.head))
    images = pool.image_digests if build_images else SandboxImages(chosen)
    if SANDBOXES[chosen].needs_image and not build_images:
        click.echo("images are not built now, so the keys differ from those of a run", err=True)
    past = past_costs(folder) if history is None else history
    choice = replace(choice, best=_best(experiment, library, choice.epoch, (*_runs(folder), *done)))
    plan = plan_cells(experiment, library, infos, choice, past, images)
    refuse_changed_fixtures({cell.scenario for cell in plan.cells}, library)
    now = datetime.datetime.now(datetime.UTC)
    plan = plan.model_copy(update={"not_before": _oldest(experiment, now), "judging": judging_of(plan, library)})
    notes = (
        *comparison_notes(plan),
        *unread_notes(plan),
        *impossible_notes(plan.not_possible),
        *unproved_notes(plan.unproved),
        *alias_notes(experiment, library),
        *model_notes(plan, library, now.date()),
        *choice_notes(plan, choice.best),
        *power_notes(plan, folder),
    )
    return plan.model_copy(update={"notes": notes})


def _oldest(experiment: Experiment, now: datetime.datetime) -> datetime.datetime | None:
    """Return the time before which stored results are too old; None if none is."""
    with contextlib.suppress(OverflowError):  # before the first year
        return None if experiment.max_age_days is None else now - datetime.timedelta(days=experiment.max_age_days)
    return None


def _runs(folder: RunFolder) -> list[Path]:
    """Return the folders with rows beside a run's folder, and itself."""
    return sorted(path.parent for path in folder.root.parent.glob("*/results.jsonl"))


def _best(experiment: Experiment, library: Library, epoch: str, rows: Sequence[Path]) -> Mapping[str, str]:
    """Return the best sub-test of each tier by stored rows, if a sub-test of the experiment needs one."""
    tiers = library.tiers
    names = select("variants", experiment.variants, tiers.names) if experiment.variants else []
    if not any(tiers.variant(name).chosen for name in names):
        return {}
    return best_sub_tests(stored_rows(rows), with_model_ids(experiment, library), epoch, tiers.names)


def refuse_changed_fixtures(scenarios: Iterable[str], library: Library) -> None:
    """Compare the files of fixtures with the commits that scenarios pin; a cached start state would hide a change.

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


def past_costs(folder: RunFolder, done: Sequence[Path] = ()) -> History:
    """Return costs of earlier trials of a run, of the runs beside it, and of the rows under `done`."""
    others = [path / "results.jsonl" for path in _runs(folder) if path != folder.root]
    return history_of(folder.results, [*others, *done])


def history_of(results: Path, done: Sequence[Path] = ()) -> History:
    """Return costs of the trials in `results` and in the rows under `done`; rows of another version are skipped."""
    costs: dict[tuple[str, str], list[PastCost]] = defaultdict(list)
    try:
        rows = list(read_lines(results, Result)) if results.exists() else []
    except ConfigError:
        click.echo(f"{results}: was written by another version, so the estimate does not use it", err=True)
        return costs
    paid = (row for row in stored_rows(done) if not row.replayed)  # a replay takes no time
    for row in itertools.chain(rows, paid):
        if row.measures_agent and row.seconds is not None:
            judge_usd = row.judge_usd if row.judged and row.judge_usd else None  # 0: perhaps there was no panel
            costs[row.scenario, row.arm].append(PastCost(row.usd, row.seconds, judge_usd, row.check_seconds))
    return costs


def print_plan(plan: Plan, jobs: int) -> None:
    """Print the plan and its estimate on standard error."""
    scenarios = {cell.scenario for cell in plan.cells}
    where = ", in containers" if SANDBOXES[plan.sandbox].needs_image else ""
    click.echo(f"{plan.experiment.id}: {plan.experiment.question}\n"
               f"{counted(len(plan.cells), 'cell')}: {counted(len(scenarios), 'scenario')}, "
               f"{counted(len(plan.arms), 'arm')}{where}",
               err=True)  # fmt: skip
    wall = wall_minutes(plan, jobs)
    click.echo(f"estimate: {_range(plan.estimate.usd, dollars)}; {_range(wall, _minutes)} minutes with {jobs} at once "
               f"({plan.estimate.basis})", err=True)  # fmt: skip
    if plan.experiment.judges:
        agents, judges = plan.estimate.agents, plan.estimate.judges
        click.echo(f"  agents {_range(agents.usd, dollars)}; judges {_range(judges.usd, dollars)}", err=True)
    for note in plan.notes:
        click.echo(f"note: {note}", err=True)


def wall_minutes(plan: Plan, jobs: int) -> CostRange:
    """Return the estimated minutes of a plan with so many cells at once."""
    minutes = plan.estimate.minutes.model_dump()
    return CostRange.model_validate({end: None if value is None else value / jobs for end, value in minutes.items()})


def _minutes(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1f}"


def _range(cost: CostRange, text: Callable[[float | None], str]) -> str:
    if cost.low is None or cost.likely is None or cost.high is None:
        return text(None)
    between = "" if cost.low == cost.high else f" ({text(cost.low)} to {text(cost.high)})"
    return f"{text(cost.likely)}{between}"
