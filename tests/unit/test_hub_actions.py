"""Actions of the hub: workflows, dispatches, attempts with scripted conclusions, logs, and checks that mirror jobs."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.actions_records import CheckRecord, RunRecord, WorkflowRecord
from scylla_gha.hub.cell import Hub, HubSession
from scylla_gha.hub.operations.actions import finish_attempt
from scylla_gha.hub.operations.workflow_files import read_workflow
from scylla_gha.hub.rest.dispatch import handle
from tests.support.hub import AUTHOR, READER, REPO, Caller
from tests.support.hub_runs import failed_run, hub_with_workflows

RUNS = f"{REPO}/actions/runs"


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return hub_with_workflows(tmp_path)


def conclusions(hub: Hub) -> dict[str, str | None]:
    return {check.name: check.conclusion for check in hub.state.where(CheckRecord)}


def test_workflows_are_found_by_id_and_by_file_and_can_be_disabled(hub: Hub) -> None:
    """https://docs.github.com/en/rest/actions/workflows"""
    url = f"{REPO}/actions/workflows"
    listed = Caller(hub).get(url)["workflows"]
    assert [(workflow["name"], workflow["path"]) for workflow in listed] == [
        ("CI", ".github/workflows/ci.yml"),
        (".github/workflows/push.yml", ".github/workflows/push.yml"),
    ]
    assert Caller(hub).get(f"{url}/ci.yml") == Caller(hub).get(f"{url}/{listed[0]['id']}") == listed[0]
    assert Caller(hub).rest("GET", f"{url}/none.yml").status == 404
    assert Caller(hub, READER).rest("PUT", f"{url}/ci.yml/disable").status == 403
    assert Caller(hub).rest("PUT", f"{url}/ci.yml/disable").status == 204
    assert Caller(hub).get(f"{url}/ci.yml")["state"] == "disabled_manually"
    body = {"ref": "main", "inputs": {"reason": "x"}}
    assert Caller(hub).rest("POST", f"{url}/ci.yml/dispatches", body).status == 422
    assert Caller(hub).rest("PUT", f"{url}/ci.yml/enable").status == 204


def test_a_dispatched_run_is_queued_unless_it_is_scripted(hub: Hub) -> None:
    """https://docs.github.com/en/rest/actions/workflows#create-a-workflow-dispatch-event"""
    url = f"{REPO}/actions/workflows/ci.yml"
    body = {"ref": "refs/heads/main", "inputs": {"reason": "x"}}
    assert Caller(hub).rest("POST", f"{url}/dispatches", body).status == 204
    hub.state.update(0, hub.state.where(WorkflowRecord)[0], scripted=("failure",))
    details = Caller(hub).rest("POST", f"{url}/dispatches", {**body, "return_run_details": True}).body
    runs = Caller(hub).get(f"{url}/runs")["workflow_runs"]
    assert [(run["run_number"], run["event"], run["status"], run["conclusion"]) for run in runs] == [
        (2, "workflow_dispatch", "completed", "failure"),
        (1, "workflow_dispatch", "queued", None),
    ]
    assert runs[0]["id"] == details["workflow_run_id"]
    jobs = Caller(hub).get(f"{RUNS}/{runs[0]['id']}/jobs")["jobs"]
    assert [(job["name"], job["conclusion"]) for job in jobs] == [("build", "success"), ("Lint it", "failure")]
    assert [step["name"] for step in jobs[0]["steps"]] == [
        "Set up job", "Run actions/checkout@v4", "Test", "Complete job"]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "body", "message"),
    [
        ("push.yml", {"ref": "main"}, "Workflow does not have 'workflow_dispatch' trigger"),
        ("ci.yml", {"ref": "nowhere"}, "No ref found for: nowhere"),
        ("ci.yml", {"ref": "main"}, "Required input 'reason' not provided"),
        ("ci.yml", {"ref": "main", "inputs": {"x": "1"}}, 'Unexpected inputs provided: ["x"]'),
        ("ci.yml", {"ref": "main", "inputs": {"reason": "x", "level": "top"}},
         "Provided value 'top' for input 'level' not in the list of allowed values"),
    ],
)  # fmt: skip
def test_a_dispatch_that_the_workflow_does_not_allow_is_refused(
    hub: Hub, file: str, body: dict[str, Any], message: str
) -> None:
    """https://docs.github.com/en/actions/how-tos/manage-workflow-runs/manually-run-a-workflow"""
    answer = Caller(hub).rest("POST", f"{REPO}/actions/workflows/{file}/dispatches", body)
    assert (answer.status, answer.body["message"]) == (422, message)
    assert Caller(hub).get(RUNS)["total_count"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\non: push\njobs: " + "[" * 900,
        f"steps: &s [{'{run: x}, ' * 300}]\njobs: {{{', '.join(f'j{at}: {{steps: *s}}' for at in range(300))}}}",
        "a: &a {x: 1}\nb: &b {<<: [*a, *a]}\nc: &c {<<: [*b, *b]}",
        "name: [1]\non: [[push]]\njobs: 3",
        "\x00",
    ],
)  # fmt: skip
def test_a_hostile_workflow_file_is_read_within_limits(text: str) -> None:
    file = read_workflow(text.encode(), "ci.yml")
    assert file.name == "ci.yml"
    assert len(file.jobs) <= 256
    assert all(len(job.steps) <= 258 for job in file.jobs)


