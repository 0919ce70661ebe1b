"""`scylla-gha readiness --head`: two commits of a repository side by side, with the real Claude Code CLI.

In JavaScript; `READINESS=typescript pytest tests/e2e/test_readiness_head.py` takes three times as long.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.support.provider import serve
from tests.support.readiness_example import AGENT, KEY, measured
from tests.support.readiness_repository import CodeBase, readiness_repository
from tests.support.readiness_solver import Solver

LANGUAGE: CodeBase = "typescript" if os.environ.get("READINESS") == "typescript" else "javascript"


class SolverOfHead(Solver):
    """Makes wrong changes in the measured commit, and right ones in `--head`."""

    def _load(self) -> None:
        super()._load()
        tasks = [task for listed in self._tasks.values() for task in listed]
        self._wrong = frozenset(task.scenario for task in tasks if not task.scenario.name.endswith(".head"))


def add_branch(root: Path) -> str:
    """Add a branch in which each source file has a comment more; return the branch that is checked out."""
    git = ("git", "-C", str(root), "-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    before = subprocess.run([*git, "branch", "--show-current"], capture_output=True, text=True, check=True).stdout
    subprocess.run([*git, "switch", "--quiet", "--create", "commented"], check=True)
    for path in (root / "src").rglob("*.[jt]s"):
        path.write_text(f"{path.read_text()}\n// AGENTS.md says what the words mean.\n")
    subprocess.run([*git, "commit", "--quiet", "--all", "--message", "Comments"], check=True)
    subprocess.run([*git, "switch", "--quiet", before.strip()], check=True)
    return before.strip()


def edits(score: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in score["dimensions"] if row["dimension"] == "modification-confidence")


def test_edits_are_compared_between_two_commits(tmp_path: Path) -> None:
    seats, runs = readiness_repository(tmp_path / "seats", LANGUAGE), tmp_path / "runs"
    branch = add_branch(seats)
    with (
        tempfile.TemporaryDirectory() as scratch,
        serve(SolverOfHead(runs / "readiness", 0.0, Path(scratch)).answer) as provider,
    ):
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
        said = measured(seats, runs, "--dimensions", "2", "--head", "commented", "--json", **env)
    assert said.code == 0, said.err
    assert f"16 sessions of {AGENT}" in said.err
    report = json.loads(said.out)
    before, after = (edits(report[side]) for side in ("score", "head"))
    assert (before["anchors"], before["solved"], after["anchors"], after["solved"]) == (8, 0, 8, 8)
    assert after["score"] == 100
    comparison = report["comparison"]
    assert comparison["ruling"]["verdict"] == "better"
    assert len(comparison["flipped"]) == 8
    assert {change["code_changed"] for change in comparison["anchors"]} == {False}
    assert subprocess.run(["git", "-C", str(seats), "status", "--short", "--branch"], capture_output=True, text=True,
                          check=True).stdout == f"## {branch}\n"  # fmt: skip
