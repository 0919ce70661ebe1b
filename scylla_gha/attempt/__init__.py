"""Runs one attempt of an agent at a cell (command `run`): Attempt record, transcript, trajectory and diff."""

import datetime
import stat
from collections import Counter
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from scylla_gha.agents.base import ModelAccess, ProcessResult, TranscriptSummary, called_command
from scylla_gha.attempt.classify_outcome import AttemptTraffic, classify_outcome
from scylla_gha.attempt.equip import (
    GIT,
    AgentRunner,
    EquippedAgent,
    equip_agent,
    mounts_after_setup,
    not_started,
    observe_programs,
)
from scylla_gha.attempt.github import TrialHub, UsedHub, open_github
from scylla_gha.attempt.workflow_steps import WorkflowBox
from scylla_gha.egress_proxy import NETWORK_LOG, EgressPolicy, egress_summary
from scylla_gha.errors import is_lack_of_the_host
from scylla_gha.gateway.client import SessionHandle
from scylla_gha.gateway.log import TrafficSummary
from scylla_gha.gateway.settings import GuardSettings, Session
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.safety_net import SafetyNetSummary
from scylla_gha.model.traffic import StopRule
from scylla_gha.model.trial import (
    Attempt,
    Declared,
    Delivery,
    Observed,
    Outcome,
    Step,
    Trajectory,
)
from scylla_gha.prepare import PreparedScenario
from scylla_gha.prepare.start_state import StartState, TooLargeError
from scylla_gha.prepare.workspace import NoPatchError, Workspace, own_agent_files, snapshot, with_agent_files
from scylla_gha.providers import shared_style
from scylla_gha.redaction import RedactionSession
from scylla_gha.sandboxes.base import GATEWAY_SOCKET, SandboxMounts, names_inside, socket_folder, translate_paths
from scylla_gha.store import write_bytes, write_record, write_text
from scylla_gha.store.run_folder import AttemptFolder, file_digests
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessLimits, ProcessStreams
from scylla_gha.variants import allowed_models, arm_treatment, prove_delivery

if TYPE_CHECKING:
    from scylla_gha.attempt.github_com import TrialRepository

_FIRST_REQUEST: Final = "first-request.json"


def run_attempt(
    runner: AgentRunner, prepared: PreparedScenario, workspace: Workspace, folder: AttemptFolder
) -> Attempt:
    """Run the agent in a fresh workspace and store the records. An agent's failure is an outcome, not an error.

    The attempt's GitHub is a leased repository on github.com if the experiment has lanes; otherwise it is the hub if
    the scenario has GitHub state.

    Raises:
        ToolError: the agent cannot be started at all.
    """
    with ExitStack() as opened:
        repository = opened.enter_context(_lease(runner, prepared))
        has_hub = prepared.folder.github is not None and repository is None
        needs_socket = has_hub or (runner.target.address and runner.gateway and runner.agent.uses_model)
        sockets = opened.enter_context(socket_folder()) if needs_socket else None
        mounts = replace(mounts_after_setup(runner, prepared, workspace), sockets=sockets, has_github=has_hub)
        box = WorkflowBox(runner.checks or runner.target, prepared.path, runner.cancel)
        github: TrialRepository | TrialHub | None = repository or open_github(
            runner.hub, prepared, sockets, folder, runner.target.sandbox, box
        )
        if github:
            runner = replace(runner, resources=github.with_servers(runner.resources))
            prepared = github.prompted(prepared)
            github.adopt(workspace)
        start = with_agent_files(prepared.start, workspace.repo, runner.resources.agent_files)
        session = _open_session(runner, prepared, mounts, folder, github.hosts if github else ())
        access = _access(runner, session) if session else None
        equipped = equip_agent(runner, prepared, mounts, access, github)
        redactor = runner.redactor.with_secrets((*equipped.command.secrets, *(github.secrets if github else ())))
        patch = runner.patch.read_bytes() if runner.patch and runner.patch.is_file() else b""
        # Text of the task itself is not a secret, even if it looks like a token.
        redaction = RedactionSession(redactor.with_public_tokens(lambda token: token in patch or prepared.holds(token)))
        with redaction.guarding(folder.root):
            with github.closing(folder, redaction) if github else nullcontext(UsedHub()) as used:
                attempt = _run_process(runner, prepared, folder, equipped, session, redaction)
            attempt = attempt.model_copy(update={"github": used.counts, "agent_files": own_agent_files(start)})
            if used.failure:
                attempt = _without_diff(attempt, used.failure)
            else:
                attempt = _store_diff(attempt, start, workspace, folder, runner.limits, redaction)
        attempt = redaction.record(attempt).model_copy(
            update={"redactions": redaction.count, "files": file_digests(folder)}
        )
        write_record(folder.file("attempt.json"), attempt)
        return attempt


