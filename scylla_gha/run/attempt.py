"""Attempt of an agent at a cell, which leaves an Attempt, a transcript, a trajectory and a diff."""

import datetime
import stat
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from scylla_gha.agents.base import Agent, AgentCommand, AgentTask, ModelAccess, ProcessResult, TranscriptSummary
from scylla_gha.egress_proxy.connections import NETWORK_LOG, egress_summary
from scylla_gha.egress_proxy.policy import EgressPolicy, proxy_environment
from scylla_gha.errors import is_lack_of_the_host
from scylla_gha.gateway.client import GatewayProcess, SessionHandle
from scylla_gha.gateway.log import TrafficSummary
from scylla_gha.gateway.settings import Session
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Attempt, Outcome, Step
from scylla_gha.model.variant import AgentResources, Declared, Delivery, Inventory, Treatment
from scylla_gha.prepare.scenario import PreparedScenario
from scylla_gha.prepare.tree_manifest import TooLargeError
from scylla_gha.prepare.workspace import NoPatchError, Workspace, snapshot
from scylla_gha.process import Cancel, FinishedProcess, ProcessLimits, ProcessStreams
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.session import RedactionSession
from scylla_gha.run.classify_outcome import AttemptTraffic, classify_outcome
from scylla_gha.sandboxes.base import (
    GATEWAY_SOCKET,
    SandboxMounts,
    SandboxTarget,
    names_inside,
    socket_folder,
    translate_paths,
)
from scylla_gha.store.records import write_bytes, write_record, write_text
from scylla_gha.store.run_folder import AttemptFolder, file_digests
from scylla_gha.variants.delivery import prove_delivery
from scylla_gha.variants.resources import allowed_models


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
    share_usd: float | None = None  # part of the shared budgets, if the trial has no limit of its own


@dataclass(frozen=True, slots=True)
class EquippedAgent:
    """Task, start command, and mounts with the environment of an agent."""

    task: AgentTask
    command: AgentCommand
    mounts: SandboxMounts


def run_attempt(
    runner: AgentRunner, prepared: PreparedScenario, workspace: Workspace, folder: AttemptFolder
) -> Attempt:
    """Run the agent in a fresh workspace and store the records; the agent's failures are outcomes, not errors.

    Raises:
        ToolError: the agent cannot be started at all.
    """
    needs_socket = runner.target.address and runner.gateway and runner.agent.uses_model
    with socket_folder() if needs_socket else nullcontext() as sockets:
        mounts = replace(sandbox_mounts(runner, prepared, workspace), sockets=sockets)
        session = _open_session(runner, prepared, mounts, folder)
        access = ModelAccess(runner.target.address or session.url, session.token) if session else None
        equipped = equip_agent(runner, prepared, mounts, access)
        redactor = runner.redactor.with_secrets(equipped.command.secrets)
        patch = runner.patch.read_bytes() if runner.patch and runner.patch.is_file() else b""
        # Text of the task itself stays: it only looks like a token.
        redaction = RedactionSession(redactor.knowing(lambda token: token in patch or prepared.holds(token)))
        with redaction.guarding(folder.root):
            attempt = _run(runner, prepared, folder, equipped, session, redaction)
            attempt = _store_diff(attempt, prepared, workspace, folder, runner.limits, redaction)
    attempt = redaction.record(attempt)
    attempt = attempt.model_copy(update={"redactions": redaction.count, "files": file_digests(folder)})
    write_record(folder.file("attempt.json"), attempt)
    return attempt


def sandbox_mounts(runner: AgentRunner, prepared: PreparedScenario, workspace: Workspace) -> SandboxMounts:
    """Return the mounts without environment; only a built-in agent gets the solution."""
    patch = runner.patch or prepared.folder.solution
    read_only = (patch.parent,) if not runner.agent.uses_model and patch.is_file() else ()
    return SandboxMounts(workspace.repo, workspace.home, prepared.path, read_only=read_only, image=runner.target.image)


