"""The work of one job: its cells are opened by the stored plan, travelled with while there is time, and gathered."""

import datetime
import hashlib
import math
import platform
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scylla_gha import __version__
from scylla_gha.collect.rows import rows
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import ConfigError, RefusedError, ScyllaError
from scylla_gha.model.experiment import Experiment, RoleBudgets
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import TIME_OVER, Cell, Plan, Shard, ShardManifest, WavePacking
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Trial
from scylla_gha.pipeline.confirm import confirm_spending
from scylla_gha.pipeline.context import RunContext
from scylla_gha.pipeline.model_access import (
    RecordingOptions,
    gateway_for_run,
    require_credentials,
    require_safe_sandbox,
)
from scylla_gha.pipeline.progress import Progress
from scylla_gha.pipeline.report import stored_plan, without_garbage_collection
from scylla_gha.pipeline.run_cells import run_cells
from scylla_gha.plan.build import InstalledAgent, find_agent
from scylla_gha.plan.cells import agent_name
from scylla_gha.plan.fingerprint import environment_fingerprint, require_same_environment
from scylla_gha.plan.shards import account_for
from scylla_gha.prepare.workspace import remove_stale_workspaces
from scylla_gha.process import Cancel
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.attach import exit_on_signals
from scylla_gha.sandboxes.base import remove_stale_folders
from scylla_gha.store.records import write_record, write_text
from scylla_gha.store.run_folder import RunFolder, ShardPaths, WavePaths, stored_packing

_NO_RECORDING: Final = RecordingOptions()  # a job asks the provider
_UNTIMELY: Final = "the job ended before the cell was started, or while it was at work"
_MOST: Final = 600  # characters of a reason, which stands there for each cell


