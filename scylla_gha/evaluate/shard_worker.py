"""Job of one shard: run its cells until the time limit, and write the row of each finished cell."""

import datetime
import hashlib
import platform
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from scylla_gha import __version__
from scylla_gha.agents import find_agent
from scylla_gha.collect import rows
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import ConfigError, ScyllaError
from scylla_gha.evaluate.context import RunOptions, RunSettings, RunState
from scylla_gha.evaluate.model_access import (
    RecordingOptions,
    confirm_spending,
    open_services,
    require_credentials,
    require_safe_sandbox,
)
from scylla_gha.evaluate.run_cells import run_cells_with_progress
from scylla_gha.evaluate.run_experiment import ProfileLog, profile_path
from scylla_gha.model.experiment import agent_name
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan, Shard, ShardManifest, WavePacking
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Trial
from scylla_gha.plan.budget import budgets_left
from scylla_gha.plan.reuse_results import environment_fingerprint, require_same_environment
from scylla_gha.plan.wave import account_for
from scylla_gha.prepare.workspace import remove_stale_workspaces
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.attach import exit_on_signals
from scylla_gha.sandboxes.base import remove_stale_folders
from scylla_gha.store import without_garbage_collection, write_record, write_text
from scylla_gha.store.run_folder import RunFolder, ShardPaths, WavePaths, stored_packing, stored_plan

_NO_RECORDING: Final = RecordingOptions()  # a job asks the provider
_CUT_OFF: Final = "the job ended before the cell was started, or while it was running"
_REASON_CHARACTERS: Final = 600  # maximum length of a cell's stored reason


@dataclass(frozen=True, slots=True)
class ShardCells:
    """A shard, its wave, and a plan of only the shard's cells, in the order of their start."""

    plan: Plan
    packing: WavePacking
    shard: Shard


@without_garbage_collection()
def load_shard(folder: RunFolder, number: int) -> ShardCells:
    """Read the cells of a shard.

    Raises:
        ConfigError: the plan, the packing or the shard is missing, or the packing is for another plan.
    """
    plan, packing = stored_plan(folder), stored_packing(folder)
    account_for(packing, plan)
    shard = next((shard for shard in packing.shards if shard.number == number), None)
    if shard is None:
        last = len(packing.shards) - 1
        shards = f"has the shards 0 to {last}" if packing.shards else "has no shard: all rows were taken over"
        raise ConfigError(f"--shard {number}: {WavePaths(folder.root).packing} {shards}")
    by_id = {cell.id: cell for cell in plan.cells}
    cells = tuple(by_id[name] for name in shard.cells)
    budgets = {"budget_usd": shard.budget_usd, "role_budget_usd": shard.role_budget_usd}
    arms = {cell.arm for cell in cells}
    part = plan.model_copy(
        update={
            "cells": cells,
            "arms": tuple(arm for arm in plan.arms if arm.id in arms),
            "experiment": plan.experiment.model_copy(update=budgets),
        }
    )
    return ShardCells(part, packing, shard)


class ShardWriter:
    """Writer of a shard's rows, used by several threads.

    All rows are written again after each cell, so a killed job loses only its running cells.

    Args:
        shard_cells: the shard.
        attempt: attempt of the workflow run.
        paths: paths of the shard's files.
        reused: earlier rows, by cell.
    """

    def __init__(self, shard_cells: ShardCells, attempt: int, paths: ShardPaths, reused: Mapping[str, Result]) -> None:
        self._packing, self._shard, self._attempt, self._paths = shard_cells.packing, shard_cells.shard, attempt, paths
        self.reused = dict(reused)
        self._rows = {name: row.model_dump_json() for name, row in reused.items()}
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def add(self, plan: Plan, cell: Cell, folder: RunFolder, library: Library) -> Result | None:
        """Collect the row of a finished cell, write all rows, and return the cell's row; None if there is none."""
        row = next(rows(plan.model_copy(update={"cells": (cell,)}), folder, library), None)
        with self._lock:
            self._rows.update({cell.id: row.model_dump_json()} if row else {})
            self._write({})
        return row

    def write(self, unstarted: Mapping[str, str] | None = None) -> dict[str, str]:
        """Write the rows and their manifest.

        Args:
            unstarted: cells that were not started, with the reason.

        Returns:
            The shard's cells without a row, with the reason.
        """
        with self._lock:
            return self._write(unstarted or {})

    def _write(self, unstarted: Mapping[str, str]) -> dict[str, str]:
        lines = "".join(f"{self._rows[name]}\n" for name in self._shard.cells if name in self._rows)
        missing = {
            name: unstarted.get(name, _CUT_OFF)[:_REASON_CHARACTERS]
            for name in self._shard.cells
            if name not in self._rows
        }
        agents = {name: value for name, value in self._packing.footing.items() if name.startswith("agent ")}
        python, system = platform.python_version(), platform.platform()
        write_text(self._paths.rows, lines)
        write_record(
            self._paths.manifest,
            ShardManifest(
                experiment=self._packing.experiment,
                shard=self._shard.number,
                attempt=self._attempt,
                plan=self._packing.plan,
                sha256=hashlib.sha256(lines.encode()).hexdigest(),
                count=len(self._rows),
                carried=len(self.reused),
                unstarted=missing,
                versions={"scylla-gha": __version__, "python": python, "system": system, **agents},
                written_at=datetime.datetime.now(datetime.UTC),
            ),
        )
        return missing


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """Options of a job."""

    workers: int  # maximum number of simultaneous cells
    deadline: float  # time of the monotonic clock after which no cell is started
    yes: bool  # True if the user confirmed the cost
    exposed: bool  # keys may be exposed in the sandbox


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """End of a shard's job."""

    cells: Mapping[str, str]  # cells without a row, with the reason
    is_budget_spent: bool = False
    fault: str | None = None  # fault that somebody has to correct


