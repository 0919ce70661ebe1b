"""Run of an experiment: plan, approval, cells, report, and the check that the run is complete.

The file `profile-rows.jsonl` grows while a run goes on: a ProfileRow line is appended when a cell is done.
"""

import errno
import hashlib
import shutil
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import click
import orjson

from scylla_gha.agents import find_agents
from scylla_gha.collect import rows
from scylla_gha.config.library import ConfigSources
from scylla_gha.counting import counted, dollars
from scylla_gha.errors import BudgetError, IncompleteError, RefusedError, ToolError
from scylla_gha.evaluate.context import RunContext, RunOptions, RunSettings, stored_trials
from scylla_gha.evaluate.model_access import (
    RecordingOptions,
    confirm,
    confirm_spending,
    open_services,
    require_credentials,
    require_safe_sandbox,
)
from scylla_gha.evaluate.run_cells import CellLines, run_cells_with_progress
from scylla_gha.interop.exporters import DEFAULT_NAMES, RunExport
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan, Shard, UnstartedCells
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Trial
from scylla_gha.plan import PlanRequest, check_names, make_plan, plan_lines, plan_whole
from scylla_gha.plan.budget import refuse_above_budget
from scylla_gha.plan.checks import reject_impossible_gate
from scylla_gha.plan.selection import CellSelection
from scylla_gha.prepare.workspace import remove_stale_workspaces
from scylla_gha.report.summary import require_gate
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import remove_stale_folders
from scylla_gha.store import atomic, read_record, write_record
from scylla_gha.store.run_folder import RunFolder, lock_run


def print_dry_run(request: PlanRequest, jobs: int) -> None:
    """Print the plan and the ids of its cells; start nothing and write nothing.

    Raises:
        RefusedError: the likely cost is above the budget, or the gate cannot be passed.
    """
    plan = make_plan(request, find_agents(request.experiment, install=False), build_images=False)
    print_plan(plan, jobs)
    for cell in plan.cells:
        click.echo(cell.id)
    refuse_above_budget(plan)
    reject_impossible_gate(plan, request.folder, request.choice)


def print_plan(plan: Plan, jobs: int) -> None:
    """Print a plan and its estimate on standard error."""
    for line in plan_lines(plan, jobs):
        click.echo(line, err=True)


def open_run(request: PlanRequest, recording: RecordingOptions, options: RunOptions) -> RunSettings:
    """Check that git, agents and credentials are available, and plan an experiment with this machine's agents.

    Raises:
        ToolError: git, an agent or its credentials are missing.
    """
    remove_stale_workspaces()
    remove_stale_folders()
    if shutil.which("git") is None:
        raise ToolError("git is not on PATH, but start states and diffs need it; run `apt-get install git`")
    require_credentials(check_names(request), request.experiment, request.library, recording)
    agents = find_agents(request.experiment, install=True)
    library, folder = request.library, request.folder
    planning = plan_whole(request, agents)
    plan = planning.plan(request.choice.only)
    if plan.experiment.github != "hub":
        from scylla_gha.evaluate.lanes import require_tokens

        require_tokens(plan, library, folder)
    if recording.replay:
        plan = plan.model_copy(update={"replayed": True, "estimate": plan.estimate.unpaid})
    sources = ConfigSources.of(library, request.choice.head)
    settings = RunSettings(plan, folder, sources, agents, options, planning=planning)
    settings.sandboxes.make_ready(plan)
    return settings


def _confirm_rerun(trials: Sequence[Trial], *, yes: bool) -> None:
    """Print the number and cost of the stored trials that --fresh runs again, and ask for consent."""
    costs = [attempt.usage.usd for trial in trials for attempt in trial.attempts]
    usd = sum(cost for cost in costs if cost is not None)
    unknown = f", and {counted(costs.count(None), 'attempt')} of unknown cost" if None in costs else ""
    stored = counted(len(trials), "stored trial")
    click.echo(f"--fresh runs {stored} again; they cost {dollars(usd)}{unknown}", err=True)
    if trials and not yes and not confirm("Run them again?"):
        raise RefusedError("not confirmed; nothing was run")


