"""Readiness of a pull request by the workflow that `init` writes, as act runs it: measure, comment, keep the rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.onboarding.init import workflow_files
from scylla_gha.onboarding.toolkit import Toolkit
from scylla_gha.report.readiness_text import MARKER
from tests.support import git_server, github_api
from tests.support.act import REF, REPOSITORY, TOOLKIT, Ran, actions, add_workflow, git, look_at
from tests.support.readiness_repository import readiness_repository

KEY = "sk-ant-canary-0123456789"
FORK = "stranger/app"


def caller() -> str:
    """The workflow of `init` with its automatic trigger on, for an agent without a model."""
    files = workflow_files("app", Toolkit(TOOLKIT, REF))
    text = next(file.content.decode() for file in files if file.path.endswith("scylla-readiness.yml"))
    on = text.replace("  # pull_request:", "  pull_request:").replace("  #   types:", "    types:")
    return on.replace(
        "    with:\n", '    with:\n      agent: oracle\n      dimensions: "3"\n      sandbox: bubblewrap\n'
    ).replace("|| '12'", "|| '8'")


def labeled(base: str, head: str, repository: str = REPOSITORY) -> dict[str, Any]:
    """Return the event of a label on pull request 7."""
    pull = {"number": 7, "base": {"sha": base, "ref": "main"}, "head": {"sha": head, "ref": "topic",
            "repo": {"full_name": repository}}}  # fmt: skip
    return {"action": "labeled", "number": 7, "pull_request": pull}


def run_all(folder: Path) -> None:
    """A pull request that adds instructions for agents, and one of a fork."""
    one = actions(folder, readiness_repository(folder / "repo", "python"))
    add_workflow(one.repository, "scylla-readiness.yml", caller())
    base = one.commit()
    (one.repository / "CLAUDE.md").write_text("Money is counted in cents.\n")
    head = one.commit(branch="topic")
    github = github_api.State()
    github.pull(7, head)
    secrets = {"ANTHROPIC_API_KEY": KEY, "GITHUB_TOKEN": github_api.TOKEN}
    with git_server.serve(one.services / "git") as server, github_api.serving(github):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server}
        theirs = one.run("scylla-readiness.yml", "pull_request", labeled(base, head, FORK), secrets=secrets)
        theirs.save(folder / "fork.json")
        ran = one.run("scylla-readiness.yml", "pull_request", labeled(base, head), secrets=secrets)
        ran.save(folder / "measured.json")
    (folder / "said.json").write_text(json.dumps(github.bodies(7)))


def both_jobs_succeed(flow: Path) -> None:
    ran = Ran.load(flow / "measured.json")
    assert ran.ended == {"measure": "succeeded", "tell": "succeeded"}, ran.log()[-3000:]
    (summary,) = ran.summaries
    assert "readiness 100" in summary


def a_fork_starts_no_job(flow: Path) -> None:
    assert Ran.load(flow / "fork.json").ended == {}


def the_comment_compares_the_change_with_its_base(flow: Path) -> None:
    (comment,) = json.loads((flow / "said.json").read_text())
    assert comment.startswith(f"{MARKER}\n> [!")
    assert "> **readiness 100" in comment
    assert "/actions/runs/7001" in comment


def rows_are_on_the_results_branch(flow: Path) -> None:
    origin = flow / "services/git" / f"{REPOSITORY}.git"
    names = git(origin, "ls-tree", "-r", "--name-only", "scylla-results").splitlines()
    assert {name.rpartition("/")[2] for name in names} >= {"readiness.json", "readiness.md", "report.json"}
    assert not any(name.startswith("badges/") for name in names), "a pull request changes no badge"
    assert "[pull request 7]" in git(origin, "show", "scylla-results:README.md")
    (page,) = (name for name in names if name.endswith("/readme.md"))
    assert git(origin, "show", f"scylla-results:{page}").startswith("# readiness 100")


def the_artifact_has_the_page(flow: Path) -> None:
    (artifact,) = (flow / "services/artifacts").iterdir()
    assert artifact.name == "scylla-readiness-1"
    assert "How well can an agent work in" in (artifact / "report.html").read_text()


def the_key_is_in_no_log_and_in_no_artifact(flow: Path) -> None:
    assert KEY not in Ran.load(flow / "measured.json").log()
    kept = [path for path in (flow / "services").rglob("*") if path.is_file()]
    assert kept
    assert not any(KEY.encode() in path.read_bytes() for path in kept)


# One test: what is looked at comes from one run, which takes long, and which no second process should wait for.
CHECKS = (
    both_jobs_succeed,
    a_fork_starts_no_job,
    the_comment_compares_the_change_with_its_base,
    rows_are_on_the_results_branch,
    the_artifact_has_the_page,
    the_key_is_in_no_log_and_in_no_artifact,
)


def test_what_the_run_shows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
