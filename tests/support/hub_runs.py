"""Workflows and a failed run of a hub."""

from pathlib import Path

from scylla_gha.hub.actions_records import AnnotationRecord, JobRecord, RunRecord, StepRecord, WorkflowRecord
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.operations.actions import mirror_checks
from scylla_gha.hub.operations.refs import change_ref
from scylla_gha.hub.operations.run_logs import job_log
from scylla_gha.hub.records import RepositoryRecord
from tests.support.hub import AUTHOR, NAME, OWNER, commit, make_hub

CI = """\
name: CI
on:
  push:
  workflow_dispatch:
    inputs:
      level: {type: choice, options: [low, high], default: low}
      reason: {required: true}
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Test
        run: pytest -q
  lint:
    name: Lint it
    runs-on: ubuntu-latest
    steps: [{run: ruff check}]
"""


def hub_with_workflows(folder: Path) -> Hub:
    """A hub with a workflow that can be dispatched, and one that cannot."""
    hub = make_hub(folder)
    git, session = hub.git(demo(hub)), hub.session(AUTHOR)
    files: dict[str, str | None] = {
        ".github/workflows/ci.yml": CI,
        ".github/workflows/push.yml": "on: push\njobs: {}\n",
    }
    tip = commit(git, files, "CI", session.signature(), git.branches()["main"])
    change_ref(session, demo(hub), "refs/heads/main", tip)
    return hub


def demo(hub: Hub) -> RepositoryRecord:
    repository = hub.state.repository(OWNER, NAME)
    assert repository is not None
    return repository


def failed_run(hub: Hub, *scripted: str) -> RunRecord:
    """A completed run of two jobs, of which the first failed in its step Test."""
    session, state = hub.session(AUTHOR), hub.state
    workflow = state.where(WorkflowRecord)[0]
    now = state.now()
    outcomes = {"Set up job": "success", "Test": "failure", "Never": "skipped", "Complete job": "success"}
    steps = tuple(
        StepRecord(number=number, name=name, conclusion=outcome)
        for number, (name, outcome) in enumerate(outcomes.items(), 1)
    )
    sections = [("Set up job", "Ready"), ("Test", "1 failed\n##[error]Bad sum"), ("Complete job", "")]
    log = hub.blobs.add(job_log(sections, now))
    note = AnnotationRecord(path="src/app.py", start_line=2, end_line=2, level="failure", message="Bad sum")
    jobs = (
        JobRecord(id=state.new_id(), name="build", attempt=1, status="completed", conclusion="failure", created_at=now,
                  started_at=now, completed_at=now, steps=steps, annotations=(note,), log=log),
        JobRecord(id=state.new_id(), name="Lint it", attempt=1, status="completed", conclusion="success",
                  created_at=now, started_at=now, completed_at=now),
    )  # fmt: skip
    run = RunRecord(id=state.new_id(), created_at=now, updated_at=now, started_at=now, repository=demo(hub).id,
                    workflow=workflow.id, number=1, event="push", head_branch="main",
                    head_sha=hub.git(demo(hub)).branches()["main"], title="CI", actor=session.user.id,
                    status="completed", conclusion="failure", jobs=jobs, scripted=scripted)  # fmt: skip
    state.create(session.user, run)
    mirror_checks(session, run)
    return run