class ShardWriter:
    """The rows of a shard's cells as they come, from several lanes.

    Args:
        packing: of the wave.
        shard: whose rows they are.
        attempt: of the workflow run.
        shelf: where they are written.
        taken: rows that were there before, by cell.
    """

    def __init__(
        self, packing: WavePacking, shard: Shard, attempt: int, paths: ShardPaths, reused: Mapping[str, Result]
    ) -> None:
        self._packing, self._shard, self._attempt, self._paths = packing, shard, attempt, paths
        self._reused = dict(reused)
        self._rows = {name: row.model_dump_json() for name, row in reused.items()}
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Rows that there are."""
        return len(self._rows)

    def add(self, plan: Plan, cell: Cell, folder: RunFolder, library: Library) -> None:
        """Collect the row of a cell that was worked on, and write all."""
        lines = [row.model_dump_json() for row in rows(plan.model_copy(update={"cells": (cell,)}), folder, library)]
        with self._lock:
            self._rows.update(dict.fromkeys([cell.id], *lines) if lines else {})
            self._write({})

    def write(self, unstarted: Mapping[str, str] | None = None) -> dict[str, str]:
        """Write the rows and their manifest.

        Args:
            unstarted: why cells were not started, where that was chosen.

        Returns:
            The shard's cells without a row, and why.
        """
        with self._lock:
            return self._write(unstarted or {})

    def _write(self, unstarted: Mapping[str, str]) -> dict[str, str]:
        lines = "".join(f"{self._rows[name]}\n" for name in self._shard.cells if name in self._rows)
        missing = {name: unstarted.get(name, _UNTIMELY)[:_MOST] for name in self._shard.cells if name not in self._rows}
        write_text(self._paths.rows, lines)
        write_record(self._paths.manifest, ShardManifest(
            experiment=self._packing.experiment,
            shard=self._shard.number,
            attempt=self._attempt,
            plan=self._packing.plan,
            sha256=hashlib.sha256(lines.encode()).hexdigest(),
            count=len(self._rows),
            carried=len(self._reused),
            unstarted=missing,
            versions=self._versions(),
            written_at=datetime.datetime.now(datetime.UTC),
        ))  # fmt: skip
        return missing

    def _versions(self) -> dict[str, str]:
        agents = {name: value for name, value in self._packing.footing.items() if name.startswith("agent ")}
        return {"scylla-gha": __version__, "python": platform.python_version(), "system": platform.platform(), **agents}


@dataclass(frozen=True, slots=True)
class ShardCells:
    """A shard; `plan` is of its cells alone, in the order in which they are to be started."""

    plan: Plan
    packing: WavePacking
    shard: Shard


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """How a job works: cells at once, when it stops to start them (of the monotonic clock), and what it may do."""

    workers: int
    until: float
    yes: bool
    exposed: bool


@dataclass(frozen=True, slots=True)
class ShardJob:
    """A shard, where its records are, and who gathers its rows."""

    shard_cells: ShardCells
    folder: RunFolder
    sources: ConfigSources
    writer: ShardWriter

    @property
    def library(self) -> Library:
        """Where all but the variants of a change lies."""
        return self.sources.here


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """The cells without a row and why; and whether a budget, or something that is to be mended, is the reason."""

    cells: Mapping[str, str]
    is_budget_spent: bool = False
    fault: str | None = None


def run_shard(job: ShardJob, taken: Mapping[str, Result], options: ShardOptions) -> ShardOutcome:
    """Work on the cells that have no row yet. Whatever happens, the rows and their manifest are written.

    Raises:
        ScyllaError: no cell could be started; the manifest says why.
        KeyboardInterrupt: the job was cancelled; what was done is kept.
    """
    job.writer.write()
    if len(taken) == len(job.shard_cells.plan.cells):
        return ShardOutcome({})
    with exit_on_signals():
        try:
            context = _open(job, taken, options)
        except ScyllaError as error:
            job.writer.write({cell.id: str(error) for cell in job.shard_cells.plan.cells})
            raise
        try:
            _run_with_progress(job, context, options)
        finally:
            missing = job.writer.write(context.unstarted)
    fault = context.full_disk or context.halted or next(iter(context.stopped.values()), None)
    return ShardOutcome(missing, context.is_budget_spent, fault)


def _open(job: ShardJob, taken: Mapping[str, Result], options: ShardOptions) -> RunContext:
    """All that is needed before a first cell: agents, their access, and that the planned keys hold here."""
    remove_stale_workspaces()
    remove_stale_folders()
    plan = _remaining_plan(job.shard_cells.plan, taken)
    agents = _agents(plan)
    require_credentials(agents, plan.experiment.judges, _NO_RECORDING)
    context = RunContext(plan, job.folder, job.sources, agents, Cancel())
    require_safe_sandbox(context, _NO_RECORDING, SANDBOXES[plan.sandbox], allowed=options.exposed)
    context.sandboxes.check()
    images = context.sandboxes.boxing
    here = environment_fingerprint(plan, job.sources, images, agents)
    require_same_environment(plan, job.shard_cells.packing.footing, here, job.library, images)
    context.sandboxes.make_ready(plan)
    confirm_spending(context, _NO_RECORDING, yes=options.yes)
    return context


def _remaining_plan(plan: Plan, taken: Mapping[str, Result]) -> Plan:
    """What is left to do, and to spend."""
    cells = tuple(cell for cell in plan.cells if cell.id not in taken)
    return plan.model_copy(update={"cells": cells, "experiment": budgets_left(plan.experiment, taken.values())})


def budgets_left(experiment: Experiment, paid: Iterable[Result]) -> Experiment:
    """The experiment with what is left of its budgets after rows that were paid of them.

    Raises:
        RefusedError: nothing is left of one.
    """
    rows = list(paid)
    agents = math.fsum(row.usd or 0.0 for row in rows)
    judges = math.fsum(row.judge_usd or 0.0 for row in rows)
    roles = experiment.role_budget_usd
    budgets = {
        "agent": _remaining_usd("role_budget_usd.agent", roles.agent, agents),
        "judge": _remaining_usd("role_budget_usd.judge", roles.judge, judges),
    }
    whole = _remaining_usd("budget_usd", experiment.budget_usd, agents + judges)
    return experiment.model_copy(update={"budget_usd": whole, "role_budget_usd": RoleBudgets.model_validate(budgets)})


def _remaining_usd(field: str, budget: float | None, spent: float) -> float | None:
    if budget is None or spent < budget:
        return None if budget is None else budget - spent
    raise RefusedError(f"{field} of ${budget:.2f} is spent: the rows that are there cost ${spent:.2f}; raise it "
                       "to go on")  # fmt: skip


def _agents(plan: Plan) -> dict[str, InstalledAgent]:
    """Those of the cells, by the names that the experiment gives them."""
    arms = {arm.id: arm.agent for arm in plan.arms}
    used = {arms[cell.arm] for cell in plan.cells}
    return {named: find_agent(named, install=True) for named in plan.experiment.agents if agent_name(named)[0] in used}


def _run_with_progress(job: ShardJob, context: RunContext, options: ShardOptions) -> None:
    plan = context.plan
    with gateway_for_run(context, _NO_RECORDING), Progress(len(plan.cells), plan.experiment.budget_usd) as progress:

        def on_done(cell: Cell, trial: Trial, judgment: Judgment | None) -> None:
            job.writer.add(plan, cell, job.folder, job.library)
            passed = judgment is not None and judgment.result is not None and judgment.result.passed
            progress.advance(trial.usage.usd, passed=passed)

        run_cells(context, _in_time(context, options.until), options.workers, on_done)


def _in_time(context: RunContext, until: float) -> Iterator[Cell]:
    """The cells, as long as there is time to start one when a lane asks for it."""
    for cell in context.plan.cells:
        if time.monotonic() < until:
            yield cell
        else:
            context.unstarted[cell.id] = TIME_OVER


@without_garbage_collection()
def load_shard(folder: RunFolder, number: int) -> ShardCells:
    """Read what a shard is.

    Raises:
        ConfigError: there is no plan, no packing, or no such shard in it; or the packing is of another plan.
    """
    whole = stored_plan(folder)
    packing = stored_packing(folder)
    account_for(packing, whole)
    shard = next((shard for shard in packing.shards if shard.number == number), None)
    if shard is None:
        last = len(packing.shards) - 1
        has = f"has the shards 0 to {last}" if packing.shards else "has no shard: all rows were taken over"
        raise ConfigError(f"--shard {number}: {WavePaths(folder.root).packing} {has}")
    return ShardCells(_shard_plan(whole, shard), packing, shard)


def _shard_plan(whole: Plan, shard: Shard) -> Plan:
    """The plan of a shard's cells and their arms."""
    planned = {cell.id: cell for cell in whole.cells}
    cells = tuple(planned[name] for name in shard.cells)
    used = {cell.arm for cell in cells}
    budgets = {"budget_usd": shard.budget_usd, "role_budget_usd": shard.role_budget_usd}
    return whole.model_copy(update={
        "cells": cells,
        "arms": tuple(arm for arm in whole.arms if arm.id in used),
        "experiment": whole.experiment.model_copy(update=budgets),
    })  # fmt: skip
