import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import InstalledAgent
from scylla_gha.config.library import ConfigSources, Library, toolkit_root
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.experiment import RoleBudgets, TrialLimits
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.result import Result
from scylla_gha.model.variant import Treatment
from scylla_gha.plan import history_of
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.estimate import History
from scylla_gha.plan.reuse_results import judging_of
from scylla_gha.plan.selection import CellSelection
from scylla_gha.plan.wave import Wave, WaveLimits, WaveOptions, make_wave
from scylla_gha.store import write_lines, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.agents import ShellAgent, cli_agent
from tests.support.library import write_model, write_scenario, write_tier
from tests.support.records import make_experiment, make_model, make_result, make_scenario

ARMS = ("t0-00-bare.cli.m", "t0-01-vanilla.cli.m")
AGENTS = {"cli": InstalledAgent(ShellAgent(), "", "2.0")}


@dataclasses.dataclass
class Planned:
    """A plan that its run's folder holds, and what a wave of it needs."""

    plan: Plan
    folder: RunFolder
    library: Library
    head: Path | None = None

    def wave(self, options: WaveOptions | None = None, history: History | None = None) -> Wave:
        return make_wave(
            self.plan, self.folder, ConfigSources.of(self.library, self.head), AGENTS, history or {},
            options or WaveOptions(),
        )  # fmt: skip


def plan_in(root: Path, head: Path | None = None, **given: Any) -> Planned:
    """Two scenarios of 10 minutes at most, two arms of a priced model, three repetitions; `head` is a change's."""
    for name in ("001-one", "002-two"):
        write_scenario(root, make_scenario(id=name), files={"prompt.md": f"Do {name}.\n"})
    write_tier(root, bare=Treatment(tools=()), vanilla=Treatment())
    write_model(root, make_model())
    fields = {"scenarios": ("001-one", "002-two"), "agents": ("cli",), "variants": ("T0/*",),
              "models": ("m",), "baseline": ARMS[0], "repetitions": 3,
              "sandbox": "host", **given}  # fmt: skip
    library = Library((root, toolkit_root()) if head else (root,))  # a change's checkout has the toolkit behind it too
    agents = {"cli": cli_agent("2.0")}
    made = plan_cells(make_experiment(**fields), library, agents, CellSelection(head=head))
    folder = RunFolder(root / "runs" / "demo")
    write_record(folder.plan, made)
    return Planned(made, folder, library, head)


def rows_of(planned: Planned, file: Path, count: int, **given: Any) -> tuple[Path, list[Result]]:
    judging = judging_of(planned.plan, planned.library)
    rows = [_row(cell, judging=judging[cell.scenario], **given) for cell in planned.plan.cells[:count]]
    write_lines(file, rows)
    return file, rows


def _row(cell: Cell, **given: Any) -> Result:
    return make_result(
        cell, **{"experiment": "old", "agent": "cli", "model": "m", "usd": 0.25, "judge_usd": 0.5, **given}
    )


def ids(wave: Wave) -> list[str]:
    return [cell for shard in wave.packing.shards for cell in shard.cells]


def test_a_wave_packs_all_cells_of_the_plan(tmp_path: Path) -> None:
    planned = plan_in(tmp_path)
    wave = planned.wave(WaveOptions(WaveLimits(shards=4, lanes=1), "mine", 1))
    made = wave.packing
    assert sorted(ids(wave)) == sorted(cell.id for cell in planned.plan.cells)
    assert [len(shard.cells) for shard in made.shards] == [3, 3, 3, 3]
    assert (made.makespan, made.bound, made.left, made.reused) == (
        pytest.approx(3 * 10.05),
        pytest.approx(3 * 10.05),
        (),
        (),
    )
    assert made.plan == hashlib.sha256(planned.folder.plan.read_bytes()).hexdigest()
    assert (made.experiment, made.campaign, made.wave, made.lanes) == ("demo", "mine", 1, 1)
    assert wave.usd == pytest.approx(12 * 0.095)
    assert made.footing["agent cli"] == "2.0"
    assert made.footing["variant T0/00-bare"] == next(arm.variant.digest for arm in planned.plan.arms if arm.variant)


def test_what_took_long_before_is_longer_now(tmp_path: Path) -> None:
    planned = plan_in(tmp_path)
    slow = [_row(cell, seconds=60.0 if cell.scenario == "001-one" else 6.0, key="other")
            for cell in planned.plan.cells]  # fmt: skip
    write_lines(tmp_path / "earlier.jsonl", slow)
    history = history_of(planned.folder.results, [tmp_path / "earlier.jsonl"])
    wave = planned.wave(WaveOptions(WaveLimits(shards=2, lanes=1)), history)
    assert wave.packing.makespan == pytest.approx((6 * 1.05 + 6 * 0.15) / 2), "0.05 minutes for checks"
    assert wave.reused == ()


