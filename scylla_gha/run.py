"""run: the agent works on a cell, once; what it did becomes an Attempt, a transcript, a trajectory and a diff."""

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import Agent, Command, Ended, Reading, Task
from scylla_gha.model.experiment import Limits
from scylla_gha.model.plan import Arm
from scylla_gha.model.pricing import Model
from scylla_gha.model.trial import NO_USAGE, Attempt, DiffStat, Outcome, Step, Trajectory, Usage
from scylla_gha.model.variant import Treatment
from scylla_gha.proc import Cancel, Finished, Streams
from scylla_gha.proc import Limits as ProcessLimits
from scylla_gha.sandboxes.base import Box, Sandbox
from scylla_gha.seeding.ground import Ground
from scylla_gha.seeding.manifest import TooLargeError
from scylla_gha.seeding.workspace import Workspace, snapshot
from scylla_gha.store import AttemptFolder, write_bytes, write_record, write_text

_MEGA: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Runner:
    """How one arm's agent is run on this machine. `patch` is what an oracle applies instead of the solution."""

    arm: Arm
    agent: Agent
    program: str
    models: Mapping[str, Model]
    sandbox: Sandbox
    limits: Limits
    cancel: Cancel
    patch: Path | None = None


def run(runner: Runner, ground: Ground, workspace: Workspace, folder: AttemptFolder) -> Attempt:
    """Run the agent in a fresh workspace and keep what it did; the agent's failures are outcomes, not errors.

    Raises:
        ToolError: the agent cannot be started at all.
    """
    command = runner.agent.command(_task(runner, ground, workspace), runner.program)
    prompt = folder.file("prompt.md")
    write_text(prompt, ground.folder.prompt)
    streams = Streams(folder.file("transcript.jsonl"), folder.file("stderr.txt"), prompt)
    seconds = time_limit(runner.limits, ground)
    started = datetime.datetime.now(datetime.UTC)
    finished = runner.sandbox.run(
        command.argv,
        Box(workspace.repo, workspace.home, ground.path, command.env),
        streams,
        ProcessLimits(seconds, runner.limits.file_mb * _MEGA),
        runner.cancel,
    )
    for path in (streams.stdout, streams.stderr):
        _redact(path, command)
    reading = runner.agent.read(
        Ended(finished, started.timestamp(), seconds, streams.stdout, streams.stderr, workspace.home)
    )
    attempt = _attempt(folder.number, started, finished, reading, runner.models)
    attempt = _keep_diff(attempt, ground, workspace, folder, runner.limits.diff_mb * _MEGA, command)
    _keep_trajectory(reading.trajectory, ground, folder)
    attempt = attempt.model_copy(update={"base_commit": ground.start.commit,
                                         "workspace_digest": ground.start.manifest.tree})  # fmt: skip
    write_record(folder.file("attempt.json"), attempt)
    return attempt


def time_limit(limits: Limits, ground: Ground) -> float:
    """Seconds that a trial may take: the experiment's, or else the scenario's."""
    return float(limits.timeout_seconds or ground.folder.scenario.task.timeout_seconds)


def _task(runner: Runner, ground: Ground, workspace: Workspace) -> Task:
    return Task(
        prompt=ground.folder.prompt,
        home=workspace.home,
        patch=runner.patch or ground.folder.solution,
        limits=runner.limits,
        model=runner.arm.model,
        treatment=runner.arm.variant.treatment if runner.arm.variant else Treatment(),
    )


def _attempt(
    number: int, started: datetime.datetime, finished: Finished, reading: Reading, models: Mapping[str, Model]
) -> Attempt:
    outcome, reason, retryable = reading.outcome, reading.reason, reading.retryable
    if finished.cancelled:
        outcome, reason, retryable = Outcome.CANCELLED, "interrupted by the user", False
    calls = [call for step in reading.trajectory.steps for call in step.tool_calls]
    return Attempt(
        number=number,
        outcome=outcome,
        reason=reason,
        retryable=retryable,
        started_at=started,
        seconds=round(finished.seconds, 3),
        usage=_priced(reading.by_model, models),
        turns=reading.turns,
        tool_calls=dict(Counter(call.name for call in calls)),
        failed_tool_calls=sum(1 for call in calls if call.failed),
        agent_version=reading.version,
        exit_code=finished.code,
    )


def _priced(by_model: Mapping[str, Usage] | None, models: Mapping[str, Model]) -> Usage:
    """All models together; unknown tokens are unknown, and so is a cost with one price unknown."""
    if by_model is None:
        return Usage()
    total = NO_USAGE
    for model, used in by_model.items():
        price = models[model].price if model in models else None
        total = total.plus(used.model_copy(update={"usd": price.usd(used) if price else None}))
    return total


def _keep_diff(
    attempt: Attempt, ground: Ground, workspace: Workspace, folder: AttemptFolder, max_bytes: int, command: Command
) -> Attempt:
    try:
        stat, patch = snapshot(ground.start, workspace, max_bytes)
    except TooLargeError as error:
        reason = f"left {error} beyond the start state, the limit of a diff (limits.diff_mb); {attempt.reason}"
        outcome = Outcome.AGENT_ERROR if attempt.outcome.measures_agent else attempt.outcome
        return attempt.model_copy(update={"outcome": outcome, "reason": reason})
    if patch:
        write_bytes(folder.file("diff.patch"), _clean(patch, command))
    named = DiffStat.model_validate_json(_clean(stat.model_dump_json().encode(), command))
    return attempt.model_copy(update={"diff": named})


def _keep_trajectory(trajectory: Trajectory, ground: Ground, folder: AttemptFolder) -> None:
    if trajectory.steps:
        prompt = Step(source="user", text=ground.folder.prompt)
        whole = trajectory.model_copy(update={"steps": (prompt, *trajectory.steps)})
        write_record(folder.file("trajectory.json"), whole)


def _redact(path: Path, command: Command) -> None:
    content = path.read_bytes()
    clean = _clean(content, command)
    if clean != content:
        write_bytes(path, clean)


def _clean(content: bytes, command: Command) -> bytes:
    """Take the keys that the agent was given out of what is kept."""
    for secret in command.secrets:
        content = content.replace(secret.encode(), b"[redacted]")
    return content
