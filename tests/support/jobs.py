"""A folder in which commands run as a job of Actions, against the local server."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scylla_gha.model.plan import Plan
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.store import write_lines, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.actions import read_outputs
from tests.support.command import Said, scylla
from tests.support.github_api import REPOSITORY, TOKEN, State


@dataclass(frozen=True)
class Job:
    """Commands of one job; the experiment is `demo`."""

    state: State
    root: Path
    sha: str
    run: int = 55

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.root / "runs" / "demo")

    @property
    def outputs(self) -> dict[str, str]:
        return read_outputs(self.root / "outputs")

    def lay(self, plan: Plan, report: Report | None = None, rows: Sequence[Result] = ()) -> None:
        """Put the records of a run there."""
        write_record(self.folder.plan, plan)
        write_lines(self.folder.results, rows)
        if report is not None:
            write_record(self.folder.report("json"), report)

    def event(self, told: dict[str, Any]) -> None:
        (self.root / "event.json").write_text(json.dumps(told))

    def scylla(self, *args: str, **env: str) -> Said:
        """Run a command, its outputs anew."""
        (self.root / "outputs").unlink(missing_ok=True)
        given = {
            "GITHUB_API_URL": self.state.url, "GITHUB_TOKEN": TOKEN, "GH_TOKEN": "", "NO_PROXY": "127.0.0.1",
            "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_RUN_ID": str(self.run), "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_SERVER_URL": "https://github.com", "GITHUB_SHA": self.sha,
            "GITHUB_OUTPUT": str(self.root / "outputs"), "GITHUB_EVENT_PATH": "", **env,
        }  # fmt: skip
        said = scylla(*args, cwd=self.root, env=given, seconds=120)
        assert "Traceback" not in said.err
        assert TOKEN not in said.out + said.err
        return said
