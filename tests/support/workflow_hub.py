"""A hub's process with a runner of workflows, and gh and git as its clients."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scylla_gha.attempt.workflow_runner import WorkflowRunner
from scylla_gha.attempt.workflow_steps import WorkflowBox
from scylla_gha.hub.client import HubProcess
from scylla_gha.hub.clients import gh_environment, git_environment
from scylla_gha.hub.control import AttachedCell, AttachRequest
from scylla_gha.model.sandbox import Tools
from scylla_gha.prepare.tools import search_path
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget, temporary
from tests.support.library import write

BIN = Path(sys.executable).parent  # gh
REPO = "octo-org/demo"
FIXTURE = """\
begin: 2026-01-05T09:00:00Z
users:
  org: {login: octo-org, kind: Organization}
  author: {login: octocat, name: Octo Cat}
repository: {owner: org, name: demo}
history:
  - commit: {branch: main, author: author, message: Begin, files: {README.md: "Demo\\n"}}
"""


@dataclass(frozen=True)
class WorkflowHub:
    """A cell with a runner; `folder` has a clone of its repository."""

    hub: HubProcess
    cell: AttachedCell
    runner: WorkflowRunner
    folder: Path

    @property
    def clone(self) -> Path:
        """The clone."""
        return self.folder / "demo"

    def run(self, *argv: str, code: int | None = 0) -> str:
        """Run gh or git in the clone and return what it printed, errors included."""
        home = self.folder / "home"
        token = self.cell.tokens["author"]
        clients = gh_environment(self.cell.socket, token, home) | git_environment(self.cell.port or 0, token, home)
        env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(home), "GH_REPO": REPO, **clients}
        cwd = self.clone if self.clone.exists() else self.folder
        ran = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False,
                             stdin=subprocess.DEVNULL)  # fmt: skip
        assert code is None or ran.returncode == code, f"{argv}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr

    def push(self, files: dict[str, str], message: str, branch: str = "main") -> None:
        """Commit files on a branch, which may be new, and push it."""
        if self.run("git", "branch", "--show-current").strip() != branch:
            self.run("git", "switch", "--quiet", "-C", branch)
        for name, text in files.items():
            write(self.clone / name, text)
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--allow-empty", "--message", message)
        self.run("git", "push", "--quiet", "--set-upstream", "origin", branch)

    def runs(self) -> list[dict[str, Any]]:
        """The runs, the newest first."""
        fields = "databaseId,status,conclusion,event,headBranch,displayTitle,workflowName,attempt"
        runs: list[dict[str, Any]] = json.loads(self.run("gh", "run", "list", "--limit", "100", "--json", fields))
        return runs

    def watch(self, *options: str, code: int | None = 0) -> dict[str, Any]:
        """Wait for the end of the newest run and return it."""
        self.run("gh", "run", "watch", str(self.runs()[0]["databaseId"]), "--interval", "1", *options, code=code)
        return self.runs()[0]

    def await_step(self, run: str, number: int) -> None:
        """Wait until a step of a run's first job is in progress."""
        while self._jobs(run)[0]["steps"][number - 1]["status"] != "in_progress":
            time.sleep(0.1)

    def conclusions(self, run: str) -> dict[str, list[str]]:
        """The conclusions of all steps, by their jobs' names."""
        return {job["name"]: [step["conclusion"] for step in job["steps"]] for job in self._jobs(run)}

    def _jobs(self, run: str) -> list[dict[str, Any]]:
        jobs: list[dict[str, Any]] = json.loads(self.run("gh", "run", "view", run, "--json", "jobs"))["jobs"]
        return jobs


@contextmanager
def workflow_hub(folder: Path, fixture: str = FIXTURE, sandbox: str = "bubblewrap") -> Iterator[WorkflowHub]:
    """A hub whose workflows run in a sandbox."""
    write(folder / "fixture/github.yaml", fixture)
    (folder / "home").mkdir()
    with temporary() as short, HubProcess.start() as hub:
        request = AttachRequest(cell="cell", fixture=folder / "fixture", cache=folder / "cache", folder=short / "hub",
                                socket=short / "hub.sock", loopback=True, runner=True)  # fmt: skip
        cell = hub.attach(request)
        box = WorkflowBox(SandboxTarget(SANDBOXES[sandbox]), search_path(Tools(), folder))
        runner = WorkflowRunner(hub, cell, request.folder / "repositories", box)
        runner.start()
        served = WorkflowHub(hub, cell, runner, folder)
        try:
            served.run("git", "clone", "--quiet", f"https://github.com/{REPO}")
            yield served
        finally:
            runner.finish(0.0)