def run_shard(
    shard_cells: ShardCells, folder: RunFolder, sources: ConfigSources, writer: ShardWriter, options: ShardOptions
) -> ShardOutcome:
    """Run the cells without a row. The rows and their manifest are always written.

    Raises:
        ScyllaError: no cell could be started; the manifest has the reason.
        KeyboardInterrupt: the job was cancelled; finished cells are stored.
    """
    plan = shard_cells.plan
    writer.write()
    if len(writer.reused) == len(plan.cells):
        return ShardOutcome({})
    with exit_on_signals():
        try:
            cells = tuple(cell for cell in plan.cells if cell.id not in writer.reused)
            experiment = budgets_left(plan.experiment, writer.reused.values())
            rest = plan.model_copy(update={"cells": cells, "experiment": experiment})
            settings = _open_run(rest, shard_cells.packing, folder, sources, options)
        except ScyllaError as error:
            writer.write({cell.id: str(error) for cell in plan.cells})
            raise

        log = ProfileLog(profile_path(folder, shard_cells.shard), {cell.id for cell in plan.cells})

        def add_row(cell: Cell, _trial: Trial, _judgment: Judgment | None) -> None:
            if row := writer.add(settings.plan, cell, folder, sources.here):
                log.add(settings, row)

        state = RunState()
        try:
            with open_services(settings, _NO_RECORDING, state) as context:
                run_cells_with_progress(context, cells, add_row)
        finally:
            missing = writer.write(state.unstarted)
    fault = state.full_disk or state.halted or next(iter(state.stopped.values()), None)
    return ShardOutcome(missing, context.is_budget_spent, fault)


def _open_run(
    plan: Plan, packing: WavePacking, folder: RunFolder, sources: ConfigSources, options: ShardOptions
) -> RunSettings:
    """Check agents, credentials, sandbox, consent, and that the planned keys are valid, before the first cell."""
    remove_stale_workspaces()
    remove_stale_folders()
    arms = {arm.id: arm.agent for arm in plan.arms}
    used = {arms[cell.arm] for cell in plan.cells}
    names = (name for name in plan.experiment.agents if agent_name(name)[0] in used)
    agents = {name: find_agent(name, install=True) for name in names}
    require_credentials(agents, plan.experiment, sources.here, _NO_RECORDING)
    if plan.experiment.github != "hub":
        from scylla_gha.evaluate.lanes import require_tokens

        require_tokens(plan, sources.here, folder)
    settings = RunSettings(plan, folder, sources, agents, RunOptions(options.workers, options.deadline))
    require_safe_sandbox(settings, _NO_RECORDING, SANDBOXES[plan.sandbox], allowed=options.exposed)
    settings.sandboxes.check()
    images = settings.sandboxes.image_digests
    versions = {agent_id: installed.version for agent_id, installed in agents.items()}
    fingerprint = environment_fingerprint(plan, sources, images, versions)
    require_same_environment(plan, packing.footing, fingerprint, sources.here, images)
    settings.sandboxes.make_ready(plan)
    confirm_spending(settings, _NO_RECORDING, yes=options.yes)
    return settings
