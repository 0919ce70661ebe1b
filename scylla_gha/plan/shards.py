"""Cells to jobs: longest first onto the lane that is free first (LPT), then evened, so that all jobs end together.

Time must not become a confounder of the arms, though, which longest first alone would make it: slow arms would come
first and fast ones last. So a wave takes its cells in the plan's order, in which the arms are interleaved by the
experiment's seed; LPT only decides which lane a cell goes to; within a lane, cells are again in the plan's order; and
shards are numbered by their first cell in it. A lane's end does not hang on the order of its cells, so nothing is
lost by that: a job that always starts its next cell in the order given here does what was planned here.

Two measures tell how far that goes. `drift`: how far the mean start of an arm's cells is from that of all, as a share
of the wave's length; near 0, arms are equally early, and at 0.5, an arm is first or last as a whole. `crowding`: how
much more of an arm one shard has than an even part; at 0 none has more, and at 1, one has all of it.
"""

import heapq
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import MOST_SHARDS, Plan, WavePacking

_NEAR: Final = 1.02  # of the bound: good enough
_PARTNERS: Final = 8  # of the shortest lanes, for a cell of the longest one
_MOST_SWAPS: Final = 3  # a lane
_LEAST: Final = 1e-6  # minutes that a swap must gain
_NONE: Final = -1  # a cell moves, and none comes back


@dataclass(frozen=True, slots=True)
class WaveLimits:
    """What a wave has: at most so many shards, cells at once in each, and minutes in which each may start cells."""

    shards: int = MOST_SHARDS
    lanes: int = 4
    minutes: float = 300.0


@dataclass(frozen=True, slots=True)
class ScheduledCell:
    """A cell, by its place in the plan, with when it starts and how long it takes, in expected minutes."""

    place: int
    start: float
    minutes: float


@dataclass(frozen=True, slots=True)
class PackedWave:
    """The shards of a wave, each in the order of its starts. Cells from place `taken` on are for later waves."""

    shards: tuple[tuple[ScheduledCell, ...], ...]
    taken: int
    makespan: float
    bound: float


NOTHING: Final = PackedWave((), 0, 0.0, 0.0)


def pack_shards(minutes: Sequence[float], room: WaveLimits) -> PackedWave:
    """Pack as many of the first cells as a wave has time for.

    A cell that alone takes longer than a job has time for gets a lane of its own, since it can still be started.

    Args:
        minutes: that each cell is expected to take, in the plan's order.
        room: of the wave.

    Raises:
        ConfigError: there is no cell or no room, or more shards than GitHub runs.
    """
    check_room(room)
    if not minutes:
        raise ConfigError("0 jobs: there is no cell to run; choose other cells (--only), or give other rows to --done")
    if any(not math.isfinite(each) or each < 0 for each in minutes):
        raise ConfigError("a cell is expected to take no finite number of minutes; give its scenario a time limit")
    taken = _fill(minutes, room)
    lanes = rebalance(minutes, _longest_first(minutes[:taken], room))
    turn = 1
    while (excess := sum(_excess(minutes, lane, room.minutes) for lane in lanes)) > 0:
        taken = _shrunk(minutes, taken, turn * excess)  # ever more, so that it ends soon
        lanes = rebalance(minutes, _longest_first(minutes[:taken], room))
        turn += 1
    return _packed(minutes, lanes, taken, room)


def check_room(room: WaveLimits) -> None:
    """See that a wave can have that room.

    Raises:
        ConfigError: it cannot.
    """
    if not 1 <= room.shards <= MOST_SHARDS:
        raise ConfigError(f"--most-shards {room.shards}: a wave has 1 to {MOST_SHARDS} jobs, since GitHub runs no job "
                          "at all of a matrix of more than 256; more cells go several to a job")  # fmt: skip
    if room.lanes < 1 or not 0 < room.minutes < math.inf:
        raise ConfigError(f"--lanes {room.lanes} --minutes {room.minutes:g}: a job needs a lane and some time")


def _fill(minutes: Sequence[float], room: WaveLimits) -> int:
    """How many of the first cells the lanes could hold if they could be cut like cake; one a lane at least."""
    lanes = min(room.shards, len(minutes)) * room.lanes
    left = lanes * room.minutes
    for place, each in enumerate(minutes):
        left -= min(each, room.minutes)
        if left < 0:
            return max(1, place)
    return len(minutes)


def _longest_first(minutes: Sequence[float], room: WaveLimits) -> list[list[int]]:
    """Places by lane, each in the plan's order; lane k of shard s is at k * shards + s."""
    shards = min(room.shards, len(minutes))
    lanes: list[list[int]] = [[] for _ in range(shards * room.lanes)]
    free = [(0.0, 0, number) for number in range(len(lanes))]  # a heap already; first lanes of all shards go first
    for place in sorted(range(len(minutes)), key=minutes.__getitem__, reverse=True):
        load, cells, number = free[0]
        lanes[number].append(place)
        heapq.heapreplace(free, (load + minutes[place], cells + 1, number))
    for lane in lanes:
        lane.sort()
    return lanes


