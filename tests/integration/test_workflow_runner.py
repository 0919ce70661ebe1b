"""Workflows that really run: gh and git on a hub, with a runner in a sandbox."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.workflow_hub import WorkflowHub, workflow_hub

CI = """\
name: CI
on:
  push:
    branches: ["**"]
  pull_request:
  workflow_dispatch:
    inputs:
      word: {default: none}
env:
  GREETING: hello
jobs:
  test:
    name: Tests
    runs-on: ubuntu-latest
    outputs:
      count: ${{ steps.count.outputs.number }}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - name: Prepare
        run: |
          echo "WORD=$GREETING" >> "$GITHUB_ENV"
          mkdir bin && printf '#!/bin/sh\\necho from-path\\n' > bin/own && chmod +x bin/own
          echo "$PWD/bin" >> "$GITHUB_PATH"
      - id: count
        run: echo "number=7" >> "$GITHUB_OUTPUT"
      - name: Unit tests
        working-directory: src
        run: |
          own
          python check.py
      - name: Afterwards
        if: failure()
        run: echo "it was ${{ job.status }} on ${{ github.ref_name }}"
      - if: always()
        run: echo "WORD is $WORD, ${{ env.WORD }}"
  after:
    needs: test
    runs-on: ubuntu-latest
    steps:
      - run: test "${{ needs.test.outputs.count }}" = 7 && echo "word ${{ inputs.word }}" && ls | wc -l
"""
RED = """\
print("::error file=src/check.py,line=2::the sum is wrong")
raise SystemExit(3)
"""
SLOW = """\
name: Slow
on: workflow_dispatch
jobs:
  wait:
    runs-on: ubuntu-latest
    steps:
      - run: echo begun; sleep 600
      - run: echo never
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[WorkflowHub]:
    with workflow_hub(tmp_path) as served:
        yield served


def test_a_red_push_is_seen_with_its_log_mended_and_run_again(hub: WorkflowHub) -> None:
    hub.push({".github/workflows/ci.yml": CI, "src/check.py": RED}, "Red")
    run = hub.watch("--exit-status", code=1)
    assert (run["conclusion"], run["event"], run["displayTitle"]) == ("failure", "push", "Red")
    number = str(run["databaseId"])
    shown = hub.run("gh", "run", "view", number)
    wanted = ("X the sum is wrong", "Tests: src/check.py#2", "Process completed with exit code 3.", "- after in 0s")
    assert [text for text in wanted if text not in shown] == []
    log = hub.run("gh", "run", "view", number, "--log")
    logged = ("from-path", "it was failure on main", "WORD is hello, hello")
    assert [text for text in logged if text not in log] == []
    failed = hub.run("gh", "run", "view", number, "--log-failed").splitlines()
    assert {tuple(line.split("\t")[:2]) for line in failed} == {("Tests", "Unit tests")}
    hub.push({"src/check.py": "print('fine')\n"}, "Green")
    run = hub.watch("--exit-status")
    assert run["conclusion"] == "success"
    hub.run("gh", "run", "rerun", str(run["databaseId"]))
    again = hub.watch("--exit-status")
    assert (again["databaseId"], again["attempt"]) == (run["databaseId"], 2)


def test_a_run_is_started_by_hand_and_one_is_cancelled(hub: WorkflowHub) -> None:
    files = {".github/workflows/ci.yml": CI, ".github/workflows/slow.yml": SLOW, "src/check.py": ""}
    hub.push(files, "Begin [skip ci]")
    assert hub.runs() == []
    hub.run("gh", "workflow", "run", "ci.yml", "-f", "word=given")
    started = hub.watch("--exit-status")
    assert (started["event"], started["workflowName"]) == ("workflow_dispatch", "CI")
    assert "word given" in hub.run("gh", "run", "view", str(started["databaseId"]), "--log")
    hub.run("gh", "workflow", "run", "slow.yml")
    slow = str(hub.runs()[0]["databaseId"])
    hub.await_step(slow, 2)
    hub.run("gh", "run", "cancel", slow)
    begun = time.monotonic()
    assert hub.watch()["conclusion"] == "cancelled"
    hub.runner.finish()
    assert time.monotonic() - begun < 60, "the step was killed"
    assert "The operation was canceled." in hub.run("gh", "run", "view", slow, "--log")
    assert hub.conclusions(slow) == {
        "wait": ["success", "cancelled", "cancelled", "cancelled"],
    }


def test_a_workflow_without_end_holds_up_no_trial(hub: WorkflowHub) -> None:
    hub.push({".github/workflows/slow.yml": SLOW.replace("on: workflow_dispatch", "on: push")}, "Endless")
    hub.push({"a.txt": "1\n"}, "Waiting behind it")
    hub.await_step(str(hub.runs()[1]["databaseId"]), 2)
    begun = time.monotonic()
    hub.runner.finish(0.5)
    assert time.monotonic() - begun < 60
    assert [run["conclusion"] for run in hub.runs()] == ["cancelled", "cancelled"]


def test_a_job_with_an_endless_log_ends_and_its_log_is_cut(hub: WorkflowHub) -> None:
    step = f"      - run: ': {'${{ steps.a.outputs.x }}' * 2}'\n"
    large = f"""\
name: Large
on: push
jobs:
  fill:
    runs-on: ubuntu-latest
    steps:
      - id: a
        run: printf 'x=%s\\n' $(head -c 400000 /dev/zero | tr '\\0' y) >> "$GITHUB_OUTPUT"
{step * 22}"""
    hub.push({".github/workflows/large.yml": large}, "Large")
    assert hub.watch()["conclusion"] == "success"
    hub.runner.finish()
    log = hub.run("gh", "run", "view", str(hub.runs()[0]["databaseId"]), "--log")
    assert ("Run : yyyy" in log, len(log) < 4_000_000) == (True, True)


def test_gh_shows_why_a_workflow_cannot_be_run(hub: WorkflowHub) -> None:
    matrix = CI.replace("    name: Tests\n", "    strategy: {matrix: {python: [3]}}\n")
    hub.push({".github/workflows/ci.yml": matrix}, "Matrix")
    run = hub.runs()[0]
    assert (run["status"], run["conclusion"]) == ("completed", "startup_failure")
    log = hub.run("gh", "run", "view", str(run["databaseId"]), "--log")
    assert "ci.yml: jobs.test: a matrix (strategy) is not supported here" in log
