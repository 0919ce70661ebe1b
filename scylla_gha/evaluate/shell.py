"""A sandbox like that of a planned cell's agent, for a person or a script."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scylla_gha.agents import find_agents
from scylla_gha.agents.base import ModelAccess
from scylla_gha.attempt.equip import AgentRunner, equip_agent, sandbox_mounts
from scylla_gha.attempt.github import TrialHub, open_github
from scylla_gha.attempt.workflow_steps import WorkflowBox
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.context import RunContext, RunSettings
from scylla_gha.evaluate.run_cells import agent_runner
from scylla_gha.evaluate.stored_cell import CellRef
from scylla_gha.hub.client import HubProcess
from scylla_gha.model.plan import Cell
from scylla_gha.model.trial import Trial
from scylla_gha.plan.cells import key_of
from scylla_gha.prepare import prepare_workspace
from scylla_gha.prepare.workspace import apply_patch, with_agent_files
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.attach import Run, attach_pipes, attach_tty
from scylla_gha.sandboxes.base import GATEWAY_URL, SandboxMounts, socket_folder
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import AttemptFolder, stored_plan
from scylla_gha.system.process import FinishedProcess, ProcessLimits

_WEEK: Final = 7 * 24 * 3600.0  # seconds; a shell has no other time limit
_NO_MODEL: Final = "http://127.0.0.1:9"  # the discard port
_NO_KEY: Final = "sk-ant-api03-none"
_SHELL: Final = ("/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; fi; exec sh")


@dataclass(frozen=True, slots=True)
class OpenSandbox:
    """The sandbox of an agent, with its workspace and HOME."""

    runner: AgentRunner
    mounts: SandboxMounts

    def running(self, argv: tuple[str, ...]) -> Run:
        """Return a function that runs a program in the sandbox to its end."""
        limits = ProcessLimits(_WEEK, self.runner.limits.file_bytes)
        return lambda streams: self.runner.target.sandbox.run(argv, self.mounts, streams, limits, self.runner.cancel)


def run_in_cell(
    cell_ref: CellRef,
    argv: tuple[str, ...],
    root: Path,
    library: Library,
    report: Callable[[str], None],
    *,
    after: bool,
) -> FinishedProcess:
    """Run a program in a cell's sandbox; by default a shell at a terminal, otherwise the script on standard input.

    Args:
        cell_ref: reference to a planned cell.
        argv: program and arguments; empty: a shell.
        root: empty folder for workspace and HOME.
        library: the configuration.
        report: called with a line that describes the sandbox.
        after: True for the workspace at the end of the cell's trial instead of its start.

    Raises:
        ConfigError: the cell is not planned, or its trial is not stored.
    """
    context, cell = _context(cell_ref, library)
    context.settings.sandboxes.check()
    patch = _stored_patch(cell_ref) if after else b""
    with _github_of(context, cell, root) as github:
        opened = open_sandbox(context, cell, root, patch, github)
        is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        report(_description(context.settings, cell, opened.runner, after=after, is_terminal=is_terminal))
        if not is_terminal:
            return attach_pipes(opened.running(argv or ("/bin/sh",)), root, context.state.cancel, script=not argv)
        extra = {**opened.mounts.extra, "TERM": os.environ.get("TERM") or "dumb"}
        opened = replace(opened, mounts=replace(opened.mounts, extra=extra))
        return attach_tty(opened.running(argv or _SHELL), root, context.state.cancel)


@dataclass(frozen=True, slots=True)
class _OpenGitHub:
    """A cell's GitHub at its start, and the folder of its socket."""

    github: TrialHub
    sockets: Path


@contextlib.contextmanager
def _github_of(context: RunContext, cell: Cell, root: Path) -> Iterator[_OpenGitHub | None]:
    """Serve the GitHub of a cell's scenario in its start state; None if the scenario has none."""
    prepared = context.prepared_scenario(cell.scenario)
    if prepared.folder.github is None:
        yield None
        return
    runner = agent_runner(context, cell)
    box = WorkflowBox(runner.checks or runner.target, prepared.path, runner.cancel)
    with HubProcess.start() as hub, socket_folder() as sockets:
        folder = AttemptFolder(root / "github" / "attempt-1")
        github = open_github(hub, prepared, sockets, folder, runner.target.sandbox, box)
        if github is None:
            raise AssertionError("a scenario with GitHub has one")
        try:
            yield _OpenGitHub(github, sockets)
        finally:
            github.runner.finish()
            hub.detach(github.attached)


