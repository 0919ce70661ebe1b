"""Workflows that really run: gh and git on a hub, with a runner in a sandbox."""

import json
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


def test_a_red_push_is_mended_run_again_started_by_hand_and_cancelled(hub: WorkflowHub) -> None:
    hub.push({".github/workflows/ci.yml": CI, ".github/workflows/slow.yml": SLOW, "src/check.py": RED}, "Red")
    run = hub.watch("--exit-status", code=1)
    assert (run["conclusion"], run["event"], run["displayTitle"]) == ("failure", "push", "Red")
    number = str(run["databaseId"])
    shown = hub.run("gh", "run", "view", number)
    print(hub.run("gh", "run", "view", number, "--log-failed"))
    assert "X the sum is wrong" in shown
    assert "Tests: src/check.py#2" in shown
    assert "Process completed with exit code 3." in shown
    assert "- after" in shown, "skipped, since it needs the tests"
    log = hub.run("gh", "run", "view", number, "--log")
    assert "from-path" in log
    assert "it was failure on main" in log
    assert "WORD is hello, hello" in log
    failed = hub.run("gh", "run", "view", number, "--log-failed").splitlines()
    assert {tuple(line.split("\t")[:2]) for line in failed} == {("Tests", "Unit tests")}
    hub.push({"src/check.py": "print('fine')\n"}, "Green")
    run = hub.watch("--exit-status")
    assert run["conclusion"] == "success"
    hub.run("gh", "run", "rerun", str(run["databaseId"]))
    again = hub.watch("--exit-status")
    assert (again["databaseId"], again["attempt"]) == (run["databaseId"], 2)
    hub.run("gh", "workflow", "run", "ci.yml", "-f", "word=given")
    started = hub.watch("--exit-status")
    assert (started["event"], started["workflowName"]) == ("workflow_dispatch", "CI")
    assert "word given" in hub.run("gh", "run", "view", str(started["databaseId"]), "--log")
    hub.run("gh", "workflow", "run", "slow.yml")
    slow = str(hub.runs()[0]["databaseId"])
    while "in_progress" not in (state := hub.run("gh", "run", "view", slow, "--json", "status,jobs")):
        assert "queued" in state
    begun = time.monotonic()
    hub.run("gh", "run", "cancel", slow)
    assert hub.watch()["conclusion"] == "cancelled"
    hub.runner.finish()
    assert time.monotonic() - begun < 60, "the step was killed"
    steps = json.loads(hub.run("gh", "run", "view", slow, "--json", "jobs"))["jobs"][0]["steps"]
    assert [step["conclusion"] for step in steps] == ["success", "cancelled", "cancelled", "cancelled"]
