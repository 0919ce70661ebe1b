"""Trial of one cell: attempts until an outcome counts, and the record of all of them."""

import datetime
import platform
from typing import TYPE_CHECKING, Final

from scylla_gha import __version__
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import FixtureError, SandboxError, ToolError
from scylla_gha.model.plan import Arm, Cell
from scylla_gha.model.sandbox import Isolation
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Trial, Usage
from scylla_gha.pipeline.context import RunContext, RunSettings
from scylla_gha.prepare.scenario import keep_workspace, prepare_workspace
from scylla_gha.prepare.workspace import scratch
from scylla_gha.redaction import Redactor
from scylla_gha.redaction.session import RedactionSession
from scylla_gha.run import run_attempt
from scylla_gha.run.equip import AgentRunner
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.records import read_record, write_record
from scylla_gha.store.run_folder import AttemptFolder, CellFolder, file_digests
from scylla_gha.variants import arm_resources

if TYPE_CHECKING:
    from scylla_gha.run.github_com import LaneSource

_LASTING: Final = (Outcome.PROVIDER_ERROR, Outcome.DELIVERY_ERROR)  # the next cell of the arm would fail alike


def run_trial(context: RunContext, cell: Cell) -> Trial:
    """Run a cell's agent and store the trial; a trial of another key that is in its folder is archived."""
    cell_folder = context.settings.folder.cell(cell.id)
    _archive_stale_records(context.settings, cell, cell_folder)
    attempts = [_stored_attempt(folder, context.services.redactor) for folder in cell_folder.attempts()]
    if not (attempts and attempts[-1].outcome.measures_agent):  # else killed between the two records
        attempts = _run_attempts(context, cell, cell_folder, attempts)
    trial = _trial_record(context.settings, cell, attempts)
    write_record(cell_folder.trial, trial)
    return trial


def _archive_stale_records(settings: RunSettings, cell: Cell, cell_folder: CellFolder) -> None:
    """Move records that are too old or of another key aside; they may have been paid for."""
    owner, stored = read_record(cell_folder.cell, Cell), read_record(cell_folder.trial, Trial)
    is_old = stored is not None and stored.is_older_than(settings.plan.not_before)
    if owner is not None and (settings.options.fresh or is_old or owner.key != cell.key):
        archive = settings.folder.archive_path(owner.id, owner.key)
        archive.parent.mkdir(parents=True, exist_ok=True)
        cell_folder.root.rename(archive)
    write_record(cell_folder.cell, cell)


def _stored_attempt(folder: AttemptFolder, redactor: Redactor) -> Attempt:
    """Return an earlier attempt; one without a record was killed with the harness, and its cost is unknown."""
    stored = read_record(folder.file("attempt.json"), Attempt)
    if stored is not None:
        return stored
    redaction = RedactionSession(redactor)
    redaction.folder(folder.root)
    started = datetime.datetime.fromtimestamp(folder.root.stat().st_ctime, datetime.UTC)
    return Attempt(number=folder.number, outcome=Outcome.CANCELLED, reason="the harness was killed in the middle of it",
                   retryable=True, started_at=started, seconds=0.0, usage=Usage(), redactions=redaction.count,
                   files=file_digests(folder))  # fmt: skip


def _run_attempts(context: RunContext, cell: Cell, cell_folder: CellFolder, attempts: list[Attempt]) -> list[Attempt]:
    """Attempt the cell until an outcome stands, with a doubling pause after faults that do not measure the agent."""
    retry = context.settings.plan.experiment.retry
    for number in range(retry.attempts):
        attempt = _run_one_attempt(context, cell, cell_folder.attempt(len(attempts) + 1))
        attempts = [*attempts, attempt]
        context.check_traffic(cell_folder.attempt(attempt.number).file("traffic.jsonl"))
        if attempt.outcome in _LASTING and not attempt.retryable:
            context.state.stopped[cell.arm] = attempt.reason
        last = number == retry.attempts - 1
        state = context.state
        is_stopped = state.halted or cell.arm in state.stopped
        if last or not attempt.retryable or is_stopped or state.cancel.wait(retry.backoff_seconds * 2**number):
            break
    return attempts


