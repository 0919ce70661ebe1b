"""`scylla-gha readiness` on built repositories: the real Claude Code CLI, built-in agents, and what cannot be done."""

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.readiness import ReadinessReport
from scylla_gha.report.readiness_text import readiness_lines
from tests.support.command import Said
from tests.support.pages import ROOT
from tests.support.readiness_example import AGENT, KEY, example_provider, measured, shorten_limit
from tests.support.readiness_repository import readiness_repository
from tests.support.readiness_solver import readiness_solver

DIMENSIONS = ("--dimensions", "2,3")
NO_KEY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": ""}
LACK = "a key of anthropic to reach claude-haiku-5-5"
LIMIT = 40  # seconds of the session that works too long


def digest(folder: Path) -> str:
    """Of all files of the user, those of git's directory included."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(bytes(path) + path.read_bytes() for path in paths)).hexdigest()


def rows(said: Said) -> dict[str, dict[str, Any]]:
    report: dict[str, Any] = json.loads(said.out)
    return {row["dimension"]: row for row in report["score"]["dimensions"]}


def test_edits_and_chains_of_the_real_cli_count_as_they_end(tmp_path: Path) -> None:
    parcels = readiness_repository(tmp_path / "parcels", "python")
    before, runs = digest(parcels), tmp_path / "runs"
    static = measured(parcels, runs, *DIMENSIONS, "--json", **NO_KEY)
    assert static.code == 5
    report = json.loads(static.out)
    assert report["unavailable"] == f"{AGENT} needs {LACK}; set ANTHROPIC_API_KEY"
    assert (report["score"], report["facts"][0]["planned"]) == (
        None, {"modification-confidence": 8, "cross-file-coherence": 8}
    )  # fmt: skip
    shorten_limit(runs, "401", LIMIT)
    with example_provider(runs) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
        said = measured(parcels, runs, *DIMENSIONS, "--json", "--verbose", **env)
    assert said.code == 0, said.err
    assert digest(parcels) == before
    assert_ends(said)
    assert_example(said)
    assert_efficiency(runs / "readiness" / "readiness.json")
    questions = [body for body in provider.requests if "ANSWER.json" in json.dumps(body["messages"])]
    # The CLI offers its placeholder where tools may be deferred; it stands for none here.
    offered = (body["tools"] for body in questions if body.get("tools"))
    tools = {frozenset(tool["name"] for tool in names) - {"DeferredToolPlaceholder"} for names in offered}
    assert tools == {frozenset({"Glob", "Grep", "Read", "Write"})}


def assert_ends(said: Said) -> None:
    """Each session counts as it ended, and the trace says so."""
    assert "the items are those of the stored suite" in said.err
    assert f"16 sessions of {AGENT} with claude-haiku-5-5, and 8 requests of the closed-book control" in said.err
    assert re.search(r"^Task 1 timed out \(4\ds limit\): 401-repair-", said.err, re.MULTILINE), said.err
    assert re.search(r"^Task 2 was refused by the model: 602-chain-", said.err, re.MULTILINE)
    assert re.search(r"^402-repair-\S+: completed; \d+ s; correctness 0.00, scope 0.00, pat", said.err, re.MULTILINE)
    assert re.search(r"^403-repair-\S+: completed; \d+ s; correctness 1.00, scope 1.00, pat", said.err, re.MULTILINE)
    assert re.search(r"^601-chain-\S+: completed; \d+ s; completeness 0.00, accuracy 0.00$", said.err, re.MULTILINE)
    assert '\n  Edit {"replace_all": false, "file_path": "/home/workspace/parcels/' in said.err
    edits, chains = rows(said)["modification-confidence"], rows(said)["cross-file-coherence"]
    assert (edits["anchors"], edits["solved"], edits["failed"]) == (8, 5, {"timeout": 1})
    assert (chains["anchors"], chains["solved"], chains["failed"]) == (8, 5, {"refused": 1})
    assert (edits["calls_per_solved"], edits["score"]) == (3, pytest.approx(62.5))
    assert edits["tokens_per_solved"] > chains["tokens_per_solved"] > 1000
    assert json.loads(said.out)["usd"] > 0


def assert_example(said: Said) -> None:
    """The example in the docs has these two dimensions as they were measured; tokens depend on the CLI's own prompt."""
    page = re.sub(r"[\d,]+ tokens", "N tokens", (ROOT / "docs/readiness.md").read_text(encoding="utf-8"))
    lines = readiness_lines(ReadinessReport.model_validate_json(said.out))
    measured_lines = [re.sub(r"[\d,]+ tokens", "N tokens", line) for line in lines if "tokens" in line]
    assert len(measured_lines) == 2
    for line in measured_lines:
        assert f"\n{line}\n" in page


