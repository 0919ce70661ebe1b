import itertools
import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Shard, WavePacking
from scylla_gha.plan.wave import (
    NOTHING,
    PackedWave,
    ScheduledCell,
    WaveLimits,
    account_for,
    drift,
    lower_bound,
    pack_shards,
)
from tests.support.records import make_cell, make_plan

DIGEST = "0" * 64


ARMS = [f"arm-{number}" for number in range(12)]


def ladder(seed: int, scenarios: int = 40, repetitions: int = 5, sigma: float = 0.8) -> tuple[list[str], list[float]]:
    """Arms and minutes of cells in a plan's order: scenarios and arms have their own pace, as agents' work has."""
    rng = random.Random(seed)
    pace = {arm: rng.lognormvariate(0, 0.4) for arm in ARMS}
    size = [rng.lognormvariate(1, sigma) for _ in range(scenarios)]
    arms, minutes = [], []
    for _ in range(repetitions):
        for scenario in size:
            order = rng.sample(ARMS, len(ARMS))
            arms += order
            minutes += [scenario * pace[arm] for arm in order]
    return arms, minutes


def places(packed: PackedWave) -> list[list[int]]:
    return [[one.index for one in shard] for shard in packed.shards]


def run(shard: Sequence[ScheduledCell], lanes: int) -> dict[int, float]:
    """Return when each cell starts, if every lane takes the next one as soon as it is free, as jobs do."""
    free, starts = [0.0] * lanes, {}
    for one in shard:
        lane = free.index(min(free))
        starts[one.index] = free[lane]
        free[lane] += one.minutes
    return starts


@pytest.mark.parametrize(
    ("minutes", "limits", "shards", "makespan"),
    [
        pytest.param([1.0, 9.0, 3.0], WaveLimits(250, 4), [[0], [1], [2]], 9.0, id="one cell for each job"),
        pytest.param([1.0, 4.0, 5.0, 2.0], WaveLimits(2, 1), [[0, 2], [1, 3]], 6.0, id="the longest are spread first"),
        pytest.param([3.0] * 4, WaveLimits(1, 4), [[0, 1, 2, 3]], 3.0, id="lanes of a shard work side by side"),
        pytest.param([5.0] * 10, WaveLimits(2, 1, 12), [[0, 2], [1, 3]], 10.0, id="the last cells are left"),
        pytest.param([400.0, 1.0, 400.0, 1.0], WaveLimits(2, 2, 300), [[0, 1], [2, 3]], 400.0, id="longer than a job"),
        pytest.param([400.0] * 3, WaveLimits(1, 1, 300), [[0]], 400.0, id="a first cell always fits"),
    ],
)
def test_cells_are_packed(minutes: list[float], limits: WaveLimits, shards: list[list[int]], makespan: float) -> None:
    packed = pack_shards(minutes, limits)
    assert places(packed) == shards
    assert packed.makespan == packed.bound == makespan
    assert packed.count == sum(map(len, shards))


def test_the_cells_of_a_worker_start_one_after_the_other() -> None:
    packed = pack_shards([1.0, 4.0, 5.0, 2.0], WaveLimits(shards=2, lanes=1))
    assert [[cell.start for cell in shard] for shard in packed.shards] == [[0.0, 1.0], [0.0, 4.0]]