def approve_run(
    settings: RunSettings, choice: CellSelection, recording: RecordingOptions, *, yes: bool, exposed: bool
) -> None:
    """Print the plan, and check consent, budget, gate and sandbox before the first paid request.

    Raises:
        RefusedError: one of these checks fails.
    """
    plan = settings.plan
    trials = stored_trials(plan, settings.folder)
    if settings.options.fresh:
        _confirm_rerun([trial for _, trial in trials], yes=yes)
    elif trials:
        click.echo(f"reused under the same keys: {len(trials)} of {counted(len(plan.cells), 'trial')}", err=True)
    print_plan(plan, settings.options.workers)
    earlier = read_record(settings.folder.plan, Plan)
    if earlier is not None and earlier.change not in {"", plan.change}:
        root = settings.folder.root
        note = (
            f"note: {root} contains the report of another change, which this run replaces; use --runs FOLDER "
            "to keep both"
        )
        click.echo(note, err=True)
    refuse_above_budget(settings.plan)
    reject_impossible_gate(settings.plan, settings.folder, choice)
    require_safe_sandbox(settings, recording, SANDBOXES[settings.plan.sandbox], allowed=exposed)
    confirm_spending(settings, recording, yes=yes)


def store_plan(settings: RunSettings, request: PlanRequest) -> Plan:
    """Lock the run's folder and write the plan of its report, which keeps cells of the earlier plan.

    Raises:
        RefusedError: another command works in the folder.
    """
    folder, choice = settings.folder, request.choice
    lock_run(folder.root)
    earlier = read_record(folder.plan, Plan) if choice.only else None
    earlier_cells = {(cell.id, cell.key) for cell in earlier.cells} if earlier else set()
    own_cells = {(cell.id, cell.key) for cell in settings.plan.cells}
    plan = settings.plan
    if settings.planning and earlier_cells - own_cells:
        whole = settings.planning.plan(())
        cells = tuple(cell for cell in whole.cells if (cell.id, cell.key) in earlier_cells | own_cells)
        only = choice.only if len(cells) < len(whole.cells) else ()
        unchanged = {"replayed": plan.replayed, "estimate": plan.estimate}
        plan = whole.model_copy(update={**unchanged, "cells": cells, "only": only})
        more = counted(len(cells) - len(own_cells), "further cell")
        click.echo(f"note: the report keeps {more} of the earlier plan", err=True)
    write_record(folder.plan, plan)
    return plan


def evaluate_cells(settings: RunSettings, recording: RecordingOptions, plan: Plan) -> tuple[RunContext, Report]:
    """Run and judge all cells, and make the report of `plan`, even if the run is interrupted.

    Each finished cell adds a line to `profile-rows.jsonl`.
    """
    from scylla_gha.evaluate.report_run import finish_run

    log = ProfileLog(profile_path(settings.folder), {cell.id for cell in plan.cells})

    def append_line(cell: Cell, _trial: Trial, _judgment: Judgment | None) -> None:
        log.add_cell(settings, cell)

    try:
        with open_services(settings, recording) as context:
            run_all_cells(context, append_line)
    finally:
        report = finish_run(plan, settings.folder, settings.library)
    return context, report


def run_all_cells(context: RunContext, lines_of: CellLines | None = None) -> None:
    """Run all cells with a progress display, and store the list of unstarted cells.

    Args:
        context: context of the run.
        lines_of: called when a cell is done; returns lines to print. None: nothing is printed.
    """
    own_cells = {cell.id for cell in context.settings.plan.cells}
    before = read_record(context.settings.folder.unstarted, UnstartedCells) or UnstartedCells(cells={})
    try:
        run_cells_with_progress(context, context.settings.plan.cells, lines_of)
    finally:
        others = {name: reason for name, reason in before.cells.items() if name not in own_cells}
        unstarted = {**others, **context.state.unstarted}
        if unstarted:
            write_record(context.settings.folder.unstarted, UnstartedCells(cells=unstarted))
        else:
            context.settings.folder.unstarted.unlink(missing_ok=True)


def require_complete_run(context: RunContext) -> None:
    """Check that all cells were started.

    Raises:
        BudgetError: a budget kept a cell from starting, or interrupted one.
        IncompleteError: a disk is full, or no request can reach the provider.
    """
    settings, state = context.settings, context.state
    unstarted, cells = len(state.unstarted), counted(len(settings.plan.cells), "cell")
    _require_budget(context, f"not started: {unstarted} of {cells}" if unstarted else "a cell was interrupted")
    if reason := state.full_disk or state.halted:
        raise IncompleteError(f"not started: {unstarted} of {cells}: {reason}; {_stored_part(settings)}")


