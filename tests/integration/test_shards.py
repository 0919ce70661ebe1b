"""From a plan to shards to rows, as the jobs of a workflow do it: real commands, real files."""

import hashlib
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.support.command import scylla
from tests.support.library import write
from tests.support.provider import Say, serve
from tests.support.repository import SCENARIO
from tests.support.scripted_claude import ARM, claude_environment, running, say, stand_in, write_claude_experiment
from tests.support.shards import Shop, make_shop, rows_in

NOP, ORACLE = (f"{SCENARIO}--{arm}--r0" for arm in ("nop", "oracle"))
ALL = {f"{arm}{repetition}" for arm in (NOP, ORACLE) for repetition in (1, 2)}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path)


def test_two_jobs_make_the_rows_of_one_plan(shop: Shop) -> None:
    said, given = shop.plan("--most-shards", "2", "--lanes", "2", "--minutes", "30")
    assert (said.code, said.out) == (0, ""), said.err
    assert given == {
        "experiment": "greet", "shards": "[0,1]", "cells": "4", "left": "0", "planned": "4", "reused": "0", "wave": "1",
        "campaign": "greet-4711", "needs_model": "false", "usd": "0.0000", "minutes": "0.1",
    }  # fmt: skip
    packing = shop.packing()
    assert packing.plan == hashlib.sha256((shop.run / "plan.json").read_bytes()).hexdigest()
    assert {cell for shard in packing.shards for cell in shard.cells} == ALL
    assert (shop.run / "reused.jsonl").read_text() == ""
    for shard in packing.shards:
        said, given = shop.cell(shard.number)
        assert said.code == 0, said.err
        folder = shop.run / "shards" / shard.name
        assert given == {
            "experiment": "greet",
            "number": shard.name,
            "rows": str(folder),
            "count": "2",
            "unstarted": "0",
        }
        assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "results.jsonl"]
        assert [row["cell"] for row in shop.rows(shard.number)] == list(shard.cells)
        manifest = shop.manifest(shard.number)
        assert manifest.sha256 == hashlib.sha256((folder / "results.jsonl").read_bytes()).hexdigest()
        assert (manifest.count, manifest.attempt, manifest.unstarted, manifest.plan) == (2, 1, {}, packing.plan)
        assert manifest.versions["agent oracle"] == "1"
    passed = {row["cell"]: row["passed"] for number in (0, 1) for row in shop.rows(number)}
    assert passed == {cell: cell.startswith(ORACLE) for cell in ALL}
    assert not (shop.run / "results.jsonl").exists(), "that is for whoever has all rows"


def test_a_run_again_runs_only_what_is_missing_and_carries_the_rest(shop: Shop, tmp_path: Path) -> None:
    shop.plan("--most-shards", "1")
    assert shop.cell(0)[0].code == 0
    done = tmp_path / "artifacts" / "scylla-rows-greet-000-1"
    (shop.run / "shards/000").rename(write(done / "x", "").parent / "gone")
    lines = (done / "gone" / "results.jsonl").read_text().splitlines(keepends=True)
    write(done / "results.jsonl", "".join(lines[:3]))
    for cell in ALL:
        shutil.rmtree(shop.run / cell)
    said, _ = shop.cell(0, "--done", str(tmp_path / "artifacts"), attempt=2)
    assert said.code == 0, said.err
    assert [path.name for path in shop.run.glob(f"{SCENARIO}*")] == [shop.packing().shards[0].cells[3]]
    manifest = shop.manifest()
    assert (manifest.count, manifest.carried, manifest.attempt) == (4, 3, 2)
    assert shop.rows()[:3] == rows_in(done / "results.jsonl")


def test_when_all_rows_are_there_no_agent_is_looked_for(shop: Shop, tmp_path: Path) -> None:
    shop.plan("--most-shards", "1")
    shop.cell(0)
    (shop.run / "shards").rename(tmp_path / "done")
    said, given = shop.cell(0, "--done", str(tmp_path / "done"))
    assert (said.code, given["count"], shop.manifest().carried) == (0, "4", 4)


def test_a_later_wave_takes_over_what_is_done_and_packs_the_rest(shop: Shop, tmp_path: Path) -> None:
    _, given = shop.plan("--most-shards", "1", "--lanes", "1", "--minutes", "0.015")
    assert (given["cells"], given["left"]) == ("1", "3")
    assert shop.cell(0, "--minutes", "5")[0].code == 0
    (shop.run).rename(tmp_path / "wave-1")
    done = ("--done", str(tmp_path / "wave-1"), "--wave", "2", "--campaign", "mine")
    said, given = shop.plan(*done)
    assert said.code == 0, said.err
    assert (given["cells"], given["left"], given["reused"], given["planned"]) == ("3", "0", "1", "4")
    assert (given["wave"], given["campaign"]) == ("2", "mine")
    assert rows_in(shop.run / "reused.jsonl") == rows_in(tmp_path / "wave-1/shards/000/results.jsonl")
    assert "history for 1 of 4 cells" in said.err or "history for 2 of 4 cells" in said.err