@pytest.mark.parametrize(
    ("minutes", "room", "said"),
    [
        ([], WaveLimits(), "there is no cell to run"),
        ([1.0], WaveLimits(shards=251), "--most-shards 251: a wave has 1 to 250 jobs"),
        ([1.0], WaveLimits(shards=0), "--most-shards 0: "),
        (
            [1.0],
            WaveLimits(lanes=0),
            "--lanes 0 --minutes 300: a job needs at least one lane, and a finite time above 0",
        ),
        ([1.0], WaveLimits(minutes=0), "--lanes 4 --minutes 0: "),
        ([1.0], WaveLimits(minutes=float("nan")), "--minutes nan: "),
        ([1.0], WaveLimits(minutes=float("inf")), "--minutes inf: "),
        ([float("inf")], WaveLimits(), "the expected minutes of a cell are not finite"),
        ([-1.0], WaveLimits(), "the expected minutes of a cell are not finite"),
    ],
)
def test_what_cannot_be_packed_is_refused(minutes: list[float], room: WaveLimits, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        pack_shards(minutes, room)


@given(
    st.lists(st.floats(0, 500), min_size=1, max_size=120),
    st.integers(1, 12), st.integers(1, 4), st.floats(0.5, 600),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_no_cell_is_lost_or_doubled_whatever_they_take(
    minutes: list[float], shards: int, lanes: int, most: float
) -> None:
    packed = pack_shards(minutes, WaveLimits(shards, lanes, most))
    found = sorted(place for shard in places(packed) for place in shard)
    assert found == list(range(packed.count))
    assert packed.count >= 1
    assert len(packed.shards) == min(shards, packed.count)
    assert all(shard == sorted(shard, key=lambda one: (one.start, one.index)) for shard in map(list, packed.shards))
    assert [min(shard) for shard in places(packed)] == sorted(min(shard) for shard in places(packed))
    lone = max((minutes[place] for place in found), default=0.0)
    assert packed.makespan <= max(most, lone) + 1e-6
    assert packed.bound <= packed.makespan + 1e-6
    assert packed.makespan <= 2 * packed.bound + 1e-6


@given(st.lists(st.integers(0, 20).map(float), min_size=1, max_size=7), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_no_packing_takes_less_than_the_bound_and_none_is_a_third_above_the_best(
    minutes: list[float], lanes: int
) -> None:
    ways = itertools.product(range(lanes), repeat=len(minutes))
    loads = ([sum(itertools.compress(minutes, map(lane.__eq__, way))) for lane in range(lanes)] for way in ways)
    best = min(map(max, loads))
    packed = pack_shards(minutes, WaveLimits(1, lanes, 1000))
    assert lower_bound(minutes, lanes) == packed.bound <= best <= packed.makespan <= 4 / 3 * best


@pytest.mark.parametrize("sigma", [0.3, 0.6, 0.8, 1.2])
@pytest.mark.parametrize("lanes", [1, 4])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_the_makespan_of_realistic_cells_is_within_5_percent_of_the_bound(lanes: int, sigma: float, seed: int) -> None:
    _, minutes = ladder(seed, sigma=sigma)
    packed = pack_shards(minutes, WaveLimits(shards=60, lanes=lanes, minutes=10_000))
    assert packed.count == len(minutes)
    assert packed.makespan <= 1.05 * packed.bound


@given(seed=st.integers(0, 10_000), lanes=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_arms_are_equally_early(seed: int, lanes: int) -> None:
    arms, minutes = ladder(seed)
    packed = pack_shards(minutes, WaveLimits(shards=50, lanes=lanes, minutes=10_000))
    assert drift(packed, arms) < 0.1


@given(seed=st.integers(0, 10_000), lanes=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_no_job_has_much_more_of_an_arm_than_its_part(seed: int, lanes: int) -> None:
    arms, minutes = ladder(seed)
    packed = pack_shards(minutes, WaveLimits(shards=50, lanes=lanes, minutes=10_000))
    for arm in ARMS:
        cells = [[arms[index] for index in shard].count(arm) for shard in places(packed)]
        part = math.ceil(sum(cells) / len(cells))
        assert max(cells) - part < 0.1 * (sum(cells) - part)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_a_wave_that_leaves_cells_has_whole_blocks_of_arms(seed: int) -> None:
    arms, minutes = ladder(seed)
    packed = pack_shards(minutes, WaveLimits(shards=20, lanes=1, minutes=40))
    assert 0 < packed.count < len(minutes)
    counts = [arms[: packed.count].count(arm) for arm in ARMS]
    assert max(counts) - min(counts) <= 1


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_a_job_that_takes_the_next_cell_in_order_does_what_was_planned(seed: int) -> None:
    _, minutes = ladder(seed, scenarios=10)
    packed = pack_shards(minutes, WaveLimits(shards=7, lanes=3, minutes=10_000))
    for shard in packed.shards:
        assert run(shard, 3) == pytest.approx({one.index: one.start for one in shard})


def test_drift_tells_of_an_arm_that_comes_last() -> None:
    packed = PackedWave(((ScheduledCell(0, 0.0, 5.0), ScheduledCell(1, 5.0, 5.0)),), 2, 10.0, 10.0)
    assert drift(packed, ["a", "b"]) == 0.25
    assert drift(packed, ["a", "a"]) == 0.0
    assert drift(NOTHING, []) == 0.0


CELLS = tuple(make_cell("nop", repetition) for repetition in (1, 2, 3))


IDS = tuple(cell.id for cell in CELLS)


@pytest.mark.parametrize(
    ("shards", "left", "reused", "said"),
    [
        ([IDS[:1]], IDS[1:2], IDS[2:], None),
        ([IDS[:1], IDS[1:2]], (), (), rf"{IDS[2]}: is lost \(and 0 more\)"),
        ([IDS], IDS[:1], (), f"{IDS[0]}: is doubled, or not in the plan"),
        ([IDS, (IDS[1],)], (), (), f"{IDS[1]}: is doubled"),
        ([(*IDS, "other")], (), (), r"other: is doubled, or not in the plan \(and 0 more\)"),
    ],
)
def test_every_planned_cell_is_in_one_place(
    shards: list[tuple[str, ...]], left: tuple[str, ...], reused: tuple[str, ...], said: str | None
) -> None:
    records = tuple(Shard(number=number, cells=cells, minutes=1.0) for number, cells in enumerate(shards))
    packing = WavePacking(experiment="demo", plan=DIGEST, campaign="c", lanes=1, minutes=1.0, shards=records, left=left,
                      reused=reused)  # fmt: skip
    plan = make_plan(*CELLS)
    if said is None:
        account_for(packing, plan)
        return
    with pytest.raises(ConfigError, match=said):
        account_for(packing, plan)
