"""Claude Code's stream-json transcript: the session's conversation and tool calls, and the outcome that it claims.

Each line is an event. `stream_event` has the provider's events. The agent can write to the transcript, so no content
may raise an error. The CLI's session files in HOME have the times of tool calls, but are not read: the agent can write
them too, and the gateway knows the times of requests.

| transcript and process | claimed outcome |
|---|---|
| no start event | sandbox_error: the CLI did not start, or writes an unknown form |
| ended at the time limit | timeout |
| no result event | agent_error: the CLI died or was ended from inside |
| refusal | refused |
| turn or USD limit | budget_exceeded |
| no error: the result is a `success`, and `is_error` is not true | completed |
| an error of the API other than 400 and 413, before any message of the model | sandbox_error |
| any other error | agent_error |

`attempt.classify_outcome` accepts a sandbox_error only if the gateway saw no answer of the model, and a fault of the
provider only if the gateway saw it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import ProcessResult
from scylla_gha.agents.json_lines import Event, read_events
from scylla_gha.lenient_json import whole_number
from scylla_gha.model.trial import Outcome, Step, ToolCall, Trajectory
from scylla_gha.providers.base import objects

_MAX_REASON_CHARACTERS: Final = 300
_BAD_REQUEST: Final = frozenset({400, 413})
_LIMITS: Final = frozenset({"error_max_turns", "error_max_budget_usd"})
_API_ERRORS: Final = frozenset(
    {"authentication_failed", "billing_error", "rate_limit", "server_error", "overloaded", "unknown"}
)


@dataclass
class ModelMessage:
    """A message of the model; `synthetic`: the CLI itself wrote it."""

    synthetic: bool = False
    texts: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


@dataclass
class ClaudeSession:
    """Content of a transcript."""

    version: str | None = None
    result: Event | None = None
    error: str | None = None  # the CLI's name of the error that ended it
    refused: bool = False
    unreadable: int = 0
    messages: dict[str, ModelMessage] = field(default_factory=dict)
    latest_keys: dict[str, str] = field(default_factory=dict)  # latest key in `messages` by the provider's id
    calls: dict[str, ToolCall] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        """Number of the model's messages."""
        return sum(1 for message in self.messages.values() if not message.synthetic)

    @property
    def trajectory(self) -> Trajectory:
        """The conversation after the prompt."""
        steps = tuple(
            Step(source="agent", text="\n".join(message.texts), tool_calls=tuple(self.calls[i] for i in message.calls))
            for message in self.messages.values()
        )
        final = self.result.get("result") if self.result else None
        return Trajectory(steps=steps, final_message=final if isinstance(final, str) else None)


def read_transcript(transcript: Path) -> ClaudeSession:
    """Read the events of a transcript; lines that are not events are counted."""
    session = ClaudeSession()
    for event in read_events(transcript):
        if event is None:
            session.unreadable += 1
        else:
            _add_event(session, event)
    return session


def _add_event(session: ClaudeSession, event: Event) -> None:
    match event.get("type"):
        case "system":
            _add_system_event(session, event)
        case "stream_event":
            started = _mapping(event.get("event"))
            if started.get("type") == "message_start":
                name = str(_mapping(started.get("message")).get("id"))
                # A broken or replaying provider may repeat an id, and no message may hide another message.
                key = name if name not in session.messages else f"{name}#{len(session.messages)}"
                session.latest_keys[name] = key
                session.messages[key] = ModelMessage()
        case "assistant":
            _add_message(session, event)
        case "user":
            _add_tool_results(session, event)
        case "result":
            # The CLI writes one result. A process that outlives it may write another, which must not hide a failure.
            session.result = session.result if session.result and _is_failure(session.result) else event
        case _:
            pass


def _add_system_event(session: ClaudeSession, event: Event) -> None:
    match event.get("subtype"):
        case "init":
            # The CLI writes the first one before the model's first answer; the agent could write another.
            session.version = session.version or str(event.get("claude_code_version") or "unknown")
        case str(subtype) if subtype.startswith("model_refusal"):
            session.refused = True
        case _:
            pass


def _is_failure(result: Event) -> bool:
    return bool(result.get("is_error")) or result.get("stop_reason") == "refusal" or result.get("subtype") != "success"


def _add_message(session: ClaudeSession, event: Event) -> None:
    content = _mapping(event.get("message"))
    if event.get("error"):
        session.error = str(event["error"])
    name = str(content.get("id"))
    key = session.latest_keys.setdefault(name, name)
    message = session.messages.setdefault(key, ModelMessage(synthetic=content.get("model") == "<synthetic>"))
    for block in objects(content.get("content")):
        if block.get("type") == "text":
            message.texts.append(str(block.get("text")))
        elif block.get("type") == "tool_use":
            call = str(block.get("id"))
            message.calls.append(call)
            session.calls[call] = ToolCall(id=call, name=str(block.get("name")), arguments=block.get("input"))


def _add_tool_results(session: ClaudeSession, event: Event) -> None:
    for block in objects(_mapping(event.get("message")).get("content")):
        call = session.calls.get(str(block.get("tool_use_id")))
        if call:
            content = block.get("content")
            text = "" if content is None else str(content)
            if isinstance(content, list):
                text = "\n".join(str(part.get("text", part.get("type"))) for part in objects(content))
            answer = {"result": text, "failed": bool(block.get("is_error"))}
            session.calls[call.id] = call.model_copy(update=answer)


def _mapping(value: object) -> Event:
    return value if isinstance(value, dict) else {}


def classify_session(session: ClaudeSession, ended: ProcessResult) -> tuple[Outcome, str, bool]:
    """Return the outcome by the first row of this module's table that applies, the reason, and whether to retry."""
    code, result = ended.finished.code, session.result
    if session.version is None and result is None:
        fault = (
            "the transcript is not stream-json of a known form"
            if session.unreadable
            else (f"the CLI did not start (exit code {code})")
        )
        return Outcome.SANDBOX_ERROR, f"{fault}: {ended.complaint()}", False
    if ended.finished.timed_out:
        return Outcome.TIMEOUT, f"ended at the limit of {ended.limit_seconds:g} s", False
    if result is None:
        return Outcome.AGENT_ERROR, f"the CLI ended with exit code {code} and no result: {ended.complaint()}", False
    return _classify_result(session, result)


def _classify_result(session: ClaudeSession, result: Event) -> tuple[Outcome, str, bool]:
    text = _reported(result)[:_MAX_REASON_CHARACTERS]
    if session.refused or result.get("stop_reason") == "refusal":
        return Outcome.REFUSED, text, False
    if str(result.get("subtype")) in _LIMITS:
        return Outcome.BUDGET_EXCEEDED, f"the CLI ended by {result['subtype']}", False
    if not _is_failure(result):
        return Outcome.COMPLETED, "the agent ended by itself", False
    status = whole_number(result.get("api_error_status"))
    is_api_error = session.error in _API_ERRORS if status is None else status not in _BAD_REQUEST
    is_unanswered = is_api_error and not session.turns
    return Outcome.SANDBOX_ERROR if is_unanswered else Outcome.AGENT_ERROR, text, is_unanswered


def _reported(result: Event) -> str:
    """Return the CLI's own reason for its end: the result's text, its errors, or its kind."""
    errors = result.get("errors")
    listed = "; ".join(error for error in errors if isinstance(error, str)) if isinstance(errors, list) else ""
    return str(result.get("result") or listed or f"a result of the kind {result.get('subtype')}, without a text")
