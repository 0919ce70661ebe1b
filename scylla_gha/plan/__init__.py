"""Step `plan`: plan of an experiment with the agents of this machine and costs of earlier trials, and its summary."""

import contextlib
import datetime
import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scylla_gha.agents import InstalledAgent, find_agents
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.counting import counted, dollars
from scylla_gha.errors import ConfigError
from scylla_gha.images import SandboxImages, SandboxPool, select_sandbox
from scylla_gha.model.experiment import Experiment, SandboxName
from scylla_gha.model.plan import CostRange, Plan
from scylla_gha.model.result import Result
from scylla_gha.plan.cells import (
    PlannedCells,
    comparison_notes,
    expand,
    impossible_notes,
    list_cells,
    unproved_notes,
)
from scylla_gha.plan.changed_arms import change_diff, change_note, skill_notes, unread_notes
from scylla_gha.plan.checks import (
    alias_notes,
    check_models,
    choice_notes,
    model_notes,
    panel_providers,
    power_notes,
    safety_net_notes,
    with_model_ids,
)
from scylla_gha.plan.estimate import History, PastCost
from scylla_gha.plan.reuse_results import changed_skill_notes, judging_of, stored_rows
from scylla_gha.plan.selection import CellSelection, best_sub_tests, select
from scylla_gha.plan.skills import listing_notes, name_only_skills
from scylla_gha.prepare.start_state import changed_fixture
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store import read_lines
from scylla_gha.store.run_folder import RunFolder

_EXACT_MINUTES: Final = 9.95  # longer times have no decimals


@dataclass(frozen=True)
class PlanRequest:
    """An experiment, or a part or variation of an experiment, to plan.

    Attributes:
        name: id or file of the experiment.
        library: library with the experiment.
        choice: part or variation of the experiment.
        folder: the run's folder.
        sandbox: sandbox of all agents and checks; None: the experiment's.
        done: files and folders with stored rows, in addition to the runs beside this one.
    """

    name: str
    library: Library
    choice: CellSelection
    folder: RunFolder
    sandbox: SandboxName | None = None
    done: tuple[Path, ...] = ()

    @functools.cached_property
    def experiment(self) -> Experiment:
        """The experiment with the fields that the choice and the sandbox override."""
        experiment = self.choice.apply(self.library.experiment(self.name))
        return experiment if self.sandbox is None else experiment.model_copy(update={"sandbox": self.sandbox})


def check_names(request: PlanRequest) -> dict[str, InstalledAgent]:
    """Check all names in an experiment, before a key is needed or a tool is installed; return its agents.

    Raises:
        ConfigError: there is no such agent, scenario, variant, skill or model.
    """
    agents = find_agents(request.experiment, install=False)
    expanded = expand(request.experiment, request.library, agents, request.choice)
    check_models(expanded.arms, expanded.experiment, request.library)
    return agents


@dataclass(frozen=True, slots=True)
class Planning:
    """All cells of an experiment with their keys, the source of plans for all or some cells.

    Attributes:
        request: the experiment, and its part or variation.
        cells: cells of the whole experiment.
        best: sub-test that stored rows choose, by tier.
        history: costs of earlier trials.
        build_images: True if images were built, so that the keys are those of a run.
    """

    request: PlanRequest
    cells: PlannedCells
    best: Mapping[str, str]
    history: History
    build_images: bool

    def plan(self, only: tuple[str, ...]) -> Plan:
        """Return the plan of the cells that match the globs, with notes.

        Raises:
            ConfigError: no cell matches, or a fixture differs from its pinned commit.
        """
        library, head = self.request.library, self.request.choice.head
        plan = self.cells.plan(only, library, self.history)
        refuse_changed_fixtures({cell.scenario for cell in plan.cells}, library)
        now = datetime.datetime.now(datetime.UTC)
        facts = {
            "not_before": _oldest(self.request.experiment, now),
            "judging": judging_of(plan, library),
            "providers": panel_providers(plan, library),
            "name_only_skills": name_only_skills(plan, ConfigSources.of(library, head)),
            "change": change_diff(library, Library.here(head)) if head else "",
        }
        plan = plan.model_copy(update=facts)
        return plan.model_copy(update={"notes": tuple(self._notes(plan, now))})

    def _notes(self, plan: Plan, now: datetime.datetime) -> Iterator[str]:
        request, head = self.request, self.request.choice.head
        if SANDBOXES[plan.sandbox].needs_image and not self.build_images:
            yield "images were not built, so the keys differ from those of a run"
        if fault := unreadable_rows(request.folder.results):
            yield fault
        yield from comparison_notes(plan)
        yield from unread_notes(plan)
        yield from changed_skill_notes(plan, (request.folder.results, *request.done))
        if head and (note := change_note(request.library, Library.here(head))):
            yield note
        yield from skill_notes(plan, {"": request.library.roots[0], **({"head": head} if head else {})})
        yield from listing_notes(plan)
        yield from impossible_notes(plan.not_possible)
        yield from unproved_notes(plan.unproved)
        yield from alias_notes(request.experiment, request.library)
        yield from safety_net_notes(plan)
        yield from model_notes(plan, request.library, now.date())
        yield from choice_notes(plan, self.best)
        yield from power_notes(plan, request.folder)


