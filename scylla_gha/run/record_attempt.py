"""Records of an attempt: the Attempt itself, the diff and the trajectory."""

import datetime
from collections import Counter
from typing import Final

from scylla_gha.agents.base import TranscriptSummary
from scylla_gha.errors import is_lack_of_the_host
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Attempt, Outcome, Step, Trajectory
from scylla_gha.model.variant import Delivery
from scylla_gha.prepare.scenario import PreparedScenario
from scylla_gha.prepare.tree_manifest import TooLargeError
from scylla_gha.prepare.workspace import NoPatchError, Workspace, snapshot
from scylla_gha.process import FinishedProcess
from scylla_gha.redaction.session import RedactionSession
from scylla_gha.run.classify_outcome import AttemptTraffic
from scylla_gha.store.records import write_bytes, write_record
from scylla_gha.store.run_folder import AttemptFolder

MEGABYTE: Final = 1_000_000


def attempt_record(
    number: int,
    started: datetime.datetime,
    finished: FinishedProcess,
    summary: TranscriptSummary,
    traffic: AttemptTraffic,
    delivery: Delivery | None,
) -> Attempt:
    """Return the record without diff."""
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


def store_diff(
    attempt: Attempt,
    prepared: PreparedScenario,
    workspace: Workspace,
    folder: AttemptFolder,
    limits: TrialLimits,
    redaction: RedactionSession,
) -> Attempt:
    """Store the agent's change as a patch; return the attempt with the diff's numbers."""
    try:
        diff, patch = snapshot(prepared.start, workspace, limits.diff_mb * MEGABYTE, redaction.clean, limits.diff_files)
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


def _without_diff(attempt: Attempt, left: str) -> Attempt:
    """Count a workspace without a diff as the agent's failure, unless the outcome does not measure the agent."""
    outcome = Outcome.AGENT_ERROR if attempt.outcome.measures_agent else attempt.outcome
    return attempt.model_copy(update={"outcome": outcome, "reason": f"left {left}; {attempt.reason}"})


def store_trajectory(trajectory: Trajectory, prepared: PreparedScenario, folder: AttemptFolder) -> None:
    """Store the conversation with the prompt before it, if there is one."""
    if trajectory.steps:
        prompt = Step(source="user", text=prepared.folder.prompt)
        whole = trajectory.model_copy(update={"steps": (prompt, *trajectory.steps)})
        write_record(folder.file("trajectory.json"), whole)
