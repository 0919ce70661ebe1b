"""The work of one job: its cells are opened by the stored plan, travelled with while there is time, and gathered."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scylla_gha.cli.access import reach, require_access
from scylla_gha.cli.assignment import Assignment
from scylla_gha.cli.attending import ending_in_order
from scylla_gha.cli.consent import ask_to_spend
from scylla_gha.cli.exposure import guard_keys
from scylla_gha.cli.footing import footing, refuse_other_footing
from scylla_gha.cli.gathering import Gathering
from scylla_gha.cli.journey import Journey
from scylla_gha.cli.options import Tape
from scylla_gha.cli.planning import Installed, find_agent
from scylla_gha.cli.progress import Progress
from scylla_gha.cli.sources import Sources
from scylla_gha.cli.travel import travel
from scylla_gha.config.library import Library
from scylla_gha.errors import RefusedError, ScyllaError
from scylla_gha.model.experiment import Experiment, RoleBudgets
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.result import Result
from scylla_gha.model.shards import TIME_OVER
from scylla_gha.model.trial import Trial
from scylla_gha.plan import agent_name
from scylla_gha.proc import Cancel
from scylla_gha.sandboxes import SANDBOXES, temporary
from scylla_gha.seeding.workspace import reap
from scylla_gha.store import RunFolder

_TAPE: Final = Tape()  # a job asks the provider


@dataclass(frozen=True, slots=True)
class Terms:
    """How a job works: cells at once, when it stops to start them (of the monotonic clock), and what it may do."""

    lanes: int
    until: float
    yes: bool
    exposed: bool


@dataclass(frozen=True, slots=True)
class Duty:
    """A shard, where its records are, and who gathers its rows."""

    given: Assignment
    folder: RunFolder
    sources: Sources
    gathering: Gathering

    @property
    def library(self) -> Library:
        """Where all but the variants of a change lies."""
        return self.sources.here


@dataclass(frozen=True, slots=True)
class Left:
    """The cells without a row and why; and whether a budget, or something that is to be mended, is the reason."""

    cells: Mapping[str, str]
    is_budget_spent: bool = False
    fault: str | None = None


def perform(duty: Duty, taken: Mapping[str, Result], terms: Terms) -> Left:
    """Work on the cells that have no row yet. Whatever happens, the rows and their manifest are written.

    Raises:
        ScyllaError: no cell could be started; the manifest says why.
        KeyboardInterrupt: the job was cancelled; what was done is kept.
    """
    duty.gathering.write()
    if len(taken) == len(duty.given.plan.cells):
        return Left({})
    with ending_in_order():
        try:
            journey = _open(duty, taken, terms)
        except ScyllaError as error:
            duty.gathering.write({cell.id: str(error) for cell in duty.given.plan.cells})
            raise
        try:
            _work(duty, journey, terms)
        finally:
            missing = duty.gathering.write(journey.unstarted)
    fault = journey.full or journey.halted or next(iter(journey.stopped.values()), None)
    return Left(missing, journey.is_budget_spent, fault)


def _open(duty: Duty, taken: Mapping[str, Result], terms: Terms) -> Journey:
    """All that is needed before a first cell: agents, their access, and that the planned keys hold here."""
    reap()
    temporary.reap()
    plan = _still(duty.given.plan, taken)
    agents = _agents(plan)
    require_access(agents, plan.experiment.judges, _TAPE)
    journey = Journey(plan, duty.folder, duty.sources, agents, Cancel())
    guard_keys(journey, _TAPE, SANDBOXES[plan.sandbox], allowed=terms.exposed)
    journey.boxes.check()
    boxing = journey.boxes.boxing
    here = footing(plan, duty.sources, boxing, agents)
    refuse_other_footing(plan, duty.given.packing.footing, here, duty.library, boxing)
    journey.boxes.make_ready(plan)
    ask_to_spend(journey, _TAPE, yes=terms.yes)
    return journey


def _still(plan: Plan, taken: Mapping[str, Result]) -> Plan:
    """What is left to do, and to spend."""
    cells = tuple(cell for cell in plan.cells if cell.id not in taken)
    return plan.model_copy(update={"cells": cells, "experiment": budgets_left(plan.experiment, taken.values())})


def budgets_left(experiment: Experiment, paid: Iterable[Result]) -> Experiment:
    """The experiment with what is left of its budgets after rows that were paid of them.

    Raises:
        RefusedError: nothing is left of one.
    """
    rows = list(paid)
    agents = math.fsum(row.usd or 0.0 for row in rows)
    judges = math.fsum(row.judge_usd or 0.0 for row in rows)
    roles = experiment.role_budget_usd
    budgets = {
        "agent": _rest_of("role_budget_usd.agent", roles.agent, agents),
        "judge": _rest_of("role_budget_usd.judge", roles.judge, judges),
    }
    whole = _rest_of("budget_usd", experiment.budget_usd, agents + judges)
    return experiment.model_copy(update={"budget_usd": whole, "role_budget_usd": RoleBudgets.model_validate(budgets)})


def _rest_of(field: str, budget: float | None, spent: float) -> float | None:
    if budget is None or spent < budget:
        return None if budget is None else budget - spent
    raise RefusedError(f"{field} of ${budget:.2f} is spent: the rows that are there cost ${spent:.2f}; raise it "
                       "to go on")  # fmt: skip


def _agents(plan: Plan) -> dict[str, Installed]:
    """Those of the cells, by the names that the experiment gives them."""
    arms = {arm.id: arm.agent for arm in plan.arms}
    used = {arms[cell.arm] for cell in plan.cells}
    return {named: find_agent(named, install=True) for named in plan.experiment.agents if agent_name(named)[0] in used}


def _work(duty: Duty, journey: Journey, terms: Terms) -> None:
    plan = journey.plan
    with reach(journey, _TAPE), Progress(len(plan.cells), plan.experiment.budget_usd) as progress:

        def told(cell: Cell, trial: Trial, judgment: Judgment | None) -> None:
            duty.gathering.add(plan, cell, duty.folder, duty.library)
            passed = judgment is not None and judgment.result is not None and judgment.result.passed
            progress.advance(trial.usage.usd, passed=passed)

        travel(journey, _in_time(journey, terms.until), terms.lanes, told)


def _in_time(journey: Journey, until: float) -> Iterator[Cell]:
    """The cells, as long as there is time to start one when a lane asks for it."""
    for cell in journey.plan.cells:
        if time.monotonic() < until:
            yield cell
        else:
            journey.unstarted[cell.id] = TIME_OVER
