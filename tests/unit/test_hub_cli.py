"""`scylla-gha hub serve` with the real gh and git, until it is interrupted."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.command import scylla
from tests.support.hub_server import BIN

FIXTURE = Path(__file__).parents[1] / "support/hub_fixture"


def printed_json(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None
    lines: Iterator[str] = iter(process.stdout.readline, "}\n")
    facts: dict[str, Any] = json.loads("".join(lines) + "}")
    return facts


def test_a_fixture_is_served_to_gh_and_git_until_an_interrupt(tmp_path: Path) -> None:
    (tmp_path / "fixture").mkdir()
    (tmp_path / "fixture/github.yaml").write_bytes((FIXTURE / "github.yaml").read_bytes())
    argv = [sys.executable, "-m", "scylla_gha", "hub", "serve", "fixture", "--user", "HUBOT", "--files", "files",
            "--faults", "faults.yaml", "--json"]  # fmt: skip
    (tmp_path / "faults.yaml").write_text("faults: [{kind: server_error, operation: POST */milestones}]\n")
    env = {**os.environ, "SCYLLA_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    with subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as process:
        facts = printed_json(process)
        assert facts["bindings"]["issue.crash"]["number"] == 1
        clients = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), **facts["environment"]}
        told = [
            subprocess.run(command, cwd=tmp_path, env=clients, capture_output=True, text=True, check=True).stdout
            for command in (
                ["gh", "api", "user", "--jq", ".login"],
                ["gh", "label", "create", "new", "-R", "octo-org/demo"],
                ["git", "ls-remote", "--heads", "https://github.com/octo-org/demo"],
            )
        ]
        assert told[0] == "hubot\n"
        assert "refs/heads/fix-add" in told[2]
        milestone = ["gh", "api", "repos/octo-org/demo/milestones", "-f", "title=done anyway"]
        failed = subprocess.run(milestone, cwd=tmp_path, env=clients, capture_output=True, text=True, check=False)
        assert "Server Error (HTTP 500)" in failed.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    content = json.loads((tmp_path / "files/github.json").read_text())
    assert [label["name"] for label in content["end"]["records"]["label"]] == ["bug", "Good First", "new"]
    assert "done anyway" in [milestone["title"] for milestone in content["end"]["records"]["milestone"]]
    assert not Path(facts["socket"]).parent.exists()


def test_a_user_that_the_fixture_lacks_is_named(tmp_path: Path) -> None:
    said = scylla("hub", "serve", str(FIXTURE), "--user", "nobody", cwd=tmp_path,
                  env={"SCYLLA_CACHE": str(tmp_path / "cache")})  # fmt: skip
    assert said.code == 3
    assert "--user: there is no user 'nobody'; the fixture has org, author" in said.err


def test_a_folder_with_files_is_served_as_the_first_person_who_can_push_and_runs_workflows(tmp_path: Path) -> None:
    folder = tmp_path / "fixture"
    (folder / ".github/workflows").mkdir(parents=True)
    (folder / "github.yaml").write_text(
        "users:\n  org: {login: acme, kind: Organization, permission: admin}\n"
        "  guest: {login: guest, permission: read}\n  ann: {login: ann-a}\n"
        "repository: {owner: org, name: demo}\nbegin: 2025-01-01T00:00:00Z\n"
        "history:\n  - commit: {branch: main, author: ann, message: Two, files: {TWO: ''}}\n"
    )
    steps = "[{run: 'echo it runs'}]"
    (folder / ".github/workflows/own.yml").write_text(
        f"on: workflow_dispatch\njobs: {{test: {{runs-on: ubuntu-latest, steps: {steps}}}}}\n"
    )
    argv = [sys.executable, "-m", "scylla_gha", "hub", "serve", "fixture", "--json", "--workflows", "bubblewrap"]
    env = {**os.environ, "SCYLLA_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    with subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as process:
        facts = printed_json(process)
        clients = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), "GH_REPO": "acme/demo",
                   **facts["environment"]}  # fmt: skip
        script = (
            "git clone -q https://github.com/acme/demo && git -C demo log --format=%s && "
            "gh workflow run own.yml && run=$(gh run list --limit 1 --json databaseId --jq '.[0].databaseId') && "
            "gh run watch $run --interval 1 --exit-status && gh run view $run --log"
        )
        try:
            done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=clients, capture_output=True, text=True,
                                  timeout=120, check=False)  # fmt: skip
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert (facts["user"], done.stdout[:19]) == ("ann", "Two\nInitial commit\n")
    assert "it runs" in done.stdout, done.stderr
