"""`scylla-gha shell`."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from scylla_gha.agents.base import ModelAccess
from scylla_gha.cli import options
from scylla_gha.config.library import ConfigSources
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Cell
from scylla_gha.model.trial import Trial
from scylla_gha.pipeline.context import RunContext
from scylla_gha.pipeline.report import stored_plan
from scylla_gha.pipeline.run_cells import runner_of
from scylla_gha.plan.build import find_agents
from scylla_gha.plan.cells import agent_name, key_of
from scylla_gha.prepare.scenario import prepare_workspace
from scylla_gha.prepare.workspace import apply_patch, scratch
from scylla_gha.process import Cancel, FinishedProcess, LimitHit, ProcessLimits
from scylla_gha.run.attempt import AgentRunner, equip_agent, sandbox_mounts
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.attach import Run, attach_pipes, attach_tty, exit_on_signals
from scylla_gha.sandboxes.base import GATEWAY_URL, SandboxMounts
from scylla_gha.store.find_cell import CellRef, find_cell
from scylla_gha.store.records import read_record

_INTERRUPTED, _UNREAD = 130, 141  # as a shell tells of INT and PIPE
_FULL: Final = "ended, since it wrote more to its output than one file may hold (limits.file_mb)"
_WEEK: Final = 7 * 24 * 3600.0
_NOWHERE: Final = "http://127.0.0.1:9"  # the discard port
_NO_KEY: Final = "sk-ant-api03-none"
_SHELL: Final = ("/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; fi; exec sh")


@click.command()
@click.argument("cell")
@click.argument("argv", metavar="[-- COMMAND ...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--experiment", help="The experiment, where several have such a cell.")
@options.runs
@click.option("--after", is_flag=True, help="With what the cell's agent left in the workspace, instead of the start.")
def command(cell: str, argv: tuple[str, ...], experiment: str | None, runs: Path, *, after: bool) -> None:
    """Open the box of CELL as its agent had it: sandbox, image, user, environment, HOME, limits, a fresh workspace.

    CELL is a cell's id, the beginning of one, or a glob. At a terminal there is a shell; else what comes on standard
    input is run by sh, and its exit code is this command's. A COMMAND is run instead of either; without a terminal it
    has no input. There is no model, no key and no time limit, and nothing in the box is kept.

    \b
    scylla-gha shell 001-hello-world--oracle--r01
    scylla-gha shell '004-*--oracle--r01' --after -- git status
    """  # noqa: D301
    cell_ref = find_cell(runs, cell, experiment)
    try:
        with exit_on_signals(), scratch() as root:
            finished = _run_in_sandbox(cell_ref, argv, root, after=after)
    except KeyboardInterrupt:  # of a run, it would be said that what was done is kept
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:  # nobody reads on
        sys.exit(_UNREAD)
    for words in (_FULL if LimitHit.OUTPUT in finished.hits else "", finished.note):
        if words:
            click.echo(f"shell: {words}", err=True)
    sys.exit(finished.code if finished.code >= 0 else 128 - finished.code)


def _run_in_sandbox(cell_ref: CellRef, argv: tuple[str, ...], root: Path, *, after: bool) -> FinishedProcess:
    """Make the box, and be in it to its end."""
    context, cell = _run_context(cell_ref)
    context.sandboxes.check()
    opened = furnish(context, cell, root, _left(cell_ref) if after else b"")
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    click.echo(_description(context, cell, opened.runner, after=after, is_terminal=is_terminal), err=True)
    if is_terminal:
        return attach_tty(opened.on_terminal().running(argv or _SHELL), root, context.cancel)
    return attach_pipes(opened.running(argv or ("/bin/sh",)), root, context.cancel, script=not argv)


@dataclass(frozen=True, slots=True)
class Opened:
    """An agent's box, furnished as for it."""

    runner: AgentRunner
    box: SandboxMounts

    def running(self, argv: tuple[str, ...]) -> Run:
        """How a program is run in it, to its end."""
        limits = ProcessLimits(_WEEK, self.runner.limits.file_bytes)
        return lambda streams: self.runner.target.sandbox.run(argv, self.box, streams, limits, self.runner.cancel)

    def on_terminal(self) -> "Opened":
        """The same, told which kind of terminal there is."""
        extra = {**self.box.extra, "TERM": os.environ.get("TERM") or "dumb"}
        return replace(self, box=replace(self.box, extra=extra))


