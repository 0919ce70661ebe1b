"""`scylla-gha next-wave`, the real command, against a local server that knows GitHub's API."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.plan import TIME_OVER, UnstartedCells
from scylla_gha.model.trial import Outcome
from scylla_gha.store import write_record
from tests.support.github_api import State, serving, sha
from tests.support.jobs import Job
from tests.support.records import make_cell, make_excluded_result, make_experiment, make_plan, make_result
from tests.support.sent import make_packing, plan_digest

SHA = sha("a")
CELLS = [make_cell("nop", number) for number in (1, 2, 3)]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with serving(State()) as state:
        yield Job(state, tmp_path, SHA)


def lay(job: Job, *rows: Any, budget: float | None = None, **wave: Any) -> None:
    plan = make_plan(*CELLS, experiment=make_experiment(budget_usd=budget), epoch="monday")
    job.lay(plan, rows=rows)
    told = {"campaign": "c-2026", "wave": 1, "left": (CELLS[2].id,), **wave}
    write_record(job.folder.root / "shards.json", make_packing((), plan_digest(job.folder), **told))


def test_the_next_wave_runs_on_the_first_ones_commit(job: Job) -> None:
    lay(job, make_result(CELLS[0], usd=0.25, judge_usd=0.05), budget=2.0)
    job.event(
        {
            "inputs": {
                "experiment": "demo",
                "only": "001-*",
                "parallelism": 16,
                "campaign": "",
                "strange": "x",
                "lanes": None,
                "pull": True,
            }
        }
    )
    said = job.scylla("next-wave", "demo", "--event", "event.json")
    assert said.code == 0, said.err
    assert job.state.refs == {"refs/tags/scylla/c-2026": SHA}
    (made,) = job.state.dispatches
    assert (made["ref"], made["workflow"]) == ("scylla/c-2026", "dispatch.yml")
    assert made["inputs"] == {
        "experiment": "demo", "only": "001-*", "parallelism": "16", "pull": "true", "campaign": "c-2026",
        "wave": "2", "epoch": "monday", "budget-usd": "1.7000",
    }  # fmt: skip
    assert job.outputs["dispatched"] == "true"
    assert "3 API calls" in said.err


def test_a_later_wave_finds_the_tag(job: Job) -> None:
    job.state.refs["refs/tags/scylla/c-2026"] = SHA
    lay(job, make_result(CELLS[1]), wave=2, reused=(CELLS[0].id,))
    assert job.scylla("next-wave", "demo").code == 0
    assert job.state.dispatches[0]["inputs"] == {
        "experiment": "demo", "campaign": "c-2026", "wave": "3", "epoch": "monday",
    }  # fmt: skip


def test_cells_that_a_job_had_no_time_for_are_for_the_next_wave_and_failed_ones_are_not(job: Job) -> None:
    lay(job, make_result(CELLS[0]), left=())
    unstarted = {CELLS[1].id: "its job was lost", CELLS[2].id: TIME_OVER}
    write_record(job.folder.unstarted, UnstartedCells(cells=unstarted))
    assert job.scylla("next-wave", "demo").code == 0
    assert len(job.state.dispatches) == 1
    write_record(job.folder.unstarted, UnstartedCells(cells={**unstarted, CELLS[2].id: "its arm was stopped"}))
    assert "no further wave: no cell is left" in job.scylla("next-wave", "demo").err
    assert len(job.state.dispatches) == 1


def test_a_tag_of_another_commit_stops_it(job: Job) -> None:
    job.state.refs["refs/tags/scylla/c-2026"] = sha("b")
    lay(job, make_result(CELLS[0]))
    said = job.scylla("next-wave", "demo")
    assert (said.code, job.state.dispatches) == (3, [])
    assert "is at bbbbbbb, but this wave ran on aaaaaaa: another campaign has that name" in said.err


@pytest.mark.parametrize(
    ("rows", "given", "why"),
    [
        ([make_result(CELLS[0])], {"left": ()}, "no cell is left"),
        ([make_result(CELLS[0])], {"wave": 40}, "--most-waves allows only 40 waves, but 1 cell is left"),
        ([], {}, "wave 1 measured nothing"),
        ([make_excluded_result(CELLS[0], Outcome.PROVIDER_ERROR)], {}, "wave 1 measured nothing"),
        ([make_result(CELLS[0])], {"reused": (CELLS[0].id,)}, "wave 1 measured nothing"),
        ([make_result(CELLS[0], usd=3.0)], {"budget": 2.0}, "the budget is spent, and 1 cell is left"),
        ([make_result(CELLS[0], usd=None)], {"budget": 2.0}, "the cost of 1 trial is unknown"),
    ],
)
def test_no_wave_is_started_in_vain(job: Job, rows: Any, given: dict[str, Any], why: str) -> None:
    lay(job, *rows, **given)
    said = job.scylla("next-wave", "demo")
    assert said.code == 0
    assert f"no further wave: {why}" in said.err
    assert job.state.asked == []
    assert job.outputs["dispatched"] == "false"
    assert job.outputs["why"].startswith(why)


@pytest.mark.parametrize("campaign", ["a b", "x..y", "-x", "a.lock", "../x"])
def test_a_campaign_that_can_be_no_tag_is_refused(job: Job, campaign: str) -> None:
    lay(job, make_result(CELLS[0]), campaign=campaign)
    said = job.scylla("next-wave", "demo")
    assert (said.code, "is not valid in a git tag" in said.err) == (3, True)


def test_what_was_not_planned_in_waves_is_told(job: Job) -> None:
    lay(job)
    (job.folder.root / "shards.json").unlink()
    assert "`scylla-gha plan demo --github` writes it" in job.scylla("next-wave", "demo").err
    (job.folder.root / "shards.json").write_text("{}")
    assert "shards.json: not a WavePacking of this version" in job.scylla("next-wave", "demo").err


def test_the_commit_is_tagged_before_any_cell_runs(job: Job) -> None:
    lay(job)
    for _ in range(2):
        said = job.scylla("next-wave", "demo", "--tag-only")
        assert said.code == 0, said.err
    assert (job.state.refs, job.state.dispatches) == ({"refs/tags/scylla/c-2026": SHA}, [])
    job.state.refs["refs/tags/scylla/c-2026"] = sha("b")
    assert "another campaign has that name" in job.scylla("next-wave", "demo", "--tag-only").err