def plan_whole(
    request: PlanRequest,
    agents: Mapping[str, InstalledAgent],
    *,
    build_images: bool = True,
    history: History | None = None,
) -> Planning:
    """Expand an experiment into all its cells; `Planning.plan` selects some.

    Args:
        request: the experiment, and its part or variation.
        agents: those of this machine.
        build_images: True to build missing images, since keys need their digests.
        history: costs of earlier trials; None: they are read from the rows of the run and of the runs beside it.

    Raises:
        ConfigError: the experiment is invalid.
        ToolError: an image cannot be built.
    """
    experiment, library, folder = request.experiment, request.library, request.folder
    chosen = select_sandbox(experiment, [installed.agent for installed in agents.values()], library)
    pool = SandboxPool(chosen, library, sources=ConfigSources.of(library, request.choice.head))
    images = pool.image_digests if build_images else SandboxImages(chosen)
    past = past_costs(folder) if history is None else history
    best = _best(experiment, library, request.choice.epoch, (*_runs(folder), *request.done))
    expanded = expand(experiment, library, agents, replace(request.choice, best=best))
    return Planning(request, list_cells(expanded, request.choice.epoch, images), best, past, build_images)


def make_plan(
    request: PlanRequest,
    agents: Mapping[str, InstalledAgent],
    *,
    build_images: bool = True,
    history: History | None = None,
) -> Plan:
    """Plan the chosen cells of an experiment; arguments and errors as in `plan_whole` and `Planning.plan`."""
    return plan_whole(request, agents, build_images=build_images, history=history).plan(request.choice.only)


def _oldest(experiment: Experiment, now: datetime.datetime) -> datetime.datetime | None:
    """Return the time before which stored results are too old; None without a maximum age."""
    with contextlib.suppress(OverflowError):  # before the first year
        return None if experiment.max_age_days is None else now - datetime.timedelta(days=experiment.max_age_days)
    return None


def _runs(folder: RunFolder) -> list[Path]:
    """Return the run folders with rows beside a run's folder, and the folder itself."""
    return sorted(path.parent for path in folder.root.parent.glob("*/results.jsonl"))


def _best(experiment: Experiment, library: Library, epoch: str, rows: Sequence[Path]) -> Mapping[str, str]:
    """Return the best sub-test of each tier by stored rows; empty if the experiment needs none."""
    tiers = library.tiers
    names = select("variants", experiment.variants, tiers.names) if experiment.variants else []
    if not any(tiers.variant(name).chosen for name in names):
        return {}
    return best_sub_tests(stored_rows(rows), with_model_ids(experiment, library), epoch, tiers.names)


def refuse_changed_fixtures(scenarios: Iterable[str], library: Library) -> None:
    """Compare the files of fixtures with the commits that scenarios pin, since a cached start state hides changes.

    Raises:
        ConfigError: a fixture differs from its pinned commit.
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


def unreadable_rows(results: Path) -> str | None:
    """Return a message about rows of another version, which estimates cannot use; None if they are readable."""
    if not results.exists():
        return None
    try:
        next(iter(read_lines(results, Result)), None)
    except ConfigError:
        return f"{results}: was written by another version, so the estimate does not use it"
    return None


def history_of(results: Path, done: Sequence[Path] = ()) -> History:
    """Return costs of the trials in `results` and in the rows under `done`; rows of another version are skipped."""
    costs: dict[tuple[str, str], list[PastCost]] = defaultdict(list)
    try:
        rows = list(read_lines(results, Result)) if results.exists() else []
    except ConfigError:
        return costs
    paid = (row for row in stored_rows(done) if not row.replayed)  # a replay takes no time
    for row in itertools.chain(rows, paid):
        if row.measures_agent and row.seconds is not None:
            judge_usd = row.judge_usd if row.judged and row.judge_usd else None  # 0: perhaps there was no panel
            costs[row.scenario, row.arm].append(PastCost(row.usd, row.seconds, judge_usd, row.check_seconds))
    return costs


def plan_lines(plan: Plan, jobs: int) -> Iterator[str]:
    """Yield the lines that describe a plan and its estimate with `jobs` simultaneous cells."""
    scenarios = {cell.scenario for cell in plan.cells}
    where = ", in containers" if SANDBOXES[plan.sandbox].needs_image else ""
    cells, arms = counted(len(plan.cells), "cell"), counted(len(plan.arms), "arm")
    yield f"{plan.experiment.id}: {plan.experiment.question}"
    yield f"{cells}: {counted(len(scenarios), 'scenario')}, {arms}{where}"
    usd, wall = _range(plan.estimate.usd, dollars), wall_minutes(plan, jobs)
    yield f"estimate: {usd}; {_range(wall, _minutes)} minutes with {jobs} at once ({plan.estimate.basis})"
    if plan.experiment.judges:
        agents, judges = plan.estimate.agents, plan.estimate.judges
        yield f"  agents {_range(agents.usd, dollars)}; judges {_range(judges.usd, dollars)}"
    yield from (f"note: {note}" for note in plan.notes)


def wall_minutes(plan: Plan, jobs: int) -> CostRange:
    """Return the estimated minutes of a plan with `jobs` simultaneous cells."""
    minutes = plan.estimate.minutes.model_dump()
    return CostRange.model_validate({end: None if value is None else value / jobs for end, value in minutes.items()})


def usd_text(cost: CostRange) -> str:
    """Return the likely cost, and between which values it may be."""
    return _range(cost, dollars)


def minutes_text(cost: CostRange) -> str:
    """Return the likely number of minutes, and between which values it may be."""
    return f"{_range(cost, _minutes)} minutes"


def _minutes(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.{int(value < _EXACT_MINUTES)}f}"


def _range(cost: CostRange, text: Callable[[float | None], str]) -> str:
    if cost.low is None or cost.likely is None or cost.high is None:
        return text(None)
    between = "" if cost.low == cost.high else f" ({text(cost.low)} to {text(cost.high)})"
    return f"{text(cost.likely)}{between}"
