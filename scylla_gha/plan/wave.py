"""One wave of an experiment in GitHub Actions: reused rows, shards, cells left, and whether another wave follows."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.agents.installed import InstalledAgent
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.github.responses import DispatchEvent, read_event
from scylla_gha.images import SandboxImages, SandboxPool
from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.model.plan import TIME_OVER, Cell, Plan, Shard, UnstartedCells, WavePacking
from scylla_gha.model.result import Result
from scylla_gha.plan.budget import BudgetClaim, refuse_above_budget, split_budget
from scylla_gha.plan.estimate import CellGroup, DueCells, ExpectedCost, History, estimate_cells, expected_costs
from scylla_gha.plan.reuse_results import environment_fingerprint, reusable
from scylla_gha.plan.shards import NOTHING, PackedWave, WaveLimits, account_for, check_limits, drift, pack_shards
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder, stored_packing

_CAMPAIGN: Final = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")
# Of dispatch.yml and regression.yml; GitHub refuses a dispatch with any other.
_INPUTS: Final = {
    "experiment", "only", "repetitions", "budget-usd", "parallelism", "lanes", "minutes", "runs-on", "epoch", "pull",
    "head", "base", "results-branch", "environment", "wave", "campaign", "baseline",
}  # fmt: skip
_Costs = Mapping[tuple[str, str], ExpectedCost]  # of one cell, by scenario and arm


@dataclass(frozen=True, slots=True)
class WaveOptions:
    """Limits of a wave, its number in a campaign, and files or folders of rows that it may reuse."""

    limits: WaveLimits = WaveLimits()
    campaign: str = "local"
    wave: int = 1
    done: tuple[Path, ...] = ()


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
    """Reuse rows of cells that are done, and pack the other cells into shards.

    Args:
        plan: of the experiment, which `folder` holds already. Its budget is what earlier waves left.
        folder: the run's folder.
        sources: configuration of this machine.
        agents: those of this machine.
        history: costs of earlier trials.
        options: of the wave.

    Raises:
        ConfigError: there is nothing to run and nothing to reuse, or the limits are not valid.
        RefusedError: the likely cost is above a budget, or a later wave finds no row of those before.
    """
    check_limits(options.limits)
    library = sources.here
    reused = reusable(options.done, plan, library) if options.done else {}
    if options.wave > 1 and not reused:
        raise RefusedError(f"wave {options.wave} of {options.campaign}: rows of earlier waves are missing, and their "
                           "cells would be paid again; give them to --done (or keep a results branch)")  # fmt: skip
    cells = [cell for cell in plan.cells if cell.id not in reused]
    if cells:
        due = DueCells(cells, cells)
        estimate = estimate_cells(plan.experiment, library, plan.arms, due, history) if reused else plan.estimate
        refuse_above_budget(plan.model_copy(update={"estimate": estimate}))
    costs = _expected_costs(plan, cells, library, history)
    minutes = [costs[cell.scenario, cell.arm].minutes for cell in cells]
    packed = pack_shards(minutes, options.limits) if cells or not reused else NOTHING
    versions = {agent_id: installed.version for agent_id, installed in agents.items()}
    packing = WavePacking(
        experiment=folder.root.name,
        plan=hashlib.sha256(folder.plan.read_bytes()).hexdigest(),
        campaign=options.campaign,
        wave=options.wave,
        lanes=options.limits.lanes,
        minutes=options.limits.minutes,
        shards=_shards(plan, cells, packed, costs),
        left=tuple(cell.id for cell in cells[packed.count :]),
        reused=tuple(cell.id for cell in plan.cells if cell.id in reused),
        makespan=packed.makespan,
        bound=packed.bound,
        drift=drift(packed, [cell.arm for cell in cells]),
        footing=environment_fingerprint(plan, sources, _images(plan, sources), versions),
    )
    account_for(packing, plan)
    return Wave(packing, tuple(reused.values()), _sum(shard.usd for shard in packing.shards))


def _images(plan: Plan, sources: ConfigSources) -> SandboxImages:
    return SandboxPool(plan.sandbox, sources.here, sources=sources).image_digests


def _expected_costs(plan: Plan, cells: Sequence[Cell], library: Library, history: History) -> _Costs:
    arms = {arm.id: arm for arm in plan.arms}
    counts = Counter((cell.scenario, cell.arm) for cell in cells)
    groups = [CellGroup(library.scenario(name), arms[arm], count, count) for (name, arm), count in counts.items()]
    return expected_costs(groups, plan.experiment, library.priced_models(plan.experiment.prices), history)


def _shards(plan: Plan, cells: Sequence[Cell], packed: PackedWave, costs: _Costs) -> tuple[Shard, ...]:
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
        ConfigError: it was not planned in waves, or its campaign's name is not valid in a tag.
    """
    wave = stored_packing(folder)
    if not _CAMPAIGN.fullmatch(wave.campaign) or wave.campaign.endswith(".lock"):
        raise ConfigError(f"campaign {wave.campaign!r} is not valid in a git tag; plan with another --campaign")
    return wave


def pending_cells(folder: RunFolder, wave: WavePacking) -> int:
    """Count the cells that did not fit into this wave or its time; failed cells are for a re-run."""
    unstarted = read_record(folder.unstarted, UnstartedCells)
    late = {cell for cell, reason in unstarted.cells.items() if reason == TIME_OVER} if unstarted else set()
    return len(late | set(wave.left))


def _own_rows(wave: WavePacking, rows: Iterable[Result]) -> list[Result]:
    """Return the rows that this wave measured itself."""
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
        return (f"--most-waves allows no more than {counted(wave.wave, 'wave')}, and "
                f"{counted(cells, 'cell is', 'cells are')} left")  # fmt: skip
    if not any(row.measures_agent for row in _own_rows(wave, rows)):
        return f"wave {wave.wave} measured nothing, so another one would not either; its rows state the reasons"
    if budget.usd is not None and budget.unknown:
        return (f"what {counted(budget.unknown, 'trial')} cost is unknown, so the budget cannot be enforced; run the "
                "remaining cells by hand")  # fmt: skip
    if budget.usd is not None and budget.usd <= 0:
        return f"the budget is spent, and {counted(cells, 'cell is', 'cells are')} left; raise it and dispatch by hand"
    return None


def inputs_of(plan: Plan, wave: WavePacking, event: Path | None, usd: float | None) -> dict[str, str]:
    """Return the inputs of the next wave: those of this one, with number, campaign and remaining budget."""
    inputs = (read_event(event, DispatchEvent).inputs if event else None) or {}
    own = {"experiment": plan.experiment.id, "epoch": plan.epoch, "campaign": wave.campaign,
           "wave": str(wave.wave + 1), "budget-usd": "" if usd is None else f"{usd:.4f}"}  # fmt: skip
    # An input of a workflow dispatch is always text.
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value)
             for name, value in inputs.items() if name in _INPUTS and isinstance(value, str | int | float)}  # fmt: skip
    return {name: value for name, value in (*texts.items(), *own.items()) if value}
