"""The real workflows, run by act: an experiment called from a user's repository, a lost job, and running again."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import git_server, github_api
from tests.support.act import REF, TOOLKIT, Ran, actions, add_workflow, git, look_at
from tests.support.command import scylla
from tests.support.repository import environment, make_repository
from tests.support.rows import TIMES

KEY = "sk-ant-canary-0123456789"
CALLER = f"""\
name: Ours
on: workflow_dispatch
permissions: {{}}
jobs:
  evaluate:
    uses: {TOOLKIT}/.github/workflows/evaluate.yml@{REF}
    permissions: write-all
    with: {{experiment: greet, lanes: 2, minutes: 60, runs-on: '["ubuntu-latest"]'}}
    secrets: {{ANTHROPIC_API_KEY: "${{{{ secrets.ANTHROPIC_API_KEY }}}}"}}
  after:
    needs: evaluate
    if: always()
    runs-on: ubuntu-latest
    steps:
      - run: echo "OUTPUTS $OUTPUTS"
        env: {{OUTPUTS: "${{{{ toJSON(needs.evaluate.outputs) }}}}"}}
"""
INPUTS = {"experiment": "greet", "lanes": "2", "parallelism": "2", "minutes": "60", "runs-on": "ubuntu-latest",
          "results-branch": "scylla-results", "environment": "scylla-eval"}  # fmt: skip


def run_all(folder: Path) -> None:
    """A first attempt that loses a job's rows, a second one, and another run by hand."""
    one = actions(folder, make_repository(folder / "repo").root)
    add_workflow(one.repository, "ours.yml", CALLER)
    add_workflow(one.repository, "dispatch.yml")
    one.commit()
    github = github_api.State()
    secrets = {"ANTHROPIC_API_KEY": KEY, "GITHUB_TOKEN": github_api.TOKEN}
    with git_server.serve(one.services / "git") as server, github_api.serving(github):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server}
        lost = {"STAND_IN_BREAKS": "scylla-rows-greet-001-*"}
        one.run("ours.yml", env=lost, secrets=secrets).save(folder / "first.json")
        one.run("ours.yml", env={"GITHUB_RUN_ATTEMPT": "2"}, secrets=secrets).save(folder / "again.json")
        other = {"GITHUB_RUN_ID": "7002"}
        artifacts = one.services / "artifacts"
        artifacts.rename(folder / "artifacts-7001")
        one.run("dispatch.yml", payload={"inputs": INPUTS}, env=other, secrets=secrets).save(folder / "reused.json")
    (folder / "checks.json").write_text(json.dumps(github.checks))


def outputs(ran: Ran) -> dict[str, str]:
    """Return what the workflow gave to the one that called it."""
    told = "".join(line.text for line in ran.lines if line.job == "after" and line.is_output)
    found: dict[str, str] = json.loads(told.partition("OUTPUTS ")[2])
    return found


def rows(place: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in place.read_text().splitlines()]


def a_job_that_fails_costs_its_own_cells_and_the_report_names_them(flow: Path) -> None:
    ran = Ran.load(flow / "first.json")
    good = dict.fromkeys(("plan", "builtin-cell 0", "report", "next"), "succeeded")
    assert ran.ended == {**good, "builtin-cell 1": "failed"}
    assert "::set-output:: missing=1" in ran.log("report")  # act runs nothing after a called workflow that failed
    assert "no further wave: no cell is left" in ran.log("next"), "for a lost job there is a re-run"
    (summary,) = ran.summaries
    assert "2 planned" in summary
    assert len(rows(flow / "artifacts-7001/scylla-report-greet-1/results.jsonl")) == 1