def equip_agent(
    runner: AgentRunner, prepared: PreparedScenario, mounts: SandboxMounts, access: ModelAccess | None
) -> EquippedAgent:
    """Write into HOME what the variant gives the agent; return the command and the mounts."""
    task = AgentTask(
        prompt=prepared.folder.prompt,
        home=mounts.home,
        patch=runner.patch or prepared.folder.solution,
        limits=runner.limits,
        access=access,
        model=runner.arm.model,
        treatment=runner.arm.variant.treatment if runner.arm.variant else Treatment(),
        resources=runner.resources,
        names=names_inside(runner.target.sandbox, mounts),
        managed=mounts.home.with_name("managed") if runner.target.sandbox.isolates_files else None,
    )
    command = runner.agent.command(task, runner.program)
    # On the host, only programs that read the proxy's variables are bound by the egress policy.
    proxy = proxy_environment(access.url, access.token) if access else {}
    return EquippedAgent(task, command, replace(mounts, extra={**command.env, **proxy}, managed=command.managed))


def time_limit(limits: TrialLimits, prepared: PreparedScenario) -> float:
    """Return a trial's time limit in seconds: the experiment's, or else the scenario's."""
    return float(limits.timeout_seconds or prepared.folder.scenario.task.timeout_seconds)


def _open_session(
    runner: AgentRunner, prepared: PreparedScenario, mounts: SandboxMounts, folder: AttemptFolder
) -> SessionHandle | None:
    """Open a gateway session for the attempt if the agent uses a model."""
    package = runner.agent.package
    if runner.gateway is None or package is None:
        return None
    repo, home = (names_inside(runner.target.sandbox, mounts)[path] for path in (mounts.cwd, mounts.home))
    session = Session(
        cell=folder.root.parent.name,
        role="agent",
        journal=folder.file("traffic.jsonl"),
        first_request=folder.file("first-request.json"),
        budget_usd=runner.limits.usd,
        models=allowed_models(runner.arm, runner.resources, package.side_models, package.aliases),
        server_tools=runner.arm.variant.treatment.server_tools if runner.arm.variant else (),
        budget_tokens=runner.limits.tokens,
        turns=runner.limits.turns,
        requests=runner.limits.requests,
        share_usd=runner.share_usd,
        paths={repo: "/scylla-workspace", **runner.agent.path_aliases(repo), home: "/scylla-home"},
        egress=EgressPolicy(hosts=prepared.folder.scenario.network.hosts),
        socket=mounts.sockets / GATEWAY_SOCKET if mounts.sockets else None,
    )
    return runner.gateway.open(session)


def _run(
    runner: AgentRunner,
    prepared: PreparedScenario,
    folder: AttemptFolder,
    equipped: EquippedAgent,
    session: SessionHandle | None,
    redaction: RedactionSession,
) -> Attempt:
    """Run the agent's process, store its trajectory, and return the record without diff."""
    declared = _declared(runner, equipped)
    prompt = folder.file("prompt.md")
    write_text(prompt, prepared.folder.prompt)
    streams = ProcessStreams(folder.file("transcript.jsonl"), folder.file("stderr.txt"), prompt)
    seconds = time_limit(runner.limits, prepared)
    limits = ProcessLimits(seconds, runner.limits.file_bytes)
    started = datetime.datetime.now(datetime.UTC)
    try:
        finished = runner.target.sandbox.run(equipped.command.argv, equipped.mounts, streams, limits, runner.cancel)
    finally:
        traffic = _close_session(runner, session, folder)
    summary, delivery = _read_outputs(
        runner, ProcessResult(finished, seconds, streams.stdout, streams.stderr), declared, folder, redaction
    )
    traffic = replace(traffic, kept_waiting=traffic.account.evidence.kept_waiting(started, finished.seconds))
    summary = classify_outcome(summary, finished, delivery, traffic, runner.limits.turns)
    if summary.trajectory.steps:
        steps = (Step(source="user", text=prepared.folder.prompt), *summary.trajectory.steps)
        write_record(folder.file("trajectory.json"), summary.trajectory.model_copy(update={"steps": steps}))
    attempt = _attempt(folder.number, started, finished, summary, traffic, delivery)
    return attempt.model_copy(update={
        "base_commit": prepared.start.commit,
        "workspace_digest": prepared.start.manifest.tree,
        "safety_net": summary.safety_net if runner.limits.safety_net else None,
        **{f"side_{name}": value for name, value in traffic.account.beside(runner.arm.model)},
    })  # fmt: skip


def _declared(runner: AgentRunner, equipped: EquippedAgent) -> Declared | None:
    """Return what has to be delivered, with the paths of instructions as the agent sees them."""
    declared = runner.agent.declare(equipped.task, equipped.mounts.cwd)
    if declared is None:
        return None
    paths = dict.fromkeys(translate_paths(path, equipped.task.names) for path in declared.places)
    return declared.model_copy(update={"places": tuple(paths)})


