"""run: the agent works on a cell, once; what it did becomes an Attempt, a transcript, a trajectory and a diff."""

import datetime
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import Access, Agent, Command, Ended, Reading, Task
from scylla_gha.gateway.client import Door, Gateway
from scylla_gha.gateway.journal import Account
from scylla_gha.gateway.settings import Lane
from scylla_gha.model.delivery import Declared, Delivery, Inventory
from scylla_gha.model.experiment import Limits
from scylla_gha.model.outfit import Outfit
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Attempt, Outcome, Step, Trajectory
from scylla_gha.model.variant import Treatment
from scylla_gha.proc import Cancel, Finished, Streams
from scylla_gha.proc import Limits as ProcessLimits
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.sweep import Sweep
from scylla_gha.sandboxes.base import Box, Sandbox
from scylla_gha.seeding.ground import Ground
from scylla_gha.seeding.manifest import TooLargeError
from scylla_gha.seeding.workspace import Workspace, snapshot
from scylla_gha.store import AttemptFolder, write_bytes, write_record, write_text
from scylla_gha.variants.delivery import prove

_MEGA: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Runner:
    """How one arm's agent is run on this machine. `patch` is what an oracle applies instead of the solution."""

    arm: Arm
    agent: Agent
    program: str
    gateway: Gateway | None
    sandbox: Sandbox
    limits: Limits
    cancel: Cancel
    patch: Path | None = None
    outfit: Outfit = Outfit()
    inventory: Inventory | None = None
    redactor: Redactor = field(default_factory=Redactor)


@dataclass(frozen=True, slots=True)
class _Traffic:
    """What the gateway saw of an attempt; `lost` where it died in between."""

    account: Account
    lost: bool
    subscription: bool = False

    def overrule(self, reading: Reading, delivery: Delivery | None) -> tuple[Outcome, str, bool]:
        """The outcome; another treatment than the declared one, and what the gateway knows better, come first."""
        account = self.account
        if delivery is not None and (fault := _fault(delivery, reading)):
            return Outcome.DELIVERY_ERROR, fault, False
        if self.lost:
            return Outcome.PROVIDER_ERROR, "the model gateway died in the middle of it", True
        if account.unmatched:
            return Outcome.PROVIDER_ERROR, f"{account.unmatched} requests are not in the recording", False
        spent = [error for error in account.errors if error.startswith("budget_exceeded")]
        if spent:
            # A trial's own budget measures the agent; that others have spent the experiment's does not.
            outcome = Outcome.BUDGET_EXCEEDED if "budget_exceeded:trial" in spent else Outcome.CANCELLED
            return outcome, f"refused before the request: {', '.join(spent)}", False
        return reading.outcome, reading.reason, reading.retryable


def _fault(delivery: Delivery, reading: Reading) -> str | None:
    """Why the trial does not measure its variant; one that ended early may have had no time to show it."""
    if delivery.reason:
        return delivery.reason
    if reading.outcome is Outcome.COMPLETED and not delivery.proved:
        return f"what the agent had is not proved: {'; '.join(delivery.unverified)}"
    return None


def run(runner: Runner, ground: Ground, workspace: Workspace, folder: AttemptFolder) -> Attempt:
    """Run the agent in a fresh workspace and keep what it did; the agent's failures are outcomes, not errors.

    Raises:
        ToolError: the agent cannot be started at all.
    """
    door = _open(runner, workspace, folder)
    task = _task(runner, ground, workspace, door)
    command = runner.agent.command(task, runner.program)
    sweep = Sweep(_redactor(runner, ground, command))
    with sweep.guarding(folder.root):
        attempt = _work(runner, ground, workspace, folder, _Start(task, command, door, sweep))
    attempt = sweep.record(attempt).model_copy(update={"redactions": sweep.found})
    write_record(folder.file("attempt.json"), attempt)
    return attempt


@dataclass(frozen=True, slots=True)
class _Start:
    """What an attempt begins with: the task as a command, the way to a model, and what keeps secrets out."""

    task: Task
    command: Command
    door: Door | None
    sweep: Sweep


def _redactor(runner: Runner, ground: Ground, command: Command) -> Redactor:
    """What the task itself holds stays: it only looks like a token, and the agent may have been told to write it."""
    given = runner.patch.read_bytes() if runner.patch and runner.patch.is_file() else b""
    redactor = runner.redactor.with_secrets(command.secrets)
    return redactor.knowing(lambda token: token in given or ground.holds(token))


def _work(runner: Runner, ground: Ground, workspace: Workspace, folder: AttemptFolder, start: _Start) -> Attempt:
    declared = runner.agent.declare(start.task, workspace.repo)
    prompt = folder.file("prompt.md")
    write_text(prompt, ground.folder.prompt)
    streams = Streams(folder.file("transcript.jsonl"), folder.file("stderr.txt"), prompt)
    seconds = time_limit(runner.limits, ground)
    started = datetime.datetime.now(datetime.UTC)
    try:
        finished = runner.sandbox.run(
            start.command.argv,
            Box(workspace.repo, workspace.home, ground.path, start.command.env),
            streams,
            ProcessLimits(seconds, runner.limits.file_mb * _MEGA),
            runner.cancel,
        )
    finally:
        traffic = _settle(runner, start.door)
    for path in (streams.stdout, streams.stderr):
        start.sweep.file(path)  # before a reason is cut out of them, and perhaps a secret in two
    reading = runner.agent.read(
        Ended(finished, started.timestamp(), seconds, streams.stdout, streams.stderr, workspace.home)
    )
    delivery = _delivery(runner, declared, folder)
    attempt = _attempt(folder.number, started, finished, reading, traffic, delivery)
    attempt = _keep_diff(attempt, ground, workspace, folder, runner.limits.diff_mb * _MEGA, start.sweep)
    _keep_trajectory(reading.trajectory, ground, folder)
    return attempt.model_copy(
        update={
            "base_commit": ground.start.commit,
            "workspace_digest": ground.start.manifest.tree,
            "safety_net": reading.safety_net if runner.limits.safety_net else None,
        }
    )


