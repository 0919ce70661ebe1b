"""Nothing is paid for before somebody has said so."""

import os
import pty
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Said, scylla
from tests.support.library import write
from tests.support.provider import Provider, Say, serve
from tests.support.repository import environment, make_repository, write_greet_experiment
from tests.support.scripted_claude import ask, claude_environment, tell, write_claude_experiment

SONNET = "claude-sonnet-5"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def env_of(repo: Path, provider: Provider) -> dict[str, str]:
    script = f"{tell('ok')}; {ask('Hello?')}"
    return claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": provider.url}


def at_a_terminal(repo: Path, env: dict[str, str], answer: str, *args: str) -> Said:
    """Return what is said when somebody at a terminal answers so."""
    master, slave = pty.openpty()
    os.write(master, answer.encode())
    try:
        return scylla(*args, cwd=repo, env=env, stdin=slave)
    finally:
        os.close(slave)
        os.close(master)


@pytest.mark.parametrize("command", ["evaluate", "run"])
def test_without_a_terminal_and_without_yes_it_is_refused(repo: Path, command: str) -> None:
    write_claude_experiment(repo, budget_usd=2.0)
    with serve(lambda _: Say("Hi.")) as provider:
        said = scylla(command, "greet", cwd=repo, env=env_of(repo, provider))
        assert provider.requests == []
    assert said.code == 6
    assert "1 trial to run and 0 to judge with paid models: spend up to $2.00 (likely $0.13)?" in said.err
    assert "Standard input is not a terminal; give --yes" in said.err
    assert not (repo / "runs").exists()


@pytest.mark.parametrize(("answer", "code", "asked"), [("y\n", 0, 1), ("n\n", 6, 0), ("\n", 6, 0)])
def test_at_a_terminal_the_answer_decides(repo: Path, answer: str, code: int, asked: int) -> None:
    write_claude_experiment(repo)
    with serve(lambda _: Say("Hi.")) as provider:
        said = at_a_terminal(repo, env_of(repo, provider), answer, "evaluate", "greet")
        assert (said.code, len(provider.requests)) == (code, asked), said.err
    assert "spend likely $0.13, perhaps $0.38, without a budget that limits it? [y/N]" in said.err


def test_what_is_stored_is_not_asked_for_again(repo: Path) -> None:
    write_claude_experiment(repo)
    with serve(lambda _: Say("Hi.")) as provider:
        assert scylla("evaluate", "greet", "--yes", cwd=repo, env=env_of(repo, provider)).code == 0
        again = scylla("evaluate", "greet", cwd=repo, env=env_of(repo, provider))
    assert again.code == 0, again.err
    assert "spend" not in again.err


def test_agents_without_a_model_are_not_asked_for(repo: Path) -> None:
    said = scylla("evaluate", "greet", cwd=repo, env=environment(repo.parent))
    assert said.code == 0
    assert "spend" not in said.err


def test_a_replay_is_not_asked_for(repo: Path) -> None:
    write_claude_experiment(repo)
    with serve(lambda _: Say("Hi.")) as provider:
        env = env_of(repo, provider)
        record = ("--record", "config/recordings/greet")
        assert scylla("evaluate", "greet", "--yes", *record, cwd=repo, env=env).code == 0
    (repo / "runs").rename(repo / "before")
    said = scylla("evaluate", "greet", "--replay", cwd=repo, env=env)
    assert said.code == 0, said.err


RUBRIC = """\
categories:
  - {id: functional, weight: 0.5, items: [{id: F1, text: Greets, type: binary, checks: [greets]}]}
  - {id: quality, weight: 0.5, items: [{id: Q1, text: It is good, type: subjective}]}
"""


@pytest.mark.parametrize(
    ("given", "amount"),
    [
        pytest.param({}, "likely $0.13, perhaps $0.48, without a budget that limits it", id="no budget"),
        pytest.param({"role_budget_usd": {"judge": 0.25}}, "up to $0.25 (likely $0.13)", id="a budget of the judges"),
        pytest.param(
            {"budget_usd": 9.0, "role_budget_usd": {"judge": 0.25}}, "up to $0.25 (likely $0.13)", id="the least"
        ),
    ],
)
def test_judges_of_agents_that_cost_nothing_are_asked_for(repo: Path, given: dict[str, Any], amount: str) -> None:
    write(next((repo / "scenarios").rglob("rubric.yaml")), RUBRIC)
    judges = (SONNET, "claude-haiku-4-5-20251001")
    write_greet_experiment(repo, judges=judges, **given)
    said = scylla("evaluate", "greet", cwd=repo, env=environment(repo.parent, ANTHROPIC_API_KEY="sk-x"))
    assert said.code == 6
    assert f"0 trials to run and 2 to judge with paid models: spend {amount}?" in said.err
    assert "  agents $0.00; judges $0.13 ($0.05 to $0.48)" in said.err


def test_run_does_not_ask_for_judges(repo: Path) -> None:
    write(next((repo / "scenarios").rglob("rubric.yaml")), RUBRIC)
    write_greet_experiment(repo, judges=(SONNET, "claude-haiku-4-5-20251001"))
    said = scylla("run", "greet", cwd=repo, env=environment(repo.parent, ANTHROPIC_API_KEY="sk-x"))
    assert said.code == 0, said.err
