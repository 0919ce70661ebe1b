"""publish: what was found is put where others look for it. Each place is a function of its own."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.errors import ConfigError
from scylla_gha.history.append import Appended, Backoff, Run, append
from scylla_gha.history.copy import Copy
from scylla_gha.history.pack import pack
from scylla_gha.history.remote import Remote
from scylla_gha.model.plan import Plan
from scylla_gha.model.published import Origin, RunName
from scylla_gha.model.report import Report
from scylla_gha.store import RunFolder, read_record


@dataclass(frozen=True, slots=True)
class Branch:
    """A results branch, and where it is."""

    remote: Remote
    name: str


def found(folder: RunFolder) -> tuple[Plan, Report]:
    """The plan and the report that a run's folder holds.

    Raises:
        ConfigError: one of them is not there.
    """
    plan, report = read_record(folder.plan, Plan), read_record(folder.report("json"), Report)
    if plan is None or report is None:
        raise ConfigError(f"{folder.root}: there is no plan.json or no report.json; run `scylla-gha collect "
                          f"{folder.root.name}` and `scylla-gha aggregate {folder.root.name}` first")  # fmt: skip
    return plan, report


def to_branch(
    folder: RunFolder, branch: Branch, name: RunName | None, origin: Origin, backoff: Backoff = Backoff()
) -> Appended:
    """Put rows and report on the results branch, once.

    Args:
        folder: of the run.
        branch: to put them on.
        name: of the run there; None: of a run on this machine, by what it found.
        origin: what was evaluated.
        backoff: how often to try.

    Raises:
        ConfigError: something is not there to be published, or the run is there with other content.
        GitHubError: the branch cannot be pushed to.
    """
    plan, report = found(folder)
    packed = pack(folder.results, folder.report("json"))
    called = name or RunName(experiment=folder.root.name, run=f"local-{packed.content[:12]}")
    with tempfile.TemporaryDirectory(prefix="scylla-gha-") as root:
        copy = Copy(Path(root), branch.remote, branch.name)
        return append(copy, Run(called, origin, plan, report, packed), backoff)
