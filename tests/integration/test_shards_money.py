"""Money of a job: what it may spend, and what it says when the money, or the provider, is at its end."""

from pathlib import Path

import pytest

from scylla_gha.model.plan import Plan
from scylla_gha.store import write_lines
from tests.support.provider import Fail, Say, serve
from tests.support.records import make_cell, make_result
from tests.support.repository import SCENARIO
from tests.support.scripted_claude import ARM, ask, claude_environment, tell, write_claude_experiment
from tests.support.shards import Shop, make_shop

REQUEST = (100 * 2 + 25 * 10) / 1e6  # USD of one that the scripted provider answers


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Trials took so little before that three of them are likely to be within the budget."""
    made = make_shop(tmp_path)
    write_claude_experiment(made.repo, repetitions=3, budget_usd=3 * REQUEST)
    past = [make_result(make_cell(ARM, repetition, SCENARIO), usd=0.9 * REQUEST, key="other") for repetition in (1, 2)]
    write_lines(tmp_path / "past.jsonl", past)
    return made


def test_a_job_stops_at_its_part_of_the_budget(shop: Shop, tmp_path: Path) -> None:
    script = f"{ask('a')}; {ask('b')}; {ask('c')}; {tell('ok')}"
    with serve(lambda _: Say("Hello.")) as provider:
        shop.env |= claude_environment(tmp_path, script) | {"ANTHROPIC_BASE_URL": provider.url}
        said, _ = shop.plan("--done", str(tmp_path / "past.jsonl"), "--most-shards", "1", "--lanes", "1")
        assert said.code == 0, said.err
        assert [shard.budget_usd for shard in shop.packing().shards] == [pytest.approx(3 * REQUEST)]
        said, given = shop.cell(0)
    assert said.code == 9, said.err
    assert "::error title=scylla-gha::shard 000: no row of 2 of 3 cells: its share of a budget is spent" in said.err
    assert (given["number"], len(shop.rows())) == ("000", 1)
    assert all("of the budget of" in why for why in shop.manifest().unstarted.values())


def test_a_budget_for_two_jobs_is_halved(shop: Shop, tmp_path: Path) -> None:
    shop.env |= claude_environment(tmp_path, tell("ok"))
    shop.plan("--done", str(tmp_path / "past.jsonl"), "--most-shards", "3", "--budget-usd", "6")
    assert [shard.budget_usd for shard in shop.packing().shards] == [pytest.approx(2.0)] * 3


def test_what_earlier_attempts_cost_is_spent(shop: Shop, tmp_path: Path) -> None:
    shop.env |= claude_environment(tmp_path, tell("ok"))
    shop.plan("--done", str(tmp_path / "past.jsonl"), "--most-shards", "1")
    plan = Plan.model_validate_json((shop.run / "plan.json").read_text())
    write_lines(
        tmp_path / "done.jsonl",
        [make_result(plan.cells[0], experiment="greet", usd=1.0, judging=plan.judging[plan.cells[0].scenario])],
    )
    said, _ = shop.cell(0, "--done", str(tmp_path / "done.jsonl"), attempt=2)
    assert said.code == 6
    assert "is spent: the stored rows cost $1.00" in said.err
    assert [row["cell"] for row in shop.rows()] == [plan.cells[0].id]
    assert len(shop.manifest().unstarted) == 2


def test_a_provider_that_refuses_fails_the_job_and_names_it(shop: Shop, tmp_path: Path) -> None:
    script = f"{ask('a')} 2>/dev/null; {tell('401')}"
    with serve(lambda _: Fail(401, message="no such key")) as provider:
        shop.env |= claude_environment(tmp_path, script) | {"ANTHROPIC_BASE_URL": provider.url}
        shop.plan("--done", str(tmp_path / "past.jsonl"), "--most-shards", "1", "--lanes", "1")
        said, _ = shop.cell(0)
    assert said.code == 8, said.err
    assert "correct that, and re-run the failed jobs" in said.err
    assert [row["outcome"] for row in shop.rows()] == ["provider_error"]
    assert all(why.startswith("the run was stopped: ") for why in shop.manifest().unstarted.values())


def test_without_a_key_no_cell_starts_and_the_manifest_says_why(shop: Shop, tmp_path: Path) -> None:
    shop.env |= claude_environment(tmp_path, tell("ok"))
    shop.plan("--done", str(tmp_path / "past.jsonl"), "--most-shards", "1")
    shop.env["ANTHROPIC_API_KEY"] = ""
    said, given = shop.cell(0)
    assert (said.code, given["number"]) == (5, "000")
    assert set(shop.manifest().unstarted.values()) == {
        "claude-code needs a key of anthropic to reach claude-sonnet-5; set ANTHROPIC_API_KEY, or give --replay"
    }
