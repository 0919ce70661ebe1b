"""One wave of an experiment in GitHub Actions: reused rows, packed jobs, cells left, and whether another wave follows.

Cells are packed longest first, to the worker that is free first. That order decides only which worker gets a cell: run
in that order, slow arms would come first and fast arms last, and time would confound the comparison. So a wave takes
the first cells of the plan, in which the experiment's seed interleaves the arms, and each worker and each job runs its
cells in the plan's order. `drift` measures the remaining confounding.
"""

import bisect
import hashlib
import heapq
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.agents import InstalledAgent
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.github_api.responses import DispatchEvent, read_event
from scylla_gha.images import SandboxPool
from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.model.plan import MOST_SHARDS, TIME_OVER, Cell, Plan, Shard, UnstartedCells, WavePacking
from scylla_gha.model.result import Result
from scylla_gha.plan.budget import BudgetClaim, refuse_above_budget, split_budget
from scylla_gha.plan.estimate import DueCells, ExpectedCost, History, cell_groups, estimate_cells, expected_costs
from scylla_gha.plan.reuse_results import environment_fingerprint, reusable
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import RunFolder, stored_packing

_SHRINK: Final = 200  # an overfull wave is packed again without 1/200 of its cells
_ROUNDING: Final = 1e-9  # minutes
_CAMPAIGN: Final = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")
# Inputs of dispatch.yml and regression.yml; GitHub refuses a dispatch with another input.
_INPUTS: Final = {
    "experiment",
    "only",
    "repetitions",
    "budget-usd",
    "parallelism",
    "lanes",
    "minutes",
    "runs-on",
    "epoch",
    "pull",
    "head",
    "base",
    "results-branch",
    "environment",
    "wave",
    "campaign",
    "baseline",
}
_Costs = Mapping[tuple[str, str], ExpectedCost]  # expected cost of one cell, by scenario and arm


@dataclass(frozen=True, slots=True)
class WaveLimits:
    """Maximum number of shards, simultaneous cells per shard, and minutes in which a shard may start cells."""

    shards: int = MOST_SHARDS
    lanes: int = 4
    minutes: float = 300.0


@dataclass(frozen=True, slots=True)
class ScheduledCell:
    """A cell by its index in the plan, with its expected start and duration in minutes."""

    index: int
    start: float
    minutes: float


@dataclass(frozen=True, slots=True)
class PackedWave:
    """The shards of a wave, each in the order of its starts. Cells from index `count` on are left for later waves.

    `makespan` is the expected minutes of the longest shard. No packing takes fewer minutes than `bound`.
    """

    shards: tuple[tuple[ScheduledCell, ...], ...]
    count: int
    makespan: float
    bound: float


NOTHING: Final = PackedWave((), 0, 0.0, 0.0)