def running_again_fills_the_hole_and_nothing_else(flow: Path) -> None:
    ran = Ran.load(flow / "again.json")
    assert {name for name in ran.ended if name.startswith("builtin-cell")} == {"builtin-cell 0"}
    assert set(ran.ended.values()) == {"succeeded"}
    found = outputs(ran)
    assert (found["missing"], found["experiment"], found["report"]) == ("0", "greet", "scylla-report-greet-2")
    assert found["verdict"] in {"better", "worse", "not_enough_data"}
    assert (found["agent_usd"], found["judge_usd"]) == ("0.0000", "0.0000")


def the_rows_are_those_of_the_same_experiment_on_one_machine(flow: Path) -> None:
    root = make_repository(flow / "here" / "repo").root
    assert scylla("evaluate", "greet", cwd=root, env=environment(flow / "here")).code == 0
    here = rows(root / "runs/greet/results.jsonl")
    there = rows(flow / "artifacts-7001/scylla-report-greet-2/results.jsonl")
    differ = {*TIMES, "attempt", "versions"}
    assert [{name: value for name, value in row.items() if name not in differ} for row in there] == [
        {name: value for name, value in row.items() if name not in differ} for row in here
    ]


def a_later_run_takes_all_rows_from_the_results_branch_and_reports(flow: Path) -> None:
    ran = Ran.load(flow / "reused.json")
    assert ran.ended == {"plan": "succeeded", "report": "succeeded"}
    assert "reused: 2 rows" in ran.log("plan")
    assert len(rows(flow / "services/artifacts/scylla-report-greet-1/results.jsonl")) == 2


def every_report_is_on_the_results_branch(flow: Path) -> None:
    names = git(flow / "services/git/octo-org/app.git", "ls-tree", "-r", "--name-only", "scylla-results")
    assert all(f"{run}" in names for run in ("7001-1", "7001-2", "7002-1"))


def a_check_run_says_it_at_the_commit(flow: Path) -> None:
    head = git(flow / "repo", "rev-parse", "HEAD")
    checks = json.loads((flow / "checks.json").read_text())
    assert checks
    assert {check["head_sha"] for check in checks} == {head}


def the_artifacts_are_what_the_jobs_hand_on(flow: Path) -> None:
    assert {path.name for path in (flow / "artifacts-7001").iterdir()} == {
        "scylla-plan-greet-1", "scylla-rows-greet-000-1", "scylla-trials-greet-000-1", "scylla-trials-greet-001-1",
        "scylla-report-greet-1", "scylla-plan-greet-2", "scylla-rows-greet-000-2", "scylla-trials-greet-000-2",
        "scylla-report-greet-2",
    }  # fmt: skip
    report = flow / "artifacts-7001/scylla-report-greet-2"
    assert {"report.json", "report.md", "report.html", "results.csv", "junit.xml", "plan.json", "shards.json"} <= {
        path.name for path in report.iterdir()
    }


def the_key_is_in_no_log_and_in_no_artifact(flow: Path) -> None:
    for name in ("first", "again", "reused"):
        assert KEY not in Ran.load(flow / f"{name}.json").log()
    kept = [path for top in ("services", "artifacts-7001") for path in (flow / top).rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in kept)


def the_toolkit_is_the_commit_of_the_workflow(flow: Path) -> None:
    ran = Ran.load(flow / "again.json")
    assert f"/act/actions/{TOOLKIT.replace('/', '-')}-.github-actions-setup@{REF}" in ran.log("plan")


# One test: what is looked at comes from one run, which takes long, and which no second process should wait for.
CHECKS = (
    a_job_that_fails_costs_its_own_cells_and_the_report_names_them,
    running_again_fills_the_hole_and_nothing_else,
    the_rows_are_those_of_the_same_experiment_on_one_machine,
    a_later_run_takes_all_rows_from_the_results_branch_and_reports,
    every_report_is_on_the_results_branch,
    a_check_run_says_it_at_the_commit,
    the_artifacts_are_what_the_jobs_hand_on,
    the_key_is_in_no_log_and_in_no_artifact,
    the_toolkit_is_the_commit_of_the_workflow,
)


def test_what_the_run_shows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
