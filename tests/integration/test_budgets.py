"""Budgets from the command line to the provider and back: refused before the request, finished, reported, exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Said, scylla
from tests.support.provider import Body, Provider, Say, serve
from tests.support.repository import SCENARIO, make_repository
from tests.support.scripted_claude import ARM, ask, claude_environment, tell, write_claude_experiment

HALF = 50_000  # output tokens of claude-sonnet-5 for half a dollar
QUESTION = ask("Hello?")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def half_a_dollar(_: Body) -> Say:
    return Say("Hi.", output_tokens=HALF)


def evaluate(repo: Path, provider: Provider, *args: str, asks: int = 1, command: str = "evaluate") -> Said:
    """Run with an agent that asks so often; one that is refused goes on, and ends well."""
    script = f"{tell('ok')}; {'; '.join([QUESTION] * asks)} ; true"
    env = claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": provider.url}
    said = scylla(command, "greet", "--yes", *args, cwd=repo, env=env)
    assert "Traceback" not in said.err
    return said


def report(repo: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repo / "runs/greet/report.json").read_text())
    return found


def excluded(repo: Path) -> dict[str, str]:
    return {one["cell"].rpartition("--")[2]: one["outcome"] for one in report(repo)["excluded"]}


LEFT = {"r03": "not_started", "r04": "not_started"}


@pytest.mark.parametrize(
    ("given", "jobs", "code", "asked", "left"),
    [
        pytest.param({}, 1, 0, 4, {}, id="no budget"),
        pytest.param({"limits": {"usd": 9.0}, "budget_usd": 40.0}, 4, 0, 4, {}, id="budgets that suffice"),
        pytest.param({"budget_usd": 1.3}, 1, 9, 3, {"r04": "not_started"}, id="per experiment"),
        pytest.param({"role_budget_usd": {"agent": 1.3}}, 1, 9, 3, {"r04": "not_started"}, id="per role"),
        pytest.param({"role_budget_usd": {"judge": 0.1}}, 1, 0, 4, {}, id="of the other role"),
        pytest.param({"budget_usd": 1.3, "limits": {"usd": 0.6}}, 1, 9, 2, LEFT, id="reserved before a cell starts"),
        pytest.param({"budget_usd": 1.3, "limits": {"usd": 0.6}}, 4, 9, 2, LEFT, id="reserved, all lanes together"),
        pytest.param({"role_budget_usd": {"agent": 1.3}, "limits": {"usd": 0.6}}, 4, 9, 2, LEFT, id="of a role"),
    ],
)
def test_what_a_budget_leaves_undone_is_named_and_the_rest_is_reported(
    repo: Path, given: dict[str, Any], jobs: int, code: int, asked: int, left: dict[str, str]
) -> None:
    write_claude_experiment(repo, repetitions=4, **given)
    with serve(half_a_dollar) as provider:
        said = evaluate(repo, provider, "--jobs", str(jobs))
    assert said.code == code, said.err
    assert len(provider.requests) == asked
    counts = report(repo)["counts"]
    assert (counts["planned"], counts["ran"], counts["judged"]) == (4, asked, asked)
    assert len(excluded(repo)) == len(left)
    assert set(excluded(repo).values()) == set(left.values())
    assert ("a budget is spent, and the report lists the missing cells" in said.err) == bool(left)
    assert (repo / "runs/greet/unstarted.json").exists() == bool(left)


def test_a_trials_own_budget_is_the_agents_failure_and_stops_nobody(repo: Path) -> None:
    write_claude_experiment(repo, repetitions=2, limits={"usd": 0.8})
    with serve(half_a_dollar) as provider:
        said = evaluate(repo, provider, asks=4)
    assert said.code == 0, said.err
    assert len(provider.requests) == 2 * 2
    (arm,) = report(repo)["arms"]
    assert arm["outcomes"] == {"budget_exceeded": 2}
    transcript = repo / "runs/greet" / f"{SCENARIO}--{ARM}--r01" / "attempt-1"
    shown = (transcript / "stderr.txt").read_text()
    assert (
        "403: the spend limit of $0.80 of this key is reached ($1.00; $0.00 left), and this request may cost" in shown
    )


@pytest.mark.parametrize("given", [{"budget_usd": 0.8}, {"role_budget_usd": {"agent": 0.8}}])
def test_a_trial_that_spends_what_it_shares_with_others_fails(repo: Path, given: dict[str, Any]) -> None:
    write_claude_experiment(repo, **given)
    with serve(half_a_dollar) as provider:
        said = evaluate(repo, provider, asks=4)
    assert (said.code, len(provider.requests)) == (0, 2), said.err
    (arm,) = report(repo)["arms"]
    assert arm["outcomes"] == {"budget_exceeded": 1}


def test_a_cell_that_is_cut_since_others_spent_the_experiments_budget_measures_nobody(repo: Path) -> None:
    write_claude_experiment(repo, repetitions=2, budget_usd=1.3)
    with serve(half_a_dollar) as provider:
        said = evaluate(repo, provider, "--jobs", "1", asks=2)
    assert (said.code, len(provider.requests)) == (9, 3), said.err
    (one,) = report(repo)["excluded"]
    assert (one["outcome"], "budget_exceeded:experiment" in one["reason"]) == ("cancelled", True)


def test_with_a_higher_budget_the_same_command_goes_on(repo: Path) -> None:
    write_claude_experiment(repo, repetitions=3, budget_usd=0.8)
    with serve(half_a_dollar) as provider:
        assert evaluate(repo, provider, "--jobs", "1").code == 9
        assert excluded(repo) == {"r03": "not_started"}
        (one,) = report(repo)["excluded"]
        assert one["reason"] == "$1.00 of the budget of $0.80 for this experiment is spent"
        write_claude_experiment(repo, repetitions=3, budget_usd=2.0)
        said = evaluate(repo, provider)
    assert (said.code, len(provider.requests)) == (0, 3), said.err
    assert excluded(repo) == {}
    assert not (repo / "runs/greet/unstarted.json").exists()


def test_a_spent_budget_is_told_before_anything_starts_old_trials_included(repo: Path) -> None:
    write_claude_experiment(repo, budget_usd=0.6)
    with serve(half_a_dollar) as provider:
        assert evaluate(repo, provider).code == 0
        assert evaluate(repo, provider, "--epoch", "two").code == 0
        said = evaluate(repo, provider, "--fresh")
        assert len(provider.requests) == 2
    assert said.code == 6
    assert "budget_usd of $0.60 is spent: all traffic in the run's folder, including old/, cost $1.00" in said.err
    assert "raise it, or begin another folder with --runs" in said.err


def test_run_ends_for_a_budget_as_well_and_aggregate_knows_why(repo: Path) -> None:
    write_claude_experiment(repo, repetitions=2, budget_usd=0.4)
    with serve(half_a_dollar) as provider:
        said = evaluate(repo, provider, "--jobs", "1", command="run")
        assert (said.code, len(provider.requests)) == (9, 1), said.err
        assert "not started: 1 of 2 cells: a budget is spent" in said.err
        for step in ("judge", "collect", "aggregate"):
            assert scylla(step, "greet", cwd=repo).code == 0
    assert excluded(repo) == {"r02": "not_started"}
