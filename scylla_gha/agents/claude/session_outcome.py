"""How a Claude Code session ended, as its transcript claims: an outcome that measures the agent, or an early end.

| what the transcript and the process say | claim |
|---|---|
| no start event | sandbox_error: the CLI did not start, or speaks an unknown form |
| ended at the time limit | timeout |
| no result event | agent_error: the CLI died or was ended from inside |
| refusal | refused |
| turn or USD limit | budget_exceeded |
| no error | completed |
| an error of the API other than 400 and 413, before any message of the model | sandbox_error |
| another error | agent_error |

The agent can write a transcript. So `ruling` takes a sandbox_error from here only where the gateway saw no answer of
the model, and the provider's faults from the gateway alone.
"""

from typing import Final

from scylla_gha.agents.base import ProcessResult
from scylla_gha.agents.claude.stream_json import ClaudeSession
from scylla_gha.model.trial import Outcome

Decision = tuple[Outcome, str, bool]

_BAD_REQUEST: Final = frozenset({400, 413})
_LIMITS: Final = frozenset({"error_max_turns", "error_max_budget_usd"})
_OF_THE_API: Final = frozenset({"authentication_failed", "billing_error", "rate_limit", "server_error", "overloaded",
                                "unknown"})  # fmt: skip


def classify_session(session: ClaudeSession, ended: ProcessResult) -> Decision:
    """Apply the table of this module's docstring from top to bottom."""
    if session.version is None and session.result is None:
        return Outcome.SANDBOX_ERROR, _not_started(session, ended), False
    if ended.finished.timed_out:
        return Outcome.TIMEOUT, f"ended at the limit of {ended.limit_seconds:g} s", False
    if session.result is None:
        reason = f"the CLI ended with exit code {ended.finished.code} and no result: {ended.complaint()}"
        return Outcome.AGENT_ERROR, reason, False
    return _of_result(session, session.result)


def _not_started(session: ClaudeSession, ended: ProcessResult) -> str:
    if session.unreadable:
        return f"the transcript is not stream-json of a known form: {ended.complaint()}"
    return f"the CLI did not start (exit code {ended.finished.code}): {ended.complaint()}"


def _of_result(session: ClaudeSession, result: dict[str, object]) -> Decision:
    said = str(result.get("result") or result.get("subtype"))[:300]
    if session.refused or result.get("stop_reason") == "refusal":
        return Outcome.REFUSED, said, False
    if str(result.get("subtype")) in _LIMITS:
        return Outcome.BUDGET_EXCEEDED, f"the CLI ended by {result['subtype']}", False
    if not result.get("is_error"):
        return Outcome.COMPLETED, "the agent ended by itself", False
    return (
        (Outcome.SANDBOX_ERROR, said, True) if _is_unanswered(session, result) else (Outcome.AGENT_ERROR, said, False)
    )


def _is_unanswered(session: ClaudeSession, result: dict[str, object]) -> bool:
    """Whether it says that the API failed before the model had said anything, and not for what was asked."""
    given = result.get("api_error_status")
    status = given if isinstance(given, int) else None
    is_of_api = status not in _BAD_REQUEST if status is not None else session.error in _OF_THE_API
    return is_of_api and not session.turns
