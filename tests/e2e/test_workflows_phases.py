"""Runs that are made of others: a fork's pull request, posted by a second phase, and the search for regressions."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import git_server, github_api
from tests.support.act import REPOSITORY, ROOT, Actions, Ran, actions, add_workflow, git, look_at
from tests.support.engine import found_by
from tests.support.repository import make_repository

pytestmark = pytest.mark.usefixtures("running_engine")
FORK = "stranger/app"


def run_all(folder: Path) -> None:
    """A fork's run that may not write, what posts for it, and a look for regressions."""
    one = actions(folder, make_repository(folder / "repo").root)
    ci = (ROOT / ".github/workflows/ci.yml").read_text()
    add_workflow(one.repository, "ci.yml", ci.replace("experiment: quickstart", "experiment: greet"))
    for name in ("publish.yml", "regression.yml"):
        add_workflow(one.repository, name)
    one.commit()
    github = github_api.State()
    with git_server.serve(one.services / "git") as server, github_api.serving(github):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server, **found_by()}
        _fork(one, github)
        one.env["GITHUB_RUN_ID"] = "7003"
        one.services.joinpath("artifacts").rename(folder / "artifacts-7001")
        asked = {"experiment": "greet", "runs-on": "ubuntu-latest", "parallelism": "2"}
        secrets = {"GITHUB_TOKEN": github_api.TOKEN}
        one.run("regression.yml", payload={"inputs": asked}, secrets=secrets).save(folder / "regression.json")
    said = {"comments": github.bodies(8), "checks": github.checks, "issues": list(github.issues.values())}
    (folder / "said.json").write_text(json.dumps(said))


def _fork(one: Actions, github: github_api.State) -> None:
    head = one.commit(branch="theirs")
    github.pull(8, head, repository=FORK, ref="theirs")
    run = {"id": 7001, "event": "pull_request", "head_sha": head, "head_branch": "theirs", "run_attempt": 1,
           "head_repository": {"full_name": FORK}, "html_url": "https://h/7001",
           "created_at": "2026-01-02T00:00:00Z"}  # fmt: skip
    github.runs[7001] = run
    opened = {
        "number": 8,
        "pull_request": {"number": 8, "head": {"sha": head, "ref": "theirs"}, "base": {"ref": "main"}},
    }
    first = one.run("ci.yml", "pull_request", opened, job="scenarios")
    first.save(one.folder / "fork.json")
    (one.folder / "asked.json").write_text(json.dumps(github.asked))
    told = {
        "action": "completed",
        "workflow_run": run,
        "repository": {"full_name": REPOSITORY, "default_branch": "main"},
    }
    secrets = {"GITHUB_TOKEN": github_api.TOKEN}
    second = one.run("publish.yml", "workflow_run", told, env={"GITHUB_RUN_ID": "7002"}, secrets=secrets)
    second.save(one.folder / "posted.json")


def said_of(flow: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((flow / "said.json").read_text())
    return found


def a_forks_run_asks_nothing_of_github_and_leaves_one_file(flow: Path) -> None:
    assert set(Ran.load(flow / "fork.json").ended.values()) == {"succeeded"}
    assert json.loads((flow / "asked.json").read_text()) == []
    left = flow / "artifacts-7001/scylla-pending-greet-1"
    assert [path.name for path in left.iterdir()] == ["pending.json"]


def what_the_fork_brings_is_run_in_containers(flow: Path) -> None:
    rows = (flow / "artifacts-7001/scylla-report-greet-1/results.jsonl").read_text().splitlines()
    assert [json.loads(row)["sandbox"] for row in rows] == ["docker", "docker"]


def the_second_phase_posts_it(flow: Path) -> None:
    said = said_of(flow)
    assert Ran.load(flow / "posted.json").ended == {"publish": "succeeded"}
    (comment,) = said["comments"]
    assert "greet" in comment
    head = json.loads((flow / "artifacts-7001/scylla-pending-greet-1/pending.json").read_text())["facts"]["head"]
    assert head in {check["head_sha"] for check in said["checks"]}


def without_a_regression_nothing_is_measured_again_and_no_issue_opened(flow: Path) -> None:
    said = said_of(flow)
    ran = Ran.load(flow / "regression.json")
    assert ran.ended == {"plan": "succeeded", "builtin-cell 0": "succeeded", "builtin-cell 1": "succeeded",
                         "report": "succeeded", "look": "succeeded"}  # fmt: skip
    assert said["issues"] == []
    names = git(flow / "services/git" / f"{REPOSITORY}.git", "ls-tree", "-r", "--name-only", "scylla-results")
    assert "7003-1" in names


# One test: what is looked at comes from one run, which takes long, and which no second process should wait for.
CHECKS = (
    a_forks_run_asks_nothing_of_github_and_leaves_one_file,
    what_the_fork_brings_is_run_in_containers,
    the_second_phase_posts_it,
    without_a_regression_nothing_is_measured_again_and_no_issue_opened,
)


def test_what_the_run_shows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
