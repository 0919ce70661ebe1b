"""Results branches in real bare repositories."""

from pathlib import Path
from typing import Any

from scylla_gha.aggregate import aggregate
from scylla_gha.model.publication import Origin, RunName
from scylla_gha.model.result import Result
from scylla_gha.results_branch.clone import BranchClone, GitRemote
from scylla_gha.results_branch.publish_run import RunToPublish, pack_run
from scylla_gha.store import read_lines, read_record, write_lines, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.git import shell
from tests.support.records import make_plan, make_result
from tests.support.sent import CELLS

NAME = RunName(experiment="demo", run="7", attempt=1)
BRANCH = "scylla-results"


def bare(root: Path) -> Path:
    """A repository as GitHub has it: it takes filters, and refuses to lose commits."""
    place = root / "server.git"
    shell(root, f"git init -q --bare {place.name}")
    shell(place, "git config uploadpack.allowFilter true; git config receive.denyNonFastForwards true")
    return place


def copy_of(root: Path, server: Path, branch: str = BRANCH) -> BranchClone:
    """A copy in a new folder."""
    number = len(list(root.glob("copy-*")))
    return BranchClone(root / f"copy-{number}", GitRemote(f"file://{server}"), branch)


def reported(root: Path, *rows: Result, **given: Any) -> RunFolder:
    """A run's folder with plan, rows and report."""
    folder, plan = RunFolder(root), make_plan(*CELLS, **given)
    write_record(folder.plan, plan)
    write_lines(folder.results, rows or [make_result(cell) for cell in CELLS])
    write_record(folder.report("json"), aggregate(plan, read_lines(folder.results, Result)))
    return folder


def a_run(root: Path, *rows: Result, name: RunName = NAME, **origin: Any) -> RunToPublish:
    """A run, ready to be appended."""
    from scylla_gha.model.report import Report

    folder = reported(root / "demo", *rows)
    report = read_record(folder.report("json"), Report)
    assert report is not None
    packed = pack_run(folder.results, folder.report("json"))
    return RunToPublish(name, Origin(**origin), make_plan(*CELLS), report, packed)


def paths(server: Path, branch: str = BRANCH) -> list[str]:
    return shell(server, f"git ls-tree -r --name-only {branch}").splitlines()