def test_with_all_rows_taken_over_there_is_no_job_and_no_failure(shop: Shop, tmp_path: Path) -> None:
    shop.plan("--most-shards", "1")
    shop.cell(0)
    shop.run.rename(tmp_path / "done")
    said, given = shop.plan("--done", str(tmp_path / "done"))
    assert (said.code, given["shards"], given["reused"]) == (0, "[]", "4")
    said, _ = shop.cell(0)
    assert said.code == 3
    assert "has no shard: all rows were taken over" in said.err


def test_time_that_is_over_leaves_cells_and_fails_nothing(shop: Shop) -> None:
    shop.plan("--most-shards", "1")
    said, given = shop.cell(0, "--minutes", "0")
    assert (said.code, given["count"], given["unstarted"]) == (0, "0", "4")
    assert shop.rows() == []
    assert set(shop.manifest().unstarted.values()) == {"the time in which its job starts cells was over"}
    assert "::notice title=greet::shard 000: no row of 4 of 4 cells: the time in which" in said.err


def test_a_task_that_changed_since_the_plan_is_refused_by_name(shop: Shop) -> None:
    shop.plan()
    write(shop.repo / f"scenarios/core/{SCENARIO}/prompt.md", "Do something else.\n")
    said, _ = shop.cell(0)
    assert said.code == 6
    assert f"::error title=scylla-gha::task of {SCENARIO}: " in said.err
    assert "the planned keys are not valid here" in said.err
    assert shop.rows() == []
    assert all("the planned keys are not valid here" in why for why in shop.manifest().unstarted.values())


def test_another_version_of_the_agent_is_refused_by_name(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    write_claude_experiment(shop.repo)
    shop.env |= claude_environment(tmp_path, say("ok"))
    assert shop.plan()[0].code == 0
    program = stand_in(tmp_path, say("ok")) / "claude"
    program.write_text(program.read_text().replace("2.1.197", "2.1.250"))
    said, _ = shop.cell(0)
    assert said.code == 6
    assert "agent claude-code: 2.1.197 when it was planned, 2.1.250 here" in said.err


def test_files_of_two_plans_are_not_mixed(shop: Shop) -> None:
    shop.plan()
    packing = (shop.run / "shards.json").read_text()
    shop.plan("--repetitions", "1")
    (shop.run / "shards.json").write_text(packing)
    said, _ = shop.cell(0)
    assert said.code == 3
    assert "is of another plan than plan.json beside it" in said.err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_job_that_is_cancelled_keeps_the_rows_of_cells_that_were_done(tmp_path: Path, how: signal.Signals) -> None:
    shop = make_shop(tmp_path)
    write_claude_experiment(shop.repo, repetitions=3)
    script = f"echo 1 >>{tmp_path}/starts; [ $(wc -l <{tmp_path}/starts) -gt 1 ] && sleep 60; {say('ok')}"
    shop.env |= claude_environment(tmp_path, script)
    assert shop.plan("--lanes", "1", "--most-shards", "1")[0].code == 0
    with (
        serve(lambda _: Say("Hi.")) as provider,
        running("cell", "greet", "--shard", "0", "--yes", cwd=shop.repo,
                env=shop.env | {"ANTHROPIC_BASE_URL": provider.url}) as job,
    ):  # fmt: skip
        deadline = time.monotonic() + 60
        while not (tmp_path / "starts").exists() or len((tmp_path / "starts").read_text()) < 4:
            assert time.monotonic() < deadline
            assert job.poll() is None, job.communicate()
            time.sleep(0.05)
        job.send_signal(how)
        job.communicate(timeout=60)
    assert job.returncode in {130, 143}
    assert [(row["repetition"], row["outcome"]) for row in shop.rows()] == [(1, "completed"), (2, "cancelled")]
    (third,) = shop.manifest().unstarted.items()
    assert third == (f"{SCENARIO}--{ARM}--r03", "the job ended before the cell was started, or while it was running")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--most-shards", "251"), 3, "--most-shards 251: a wave has 1 to 250 jobs"),
        (("--most-shards", "0"), 3, "--most-shards 0: a wave has 1 to 250 jobs"),
        (("--only", "x"), 3, "--only 'x' matches none of 4 cells"),
        (("--wave", "2"), 6, "rows of earlier waves are missing, and their cells would be paid again"),
        (("--dry-run",), 2, "--dry-run writes no plan"),
        (("--budget-usd", "0"), 2, "--budget-usd"),
        (("--budget-usd", "nan"), 2, "nan is not a finite amount of USD"),
    ],
)
def test_what_cannot_be_planned_fails(shop: Shop, args: tuple[str, ...], code: int, said: str) -> None:
    found, given = shop.plan(*args)
    assert said in given.pop("refusal", found.err)
    assert (found.code, given) == (code, {})
    assert said in found.err
    assert not (shop.run / "shards.json").exists()


def test_outside_of_actions_the_option_is_refused(shop: Shop) -> None:
    for args in (("plan", "greet"), ("cell", "greet", "--shard", "0"), ("report", "greet")):
        said = scylla(*args, "--github", cwd=shop.repo, env={**shop.env, "GITHUB_RUN_ID": "", "GITHUB_ACTIONS": ""})
        assert said.code == 3
        assert "--github: GITHUB_RUN_ID is not set" in said.err