def _run_one_attempt(context: RunContext, cell: Cell, folder: AttemptFolder) -> Attempt:
    folder.root.mkdir(parents=True, exist_ok=True)
    try:
        prepared = context.prepared_scenario(cell.scenario)
        with scratch() as root:
            workspace = prepare_workspace(prepared, root)
            attempt = run_attempt(agent_runner(context, cell), prepared, workspace, folder)
            if context.settings.options.keep != "none":
                attempt = keep_workspace(attempt, workspace.repo, folder, context.services.redactor)
                write_record(folder.file("attempt.json"), attempt)
            return attempt
    except (FixtureError, ToolError) as error:
        now = datetime.datetime.now(datetime.UTC)
        usage = Usage() if folder.file("transcript.jsonl").exists() else NO_USAGE  # what an agent did was paid for
        lost = isinstance(error, SandboxError)
        outcome = Outcome.SANDBOX_ERROR if lost else Outcome.FIXTURE_ERROR
        attempt = Attempt(number=folder.number, outcome=outcome, reason=str(error) or repr(error), retryable=lost,
                          started_at=now, seconds=0.0, usage=usage)  # fmt: skip
        attempt = (
            RedactionSession(context.services.redactor)
            .record(attempt)
            .model_copy(update={"files": file_digests(folder)})
        )
        write_record(folder.file("attempt.json"), attempt)
        return attempt


def agent_runner(context: RunContext, cell: Cell) -> AgentRunner:
    """Return the settings with which a cell's agent is run.

    Raises:
        ToolError: the image of its sandbox is not available.
    """
    folder, experiment = context.settings.scenario(cell.scenario), context.settings.plan.experiment
    arm = folder.arm(context.settings.plan.arm(cell.arm))
    agent_id = next(name for name in experiment.agents if name.partition("@")[0] == arm.agent)
    installed = context.settings.agents[agent_id]
    target = context.settings.sandboxes.target(folder.scenario.tools, arm)
    return AgentRunner(
        arm=arm,
        agent=installed.agent,
        program=installed.program_in(image=target.image is not None),
        gateway=context.services.gateway,
        target=target,
        limits=experiment.limits,
        cancel=context.state.cancel,
        resources=arm_resources(arm, context.settings.sources.variant(arm).roots),
        inventory=context.settings.library.inventory(arm.agent, arm.version),
        redactor=context.services.redactor,
        hub=context.services.hub,
        checks=context.settings.sandboxes.target(folder.scenario.tools) if folder.github else None,
        other_programs=_other_programs(context.settings, arm),
        lanes=_lanes(context, cell, folder),
        share_usd=_share_usd(context.settings, cell),
    )


def _lanes(context: RunContext, cell: Cell, folder: ScenarioFolder) -> "LaneSource | None":
    """Return the repositories of a cell that works on github.com; None for the hub, or without GitHub."""
    fixture = folder.scenario.source.fixture
    if context.settings.plan.experiment.github == "hub" or folder.github is None or fixture is None:
        return None
    from scylla_gha.pipeline.lanes import lane_source

    return lane_source(context.settings.library, context.settings.folder, cell, fixture, context.state.cancel)


def _other_programs(settings: RunSettings, arm: Arm) -> tuple[str, ...]:
    """Return the names of the programs that other modes have and an arm's mode has not."""
    if arm.mode is None:
        return ()
    modes = map(settings.library.mode, settings.library.mode_names())
    names = dict.fromkeys(name for mode in modes for name in mode.programs)
    return tuple(name for name in names if name not in arm.mode.programs)


def _share_usd(settings: RunSettings, cell: Cell) -> float | None:
    """Return a trial's equal share of the agents' budget; None if it has a limit of its own, or there is no budget.

    The reserve for the judges of all cells that run at once is not part of the agents' budget.
    """
    experiment, cells = settings.plan.experiment, len(settings.plan.cells)
    if experiment.limits.usd is not None:
        return None
    judges_usd = settings.judges_usd(cell) * min(settings.options.workers, cells)
    total = None if experiment.budget_usd is None else max(0.0, experiment.budget_usd - judges_usd)
    budgets = [budget for budget in (total, experiment.role_budget_usd.agent) if budget is not None]
    return min(budgets) / cells if budgets else None


def _trial_record(settings: RunSettings, cell: Cell, attempts: list[Attempt]) -> Trial:
    folder = settings.scenario(cell.scenario)
    arm = folder.arm(settings.plan.arm(cell.arm))
    image = settings.sandboxes.image_digests.image(folder.scenario.tools, arm)
    versions = {
        "scylla-gha": __version__,
        "agent": attempts[-1].agent_version or arm.version or "unknown",
        "python": platform.python_version(),
        "system": platform.platform(),
        **({"image": image} if image else {}),
    }
    return Trial(cell=cell.id, key=cell.key, sandbox=settings.plan.sandbox, versions=versions, attempts=tuple(attempts),
                 isolation=isolation_of(settings.plan.sandbox, arm))  # fmt: skip


def isolation_of(sandbox: str, arm: Arm) -> Isolation:
    """Return the isolation that a sandbox gives; tools that the provider runs open the network to some degree."""
    isolation = SANDBOXES[sandbox].isolation
    if isolation.network == "gateway" and arm.variant and arm.variant.treatment.server_tools:
        return isolation.model_copy(update={"network": "provider"})
    return isolation