def test_rows_are_taken_over_and_their_cells_are_not_run(tmp_path: Path) -> None:
    planned = plan_in(tmp_path)
    file, rows = rows_of(planned, tmp_path / "done" / "results.jsonl", 5)
    wave = planned.wave(WaveOptions(done=(file.parent,)))
    assert {row.cell for row in wave.reused} == set(wave.packing.reused) == {row.cell for row in rows}
    assert {row.experiment for row in wave.reused} == {"demo"}
    assert len(ids(wave)) == 7
    assert not set(ids(wave)) & set(wave.packing.reused)


@pytest.mark.parametrize("given", [{"judged": False}, {"key": "other"}, {"measures_agent": False}])
def test_a_row_that_tells_nothing_of_the_cell_is_not_taken(tmp_path: Path, given: dict[str, Any]) -> None:
    planned = plan_in(tmp_path)
    file, _ = rows_of(planned, tmp_path / "done.jsonl", 5, **given)
    assert planned.wave(WaveOptions(done=(file,))).reused == ()


def test_where_all_is_taken_over_there_is_no_shard(tmp_path: Path) -> None:
    planned = plan_in(tmp_path)
    file, _ = rows_of(planned, tmp_path / "done.jsonl", 12)
    wave = planned.wave(WaveOptions(done=(file,)))
    assert (wave.packing.shards, len(wave.packing.reused), wave.usd, wave.packing.makespan) == ((), 12, 0.0, 0.0)


def test_rows_of_both_versions_of_a_change_are_taken_over_by_a_later_plan(tmp_path: Path) -> None:
    write_tier(tmp_path / "head", bare=Treatment(tools=()), vanilla=Treatment(tools=("Bash",)))
    first, later = (plan_in(tmp_path / "here", tmp_path / "head") for _ in range(2))
    file, rows = rows_of(first, tmp_path / "done.jsonl", 12)
    wave = later.wave(WaveOptions(done=(file,)))
    assert {row.arm for row in rows} == {ARMS[1], f"{ARMS[1]}.head"}
    assert (wave.packing.shards, {row.cell for row in wave.reused}) == ((), {row.cell for row in rows})


def test_too_many_shards_are_refused_even_where_nothing_is_left_to_do(tmp_path: Path) -> None:
    planned = plan_in(tmp_path)
    file, _ = rows_of(planned, tmp_path / "done.jsonl", 12)
    with pytest.raises(ConfigError, match="--most-shards 251"):
        planned.wave(WaveOptions(WaveLimits(shards=251), done=(file,)))


def test_what_does_not_fit_is_left_in_the_plans_order(tmp_path: Path) -> None:
    planned = plan_in(tmp_path)
    made = planned.wave(WaveOptions(WaveLimits(shards=2, lanes=2, minutes=21))).packing
    assert made.left == tuple(cell.id for cell in planned.plan.cells[8:])


def test_each_shard_has_its_part_of_the_budgets(tmp_path: Path) -> None:
    planned = plan_in(
        tmp_path, budget_usd=8.0, limits=TrialLimits(usd=1.0), role_budget_usd=RoleBudgets(agent=4.0, judge=2.0)
    )
    first, second = planned.wave(WaveOptions(WaveLimits(shards=2, lanes=1))).packing.shards
    assert (first.budget_usd, second.budget_usd) == (pytest.approx(4.0), pytest.approx(4.0))
    assert first.role_budget_usd == RoleBudgets(agent=2.0, judge=1.0)


def test_jobs_that_could_start_nothing_are_refused(tmp_path: Path) -> None:
    planned = plan_in(tmp_path, budget_usd=8.0, limits=TrialLimits(usd=1.0))
    with pytest.raises(RefusedError, match=r"\$8.00 are left for 12 jobs, each of which may need limits.usd"):
        planned.wave()


@pytest.mark.parametrize("wave", [1, 2])
def test_what_is_taken_over_is_not_paid_again_since_the_budget_is_what_was_left_over(tmp_path: Path, wave: int) -> None:
    planned = plan_in(tmp_path, budget_usd=8.0)
    file, _ = rows_of(planned, tmp_path / "done.jsonl", 4)
    made = planned.wave(WaveOptions(WaveLimits(shards=1), wave=wave, done=(file,))).packing
    assert [shard.budget_usd for shard in made.shards] == [8.0]


def test_only_what_is_to_be_done_is_held_against_the_budget(tmp_path: Path) -> None:
    planned = plan_in(tmp_path, budget_usd=1.0)
    with pytest.raises(RefusedError, match="is above the budget"):
        planned.wave()
    file, _ = rows_of(planned, tmp_path / "done.jsonl", 9, usd=0.05)
    assert len(ids(planned.wave(WaveOptions(done=(file,))))) == 3