def rebalance(minutes: Sequence[float], lanes: list[list[int]]) -> list[list[int]]:
    """The same lanes, after the longest has given cells to short ones as long as all then end earlier.

    Where lanes have few cells of much the same length, longest first alone ends some percent later than it must.
    """
    loads = [math.fsum(minutes[place] for place in lane) for lane in lanes]
    enough = _NEAR * lower_bound([minutes[place] for lane in lanes for place in lane], len(lanes))
    for _ in range(_MOST_SWAPS * len(lanes)):
        longest = max(range(len(lanes)), key=loads.__getitem__)
        if loads[longest] <= enough:
            break
        short = heapq.nsmallest(_PARTNERS, range(len(lanes)), key=loads.__getitem__)
        swaps = [swap for other in short for swap in _swaps(minutes, lanes, loads, (longest, other))]
        if not swaps:
            break
        _, other, given, taken = min(swaps)
        _exchange(lanes[longest], lanes[other], given, taken)
        for lane in (longest, other):
            loads[lane] = math.fsum(minutes[place] for place in lanes[lane])
    return lanes


def _swaps(
    minutes: Sequence[float], lanes: Sequence[Sequence[int]], loads: Sequence[float], pair: tuple[int, int]
) -> Iterator[tuple[float, int, int, int]]:
    """For each swap that makes the longer of two lanes shorter: when both have ended, the other lane, and the cells."""
    longest, other = pair
    for given in lanes[longest]:
        for taken in (*lanes[other], _NONE):
            less = minutes[given] - (minutes[taken] if taken != _NONE else 0.0)
            after = max(loads[longest] - less, loads[other] + less)
            if after < loads[longest] - _LEAST:
                yield after, other, given, taken


def _exchange(longest: list[int], other: list[int], given: int, taken: int) -> None:
    longest.remove(given)
    other.append(given)
    if taken != _NONE:
        other.remove(taken)
        longest.append(taken)
    longest.sort()
    other.sort()


def _excess(minutes: Sequence[float], lane: Sequence[int], most: float) -> float:
    return max(0.0, sum(minutes[place] for place in lane) - most - 1e-9) if len(lane) > 1 else 0.0


def _shrunk(minutes: Sequence[float], taken: int, excess: float) -> int:
    """Fewer cells, by as much as did not fit, and one in a thousand at least."""
    most = max(1, taken - max(1, taken // 1000))
    while taken > most or (taken > 1 and excess > 0):
        taken -= 1
        excess -= minutes[taken]
    return taken


def _packed(minutes: Sequence[float], lanes: Sequence[Sequence[int]], taken: int, room: WaveLimits) -> PackedWave:
    count = len(lanes) // room.lanes
    shards = [sorted(_placed(minutes, lanes[number::count]), key=lambda one: (one.start, one.place))
              for number in range(count)]  # fmt: skip
    shards.sort(key=lambda shard: min(one.place for one in shard))
    loads = [sum(minutes[place] for place in lane) for lane in lanes]
    return PackedWave(tuple(map(tuple, shards)), taken, max(loads), lower_bound(minutes[:taken], len(lanes)))


def _placed(minutes: Sequence[float], lanes: Sequence[Sequence[int]]) -> Iterator[ScheduledCell]:
    for lane in lanes:
        start = 0.0
        for place in lane:
            yield ScheduledCell(place, start, minutes[place])
            start += minutes[place]


def lower_bound(minutes: Sequence[float], lanes: int) -> float:
    """Minutes that no packing can do without: those of the longest cell, or an equal part of all for each lane.

    Or, where lanes have few cells: of the `k * lanes + 1` longest, some lane gets `k + 1`, which take as long as the
    `k + 1` shortest of them at least; for k = 0 that is the longest cell.
    """
    longest = sorted(minutes, reverse=True)
    before = [0.0, *itertools.accumulate(longest)]  # before[n]: the n longest together
    crowded = (before[k * lanes + 1] - before[k * (lanes - 1)] for k in range((len(minutes) - 1) // lanes + 1))
    return max(math.fsum(minutes) / lanes, *crowded)


def drift(packed: PackedWave, arms: Sequence[str]) -> float:
    """As in the module's docstring; `arms` are those of the cells, in the plan's order."""
    starts: dict[str, list[float]] = defaultdict(list)
    for shard in packed.shards:
        for one in shard:
            starts[arms[one.place]].append(one.start)
    if not packed.makespan:
        return 0.0
    mean = math.fsum(each for found in starts.values() for each in found) / packed.taken
    return max(abs(math.fsum(found) / len(found) - mean) for found in starts.values()) / packed.makespan


def arm_concentration(packed: PackedWave, arms: Sequence[str]) -> float:
    """As in the module's docstring; `arms` as above."""
    counts = [Counter(arms[one.place] for one in shard) for shard in packed.shards]
    worst = 0.0
    for arm, many in Counter(arms[: packed.taken]).items():
        even = math.ceil(many / len(counts))
        if many > even:
            worst = max(worst, (max(count[arm] for count in counts) - even) / (many - even))
    return worst


def account_for(packing: WavePacking, plan: Plan) -> None:
    """Every planned cell is in one shard, left, or reused, and in one of them once.

    Raises:
        ConfigError: one is lost, doubled, or not planned.
    """
    found = Counter(itertools.chain(packing.left, packing.reused, *(shard.cells for shard in packing.shards)))
    planned = Counter(cell.id for cell in plan.cells)
    for what, cells in (("lost", planned - found), ("doubled, or not in the plan", found - planned)):
        if cells:
            raise ConfigError(f"{min(cells)}: is {what}, and so are {cells.total() - 1} more, so the shards are not of "
                              f"this plan of {counted(len(plan.cells), 'cell')}; plan again")  # fmt: skip