def open_sandbox(
    context: RunContext, cell: Cell, root: Path, patch: bytes = b"", served: _OpenGitHub | None = None
) -> OpenSandbox:
    """Make a cell's workspace, perhaps with a patch, and a HOME with the agent's variant and mode.

    Raises:
        FixtureError: the start state is not the pinned one, or the patch does not apply to it.
        ToolError: a tool or the image is missing.
    """
    runner, prepared = agent_runner(context, cell), context.prepared_scenario(cell.scenario)
    workspace = prepare_workspace(prepared, root / "box")
    with_agent_files(prepared.start, workspace.repo, runner.resources.agent_files)
    mounts = replace(sandbox_mounts(runner, prepared, workspace), keep=False)
    if served:
        runner = replace(runner, resources=served.github.with_servers(runner.resources))
        mounts = replace(mounts, sockets=served.sockets, has_github=True)
    address = _NO_MODEL if runner.target.sandbox.has_network else GATEWAY_URL
    access = ModelAccess(address, _NO_KEY) if runner.agent.uses_model else None
    equipped = equip_agent(runner, prepared, mounts, access, served.github if served else None)
    apply_patch(prepared.start, patch, workspace.repo)
    return OpenSandbox(runner, replace(equipped.mounts, program=equipped.command.program or equipped.command.argv[0]))


def _context(cell_ref: CellRef, library: Library) -> tuple[RunContext, Cell]:
    plan = stored_plan(cell_ref.run)
    cell = next((cell for cell in plan.cells if cell.id == cell_ref.id), None)
    if cell is None:
        raise ConfigError(f"{cell_ref.id}: is not in {cell_ref.run.plan}, so its sandbox is unknown; plan it again")
    # An image contains the agent in the planned version, independent of this machine.
    agents = find_agents(plan.experiment, install=not SANDBOXES[plan.sandbox].needs_image)
    return RunContext(RunSettings(plan, cell_ref.run, ConfigSources(library), agents)), cell


def _stored_patch(cell_ref: CellRef) -> bytes:
    """Return the diff of the last attempt."""
    trial = read_record(cell_ref.folder.trial, Trial)
    if trial is None:
        raise ConfigError(f"{cell_ref.id}: has no trial yet; remove --after to open its start")
    if trial.last.diff is None:
        raise ConfigError(f"{cell_ref.id}: its diff is not stored ({trial.last.reason}); remove --after")
    patch = cell_ref.folder.attempt(trial.last.number).file("diff.patch")
    return patch.read_bytes() if trial.last.diff.files else b""


def _description(settings: RunSettings, cell: Cell, runner: AgentRunner, *, after: bool, is_terminal: bool) -> str:
    """Describe the sandbox and its differences from the agent's."""
    target = runner.target
    image = f", image {target.digest}" if target.digest else ""
    differences = [
        "no model and no key" if runner.agent.uses_model else "",
        "no time limit",
        "TERM is yours" if is_terminal else "",
        "the workspace is as it was left" if after else "",
        "its GitHub is as at the start" if after and runner.arm.mode else "",
        *_later_changes(settings, cell),
    ]
    return (
        f"shell: {cell.id}: {target.sandbox.name}{image}, user {target.sandbox.user}; the same sandbox as the "
        f"agent's, except: {'; '.join(filter(None, differences))}; changes are discarded"
    )


def _later_changes(settings: RunSettings, cell: Cell) -> list[str]:
    """Return descriptions of changes since the cell was planned."""
    arm = settings.plan.arm(cell.arm)
    changes = []
    if key_of(settings.plan, cell, settings.scenario(cell.scenario), settings.sandboxes.image_digests) != cell.key:
        changes.append("its scenario, image or toolkit was changed since it was planned")
    current = settings.library.tiers.current(arm.variant) if arm.variant else None
    if arm.variant and (current is None or current.digest != arm.variant.digest):
        changes.append(f"the variant {arm.variant.id} was changed since it was planned")
    version = settings.installed(arm).version
    if version not in {None, arm.version}:
        changes.append(f"{arm.agent} is version {version}, and was {arm.version}")
    return changes
