"""Runs, logs and releases through the MCP server, PyGithub and octokit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hub import NAME, OWNER
from tests.support.hub_clients import mcp_server, octokit, pygithub
from tests.support.hub_runs import failed_run, hub_with_workflows
from tests.support.hub_server import ServedHub, serving_hub


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    with serving_hub(hub_with_workflows(tmp_path / "hub"), tmp_path / "served") as running:
        yield running


def test_the_mcp_server_reads_logs_and_runs_failed_jobs_again(served: ServedHub) -> None:
    run = failed_run(served.hub, "success")
    with mcp_server(served) as mcp:
        logs = mcp.tool("get_job_logs", run_id=run.id, failed_only=True, return_content=True, tail_lines=2)["logs"]
        assert [log["job_name"] for log in logs] == ["build"]
        assert "##[error]Bad sum" in logs[0]["logs_content"]
        mcp.tool("rerun_failed_jobs", run_id=run.id)
        assert mcp.tool("get_workflow_run", run_id=run.id)["conclusion"] == "success"
        mcp.tool("run_workflow", workflow_id="ci.yml", ref="main", inputs={"reason": "x"})
        runs = mcp.tool("list_workflow_runs", workflow_id="ci.yml")["workflow_runs"]
        assert [run["status"] for run in runs] == ["queued", "completed"]
        mcp.tool("cancel_workflow_run", run_id=runs[0]["id"])
        assert mcp.tool("list_workflow_runs", workflow_id="ci.yml", status="cancelled")["total_count"] == 1


def test_gh_shows_the_steps_of_attempts_and_their_logs(served: ServedHub) -> None:
    run = failed_run(served.hub, "success")
    at = ("-R", f"{OWNER}/{NAME}")
    assert "build\tTest\t" in served.run("gh", "run", "view", str(run.id), "--log", *at)
    served.run("gh", "run", "rerun", "--job", str(run.jobs[0].id), *at)
    served.run("gh", "run", "view", str(run.id), "--exit-status", *at)
    failed = served.run("gh", "run", "view", str(run.id), "--attempt", "1", "--log-failed", *at)
    assert [line.split("\t")[:2] for line in failed.splitlines()] == [["build", "Test"]] * 4
    shown = served.run("gh", "run", "view", str(run.id), "--attempt", "1", *at)
    assert "build: src/app.py#2" in shown
    served.run("gh", "run", "delete", str(run.id), *at)


def test_assets_are_uploaded_by_pygithub_and_octokit(served: ServedHub, tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text("{}")
    repository = pygithub(served).get_repo(f"{OWNER}/{NAME}")
    release = repository.create_git_release("v1", "One", "Notes")
    assert release.upload_asset(str(file)).size == 2
    script = """
        const { data: release } = await octokit.rest.repos.getReleaseByTag({ ...at, tag: "v1" });
        const upload = { ...at, release_id: release.id, name: "x.txt", data: "hello", baseUrl };
        await octokit.rest.repos.uploadReleaseAsset(upload);
        const { data: assets } = await octokit.rest.repos.listReleaseAssets({ ...at, release_id: release.id });
        console.log(JSON.stringify(assets.map((asset) => asset.name)));
    """
    assert octokit(served, script) == ["data.json", "x.txt"]
    assert repository.get_latest_release().tag_name == "v1"
