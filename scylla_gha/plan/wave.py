"""One wave of an experiment in GitHub Actions: what is taken over, which jobs run the rest, and what is left."""

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.config.library import ConfigSources
from scylla_gha.counting import counted
from scylla_gha.errors import RefusedError
from scylla_gha.images.sandbox_pool import SandboxPool
from scylla_gha.model.experiment import RoleBudgets
from scylla_gha.model.plan import Cell, Plan, Shard, WavePacking
from scylla_gha.model.result import Result
from scylla_gha.plan.build import History, InstalledAgent
from scylla_gha.plan.cells import DueCells, expect, refuse_above_budget
from scylla_gha.plan.estimate import CellGroup, ExpectedCost, expected
from scylla_gha.plan.fingerprint import environment_fingerprint
from scylla_gha.plan.reuse_results import reusable
from scylla_gha.plan.shards import (
    NOTHING,
    PackedWave,
    WaveLimits,
    account_for,
    arm_concentration,
    check_room,
    drift,
    pack_shards,
)
from scylla_gha.store.run_folder import RunFolder

_LEAST: Final = 1e-6  # of a whole: a shard that is likely to cost nothing has a budget as well, and none is 0


@dataclass(frozen=True, slots=True)
class BudgetClaim:
    """What a shard may claim: what one of its cells may need at most, its likely cost (None: unknown), its cells."""

    need: float
    usd: float | None
    cells: int


@dataclass(frozen=True, slots=True)
class WaveOptions:
    """What is asked of a wave: its room, its place in a campaign, and rows that may be taken over."""

    room: WaveLimits = WaveLimits()
    campaign: str = "local"
    wave: int = 1
    done: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class WaveInputs:
    """What a wave is made of: the plan, which its folder holds already, and what stands under its keys."""

    plan: Plan
    folder: RunFolder
    sources: ConfigSources
    agents: Mapping[str, InstalledAgent]
    history: History


@dataclass(frozen=True, slots=True)
class Wave:
    """A wave, and the rows that were taken over. `usd` is the likely cost of its cells; None: unknown."""

    packing: WavePacking
    taken: tuple[Result, ...]
    usd: float | None


def make_wave(basis: WaveInputs, wish: WaveOptions) -> Wave:
    """Take over what is done, and pack what is not.

    Raises:
        ConfigError: there is nothing to run and nothing to take over, or more shards are asked for than can be.
        RefusedError: what is to be done is likely to cost more than what is left of a budget, or a later wave knows
            nothing of those before.
    """
    check_room(wish.room)
    plan = basis.plan
    taken = reusable(wish.done, plan, basis.sources.here) if wish.done else {}
    if wish.wave > 1 and not taken:
        raise RefusedError(f"wave {wish.wave} of {wish.campaign}: no row of the waves before is there, so it would pay "
                           "for their cells again; give them to --done (on GitHub: keep a results branch)")  # fmt: skip
    rest = _Rest(basis, taken)
    packed = pack_shards(rest.minutes, wish.room) if rest.cells or not taken else NOTHING
    made = WavePacking(
        experiment=basis.folder.root.name,
        plan=hashlib.sha256(basis.folder.plan.read_bytes()).hexdigest(),
        campaign=wish.campaign,
        wave=wish.wave,
        lanes=wish.room.lanes,
        minutes=wish.room.minutes,
        shards=rest.shards(packed),
        left=tuple(cell.id for cell in rest.cells[packed.taken :]),
        reused=tuple(cell.id for cell in plan.cells if cell.id in taken),
        makespan=packed.makespan,
        bound=packed.bound,
        drift=drift(packed, rest.arms),
        crowding=arm_concentration(packed, rest.arms),
        footing=_footing(basis),
    )
    account_for(made, plan)
    return Wave(made, tuple(taken.values()), _sum(shard.usd for shard in made.shards))