def _close_session(runner: AgentRunner, session: SessionHandle | None, folder: AttemptFolder) -> AttemptTraffic:
    if runner.gateway is None or session is None:
        return AttemptTraffic(TrafficSummary(), lost=False)
    lost = runner.gateway.is_lost(session)
    account, network = runner.gateway.close(session), egress_summary(folder.file(NETWORK_LOG))
    return AttemptTraffic(account, lost, runner.gateway.is_subscription, network)


def _read_outputs(
    runner: AgentRunner,
    ended: ProcessResult,
    declared: Declared | None,
    folder: AttemptFolder,
    redaction: RedactionSession,
) -> tuple[TranscriptSummary, Delivery | None]:
    """Read the transcript and prove the delivery; an unreadable output is the agent's own doing."""
    try:
        for path in (ended.transcript, ended.stderr):
            if not stat.S_ISREG(path.lstat().st_mode):
                return TranscriptSummary(Outcome.AGENT_ERROR, f"{path.name} is not a plain file any more"), None
            redaction.file(path)  # before a reason is cut out of them, perhaps through a secret
        summary = runner.agent.read(ended)
        if declared is None or runner.gateway is None:
            return summary, None
        observed = runner.agent.observe(ended.transcript, folder.file("first-request.json"))
    except OSError as error:
        if is_lack_of_the_host(error):
            raise
        return TranscriptSummary(Outcome.AGENT_ERROR, f"its output cannot be read: {error.strerror}"), None
    is_out_of_reach = runner.target.sandbox.isolates_files
    return summary, prove_delivery(declared, observed, runner.inventory, is_out_of_reach=is_out_of_reach)


def _attempt(
    number: int,
    started: datetime.datetime,
    finished: FinishedProcess,
    summary: TranscriptSummary,
    traffic: AttemptTraffic,
    delivery: Delivery | None,
) -> Attempt:
    calls = [call for step in summary.trajectory.steps for call in step.tool_calls]
    account, tool_seconds = traffic.account, traffic.account.tool_seconds
    return Attempt(
        number=number,
        outcome=summary.outcome,
        reason=summary.reason,
        retryable=summary.retryable,
        started_at=started,
        seconds=round(finished.seconds, 3),
        usage=account.usage,
        requests=account.requests,
        repeated_requests=account.retries,
        first_byte_seconds=account.first_byte_seconds,
        generation_seconds=account.generation_seconds,
        tool_seconds=None if tool_seconds is None else round(min(finished.seconds, tool_seconds), 3),
        characters={str(part): count for part, count in account.characters.items()},
        adjusted=account.adjusted,
        unadjusted=account.unadjusted,
        subscription=traffic.subscription,
        network=traffic.network,
        turns=summary.turns if traffic.network is None else account.turns,  # without a session, the agent's own count
        tool_calls=dict(Counter(call.name for call in calls)),
        failed_tool_calls=sum(1 for call in calls if call.failed),
        agent_version=summary.version,
        exit_code=finished.code,
        delivery=delivery,
    )


def _store_diff(
    attempt: Attempt,
    prepared: PreparedScenario,
    workspace: Workspace,
    folder: AttemptFolder,
    limits: TrialLimits,
    redaction: RedactionSession,
) -> Attempt:
    """Store the agent's change as a patch; return the attempt with the diff's numbers."""
    try:
        diff, patch = snapshot(prepared.start, workspace, limits.diff_bytes, redaction.clean, limits.diff_files)
    except TooLargeError as error:
        return _without_diff(attempt, f"{error} beyond the start state, the limit of a diff ({error.limit})")
    except NoPatchError as error:
        return _without_diff(attempt, str(error))
    except OSError as error:
        if is_lack_of_the_host(error):
            raise
        return _without_diff(attempt, f"a workspace that cannot be read: {error.strerror}")
    if patch:
        write_bytes(folder.file("diff.patch"), patch)
    return attempt.model_copy(update={"diff": diff})


def _without_diff(attempt: Attempt, fault: str) -> Attempt:
    """Count a workspace without a diff as the agent's failure, unless the outcome does not measure the agent."""
    outcome = Outcome.AGENT_ERROR if attempt.outcome.measures_agent else attempt.outcome
    return attempt.model_copy(update={"outcome": outcome, "reason": f"left {fault}; {attempt.reason}"})
