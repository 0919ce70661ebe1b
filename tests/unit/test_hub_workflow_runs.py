"""Runs that pushes and pull requests start where the hub has a runner, and what the runner reports of them."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.actions_records import RunRecord, WorkflowRecord
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.operations.refs import change_ref
from scylla_gha.hub.operations.run_reports import end_run, report_job, take_run
from scylla_gha.hub.operations.run_start import MOST_WAITING
from scylla_gha.hub.workflow_records import JobNote, JobReport, QueuedRun, RunEnd, StepReport
from tests.support.hub import AUTHOR, REPO, Caller, commit
from tests.support.hub_runs import demo, hub_with_workflows

RUNS = f"{REPO}/actions/runs"
JOB = "jobs: {test: {runs-on: ubuntu-latest, steps: [{run: make}]}}\n"


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    hub = hub_with_workflows(tmp_path)
    hub.runner = lambda *_: None
    return hub


def push(hub: Hub, ref: str, files: dict[str, str | None], message: str = "Change", parent: str = "main") -> str:
    git, session = hub.git(demo(hub)), hub.session(AUTHOR)
    tip = commit(git, files, message, session.signature(), git.branches().get(parent))
    change_ref(session, demo(hub), ref, tip, force=True)
    return tip


def runs(hub: Hub) -> list[tuple[str, str, str, str | None]]:
    """Name, event, branch and conclusion of all runs, the oldest first."""
    listed: list[dict[str, Any]] = Caller(hub).get(RUNS)["workflow_runs"]
    return [(run["name"], run["event"], run["head_branch"], run["conclusion"]) for run in listed[::-1]]


def done(hub: Hub, run: QueuedRun, conclusion: str = "success") -> None:
    for id_ in run.ids.values():
        report_job(hub, JobReport(cell="c", run=run.run, attempt=run.attempt, job=id_, steps=(), conclusion=conclusion))
    end_run(hub, RunEnd(cell="c", run=run.run, attempt=run.attempt))


def test_a_push_starts_the_workflows_of_its_own_commit(hub: Hub) -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#push"""
    removed: dict[str, str | None] = {".github/workflows/ci.yml": None, ".github/workflows/push.yml": None}
    push(hub, "refs/heads/new", {**removed, ".github/workflows/own.yml": f"name: Own\non: push\n{JOB}"})
    assert runs(hub) == [("Own", "push", "new", None)]
    change_ref(hub.session(AUTHOR), demo(hub), "refs/heads/new", None)
    push(hub, "refs/heads/quiet", {**removed, ".github/workflows/own.yml": f"on: push\n{JOB}"}, "Wait [skip ci]")
    assert len(runs(hub)) == 1, "a deletion and a commit that asks for no run start none"
    push(hub, "refs/tags/v1", {**removed, ".github/workflows/tag.yml": f"on: {{push: {{tags: ['v*']}}}}\n{JOB}"})
    assert runs(hub)[1:] == [(".github/workflows/tag.yml", "push", "v1", None)]
    first = take_run(hub)
    assert first is not None
    assert (first.github["ref"], first.github["actor"], first.plan.jobs[0].name) == ("refs/heads/new", AUTHOR, "test")


def test_paths_are_those_of_the_push_or_of_the_pull_request(hub: Hub) -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#git-diff-comparisons"""
    paths = "{paths: ['docs/**']}"
    file = f"name: Docs\non: {{push: {paths}, pull_request: {paths}}}\n{JOB}"
    kept: dict[str, str | None] = {".github/workflows/ci.yml": None, ".github/workflows/push.yml": None}
    push(hub, "refs/heads/main", {**kept, ".github/workflows/docs.yml": file})
    push(hub, "refs/heads/guide", {"docs/a.md": "A\n"})
    push(hub, "refs/heads/guide", {"b.md": "B\n"}, parent="guide")
    assert runs(hub) == [("Docs", "push", "guide", None)]
    Caller(hub).rest("POST", f"{REPO}/pulls", {"title": "Guide", "head": "guide", "base": "main"})
    push(hub, "refs/heads/guide", {"c.md": "C\n"}, parent="guide")
    events = [event for _, event, _, _ in runs(hub)]
    assert events == ["push", "pull_request", "pull_request"], "opened and synchronize, by all its files"


def test_a_pull_request_runs_its_merge_and_none_while_it_conflicts(hub: Hub) -> None:
    """https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request"""
    caller = Caller(hub)
    files: dict[str, str | None] = {".github/workflows/ci.yml": f"on: pull_request\n{JOB}", "x.txt": "1\n"}
    push(hub, "refs/heads/main", {**files, ".github/workflows/push.yml": None})
    head = push(hub, "refs/heads/side", {"y.txt": "1\n"})
    push(hub, "refs/heads/main", {"z.txt": "1\n"})
    assert caller.rest("POST", f"{REPO}/pulls", {"title": "Side", "head": "side", "base": "main"}).status == 201
    run = take_run(hub)
    assert run is not None
    assert (run.github["ref"], run.github["base_ref"], run.github["head_ref"]) == ("refs/pull/1/merge", "main", "side")
    paths = {entry.path for entry in hub.git(demo(hub)).tree(run.commit)}
    assert {"x.txt", "y.txt", "z.txt"} <= paths
    assert caller.get(f"{RUNS}/{run.run}")["head_sha"] == head
    done(hub, run)
    assert caller.get(f"{REPO}/commits/{head}/check-runs")["check_runs"][0]["conclusion"] == "success"
    push(hub, "refs/heads/main", {"y.txt": "2\n"})
    push(hub, "refs/heads/side", {"w.txt": "1\n"}, parent="side")
    assert len(runs(hub)) == 1