def test_a_rerun_takes_the_next_scripted_conclusion_and_checks_follow(hub: Hub) -> None:
    """https://docs.github.com/en/actions/how-tos/manage-workflow-runs/re-run-workflows-and-jobs"""
    run, caller = failed_run(hub, "failure", "success"), Caller(hub)
    url = f"{RUNS}/{run.id}"
    assert conclusions(hub) == {"build": "failure", "Lint it": "success"}
    assert Caller(hub, READER).rest("POST", f"{url}/rerun").status == 403
    assert caller.rest("POST", f"{url}/rerun").status == 201
    assert (caller.get(url)["run_attempt"], caller.get(url)["conclusion"]) == (2, "failure")
    lint = caller.get(f"{url}/jobs")["jobs"][1]["id"]
    assert caller.rest("POST", f"{url}/rerun-failed-jobs").status == 201
    last = caller.get(url)
    assert (last["run_attempt"], last["status"], last["conclusion"]) == (3, "completed", "success")
    jobs = caller.get(f"{url}/jobs")["jobs"]
    assert [(job["name"], job["run_attempt"], job["conclusion"]) for job in jobs] == [
        ("build", 3, "success"), ("Lint it", 2, "success")]  # fmt: skip
    assert jobs[1]["id"] == lint, "a job that was not run again stays"
    assert len(caller.get(f"{url}/jobs?filter=all")["jobs"]) == 5
    assert caller.get(f"{url}/attempts/1")["conclusion"] == "failure"
    assert caller.get(f"{url}/attempts/1/jobs")["jobs"][0]["id"] == run.jobs[0].id
    assert caller.rest("GET", f"{url}/attempts/4").status == 404
    assert conclusions(hub) == {"build": "success", "Lint it": "success"}
    assert caller.rest("POST", f"{url}/rerun-failed-jobs").status == 403, "nothing failed"


def test_a_rerun_without_a_script_ends_as_before_or_goes_to_the_runner(hub: Hub) -> None:
    """https://docs.github.com/en/rest/actions/workflow-runs#re-run-a-workflow"""
    run, caller = failed_run(hub), Caller(hub)
    job = f"{REPO}/actions/jobs/{run.jobs[0].id}"
    assert caller.rest("POST", f"{job}/rerun").status == 201
    assert caller.get(f"{RUNS}/{run.id}")["conclusion"] == "failure"
    queued: list[RunRecord] = []
    hub.runner = lambda _, run: queued.append(run)
    assert caller.rest("POST", f"{RUNS}/{run.id}/rerun").status == 201
    assert caller.rest("POST", f"{job}/rerun").status == 403, "of an attempt before"
    assert [(run.attempt, run.status) for run in queued] == [(3, "queued")]
    assert conclusions(hub) == {"build": None, "Lint it": None}
    session: HubSession = hub.session(AUTHOR)
    again = caller.rest("POST", f"{RUNS}/{run.id}/rerun")
    assert (again.status, again.body["message"]) == (403, "This workflow is already running")
    assert finish_attempt(session, queued[0], run.jobs[1:]).conclusion == "failure", "of build, which was not replaced"


