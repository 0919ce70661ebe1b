"""Packing of cells into the jobs of a wave: longest cell first, to the worker that is free first.

Time must not become a confounder of the arms, which longest first alone would make it: slow arms would come first and
fast ones last. So a wave takes its cells in the plan's order, in which the experiment's seed interleaves the arms. The
rule decides only which worker gets a cell; each worker runs its cells in the plan's order again, and so does a job
whose workers take the next cell when they are free. `drift` measures what is left of the confounding.
"""

import heapq
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import MOST_SHARDS, Plan, WavePacking

_SHRINK: Final = 200  # a wave that is too full is tried again with one in so many cells fewer
_ROUNDING: Final = 1e-9  # minutes


@dataclass(frozen=True, slots=True)
class WaveLimits:
    """Maximum number of shards, cells at once in each, and minutes in which each may start cells."""

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
    """The shards of a wave, each in the order of its starts. Cells from index `count` on are for later waves.

    `makespan` is the expected minutes of the longest shard. No packing takes fewer minutes than `bound`.
    """

    shards: tuple[tuple[ScheduledCell, ...], ...]
    count: int
    makespan: float
    bound: float


NOTHING: Final = PackedWave((), 0, 0.0, 0.0)


def pack_shards(minutes: Sequence[float], limits: WaveLimits) -> PackedWave:
    """Pack as many of the first cells as a wave has time for.

    A cell that takes longer than a job has time for gets a worker of its own, since it can still be started.

    Args:
        minutes: expected duration of each cell, in the plan's order.
        limits: of the wave.

    Raises:
        ConfigError: there is no cell, the limits are not valid, or a duration is not finite.
    """
    check_limits(limits)
    if not minutes:
        raise ConfigError(
            "there is no cell to run, so no job is planned; choose other cells (--only), or give other rows to --done"
        )
    if any(not math.isfinite(duration) or duration < 0 for duration in minutes):
        raise ConfigError("the expected minutes of a cell are not finite; give its scenario a time limit")
    # As many of the first cells as would fit if they could be divided between workers, and at least one.
    time = min(limits.shards, len(minutes)) * limits.lanes * limits.minutes
    totals = itertools.accumulate(min(duration, limits.minutes) for duration in minutes)
    count = max(1, sum(1 for _ in itertools.takewhile(lambda total: total <= time, totals)))
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
        ConfigError: GitHub runs no such wave.
    """
    if not 1 <= limits.shards <= MOST_SHARDS:
        raise ConfigError(f"--most-shards {limits.shards}: a wave has 1 to {MOST_SHARDS} jobs, since GitHub "
                          "refuses a matrix of more than 256; a job can take several cells")  # fmt: skip
    if limits.lanes < 1 or not 0 < limits.minutes < math.inf:
        raise ConfigError(
            f"--lanes {limits.lanes} --minutes {limits.minutes:g}: a job needs a lane, and a finite time above 0"
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
    """Return the minutes below which no packing gets: the longest cell, or an equal part of all for each worker."""
    return max(*minutes, math.fsum(minutes) / workers)


def drift(packed: PackedWave, arms: Sequence[str]) -> float:
    """Return how far the mean start of an arm's cells is from that of all cells, as a share of the makespan.

    Near 0, arms are equally early; at 0.5, all cells of an arm come first or last. `arms` are those of the cells, in
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
    """Check that every planned cell is in exactly one of the shards, the cells left, and the cells reused.

    Raises:
        ConfigError: a cell is missing, duplicated, or not planned.
    """
    packed = Counter(itertools.chain(packing.left, packing.reused, *(shard.cells for shard in packing.shards)))
    planned = Counter(cell.id for cell in plan.cells)
    for fault, cells in (("lost", planned - packed), ("doubled, or not in the plan", packed - planned)):
        if cells:
            raise ConfigError(f"{min(cells)}: is {fault}, and so are {cells.total() - 1} more, so the shards are not "
                              f"of this plan of {counted(len(plan.cells), 'cell')}; plan again")  # fmt: skip
