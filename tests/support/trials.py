"""Trials as an agent would have left them."""

import tempfile
from pathlib import Path
from typing import Any

from scylla_gha.judge import JudgingContext
from scylla_gha.judge.panel import GatewayPanel
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Trial
from scylla_gha.prepare import PreparedScenario
from scylla_gha.prepare.workspace import open_workspace, snapshot
from scylla_gha.sandboxes.base import SandboxTarget
from scylla_gha.sandboxes.host import HostSandbox
from scylla_gha.store import write_bytes
from scylla_gha.store.run_folder import CellFolder
from scylla_gha.system.process import Cancel
from tests.support.git import shell
from tests.support.records import make_attempt, make_cell, make_trial

CELL = make_cell(scenario="101-greet")
SOLVE = "printf '#!/bin/sh\\necho hello\\n' >greet.sh"


def make_judging_context(
    cancel: Cancel | None = None, panel: GatewayPanel | None = None, digest: str = "", **limits: Any
) -> JudgingContext:
    """The host, with an experiment's limits, and perhaps a panel of that digest."""
    return JudgingContext(
        SandboxTarget(HostSandbox()), TrialLimits.model_validate(limits), cancel or Cancel(), panel, digest
    )


def leave_trial(prepared: PreparedScenario, folder: CellFolder, do: str = SOLVE, **attempt: Any) -> Trial:
    """The trial of an agent that did what the shell script does; its diff lies in the cell's folder."""
    with tempfile.TemporaryDirectory() as root:
        workspace = open_workspace(prepared.start, Path(root) / "w")
        shell(workspace.repo, do)
        diff, patch = snapshot(prepared.start, workspace, 10_000_000)
    made = make_attempt(**{"diff": diff, **attempt})
    if patch:
        write_bytes(folder.attempt(made.number).file("diff.patch"), patch)
    return make_trial(CELL, made)