def test_only_a_run_that_is_not_completed_can_be_cancelled(hub: Hub) -> None:
    """https://docs.github.com/en/rest/actions/workflow-runs#cancel-a-workflow-run"""
    run, caller = failed_run(hub), Caller(hub)
    assert caller.rest("POST", f"{RUNS}/{run.id}/cancel").status == 409
    caller.rest("POST", f"{REPO}/actions/workflows/ci.yml/dispatches", {"ref": "main", "inputs": {"reason": "x"}})
    queued = caller.get(f"{RUNS}?status=queued")["workflow_runs"][0]
    assert caller.rest("DELETE", f"{RUNS}/{queued['id']}").status == 403
    assert caller.rest("POST", f"{RUNS}/{queued['id']}/cancel").status == 202
    assert caller.get(f"{RUNS}/{queued['id']}")["conclusion"] == "cancelled"
    jobs = caller.get(f"{RUNS}/{queued['id']}/jobs")["jobs"]
    assert {job["conclusion"] for job in jobs} == {"cancelled"}
    assert caller.rest("DELETE", f"{RUNS}/{queued['id']}").status == 204
    assert caller.rest("GET", f"{RUNS}/{queued['id']}").status == 404


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 1), ("branch=main", 1), ("branch=topic", 0), ("event=push", 1), ("event=pull_request", 0),
     ("status=failure", 1), ("status=completed", 1), ("status=success", 0), ("actor=OCTOCAT", 1), ("actor=hubot", 0),
     ("head_sha=none", 0), ("created=>=2026-01-01", 1), ("created=2025-01-01..2025-12-31", 0)],
)  # fmt: skip
def test_runs_are_filtered(hub: Hub, query: str, count: int) -> None:
    """https://docs.github.com/en/rest/actions/workflow-runs#list-workflow-runs-for-a-repository"""
    failed_run(hub)
    assert Caller(hub).get(f"{RUNS}?{query}")["total_count"] == count


def test_logs_are_behind_a_redirect_that_needs_no_token(hub: Hub) -> None:
    """https://docs.github.com/en/rest/actions/workflow-runs#download-workflow-run-logs"""
    run, caller = failed_run(hub), Caller(hub)
    archive = zipfile.ZipFile(io.BytesIO(behind(hub, f"{RUNS}/{run.id}/logs")))
    names = ["0_build.txt", "build/1_Set up job.txt", "build/2_Test.txt", "build/4_Complete job.txt", "1_Lint it.txt"]
    assert archive.namelist() == names
    assert [line.partition(" ")[2] for line in archive.read("build/2_Test.txt").decode().splitlines()] == [
        "##[group]Run Test", "##[endgroup]", "1 failed", "##[error]Bad sum"]  # fmt: skip
    log = behind(hub, f"{REPO}/actions/jobs/{run.jobs[0].id}/logs")
    assert log == archive.read("0_build.txt")
    assert caller.rest("GET", f"{REPO}/actions/jobs/{run.jobs[1].id}/logs").status == 404
    elsewhere = caller.rest("GET", f"{RUNS}/{run.id}/logs", host="github.localhost").headers["Location"]
    assert elsewhere.startswith("http://github.localhost/api/v3/")
    assert caller.rest("DELETE", f"{RUNS}/{run.id}/logs").status == 204
    assert caller.rest("GET", f"{RUNS}/{run.id}/logs").status == 404


def behind(hub: Hub, url: str) -> bytes:
    """Return what a redirect leads to, for nobody."""
    answer = Caller(hub).rest("GET", url)
    assert (answer.status, answer.body) == (302, None)
    path = answer.headers["Location"].removeprefix("https://api.github.com")
    content = handle(hub.session(None), "GET", path, {}, b"", {}).answer.content
    assert content is not None
    return content


def test_annotations_of_a_job_are_those_of_its_check(hub: Hub) -> None:
    """https://docs.github.com/en/rest/checks/runs#list-check-run-annotations"""
    run = failed_run(hub)
    annotations = Caller(hub).get(f"{REPO}/check-runs/{run.jobs[0].id}/annotations")
    assert [(note["path"], note["annotation_level"], note["message"]) for note in annotations] == [
        ("src/app.py", "failure", "Bad sum")]  # fmt: skip
    assert Caller(hub).get(f"{RUNS}/{run.id}/artifacts") == {"total_count": 0, "artifacts": []}
    assert Caller(hub).get(f"{RUNS}/{run.id}/timing")["run_duration_ms"] == 0