def pack_shards(minutes: Sequence[float], limits: WaveLimits) -> PackedWave:
    """Pack as many of the first cells as fit into the time of a wave.

    A cell that takes longer than the time of a job gets its own worker, since it can still be started.

    Args:
        minutes: expected duration of each cell, in the plan's order.
        limits: limits of the wave.

    Raises:
        ConfigError: there is no cell, a limit is invalid, or a duration is not finite.
    """
    check_limits(limits)
    if not minutes:
        raise ConfigError(
            "there is no cell to run, so no job is planned; choose other cells (--only), or give other rows to --done"
        )
    if any(not math.isfinite(duration) or duration < 0 for duration in minutes):
        raise ConfigError("the expected minutes of a cell are not finite; give its scenario a time limit")
    # The upper bound: the first cells that would fit if cells could be divided between workers, and at least one.
    time = min(limits.shards, len(minutes)) * limits.lanes * limits.minutes
    totals = list(itertools.accumulate(min(duration, limits.minutes) for duration in minutes))
    count = max(1, bisect.bisect_right(totals, time))
    while True:
        workers = _longest_first(minutes[:count], limits)
        loads = [math.fsum(minutes[index] for index in cells) for cells in workers]
        crowded = (load for cells, load in zip(workers, loads, strict=True) if len(cells) > 1)
        if max(crowded, default=0.0) <= limits.minutes + _ROUNDING:
            break
        count -= max(1, count // _SHRINK)
    shards = sorted(_shards(minutes, workers, limits), key=lambda shard: min(cell.index for cell in shard))
    return PackedWave(tuple(shards), count, max(loads), lower_bound(minutes[:count], len(workers)))


def check_limits(limits: WaveLimits) -> None:
    """Check the limits of a wave.

    Raises:
        ConfigError: a limit is out of range.
    """
    if not 1 <= limits.shards <= MOST_SHARDS:
        raise ConfigError(
            f"--most-shards {limits.shards}: a wave has 1 to {MOST_SHARDS} jobs, since GitHub "
            "refuses a matrix of more than 256; a job can take several cells"
        )
    if limits.lanes < 1 or not 0 < limits.minutes < math.inf:
        raise ConfigError(
            f"--lanes {limits.lanes} --minutes {limits.minutes:g}: a job needs at least one lane, and a finite "
            "time above 0"
        )


def _longest_first(minutes: Sequence[float], limits: WaveLimits) -> list[list[int]]:
    """Return the indices of each worker's cells in the plan's order; worker k of shard s is at k * shards + s."""
    workers: list[list[int]] = [[] for _ in range(min(limits.shards, len(minutes)) * limits.lanes)]
    free = [(0.0, 0, number) for number in range(len(workers))]  # a heap: the first workers of all shards go first
    for index in sorted(range(len(minutes)), key=minutes.__getitem__, reverse=True):
        load, cells, number = free[0]
        workers[number].append(index)
        heapq.heapreplace(free, (load + minutes[index], cells + 1, number))
    return [sorted(cells) for cells in workers]


def _shards(
    minutes: Sequence[float], workers: Sequence[Sequence[int]], limits: WaveLimits
) -> list[tuple[ScheduledCell, ...]]:
    schedules = []
    for cells in workers:
        starts = itertools.accumulate((minutes[index] for index in cells), initial=0.0)
        pairs = zip(cells, starts, strict=False)  # the last start is the worker's end
        schedules.append([ScheduledCell(index, start, minutes[index]) for index, start in pairs])
    count = len(workers) // limits.lanes
    shards = (itertools.chain.from_iterable(schedules[number::count]) for number in range(count))
    return [tuple(sorted(shard, key=lambda cell: (cell.start, cell.index))) for shard in shards]


def lower_bound(minutes: Sequence[float], workers: int) -> float:
    """Return the minutes that every packing needs: the longest cell's, or an equal share for each worker."""
    return max(*minutes, math.fsum(minutes) / workers)


def drift(packed: PackedWave, arms: Sequence[str]) -> float:
    """Return the largest distance of an arm's mean start from the mean start of all cells, as a share of the makespan.

    Near 0, arms start equally early; at 0.5, all cells of an arm come first or last. `arms` are the cells' arms, in
    the plan's order.
    """
    starts: dict[str, list[float]] = defaultdict(list)
    for cell in itertools.chain.from_iterable(packed.shards):
        starts[arms[cell.index]].append(cell.start)
    if not packed.makespan:
        return 0.0
    mean = math.fsum(itertools.chain.from_iterable(starts.values())) / packed.count
    return max(abs(math.fsum(own) / len(own) - mean) for own in starts.values()) / packed.makespan


def account_for(packing: WavePacking, plan: Plan) -> None:
    """Check that every planned cell is in the packing exactly once: in a shard, left for a later wave, or reused.

    Raises:
        ConfigError: a cell is missing, duplicated, or not planned.
    """
    packed = Counter(itertools.chain(packing.left, packing.reused, *(shard.cells for shard in packing.shards)))
    planned = Counter(cell.id for cell in plan.cells)
    for fault, cells in (("lost", planned - packed), ("doubled, or not in the plan", packed - planned)):
        if cells:
            raise ConfigError(
                f"{min(cells)}: is {fault} (and {cells.total() - 1} more), so the shards are not "
                f"of this plan of {counted(len(plan.cells), 'cell')}; plan again"
            )


@dataclass(frozen=True, slots=True)
class WaveOptions:
    """Options of a wave."""

    limits: WaveLimits = WaveLimits()
    campaign: str = "local"
    wave: int = 1  # number of the wave in the campaign
    done: tuple[Path, ...] = ()  # files or folders with reusable rows


@dataclass(frozen=True, slots=True)
class Wave:
    """A wave with the rows that it reuses. `usd` is the likely cost of its cells; None: unknown."""

    packing: WavePacking
    reused: tuple[Result, ...]
    usd: float | None


def make_wave(
    plan: Plan,
    folder: RunFolder,
    sources: ConfigSources,
    agents: Mapping[str, InstalledAgent],
    history: History,
    options: WaveOptions,
) -> Wave:
    """Reuse rows of finished cells, and pack the other cells into shards.

    Args:
        plan: plan stored in `folder`, whose budget is the unspent rest of earlier waves.
        folder: the run's folder.
        sources: configuration of this machine.
        agents: those of this machine.
        history: costs of earlier trials.
        options: options of the wave.

    Raises:
        ConfigError: no cell is left to run and no row is reused, or the limits are not valid.
        RefusedError: the likely cost is above a budget, or the rows of earlier waves are missing.
    """
    check_limits(options.limits)
    library = sources.here
    reused = _rows_to_reuse(plan, library, options)
    cells = [cell for cell in plan.cells if cell.id not in reused]
    if cells:
        _require_budget(plan, cells, library, history)
    costs = _costs_of(cells, plan, library, history)
    minutes = [costs[cell.scenario, cell.arm].minutes for cell in cells]
    packed = pack_shards(minutes, options.limits) if cells or not reused else NOTHING
    versions = {agent_id: installed.version for agent_id, installed in agents.items()}
    images = SandboxPool(plan.sandbox, library, sources=sources).image_digests
    packing = WavePacking(
        experiment=folder.root.name,
        plan=hashlib.sha256(folder.plan.read_bytes()).hexdigest(),
        campaign=options.campaign,
        wave=options.wave,
        lanes=options.limits.lanes,
        minutes=options.limits.minutes,
        shards=_shard_records(plan, cells, packed, costs),
        left=tuple(cell.id for cell in cells[packed.count :]),
        reused=tuple(cell.id for cell in plan.cells if cell.id in reused),
        makespan=packed.makespan,
        bound=packed.bound,
        drift=drift(packed, [cell.arm for cell in cells]),
        footing=environment_fingerprint(plan, sources, images, versions),
    )
    account_for(packing, plan)
    return Wave(packing, tuple(reused.values()), _sum(shard.usd for shard in packing.shards))


def _costs_of(cells: list[Cell], plan: Plan, library: Library, history: History) -> _Costs:
    """Return the expected cost of a cell, by scenario and arm."""
    models = library.priced_models(plan.experiment.prices)
    return expected_costs(cell_groups(DueCells(cells, cells), plan.arms, library), plan.experiment, models, history)


def _require_budget(plan: Plan, cells: list[Cell], library: Library, history: History) -> None:
    """Check that the likely cost of some of a plan's cells is not above a budget.

    Raises:
        RefusedError: it is above a budget.
    """
    if len(cells) < len(plan.cells):
        estimate = estimate_cells(plan.experiment, library, plan.arms, DueCells(cells, cells), history)
        plan = plan.model_copy(update={"estimate": estimate})
    refuse_above_budget(plan)


def _rows_to_reuse(plan: Plan, library: Library, options: WaveOptions) -> dict[str, Result]:
    reused = reusable(options.done, plan, library) if options.done else {}
    if options.wave > 1 and not reused:
        raise RefusedError(
            f"wave {options.wave} of {options.campaign}: rows of earlier waves are missing, and their "
            "cells would be paid again; give them to --done (or keep a results branch)"
        )
    return reused


def _shard_records(plan: Plan, cells: Sequence[Cell], packed: PackedWave, costs: _Costs) -> tuple[Shard, ...]:
    """Return the records of the shards, each with its part of the budgets."""
    experiment, roles = plan.experiment, plan.experiment.role_budget_usd
    paid_arms = {arm.id for arm in plan.arms if arm.model}
    groups = [[cells[scheduled.index] for scheduled in shard] for shard in packed.shards]
    claims = [
        BudgetClaim(
            (experiment.limits.usd or 0.0) if any(cell.arm in paid_arms for cell in group) else 0.0,
            _sum(costs[cell.scenario, cell.arm].usd for cell in group),
            len(group),
        )
        for group in groups
    ]
    budgets = split_budget("budget_usd", experiment.budget_usd, claims)
    agents = split_budget("role_budget_usd.agent", roles.agent, claims)
    judge_claims = [BudgetClaim(0.0, claim.usd, claim.cells) for claim in claims]
    judges = split_budget("role_budget_usd.judge", roles.judge, judge_claims)
    return tuple(
        Shard(
            number=number,
            cells=tuple(cell.id for cell in group),
            minutes=max(cell.start + cell.minutes for cell in packed.shards[number]),
            usd=claims[number].usd,
            budget_usd=budgets[number],
            role_budget_usd=RoleBudgets(agent=agents[number], judge=judges[number]),
        )
        for number, group in enumerate(groups)
    )


def _sum(costs: Iterable[float | None]) -> float | None:
    """Return the sum; None if a cost is unknown."""
    known = list(costs)
    return None if None in known else math.fsum(cost for cost in known if cost is not None)


@dataclass(frozen=True, slots=True)
class RemainingBudget:
    """Remaining USD of the budget (None: no budget), and the number of trials of unknown cost."""

    usd: float | None
    unknown: int = 0


def read_wave(folder: RunFolder) -> WavePacking:
    """Read the wave that was planned in a run's folder.

    Raises:
        ConfigError: the run was not planned in waves, or its campaign's name is invalid in a tag.
    """
    wave = stored_packing(folder)
    if not _CAMPAIGN.fullmatch(wave.campaign) or wave.campaign.endswith(".lock"):
        raise ConfigError(f"campaign {wave.campaign!r} is not valid in a git tag; plan with another --campaign")
    return wave


def pending_cells(folder: RunFolder, wave: WavePacking) -> int:
    """Count the cells that did not fit into this wave or its time, without failed cells, since jobs are re-run."""
    unstarted = read_record(folder.unstarted, UnstartedCells)
    late = {cell for cell, reason in unstarted.cells.items() if reason == TIME_OVER} if unstarted else set()
    return len(late | set(wave.left))


def _own_rows(wave: WavePacking, rows: Iterable[Result]) -> list[Result]:
    """Return the rows that this wave measured."""
    reused = set(wave.reused)
    return [row for row in rows if row.cell not in reused]


def remaining_budget(plan: Plan, wave: WavePacking, rows: Iterable[Result]) -> RemainingBudget:
    """Return the unspent budget of this wave, which is the budget of the next wave."""
    budget = plan.experiment.budget_usd
    if budget is None:
        return RemainingBudget(None)
    own = _own_rows(wave, rows)
    costs = [row.usd + row.judge_usd for row in own if row.usd is not None and row.judge_usd is not None]
    return RemainingBudget(budget - sum(costs), len(own) - len(costs))


def why_stop(
    wave: WavePacking, cells: int, rows: Iterable[Result], budget: RemainingBudget, most_waves: int
) -> str | None:
    """Return the reason why no further wave starts for the pending cells; None if one starts."""
    if not cells:
        return "no cell is left"
    if wave.wave >= most_waves:
        return (
            f"--most-waves allows only {counted(wave.wave, 'wave')}, but {counted(cells, 'cell is', 'cells are')} left"
        )
    if not any(row.measures_agent for row in _own_rows(wave, rows)):
        return f"wave {wave.wave} measured nothing, and another wave would fail too; see the reasons in its rows"
    if budget.usd is not None and budget.unknown:
        return (
            f"the cost of {counted(budget.unknown, 'trial')} is unknown, so the budget cannot be enforced; run the "
            "remaining cells by hand"
        )
    if budget.usd is not None and budget.usd <= 0:
        return f"the budget is spent, and {counted(cells, 'cell is', 'cells are')} left; raise it and dispatch by hand"
    return None


def inputs_of(plan: Plan, wave: WavePacking, event: Path | None, usd: float | None) -> dict[str, str]:
    """Return the inputs of the next wave: those of this wave, with the next number and the remaining budget."""
    inputs = (read_event(event, DispatchEvent).inputs if event else None) or {}
    own = {
        "experiment": plan.experiment.id,
        "epoch": plan.epoch,
        "campaign": wave.campaign,
        "wave": str(wave.wave + 1),
        "budget-usd": "" if usd is None else f"{usd:.4f}",
    }
    # An input of a workflow dispatch is always text.
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in inputs.items()
        if name in _INPUTS and isinstance(value, str | int | float)
    }
    return {name: value for name, value in (*texts.items(), *own.items()) if value}
