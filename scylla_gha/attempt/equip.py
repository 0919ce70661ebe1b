"""Start of an agent: its settings, its command, its sandbox's mounts, and a check of the programs on its PATH."""

import datetime
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scylla_gha.agents.base import Agent, AgentCommand, AgentTask, ModelAccess
from scylla_gha.egress_proxy import proxy_environment
from scylla_gha.errors import FixtureError, SandboxError
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.hub.client import HubProcess
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.mode import DEFAULT_MODE, NO_MODE
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import NO_USAGE, Attempt, Delivery, Inventory, Observed, Outcome
from scylla_gha.model.variant import AgentResources
from scylla_gha.prepare import PreparedScenario
from scylla_gha.prepare.mcp_packages import agent_path, installed_programs
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import Workspace
from scylla_gha.redaction import Redactor
from scylla_gha.sandboxes.base import Sandbox, SandboxMounts, SandboxTarget, names_inside
from scylla_gha.system.process import Cancel, ProcessLimits, ProcessStreams
from scylla_gha.variants import arm_treatment

if TYPE_CHECKING:
    from scylla_gha.attempt.github_com import AttemptGitHub, LaneSource

GIT: Final = "git"  # in every mode
_SEARCH_SECONDS: Final = 60.0
_SETUP_SECONDS: Final = 120.0
_OUTPUT_BYTES: Final = 1_000_000
_SEARCH: Final = 'for name; do if command -v "$name" >/dev/null; then echo "$name"; fi; done'


def with_instructions(runner: "AgentRunner") -> "AgentRunner":
    """Return the runner with the variant's instruction file where its agent reads one."""
    resources, name = runner.resources, runner.agent.instruction_file
    if resources.instructions is None or name is None:
        return runner
    files = {**(resources.agent_files or {}), name: resources.instructions}
    return replace(runner, resources=resources.model_copy(update={"agent_files": files}))


@dataclass(frozen=True, slots=True)
class AgentRunner:
    """Settings to run one arm's agent on this machine. The oracle applies `patch` instead of the solution."""

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
    checks: SandboxTarget | None = None  # sandbox of GitHub's workflows; None: `target`
    other_programs: tuple[str, ...] = ()  # programs of other modes, which must not be on PATH
    lanes: "LaneSource | None" = None  # repositories on github.com; None: GitHub is the hub
    share_usd: float | None = None  # part of the shared budgets in USD, if the trial has no separate limit


@dataclass(frozen=True, slots=True)
class EquippedAgent:
    """Task, start command, and mounts with the environment of an agent."""

    task: AgentTask
    command: AgentCommand
    mounts: SandboxMounts


def sandbox_mounts(runner: AgentRunner, prepared: PreparedScenario, workspace: Workspace) -> SandboxMounts:
    """Return the mounts without the agent's environment; only a built-in agent gets the solution.

    Raises:
        ToolError: a program of the mode is not available.
    """
    patch, tools = _patch(runner, prepared), prepared.folder.scenario.tools
    read_only = (patch.parent,) if not runner.agent.uses_model and patch.is_file() else ()
    target = runner.target
    path = prepared.path  # not used by images
    if runner.arm.mode and not target.sandbox.needs_image:
        path = agent_path(tools, runner.arm.mode, runner.resources, cache_root())
    return SandboxMounts(
        workspace.repo,
        workspace.home,
        path,
        prepared.variables(has_own_paths=target.sandbox.isolates_files),
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
    """Write the files of the variant and of the trial's GitHub into HOME; return the command and the mounts.

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
    # On the host, a program may ignore the proxy's variables.
    proxy = proxy_environment(access.url, access.token) if access else {}
    clients = github.environment(sandbox, mounts, runner.arm.mode or NO_MODE) if github else {}
    extra = {**command.env, **proxy, **clients}
    programs = {**mounts.programs, **programs}
    equipped = replace(mounts, extra=extra, managed=command.managed, programs=programs, program=command.program)
    return EquippedAgent(task, command, equipped)


def observe_programs(runner: AgentRunner, equipped: EquippedAgent) -> Observed | None:
    """Search the agent's PATH for the programs of all modes; return None if the run was cancelled meanwhile.

    The search runs in a sandbox with the same image, programs and PATH, but with an empty workspace and HOME.

    Raises:
        SandboxError: the sandbox cannot be started.
    """
    mode = runner.arm.mode
    names = dict.fromkeys((GIT, *(mode.programs if mode else ()), *runner.other_programs))
    with tempfile.TemporaryDirectory() as folder:
        cwd, home, stdin = Path(folder, "cwd"), Path(folder, "home"), Path(folder, "stdin")
        cwd.mkdir()
        home.mkdir()
        stdin.touch()
        streams = ProcessStreams(Path(folder, "stdout"), Path(folder, "stderr"), stdin)
        mounts = replace(equipped.mounts, cwd=cwd, home=home, sockets=None, has_github=False, keep=False, extra={})
        argv, limits = ("/bin/sh", "-c", _SEARCH, "sh", *names), ProcessLimits(_SEARCH_SECONDS, _OUTPUT_BYTES)
        finished = runner.target.sandbox.run(argv, mounts, streams, limits, runner.cancel)
        if finished.cancelled:
            return None
        if finished.code:
            raise SandboxError(
                f"PATH could not be searched: exit code {finished.code} "
                f"({streams.stderr.read_text(errors='replace')[-300:].strip()})"
            )
        return Observed(source="search of PATH", programs=tuple(streams.stdout.read_text("utf-8").split()))


def mounts_after_setup(runner: AgentRunner, prepared: PreparedScenario, workspace: Workspace) -> SandboxMounts:
    """Run a scenario's setup in its workspace, in the agent's sandbox and without network; return the agent's mounts.

    Raises:
        FixtureError: a setup command fails.
        SandboxError: the sandbox cannot be started.
    """
    mounts = sandbox_mounts(runner, prepared, workspace)
    inside = replace(mounts, keep=False)
    for command in prepared.folder.scenario.setup:
        with tempfile.TemporaryDirectory() as folder:
            stdin = Path(folder, "stdin")
            stdin.touch()
            streams = ProcessStreams(Path(folder, "stdout"), Path(folder, "stderr"), stdin)
            limits = ProcessLimits(_SETUP_SECONDS, runner.limits.file_bytes)
            ended = runner.target.sandbox.run(("/bin/sh", "-c", command), inside, streams, limits, runner.cancel)
            if ended.cancelled:
                raise KeyboardInterrupt
            if ended.code or ended.timed_out:
                why = f"no end within {_SETUP_SECONDS:.0f} s" if ended.timed_out else f"exit code {ended.code}"
                output = "".join(path.read_text(errors="replace") for path in (streams.stdout, streams.stderr))
                raise FixtureError(f"the setup command {command[:200]!r} failed ({why}): {output[-300:].strip()}")
    return mounts


def not_started(number: int, delivery: Delivery, sandbox: Sandbox) -> Attempt:
    """Return the attempt of an agent that was not started because its sandbox has other programs than its mode."""
    advice = (
        "" if sandbox.needs_image else "; programs of the machine are on PATH in this sandbox; use the sandbox docker"
    )
    return Attempt(
        number=number,
        outcome=Outcome.DELIVERY_ERROR,
        reason=f"the agent was not started: {delivery.reason}{advice}",
        retryable=False,
        started_at=datetime.datetime.now(datetime.UTC),
        seconds=0.0,
        usage=NO_USAGE,
        delivery=delivery,
    )