def _lease(runner: AgentRunner, prepared: PreparedScenario) -> "AbstractContextManager[TrialRepository | None]":
    """Lease a repository on github.com for the attempt; None if the experiment uses none."""
    if runner.lanes is None:
        return nullcontext()
    from scylla_gha.attempt.github_com import leased_repository

    return leased_repository(runner.lanes, prepared, time_limit(runner.limits, prepared))


def time_limit(limits: TrialLimits, prepared: PreparedScenario) -> float:
    """Return a trial's time limit in seconds: the experiment's, else the scenario's."""
    return float(limits.timeout_seconds or prepared.folder.scenario.task.timeout_seconds)


def _open_session(
    runner: AgentRunner,
    prepared: PreparedScenario,
    mounts: SandboxMounts,
    folder: AttemptFolder,
    github_hosts: tuple[str, ...],
) -> SessionHandle | None:
    """Open a gateway session for the attempt if the agent uses a model."""
    package = runner.agent.package
    if runner.gateway is None or package is None:
        return None
    treatment, names = arm_treatment(runner.arm, runner.resources), names_inside(runner.target.sandbox, mounts)
    aliases = {**runner.agent.models.aliases, **(runner.inventory.aliases if runner.inventory else {})}
    repo, home = names[mounts.cwd], names[mounts.home]
    session = Session(
        cell=folder.root.parent.name,
        role="agent",
        journal=folder.file("traffic.jsonl"),
        first_request=folder.file(_FIRST_REQUEST),
        watch=runner.agent.watch(runner.resources),
        budget_usd=runner.limits.usd,
        models=allowed_models(runner.arm, runner.resources, runner.agent.models.side, aliases),
        server_tools=treatment.server_tools,
        budget_tokens=runner.limits.tokens,
        turns=runner.limits.turns,
        requests=runner.limits.requests,
        stop=_stop_rule(runner, prepared),
        share_usd=runner.share_usd,
        guard=_guard(runner, repo, home),
        paths={repo: "/scylla-workspace", **runner.agent.path_aliases(repo), home: "/scylla-home"},
        circumstances=tuple(runner.agent.circumstances.items()),
        egress=EgressPolicy(hosts=(*prepared.folder.scenario.network.hosts, *treatment.hosts, *github_hosts)),
        socket=mounts.sockets / GATEWAY_SOCKET if mounts.sockets and runner.target.address else None,
    )
    return runner.gateway.open(session)


def _guard(runner: AgentRunner, workspace: str, home: str) -> GuardSettings | None:
    """Return the tools whose calls the gateway judges; None: it judges none."""
    tools = runner.agent.guarded_tools if runner.limits.safety_net else None
    return GuardSettings(tools=dict(tools), workspace=workspace, home=home) if tools else None


def _safety_net(runner: AgentRunner, summary: TranscriptSummary, traffic: AttemptTraffic) -> SafetyNetSummary | None:
    """Return what the safety net judged: by the hook's decisions, or by the gateway's log."""
    tools = runner.agent.guarded_tools
    if not runner.limits.safety_net or traffic.lost:
        return None
    if tools is None:
        return summary.safety_net
    return traffic.account.safety_net or SafetyNetSummary(by="gateway" if tools else "none")