def test_a_required_check_holds_up_a_merge_until_its_run_is_green(hub: Hub) -> None:
    """https://docs.github.com/en/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/about-status-checks"""
    caller = Caller(hub)
    push(hub, "refs/heads/main", {".github/workflows/ci.yml": f"on: pull_request\n{JOB}"})
    push(hub, "refs/heads/side", {"y.txt": "1\n"})
    rule = {"required_status_checks": {"strict": False, "contexts": ["test"]}, "enforce_admins": True,
            "required_pull_request_reviews": None, "restrictions": None}  # fmt: skip
    assert caller.rest("PUT", f"{REPO}/branches/main/protection", rule).status == 200
    caller.rest("POST", f"{REPO}/pulls", {"title": "Side", "head": "side", "base": "main"})
    merge = f"{REPO}/pulls/1/merge"
    assert caller.rest("PUT", merge, {}).status == 405
    run = take_run(hub)
    assert run is not None
    done(hub, run, "failure")
    assert caller.rest("PUT", merge, {}).status == 405
    assert caller.rest("POST", f"{RUNS}/{run.run}/rerun").status == 201
    again = take_run(hub)
    assert again is not None
    done(hub, again)
    assert caller.rest("PUT", merge, {}).status == 200


def test_a_file_that_cannot_be_run_is_a_startup_failure_that_says_why(hub: Hub) -> None:
    matrix = "on: push\njobs: {a: {runs-on: ubuntu-latest, strategy: {matrix: {x: [1]}}, steps: [{run: make}]}}\n"
    files: dict[str, str | None] = {".github/workflows/ci.yml": matrix, ".github/workflows/push.yml": "on: [push\njobs"}
    push(hub, "refs/heads/new", files)
    assert [run[3] for run in runs(hub)] == ["startup_failure"] * 2
    checks = Caller(hub).get(f"{REPO}/commits/new/check-runs")["check_runs"]
    notes = [Caller(hub).get(f"{REPO}/check-runs/{check['id']}/annotations")[0]["message"] for check in checks]
    assert notes[0].endswith("ci.yml: jobs.a: a matrix (strategy) is not supported here")
    assert "error in your yaml syntax" in notes[1]
    assert take_run(hub) is None


def test_reports_of_a_job_are_shown_and_a_cancelled_one_keeps_its_log(hub: Hub) -> None:
    caller = Caller(hub)
    push(hub, "refs/heads/new", {".github/workflows/push.yml": None})
    run = take_run(hub)
    assert run is not None
    steps = (StepReport(name="Set up job", status="completed", conclusion="success"),
             StepReport(name="Run actions/checkout@v4", status="in_progress"))  # fmt: skip
    report = JobReport(cell="c", run=run.run, attempt=1, job=run.ids["build"], steps=steps)
    assert report_job(hub, report) is False
    shown = caller.get(f"{RUNS}/{run.run}/jobs")["jobs"][0]
    assert [(step["name"], step["status"]) for step in shown["steps"]] == [(step.name, step.status) for step in steps]
    caller.rest("POST", f"{RUNS}/{run.run}/cancel")
    note = JobNote(path="a.py", line=1, end_line=1, level="failure", message="late")
    late = report.model_copy(update={"conclusion": "success", "notes": (note,), "log": (("Set up job", "begun"),)})
    assert report_job(hub, late) is True
    ended = caller.get(f"{RUNS}/{run.run}/jobs")["jobs"][0]
    assert (ended["conclusion"], [step["conclusion"] for step in ended["steps"]]) == (
        "cancelled", ["success", "cancelled"])  # fmt: skip
    assert caller.rest("GET", f"{REPO}/actions/jobs/{run.ids['build']}/logs").status == 302


def test_a_thousand_pushes_queue_a_limited_number_of_runs_and_hide_none(hub: Hub) -> None:
    git, session = hub.git(demo(hub)), hub.session(AUTHOR)
    file: dict[str, str | None] = {".github/workflows/ci.yml": f"on: push\n{JOB}", ".github/workflows/push.yml": None}
    tip = commit(git, file, "CI", session.signature(), git.branches()["main"])
    for at in range(MOST_WAITING + 2):
        change_ref(session, demo(hub), f"refs/heads/b{at}", tip)
    ends = [run.conclusion for run in hub.state.where(RunRecord)]
    assert ends == [None] * MOST_WAITING + ["startup_failure"] * 2


def test_a_disabled_workflow_is_not_started(hub: Hub) -> None:
    """https://docs.github.com/en/actions/how-tos/manage-workflow-runs/disable-and-enable-a-workflow"""
    for workflow in hub.state.where(WorkflowRecord):
        Caller(hub).rest("PUT", f"{REPO}/actions/workflows/{workflow.id}/disable")
    push(hub, "refs/heads/new", {"a.txt": "1\n"})
    assert runs(hub) == []