class _Rest:
    """What is not done yet: its cells, what each is expected to take, and what may be spent on them."""

    def __init__(self, basis: WaveInputs, taken: Mapping[str, Result]) -> None:
        self._plan = basis.plan
        self._experiment = basis.plan.experiment  # its budget is what earlier waves left over: `next` hands that on
        self.cells = [cell for cell in basis.plan.cells if cell.id not in taken]
        if self.cells:
            self._refuse_above_budget(basis, whole=not taken)
        self._known = self._expected(basis)

    @property
    def arms(self) -> list[str]:
        return [cell.arm for cell in self.cells]

    @property
    def minutes(self) -> list[float]:
        return [self._of(cell).minutes for cell in self.cells]

    def shards(self, packed: PackedWave) -> tuple[Shard, ...]:
        """The records, each with its part of what is left of the budgets."""
        groups = [[self.cells[one.place] for one in shard] for shard in packed.shards]
        claims = [self._claim(cells) for cells in groups]
        experiment = self._experiment
        roles = experiment.role_budget_usd
        whole = split_budget("budget_usd", experiment.budget_usd, claims)
        agents = split_budget("role_budget_usd.agent", roles.agent, claims)
        judges = split_budget(
            "role_budget_usd.judge", roles.judge, [BudgetClaim(0.0, one.usd, one.cells) for one in claims]
        )
        return tuple(
            Shard(
                number=number,
                cells=tuple(cell.id for cell in cells),
                minutes=max(one.start + one.minutes for one in packed.shards[number]),
                usd=claims[number].usd,
                budget_usd=whole[number],
                role_budget_usd=RoleBudgets(agent=agents[number], judge=judges[number]),
            )
            for number, cells in enumerate(groups)
        )

    def _of(self, cell: Cell) -> ExpectedCost:
        return self._known[cell.scenario, cell.arm]

    def _claim(self, cells: Sequence[Cell]) -> BudgetClaim:
        limit = self._experiment.limits.usd or 0.0
        need = limit if any(cell.arm in self._paid for cell in cells) else 0.0
        return BudgetClaim(need, _sum(self._of(cell).usd for cell in cells), len(cells))

    @functools.cached_property
    def _paid(self) -> frozenset[str]:
        """The arms whose agents use a model."""
        return frozenset(arm.id for arm in self._plan.arms if arm.model)

    def _refuse_above_budget(self, basis: WaveInputs, *, whole: bool) -> None:
        plan, work = self._plan, DueCells(self.cells, self.cells)
        guess = plan.estimate if whole else expect(self._experiment, basis.sources.here, plan.arms, work, basis.history)
        refuse_above_budget(plan.model_copy(update={"estimate": guess}))

    def _expected(self, basis: WaveInputs) -> dict[tuple[str, str], ExpectedCost]:
        library = basis.sources.here
        arms = {arm.id: arm for arm in self._plan.arms}
        counts = Counter((cell.scenario, cell.arm) for cell in self.cells)
        groups = [CellGroup(library.scenario(name), arms[arm], many, many) for (name, arm), many in counts.items()]
        return expected(groups, self._experiment, library.priced_models(self._experiment.prices), basis.history)


def _footing(basis: WaveInputs) -> dict[str, str]:
    boxing = SandboxPool(basis.plan.sandbox, basis.sources.here).boxing
    return environment_fingerprint(basis.plan, basis.sources, boxing, basis.agents)


def _sum(costs: Iterable[float | None]) -> float | None:
    """Unknown where one is."""
    known = list(costs)
    return None if None in known else math.fsum(cost for cost in known if cost is not None)


def split_budget(field: str, budget: float | None, claims: Sequence[BudgetClaim]) -> list[float | None]:
    """The parts of a budget, which together are not above it; all None where there is none.

    Args:
        field: of the experiment, for the message.
        budget: in USD, without what is spent of it already.
        claims: of the shards, in their order.

    Raises:
        RefusedError: some shard could not start a single cell with its part.
    """
    if budget is None:
        return [None] * len(claims)
    needs = math.fsum(claim.need for claim in claims)
    rest = budget - needs
    if rest < 0 or budget <= 0:
        raise RefusedError(f"{field}: ${max(budget, 0):.2f} are for {counted(len(claims), 'job')}, each of which may "
                           f"need limits.usd for a single cell, ${needs:.2f} together, so some could start none; raise "
                           "--budget-usd, lower limits.usd, or plan fewer jobs (--most-shards)")  # fmt: skip
    weights = _weights(claims)
    whole = math.fsum(weights)
    return [claim.need + rest * weight / whole for claim, weight in zip(claims, weights, strict=True)]


def _weights(claims: Sequence[BudgetClaim]) -> list[float]:
    """By likely cost; by cells where that is unknown, or nothing is likely to cost anything."""
    known = [claim.usd for claim in claims if claim.usd is not None]
    total = math.fsum(known)
    if len(known) < len(claims) or total <= 0:
        return [float(claim.cells) for claim in claims]
    return [max(usd, _LEAST * total) for usd in known]
