"""Start of an agent: its settings, its command, and what its sandbox mounts."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scylla_gha.agents.base import Agent, AgentCommand, AgentTask, ModelAccess
from scylla_gha.egress_proxy import proxy_environment
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.hub.client import HubProcess
from scylla_gha.model.delivery import Inventory
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.mode import DEFAULT_MODE, NO_MODE
from scylla_gha.model.plan import Arm
from scylla_gha.model.variant import AgentResources
from scylla_gha.prepare.mcp_packages import installed_programs
from scylla_gha.prepare.mode_programs import agent_path
from scylla_gha.prepare.scenario import PreparedScenario
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import Workspace
from scylla_gha.process import Cancel
from scylla_gha.redaction import Redactor
from scylla_gha.sandboxes.base import SandboxMounts, SandboxTarget, names_inside
from scylla_gha.variants import arm_treatment

if TYPE_CHECKING:
    from scylla_gha.run.github_com import AttemptGitHub, LaneSource


@dataclass(frozen=True, slots=True)
class AgentRunner:
    """Settings to run one arm's agent on this machine. An oracle applies `patch` instead of the solution."""

    arm: Arm
    agent: Agent
    program: str
    gateway: GatewayProcess | None
    target: SandboxTarget
    limits: TrialLimits
    cancel: Cancel
    patch: Path | None = None
    resources: AgentResources = AgentResources()
    inventory: Inventory | None = None
    redactor: Redactor = field(default_factory=Redactor)
    hub: HubProcess | None = None  # None: no scenario of the run has GitHub state
    checks: SandboxTarget | None = None  # where workflows of GitHub run; None: in `target`
    other_programs: tuple[str, ...] = ()  # of other modes: they must not be on PATH
    lanes: "LaneSource | None" = None  # None: GitHub is the hub
    share_usd: float | None = None  # part of the shared budgets, if the trial has no limit of its own


@dataclass(frozen=True, slots=True)
class EquippedAgent:
    """Task, start command, and mounts with the environment of an agent."""

    task: AgentTask
    command: AgentCommand
    mounts: SandboxMounts


def sandbox_mounts(runner: AgentRunner, prepared: PreparedScenario, workspace: Workspace) -> SandboxMounts:
    """Return the mounts without environment; only a built-in agent gets the solution.

    Raises:
        ToolError: a program of the mode is not available.
    """
    patch, tools = _patch(runner, prepared), prepared.folder.scenario.tools
    read_only = (patch.parent,) if not runner.agent.uses_model and patch.is_file() else ()
    path = prepared.path  # which images do not use
    if runner.arm.mode and not runner.target.sandbox.needs_image:
        path = agent_path(tools, runner.arm.mode, runner.resources, cache_root())
    target = runner.target
    extra = prepared.variables(has_own_paths=target.sandbox.isolates_files)
    return SandboxMounts(
        workspace.repo,
        workspace.home,
        path,
        extra,
        read_only=read_only,
        image=target.image,
        programs=prepared.programs,
    )


def _patch(runner: AgentRunner, prepared: PreparedScenario) -> Path:
    mode = runner.arm.mode
    return runner.patch or prepared.folder.oracle(mode.id if mode else DEFAULT_MODE)


def equip_agent(
    runner: AgentRunner,
    prepared: PreparedScenario,
    mounts: SandboxMounts,
    access: ModelAccess | None,
    github: "AttemptGitHub | None" = None,
) -> EquippedAgent:
    """Write into HOME what the variant and the trial's GitHub give the agent; return the command and the mounts.

    Raises:
        ToolError: packages of an MCP server cannot be installed.
    """
    sandbox = runner.target.sandbox
    resources = runner.resources
    programs = {} if sandbox.needs_image else installed_programs(resources, cache_root())
    task = AgentTask(
        prompt=prepared.folder.prompt,
        home=mounts.home,
        patch=_patch(runner, prepared),
        limits=runner.limits,
        access=access,
        model=runner.arm.model,
        treatment=arm_treatment(runner.arm, runner.resources),
        resources=resources,
        names=names_inside(sandbox, mounts),
        managed=mounts.home.with_name("managed") if sandbox.isolates_files else None,
        workspace=mounts.cwd,
        programs={} if sandbox.isolates_files else {inside: str(path) for inside, path in programs.items()},
    )
    command = runner.agent.command(task, runner.program)
    proxy = proxy_environment(access.url, access.token) if access else {}  # on the host, it binds only who reads it
    clients = github.environment(sandbox, mounts, runner.arm.mode or NO_MODE) if github else {}
    extra = {**command.env, **proxy, **clients}
    return EquippedAgent(
        task, command, replace(mounts, extra=extra, managed=command.managed, programs={**mounts.programs, **programs})
    )
