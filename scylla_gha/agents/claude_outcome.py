"""How a Claude Code session ended, by rule: what measures the agent, and what does not.

| evidence | outcome | run again |
|---|---|---|
| no start event | sandbox_error: the CLI did not start, or speaks an unknown form | no |
| ended at the time limit while a request had no answer for long, or was being repeated | provider_error | yes |
| ended at the time limit otherwise | timeout | no |
| no result event | agent_error: the CLI died or was ended from inside | no |
| refusal | refused | no |
| turn or USD limit | budget_exceeded | no |
| API status 401, 403, 404 | provider_error | no: the next request would fare alike |
| API status 400, 413 | agent_error: the conversation became what no provider takes | no |
| another API status, cut or empty answer | provider_error | yes |
| another error | agent_error | no |
| no error | completed | no |
"""

from typing import Final

from scylla_gha.agents.base import Ended
from scylla_gha.agents.claude_session import Session
from scylla_gha.model.trial import Outcome

Decision = tuple[Outcome, str, bool]

_SILENT_SHARE: Final = 0.5  # of the time limit
_SILENT_SECONDS: Final = 300.0
_NO_ACCESS: Final = frozenset({401, 403, 404})
_BAD_REQUEST: Final = frozenset({400, 413})
_PROVIDER_FAULTS: Final = frozenset({"authentication_failed", "billing_error", "rate_limit", "server_error",
                                     "overloaded", "unknown"})  # fmt: skip


def decide(session: Session, ended: Ended) -> Decision:
    """Apply the table of this module's docstring from top to bottom."""
    if session.version is None and session.result is None:
        return Outcome.SANDBOX_ERROR, _not_started(session, ended), False
    if ended.finished.timed_out:
        return _at_the_limit(session, ended)
    if session.result is None:
        reason = f"the CLI ended with exit code {ended.finished.code} and no result: {ended.complaint()}"
        return Outcome.AGENT_ERROR, reason, False
    return _of_result(session, session.result)


def _not_started(session: Session, ended: Ended) -> str:
    if session.unreadable:
        return f"the transcript is not stream-json of a known form: {ended.complaint()}"
    return f"the CLI did not start (exit code {ended.finished.code}): {ended.complaint()}"


def _at_the_limit(session: Session, ended: Ended) -> Decision:
    limit = f"the limit of {ended.limit_seconds:g} s"
    if session.retrying:
        return Outcome.PROVIDER_ERROR, f"at {limit} a request was still being repeated: {session.retrying}", True
    since = session.last_seen or ended.started_at
    silent = ended.started_at + ended.finished.seconds - since
    if session.waiting and silent >= min(_SILENT_SHARE * ended.limit_seconds, _SILENT_SECONDS):
        return Outcome.PROVIDER_ERROR, f"at {limit} a request had been without an answer for {silent:.0f} s", True
    return Outcome.TIMEOUT, f"ended at {limit}", False


def _of_result(session: Session, result: dict[str, object]) -> Decision:
    said = str(result.get("result") or result.get("subtype"))[:300]
    if session.refused or result.get("stop_reason") == "refusal":
        return Outcome.REFUSED, said, False
    if str(result.get("subtype")) in {"error_max_turns", "error_max_budget_usd"}:
        return Outcome.BUDGET_EXCEEDED, f"the CLI ended by {result['subtype']}", False
    if not result.get("is_error"):
        return Outcome.COMPLETED, "the agent ended by itself", False
    given = result.get("api_error_status")
    status = given if isinstance(given, int) else None
    if status in _BAD_REQUEST:
        return Outcome.AGENT_ERROR, said, False
    if status is not None or session.error in _PROVIDER_FAULTS:
        return Outcome.PROVIDER_ERROR, said, status not in _NO_ACCESS and session.error != "authentication_failed"
    return Outcome.AGENT_ERROR, said, False
