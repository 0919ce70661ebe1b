"""Trials as an agent would have left them."""

import tempfile
from pathlib import Path
from typing import Any

from scylla_gha.judge import Bench
from scylla_gha.judges.court import Court
from scylla_gha.model.experiment import Limits
from scylla_gha.model.trial import Trial
from scylla_gha.proc import Cancel
from scylla_gha.sandboxes.base import Place
from scylla_gha.sandboxes.host import HostSandbox
from scylla_gha.seeding.ground import Ground
from scylla_gha.seeding.workspace import open_workspace, snapshot
from scylla_gha.store import CellFolder, write_bytes
from tests.support.git import shell
from tests.support.records import make_attempt, make_cell, make_trial

CELL = make_cell(scenario="101-greet")
SOLVE = "printf '#!/bin/sh\\necho hello\\n' >greet.sh"


def make_bench(cancel: Cancel | None = None, court: Court | None = None, digest: str = "", **limits: Any) -> Bench:
    """The host, with an experiment's limits, and perhaps a court of that digest."""
    return Bench(Place(HostSandbox()), Limits.model_validate(limits), cancel or Cancel(), court, digest)


def leave_trial(ground: Ground, folder: CellFolder, do: str = SOLVE, **attempt: Any) -> Trial:
    """The trial of an agent that did what the shell script does; its diff lies in the cell's folder."""
    with tempfile.TemporaryDirectory() as root:
        workspace = open_workspace(ground.start, Path(root) / "w")
        shell(workspace.repo, do)
        diff, patch = snapshot(ground.start, workspace, 10_000_000)
    made = make_attempt(**{"diff": diff, **attempt})
    if patch:
        write_bytes(folder.attempt(made.number).file("diff.patch"), patch)
    return make_trial(CELL, made)
