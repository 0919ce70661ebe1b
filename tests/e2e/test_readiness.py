"""`scylla-gha readiness` on a built repository: oracle, no-op, the real Claude Code CLI, and what cannot be done."""

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Said, scylla
from tests.support.provider import Body, Say, serve, tool_results
from tests.support.readiness_repository import readiness_repository

QUESTIONS = ("--dimensions", "1", "--anchors", "8")
NO_KEY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""}


@pytest.fixture(scope="module")
def parcels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return readiness_repository(tmp_path_factory.mktemp("repositories") / "parcels", "python")


def digest(folder: Path) -> str:
    """Of all files of the user, those of git's directory included."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(bytes(path) + path.read_bytes() for path in paths)).hexdigest()


def readiness(folder: Path, runs: Path, *options: str, **env: str) -> Said:
    where = ("--runs", str(runs), "--yes", "--json")
    return scylla("readiness", str(folder), *where, *options, cwd=runs.parent, env=env)


def scores(said: Said) -> list[float]:
    report: dict[str, Any] = json.loads(said.out)
    return [row["score"] for row in report["score"]["dimensions"] if row["score"] is not None]


def test_the_oracle_scores_all_and_a_no_op_nothing_and_the_repository_stays_as_it_is(
    parcels: Path, tmp_path: Path
) -> None:
    before = digest(parcels)
    oracle = readiness(parcels, tmp_path / "runs", *QUESTIONS, "--agent", "oracle")
    assert oracle.code == 0, oracle.err
    assert scores(oracle) == [pytest.approx(100)]
    assert "Running C7 task 1/1: Intent Clarity" in oracle.err
    again = readiness(parcels, tmp_path / "runs", *QUESTIONS, "--agent", "oracle")
    assert "the items are those of the stored suite" in again.err
    assert "reused under the same keys: 8 of 8 trials" in again.err
    no_op = readiness(parcels, tmp_path / "runs", *QUESTIONS, "--agent", "nop")
    assert "the items are those of the stored suite" in no_op.err
    assert scores(no_op)[0] <= 0
    assert digest(parcels) == before
    assert "Do not compare repositories" in (tmp_path / "runs/readiness/report.html").read_text()


def answer_nothing(body: Body) -> Say:
    """Write an empty answer; the control, which has no tools, says nothing."""
    if not body.get("tools"):
        return Say("{}")
    if tool_results(body):
        return Say("Done.")
    assert {tool["name"] for tool in body["tools"]} == {"Glob", "Grep", "Read", "Write"}
    folder = re.search(r"orking directory: ([^\\\s\"]+)", json.dumps([body["system"], body["messages"]]))
    assert folder is not None
    return Say("I answer.", "Write", {"file_path": f"{folder[1]}/ANSWER.json", "content": "{}"})


def test_claude_code_answers_without_a_shell(parcels: Path, tmp_path: Path) -> None:
    with serve(answer_nothing) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
        agent = ("--agent", "claude-code@2.1.197")
        dear = readiness(parcels, tmp_path / "runs", *QUESTIONS, *agent, "--budget", "0.0001", **env)
        said = readiness(parcels, tmp_path / "runs", *QUESTIONS, *agent, **env)
    assert dear.code == 6
    assert "is above the budget of $0.0001; give --budget" in dear.err
    assert said.code == 0, said.err
    assert "budget $1.00, $1.00 a side; 1 side (the code) with up to 8 anchors a dimension: likely $" in said.err
    assert "8 sessions of claude-code@2.1.197 with claude-haiku-5-5" in said.err
    report = json.loads(said.out)
    assert [row["anchors"] for row in report["score"]["dimensions"]] == [8, 0, 0, 0]
    assert scores(said)[0] <= 0
    assert report["usd"] > 0


def test_without_a_key_the_report_says_what_could_be_asked(parcels: Path, tmp_path: Path) -> None:
    said = readiness(parcels, tmp_path / "runs", *QUESTIONS, "--agent", "claude-code@2.1.197", **NO_KEY)
    assert said.code == 5
    report = json.loads(said.out)
    assert "need" in report["unavailable"]
    assert report["score"] is None
    assert report["facts"][0]["planned"] == {"intent-clarity": 8}
    said = readiness(parcels, tmp_path / "others", "--agent", "oracle", "--tests", "spec/*")
    assert said.code == 4
    assert "--tests spec/*: no file of tests matches; they are tests/test_addresses.py, " in said.err


def test_what_cannot_be_measured_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    assert "is not a git repository" in readiness(folder, tmp_path / "runs").err
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    assert "has no commit yet" in readiness(folder, tmp_path / "runs").err
    (folder / "shop.rb").write_text("def price\n  3\nend\n")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", "-C", str(folder), "add", "."], check=True)
    subprocess.run(["git", "-C", str(folder), *identity, "commit", "--quiet", "-m", "Prices"], check=True)
    said = readiness(folder, tmp_path / "runs", "--agent", "oracle")
    assert said.code == 4
    assert "no function in Python, JavaScript, TypeScript or Go" in said.err