def furnish(context: RunContext, cell: Cell, root: Path, patch: bytes = b"") -> Opened:
    """Lay a cell's box in `root`: workspace, perhaps with a patch, and HOME with what the variant gives the agent.

    Raises:
        FixtureError: the start state is not the pinned one, or the patch does not apply to it.
        ToolError: a tool or the image cannot be had.
    """
    runner, prepared = runner_of(context, cell), context.prepared_scenario(cell.scenario)
    workspace = prepare_workspace(prepared, root / "box")
    mounts = replace(sandbox_mounts(runner, prepared, workspace), keep=False)
    address = _NOWHERE if runner.target.sandbox.has_network else GATEWAY_URL
    access = ModelAccess(address, _NO_KEY) if runner.agent.uses_model else None
    equipped = equip_agent(runner, prepared, mounts, access)
    apply_patch(prepared.start, patch, workspace.repo)
    return Opened(runner, replace(equipped.mounts, program=equipped.command.argv[0]))


def _run_context(cell_ref: CellRef) -> tuple[RunContext, Cell]:
    plan = stored_plan(cell_ref.run)
    planned = {cell.id: cell for cell in plan.cells}
    if cell_ref.id not in planned:
        raise ConfigError(f"{cell_ref.id}: is not in {cell_ref.run.plan}, so nothing tells its box; plan it again")
    # In an image there is the command line of the planned version, whatever this machine has.
    agents = find_agents(plan.experiment, install=not SANDBOXES[plan.sandbox].needs_image)
    return RunContext(plan, cell_ref.run, ConfigSources(options.library()), agents, Cancel()), planned[cell_ref.id]


def _left(cell_ref: CellRef) -> bytes:
    """What the last attempt's agent changed, as a patch."""
    trial = read_record(cell_ref.folder.trial, Trial)
    if trial is None:
        raise ConfigError(f"{cell_ref.id}: has no trial yet, so nothing is left of it; leave out --after")
    if trial.last.diff is None:
        raise ConfigError(f"{cell_ref.id}: no diff of it is stored ({trial.last.reason}); leave out --after")
    patch = cell_ref.folder.attempt(trial.last.number).file("diff.patch")
    return patch.read_bytes() if trial.last.diff.files else b""


def _description(context: RunContext, cell: Cell, runner: AgentRunner, *, after: bool, is_terminal: bool) -> str:
    """In one line: which box it is, and what of it is not as the agent had it."""
    target = runner.target
    image = f", image {target.digest}" if target.digest else ""
    differs = ["no model and no key" if runner.agent.uses_model else "", "no time limit",
               "TERM is yours" if is_terminal else "", "the workspace is as it was left" if after else "",
               *_later_changes(context, cell)]  # fmt: skip
    return (f"shell: {cell.id}: {target.sandbox.name}{image}, user {target.sandbox.user}; otherwise than the agent had "
            f"it: {'; '.join(filter(None, differs))}; nothing in it is kept")  # fmt: skip


def _later_changes(context: RunContext, cell: Cell) -> list[str]:
    """What is of today, since it was changed after the cell was planned."""
    arm = context.plan.arm(cell.arm)
    changed = []
    if key_of(context.plan, cell, context.scenario(cell.scenario), context.sandboxes.boxing) != cell.key:
        changed.append("its scenario, image or toolkit was changed since it was planned")
    now = context.library.variants().get(arm.variant.id) if arm.variant else None
    if arm.variant and (now is None or now.digest != arm.variant.digest):
        changed.append(f"the variant {arm.variant.id} was changed since it was planned")
    named = next(each for each in context.agents if agent_name(each)[0] == arm.agent)
    here = context.agents[named].version
    if here not in {None, arm.version}:
        changed.append(f"{arm.agent} is version {here}, and was {arm.version}")
    return changed