def _open(runner: Runner, workspace: Workspace, folder: AttemptFolder) -> Door | None:
    """Open a lane of the gateway for this attempt, where the agent uses a model."""
    if runner.gateway is None or runner.agent.package is None:
        return None
    repo = str(workspace.repo)
    # Claude Code names a folder of its own after the workspace, with a dash for whatever is no letter or digit.
    paths = {repo: "/scylla-workspace", re.sub(r"[^A-Za-z0-9]", "-", repo): "-scylla-workspace",
             str(workspace.home): "/scylla-home"}  # fmt: skip
    lane = Lane(cell=folder.root.parent.name, role="agent", journal=folder.file("traffic.jsonl"),
                first_request=folder.file("first-request.json"), budget_usd=runner.limits.usd, paths=paths)  # fmt: skip
    return runner.gateway.open(lane)


def _settle(runner: Runner, door: Door | None) -> _Traffic:
    if runner.gateway is None or door is None:
        return _Traffic(Account(), lost=False)
    lost = runner.gateway.lost(door)
    return _Traffic(runner.gateway.close(door), lost, runner.gateway.is_subscription)


def _delivery(runner: Runner, declared: Declared | None, folder: AttemptFolder) -> Delivery | None:
    """The proof, of an agent that reached for a model through the gateway."""
    if declared is None or runner.gateway is None:
        return None
    seen = runner.agent.observe(folder.file("transcript.jsonl"), folder.file("first-request.json"))
    return prove(declared, seen, runner.inventory)


def time_limit(limits: Limits, ground: Ground) -> float:
    """Seconds that a trial may take: the experiment's, or else the scenario's."""
    return float(limits.timeout_seconds or ground.folder.scenario.task.timeout_seconds)


def _task(runner: Runner, ground: Ground, workspace: Workspace, door: Door | None) -> Task:
    return Task(
        prompt=ground.folder.prompt,
        home=workspace.home,
        patch=runner.patch or ground.folder.solution,
        limits=runner.limits,
        access=Access(door.url, door.token) if door else None,
        model=runner.arm.model,
        treatment=runner.arm.variant.treatment if runner.arm.variant else Treatment(),
        outfit=runner.outfit,
    )


def _attempt(
    number: int,
    started: datetime.datetime,
    finished: Finished,
    reading: Reading,
    traffic: _Traffic,
    delivery: Delivery | None,
) -> Attempt:
    outcome, reason, retryable = traffic.overrule(reading, delivery)
    if finished.cancelled:
        outcome, reason, retryable = Outcome.CANCELLED, "interrupted by the user", False
    calls = [call for step in reading.trajectory.steps for call in step.tool_calls]
    account = traffic.account
    return Attempt(
        number=number,
        outcome=outcome,
        reason=reason,
        retryable=retryable,
        started_at=started,
        seconds=round(finished.seconds, 3),
        usage=account.usage,
        requests=account.requests,
        repeated_requests=account.retries,
        first_byte_seconds=account.first_byte_seconds,
        generation_seconds=account.generation_seconds,
        characters={str(part): count for part, count in account.characters.items()},
        adjusted=account.adjusted,
        unadjusted=account.unadjusted,
        subscription=traffic.subscription,
        turns=reading.turns,
        tool_calls=dict(Counter(call.name for call in calls)),
        failed_tool_calls=sum(1 for call in calls if call.failed),
        agent_version=reading.version,
        exit_code=finished.code,
        delivery=delivery,
    )


def _keep_diff(
    attempt: Attempt, ground: Ground, workspace: Workspace, folder: AttemptFolder, max_bytes: int, sweep: Sweep
) -> Attempt:
    try:
        stat, patch = snapshot(ground.start, workspace, max_bytes, sweep.clean)
    except TooLargeError as error:
        reason = f"left {error} beyond the start state, the limit of a diff (limits.diff_mb); {attempt.reason}"
        outcome = Outcome.AGENT_ERROR if attempt.outcome.measures_agent else attempt.outcome
        return attempt.model_copy(update={"outcome": outcome, "reason": reason})
    if patch:
        write_bytes(folder.file("diff.patch"), patch)
    return attempt.model_copy(update={"diff": stat})


def _keep_trajectory(trajectory: Trajectory, ground: Ground, folder: AttemptFolder) -> None:
    if trajectory.steps:
        prompt = Step(source="user", text=ground.folder.prompt)
        whole = trajectory.model_copy(update={"steps": (prompt, *trajectory.steps)})
        write_record(folder.file("trajectory.json"), whole)