def require_complete_report(context: RunContext, report: Report, choice: CellSelection) -> None:
    """Check that each cell has a judged trial, and that the gate holds, unless only a part of the cells was run.

    Raises:
        BudgetError: a budget kept a cell from starting, or interrupted one.
        GateError: the gate of the experiment does not hold.
        IncompleteError: a cell has no judged trial.
    """
    settings, state = context.settings, context.state
    own_cells = {cell.id for cell in settings.plan.cells}
    missing = sum(1 for cell in report.excluded if cell.cell in own_cells)
    if missing:
        shortage = f"no judged trial in {missing} of {counted(len(own_cells), 'cell')}"
        _require_budget(context, shortage)
        stopped = "; ".join(f"{arm} was stopped: {reason}" for arm, reason in state.stopped.items())
        reason = state.full_disk or state.halted or stopped or "the report lists them, with reasons"
        advice = (
            "record the missing cells" if settings.plan.replayed else "run the same command again for the missing cells"
        )
        raise IncompleteError(f"{shortage}: {reason}; {_stored_part(settings)}; {advice}")
    if not choice.only:
        require_gate(settings.plan.experiment, report)


def _require_budget(context: RunContext, shortage: str) -> None:
    if context.is_budget_spent:
        raise BudgetError(
            f"{shortage}: a budget is spent, and the report lists the missing cells; {_stored_part(context.settings)}; "
            "raise the budget (--budget-usd, or in the experiment), and run the same command again to resume"
        )


def _stored_part(settings: RunSettings) -> str:
    """Return the number of stored planned trials, and their folder."""
    stored, cells = len(stored_trials(settings.plan, settings.folder)), len(settings.plan.cells)
    return f"{stored} of {counted(cells, 'trial')} are stored in {settings.folder.root}"


def profile_path(folder: RunFolder, shard: Shard | None = None) -> Path:
    """Return the path of the file of a run, or of one of its shards."""
    path = folder.root / DEFAULT_NAMES["profile"]
    return path if shard is None else path.with_stem(f"{path.stem}-{shard.name}")


class ProfileLog:
    """Writer of the lines of a run, or of one of its shards, used by several threads.

    A new line is appended by one write; an equal line is skipped. If the line of a cell changed (another key
    or judgment), the whole file is written again.

    Args:
        path: path of the file. Torn lines, second lines of a cell, and lines of unplanned cells are removed.
        cells: ids of all planned cells.
    """

    def __init__(self, path: Path, cells: Collection[str]) -> None:
        self._path, self._lock, self._digests = path, threading.Lock(), dict[str, bytes]()
        is_clean = True
        for cell, line in _cell_lines(path):
            if cell in cells and cell not in self._digests:
                self._digests[cell] = _digest(line)
            else:
                is_clean = False
        if not is_clean:
            self._rewrite({})

    def add_cell(self, settings: RunSettings, cell: Cell) -> None:
        """Append the line of a finished cell, if a row can be collected."""
        for row in rows(settings.plan.model_copy(update={"cells": (cell,)}), settings.folder, settings.library):
            self.add(settings, row)

    def add(self, settings: RunSettings, row: Result) -> None:
        """Append the line of a row.

        Raises:
            OSError: the file cannot be written; it then ends with a whole line.
        """
        line = RunExport(settings.folder, settings.plan, self._path).profile((row,))
        digest = _digest(line)
        with self._lock:
            before = self._digests.get(row.cell)
            if before is None:
                _append(self._path, line)
            elif before != digest:
                self._rewrite({row.cell: line})
            self._digests[row.cell] = digest

    def _rewrite(self, replaced: Mapping[str, bytes]) -> None:
        left = set(self._digests)
        with atomic(self._path) as temporary, temporary.open("wb") as file:
            for cell, line in _cell_lines(self._path):
                if cell in left:
                    left.remove(cell)
                    file.write(replaced.get(cell, line))


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        end, written = file.tell(), 0
        try:
            written = file.write(line)
        finally:
            if written != len(line):
                file.truncate(end)
    if written != len(line):
        raise OSError(errno.ENOSPC, "only a part of a line could be written", str(path))


def _digest(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()


def _cell_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a file, each with its cell, or with "" for an invalid ProfileRow."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                profile = orjson.loads(line) if line.endswith(b"\n") else None
            except orjson.JSONDecodeError:
                profile = None
            cell = profile.get("sessionId") if isinstance(profile, dict) else None
            yield cell if isinstance(cell, str) else "", line