def _access(runner: AgentRunner, session: SessionHandle) -> ModelAccess:
    """Return the access to the model as the agent gets it."""
    provider = runner.gateway.provider_of(runner.arm.model) if runner.gateway else ""
    style = shared_style(runner.agent.api_styles, provider) if provider else None
    return ModelAccess(runner.target.address or session.url, session.token, style or "")


def _stop_rule(runner: AgentRunner, prepared: PreparedScenario) -> StopRule | None:
    """Return the calls at which the attempt ends; None: it ends when the agent ends."""
    stop = prepared.folder.scenario.stop
    return runner.agent.stop_rule(runner.resources, stop) if stop else None


def _ended_by(
    runner: AgentRunner, session: SessionHandle | None, prepared: PreparedScenario
) -> AbstractContextManager[Cancel]:
    """Return the flag that ends the agent's process: set by the user, or at the session's end if it has a stop rule."""
    if runner.gateway is None or session is None or _stop_rule(runner, prepared) is None:
        return nullcontext(runner.cancel)
    return runner.gateway.ending(session, runner.cancel)


def _command(runner: AgentRunner, prepared: PreparedScenario) -> str:
    """Return the command that begins the prompt; empty if the prompt is plain text to the agent."""
    return "" if runner.agent.prompt_commands is None else called_command(prepared.folder.prompt)


def _run_process(
    runner: AgentRunner,
    prepared: PreparedScenario,
    folder: AttemptFolder,
    equipped: EquippedAgent,
    session: SessionHandle | None,
    redaction: RedactionSession,
) -> Attempt:
    """Run the agent's process, store its trajectory, and return the attempt without its diff."""
    declared = _declared(runner, equipped)
    programs = observe_programs(runner, equipped) if declared and runner.arm.mode else None
    if declared and programs and (fault := prove_delivery(declared, [programs], runner.inventory)).reason:
        _close_session(runner, session, folder)
        return not_started(folder.number, fault, runner.target.sandbox)
    prompt = folder.file("prompt.md")
    write_text(prompt, prepared.folder.prompt)
    streams = ProcessStreams(folder.file("transcript.jsonl"), folder.file("stderr.txt"), prompt)
    seconds = time_limit(runner.limits, prepared)
    started = datetime.datetime.now(datetime.UTC)
    try:
        with _ended_by(runner, session, prepared) as cancel:
            finished = _run_command(runner, equipped, streams, seconds, cancel)
    finally:
        traffic = _close_session(runner, session, folder, datetime.datetime.now(datetime.UTC))
    summary, delivery = _read_outputs(
        runner, ProcessResult(finished, seconds, streams.stdout, streams.stderr), declared, folder, redaction, programs
    )
    if delivery is not None:
        delivery = delivery.model_copy(update={"loaded_tools": traffic.account.loaded_tools})
    traffic = replace(traffic, kept_waiting=traffic.account.evidence.kept_waiting(started, finished.seconds))
    summary = classify_outcome(summary, finished, delivery, traffic, runner.limits.turns, _command(runner, prepared))
    _write_trajectory(summary.trajectory, prepared.folder.prompt, folder)
    attempt = _attempt(folder.number, started, finished, summary, traffic, delivery)
    return attempt.model_copy(
        update={
            "base_commit": prepared.start.commit,
            "workspace_digest": prepared.start.manifest.tree,
            "safety_net": _safety_net(runner, summary, traffic),
            **{f"side_{name}": value for name, value in traffic.account.beside(runner.arm.model)},
        }
    )


def _run_command(
    runner: AgentRunner, equipped: EquippedAgent, streams: ProcessStreams, seconds: float, cancel: Cancel
) -> FinishedProcess:
    """Run the agent's process until it ends or `cancel` is set; only the user's interruption counts as cancelled."""
    limits = ProcessLimits(seconds, runner.limits.file_bytes)
    finished = runner.target.sandbox.run(equipped.command.argv, equipped.mounts, streams, limits, cancel)
    return replace(finished, cancelled=finished.cancelled and runner.cancel.is_set)


def _write_trajectory(trajectory: Trajectory, prompt: str, folder: AttemptFolder) -> None:
    """Write the prompt and the agent's steps, unless the agent made no step."""
    if trajectory.steps:
        steps = (Step(source="user", text=prompt), *trajectory.steps)
        write_record(folder.file("trajectory.json"), trajectory.model_copy(update={"steps": steps}))


