"""Obstacles of a first run: a wrong name, no key, no git, a rejected key, nobody at the address."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Said, scylla
from tests.support.git import shell
from tests.support.judged_repository import RUBRIC
from tests.support.provider import Fail, Say, serve
from tests.support.repository import environment, make_repository, write_greet_experiment, write_tree
from tests.support.scripted_claude import ask, claude_environment, say, write_claude_experiment

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLAUDE = {"agents": ("claude-code@2.1.332",), "variants": ("T0/00-empty",), "models": ("claude-sonnet-5",)}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def evaluate(repo: Path, *args: str, env: dict[str, str] | None = None) -> Said:
    said = scylla("evaluate", "--yes", "greet", *args, cwd=repo, env=env or environment(repo.parent))
    assert "Traceback" not in said.err
    return said


SKILL = """\
id: T1
name: Skills
focus: Does it help?
sub_tests:
  - {id: 01-style, description: x, treatment: {skills: [stile]}}
"""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"models": ("claude-sonet-5",)},
            "'claude-sonet-5' is in neither config/models/ nor the anthropic SDK; the nearest are claude-sonnet-5",
        ),
        (
            {"judges": ("claude-opus-5", "claude-opus-6")},
            "'claude-opus-6' is in neither config/models/ nor the anthropic SDK; the nearest are claude-opus",
        ),
        ({"variants": ("T1/01-style",)}, "T1/01-style: skills: 'stile' is not in config/skills/"),
        ({"variants": ("T0/0-empty",)}, "variants: 'T0/0-empty' matches nothing"),
        ({"scenarios": ("102-*",)}, "scenarios: '102-*' matches nothing"),
        ({"agents": ("claude-cod",)}, "there is no agent 'claude-cod'; did you mean \"claude-code\""),
    ],
    ids=["model", "judge", "skill", "variant", "scenario", "agent"],
)
def test_a_wrong_name_is_told_before_a_missing_key_and_nothing_is_installed(
    repo: Path, given: dict[str, Any], said: str
) -> None:
    if "skill" in said:
        write_tree(repo, {"config/tiers/T1.yaml": SKILL})
    baseline = f"t0-00-empty.claude-code.{given.get('models', CLAUDE['models'])[0]}"
    write_greet_experiment(repo, **{**CLAUDE, "baseline": baseline, **given})
    found = evaluate(repo, env=environment(repo.parent) | dict.fromkeys(KEYS, "") | {"PATH": os.defpath})
    assert (found.code, said in found.err) == (3, True), found.err
    assert "needs a key" not in found.err


def test_without_git_nothing_is_begun(repo: Path, tmp_path: Path) -> None:
    here = tmp_path / "bin"
    here.mkdir()
    for program in ("sh", "env", "true"):
        (here / program).symlink_to(str(shutil.which(program)))
    said = evaluate(repo, env=environment(repo.parent, PATH=str(here)))
    assert said.code == 5
    assert said.err.startswith("scylla-gha: git is not on PATH"), said.err
    assert not (repo / "runs").exists()


@pytest.mark.parametrize("status", [401, 403, None])
def test_a_rejected_key_or_a_closed_port_stops_the_run_after_one_trial(repo: Path, status: int | None) -> None:
    """Also other arms are not started, no attempt is repeated, and the client is told not to ask again."""
    write_claude_experiment(repo, repetitions=3, agents=("claude-code", "oracle"))
    script = f"echo 1 >>{repo}/starts; {ask('Hello?')} >/dev/null 2>&1; {say('401')}"
    with serve(lambda _: Fail(status or 500)) as provider:
        url = provider.url if status else "http://127.0.0.1:9"
        said = evaluate(repo, "--jobs", "1", "--only", "*sonnet*",
                        env=claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": url})  # fmt: skip
    assert said.code == 8, said.err
    assert (repo / "starts").read_text() == "1\n"
    named = f"{url} rejects the value of ANTHROPIC_API_KEY ({status} " if status else f"{url} cannot be reached; "
    assert named in said.err
    assert "check ANTHROPIC_BASE_URL" in said.err or status
    assert f"0 of 3 trials are stored in {repo}/runs/greet" in said.err
    report = json.loads((repo / "runs/greet/report.json").read_text())
    reasons = [one["reason"] for one in report["excluded"] if one["outcome"] == "not_started"]
    assert len(reasons) == 2
    assert all(reason.startswith("the run was stopped: http://127.0.0.1") for reason in reasons)
    assert len(list((repo / "runs/greet").rglob("attempt.json"))) == 1


def test_a_key_that_is_rejected_while_judges_ask_stops_the_run_after_one_trial(repo: Path) -> None:
    """Each judge asks once for the first trial; the agent needs no key, and no other trial is begun."""
    judges = ("claude-opus-5", "claude-sonnet-5")
    make_repository(repo, rubric=RUBRIC)
    write_greet_experiment(repo, judges=judges, agents=("oracle",), baseline="oracle", repetitions=3)
    with serve(lambda _: Fail(401)) as provider:
        env = environment(repo.parent, ANTHROPIC_API_KEY="sk-rejected-0123456789", ANTHROPIC_BASE_URL=provider.url)
        said = evaluate(repo, "--jobs", "1", env=env)
        asked = [body["model"] for body in provider.requests]
    assert said.code == 8, said.err
    assert f"{provider.url} rejects the value of ANTHROPIC_API_KEY (401 " in said.err
    assert sorted(asked) == sorted(judges)
    report = json.loads((repo / "runs/greet/report.json").read_text())
    begun = len(list((repo / "runs/greet").rglob("attempt.json")))
    assert (begun, len([one for one in report["excluded"] if one["outcome"] == "not_started"])) == (1, 2)
    assert "sk-rejected" not in said.err + "".join(
        path.read_text(errors="replace") for path in (repo / "runs").rglob("*") if path.is_file()
    )


def test_a_key_that_was_good_once_stops_one_arm_alone(repo: Path) -> None:
    """A 403 says nothing of the key once it has bought an answer."""
    write_claude_experiment(repo, repetitions=3)
    script = f"{ask('Hello?')} >/dev/null 2>&1 && {say('ok')} || {say('401')}"
    answers: Iterator[Say | Fail] = iter([Say("Hello."), Fail(403)])
    with serve(lambda _: next(answers, Fail(403))) as provider:
        env = claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": provider.url}
        said = evaluate(repo, "--jobs", "1", env=env)
    assert said.code == 8
    assert "sonnet-5 was stopped: the last request to the provider failed (403 scripted_error)" in said.err
    assert "rejects the value" not in said.err
    assert f"1 of 3 trials are stored in {repo}/runs/greet" in said.err


def test_a_patch_that_git_cannot_apply_says_how_one_is_made(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", beside={"wrong/typed.patch": "-echo hi\n+echo HI\n"}).root
    said = scylla("validate", "scenarios/core/101-greet", "--execute", cwd=root, env=environment(tmp_path))
    assert said.code == 7
    assert "wrong/typed: fixture_error: exit code 128: error: No valid patches in input" in said.err
    assert "git cannot apply the patch; to make one, change the files in the folder that" in said.err
    place = scylla("prepare", "101-greet", cwd=root, env=environment(tmp_path)).out.strip()
    (Path(place) / "greet.sh").write_text("#!/bin/sh\necho HI\n")
    patch = root / "scenarios/core/101-greet/wrong/typed.patch"
    shell(Path(place), f"git add --all && git diff --cached --binary > {patch}")
    again = scylla("validate", "scenarios/core/101-greet", "--execute", cwd=root, env=environment(tmp_path))
    assert (again.code, "wrong/typed fails" in again.out) == (0, True), again.err


@pytest.mark.parametrize("command", ["report", "judge", "aggregate", "export"])
def test_a_command_without_data_names_the_one_that_makes_them(repo: Path, command: str) -> None:
    more = ("--to", "csv") if command == "export" else ()
    said = scylla(command, "greet", *more, cwd=repo, env=environment(repo.parent))
    assert (said.code, "run `scylla-gha evaluate greet` first" in said.err) == (3, True), said.err