def assert_efficiency(stored: Path) -> None:
    """The efficiency of chains comes from what the CLI's sessions read."""
    score = json.loads(stored.read_text())["score"]
    efficiency = {anchor["item"][:3]: anchor["parts"].get("efficiency") for anchor in score["anchors"]}
    assert efficiency["604"] == pytest.approx(1)
    assert efficiency["603"] < 0.5


def test_questions_on_typescript_are_answered_by_the_real_cli_and_reused(tmp_path: Path) -> None:
    seats = readiness_repository(tmp_path / "seats", "typescript")
    before, runs, one = digest(seats), tmp_path / "runs", ("--dimensions", "1")
    with readiness_solver(runs / "readiness", wrong=0.25) as url:
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}
        dear = measured(seats, runs, *one, "--budget", "0.0001", **env)
        said = measured(seats, runs, *one, "--json", **env)
    assert dear.code == 6
    assert "is above the budget of $0.00010; give --budget" in dear.err
    assert said.code == 0, said.err
    assert "budget $1.00, $1.00 a side; 1 side (the code) with up to 8 anchors a dimension: likely $" in said.err
    assert digest(seats) == before
    row = rows(said)["intent-clarity"]
    assert (row["anchors"], row["solved"], row["failed"], row["excluded"]) == (8, 6, {}, {})
    assert "Running C7 task 1/1: Intent Clarity" in said.err
    again = measured(seats, runs, *one, ANTHROPIC_API_KEY=KEY)
    assert "reused under the same keys: 8 of 8 trials" in again.err
    assert re.search(r"^readiness \d+ \[.*\]  1 of 4 dimensions, 8 of 8 anchors, claude-haiku-5-5 in", again.out), (
        again.err
    )
    assert "Do not compare repositories" in (runs / "readiness/report.html").read_text()


def test_a_wrong_model_is_named_before_any_work_and_tests_that_are_not_there_too(tmp_path: Path) -> None:
    parcels = readiness_repository(tmp_path / "parcels", "python")
    said = measured(parcels, tmp_path / "runs", "--model", "claude-haiku-9")
    assert said.code == 3
    assert said.err.startswith("scylla-gha: --model: the model 'claude-haiku-9' is in neither"), said.err
    said = measured(parcels, tmp_path / "runs", "--tests", "spec/*")
    assert said.code == 4
    assert "--tests spec/*: no file of tests matches; they are tests/test_addresses.py, " in said.err


def test_what_cannot_be_measured_is_named(tmp_path: Path) -> None:
    folder, runs = tmp_path / "empty", tmp_path / "runs"
    folder.mkdir()
    assert "is not a git repository" in measured(folder, runs).err
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    assert "has no commit yet" in measured(folder, runs).err
    (folder / "shop.rb").write_text("def price\n  3\nend\n")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", "-C", str(folder), "add", "."], check=True)
    subprocess.run(["git", "-C", str(folder), *identity, "commit", "--quiet", "-m", "Prices"], check=True)
    said = measured(folder, runs)
    assert said.code == 4
    assert "no function in Python, JavaScript, TypeScript or Go" in said.err