def _declared(runner: AgentRunner, equipped: EquippedAgent) -> Declared | None:
    """Return the treatment to prove, with the mode's programs, and with paths as the agent sees them."""
    declared = runner.agent.declare(equipped.task, equipped.mounts.cwd)
    if declared is None:
        return None
    paths = dict.fromkeys(translate_paths(path, equipped.task.names) for path in declared.places)
    programs = (GIT, *runner.arm.mode.programs) if runner.arm.mode else ()
    return declared.model_copy(update={"places": tuple(paths), "programs": programs})


def _close_session(
    runner: AgentRunner, session: SessionHandle | None, folder: AttemptFolder, until: datetime.datetime | None = None
) -> AttemptTraffic:
    """Close the session; `until` is the time at which the agent ended, if it was started."""
    if runner.gateway is None or session is None:
        return AttemptTraffic(TrafficSummary(), lost=False)
    lost = runner.gateway.is_lost(session)
    account, network = runner.gateway.close(session, until), egress_summary(folder.file(NETWORK_LOG))
    # The log is incomplete if the gateway died.
    request = folder.file(_FIRST_REQUEST)
    uses = None if lost else runner.agent.uses(runner.resources, account.watched, request)
    return AttemptTraffic(account, lost, runner.gateway.is_subscription([runner.arm.model]), network, uses=uses)


def _read_outputs(
    runner: AgentRunner,
    ended: ProcessResult,
    declared: Declared | None,
    folder: AttemptFolder,
    redaction: RedactionSession,
    programs: Observed | None,
) -> tuple[TranscriptSummary, Delivery | None]:
    """Read the transcript and prove the delivery; an unreadable output is the agent's failure."""
    try:
        for path in (ended.transcript, ended.stderr):
            if not stat.S_ISREG(path.lstat().st_mode):
                return TranscriptSummary(Outcome.AGENT_ERROR, f"{path.name} is no longer a plain file"), None
            redaction.file(path)  # before it is read, since a reason that is cut from it could contain half a secret
        summary = runner.agent.read(ended)
        if declared is None or runner.gateway is None:
            return summary, None
        observed = [*runner.agent.observe(ended.transcript, folder.file(_FIRST_REQUEST))]
        observed += [programs] if programs else []
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
        uses=traffic.uses,
        stopped=traffic.account.end,
        turns=summary.turns if traffic.network is None else account.turns,  # without a session, the agent's own count
        tool_calls=dict(Counter(call.name for call in calls)),
        failed_tool_calls=sum(1 for call in calls if call.failed),
        agent_version=summary.version,
        exit_code=finished.code,
        delivery=delivery,
    )


def _store_diff(
    attempt: Attempt,
    start: StartState,
    workspace: Workspace,
    folder: AttemptFolder,
    limits: TrialLimits,
    redaction: RedactionSession,
) -> Attempt:
    """Store the agent's change as a patch; return the attempt with the diff's numbers."""
    try:
        diff, patch = snapshot(start, workspace, limits.diff_bytes, redaction.clean, limits.diff_files)
    except TooLargeError as error:
        return _without_diff(attempt, f"left {error} beyond the start state, the limit of a diff ({error.limit})")
    except NoPatchError as error:
        return _without_diff(attempt, f"left {error}")
    except OSError as error:
        if is_lack_of_the_host(error):
            raise
        return _without_diff(attempt, f"left a workspace that cannot be read: {error.strerror}")
    if patch:
        write_bytes(folder.file("diff.patch"), patch)
    return attempt.model_copy(update={"diff": diff})


def _without_diff(attempt: Attempt, fault: str) -> Attempt:
    """Return the attempt as the agent's failure, unless its outcome does not measure the agent."""
    outcome = Outcome.AGENT_ERROR if attempt.outcome.measures_agent else attempt.outcome
    return attempt.model_copy(update={"outcome": outcome, "reason": f"{fault}; {attempt.reason}"})
