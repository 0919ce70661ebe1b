"""Reads the transcript of an agent CLI by its manifest's rules, and the outcome that the transcript claims.

A claim is only believed as far as the gateway's log agrees (`attempt.classify_outcome`): exit codes of some CLIs are 0
after an error, and some report half an answer as success. The agent can write to the transcript, so no content may
raise an error.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from pydantic import JsonValue

from scylla_gha.agents.base import ProcessResult
from scylla_gha.agents.json_lines import Event, read_events
from scylla_gha.model.agent_manifest import AgentManifest, EventRule, OutcomeRule
from scylla_gha.model.trial import Outcome, Step, ToolCall, Trajectory
from scylla_gha.providers.base import objects

_MAX_REASON_CHARACTERS: Final = 300
_TAIL_BYTES: Final = 10_000
_SUCCESS_VALUES: Final = ("success", "completed", "ok")
_TEXT_BYTES: Final = 1_000_000  # of the output of a CLI that writes no events


@dataclass
class _Message:
    texts: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


@dataclass
class CliSession:
    """Content of a transcript.

    Attributes:
        known: number of lines that match a rule.
        started: start event; None: there was none.
        start_rule: rule of the start event.
        ended: True if the session's end was reported.
        error: message of a failure that no answer of the model followed.
        code: code of that failure.
    """

    known: int = 0
    started: Event | None = None
    start_rule: EventRule | None = None
    ended: bool = False
    error: str | None = None
    code: str = ""
    version: str | None = None
    messages: list[_Message] = field(default_factory=list)
    calls: dict[str, ToolCall] = field(default_factory=dict)
    is_joining: bool = False

    @property
    def trajectory(self) -> Trajectory:
        """The conversation after the prompt."""
        steps = tuple(
            Step(source="agent", text="\n".join(message.texts), tool_calls=tuple(map(self.calls.__getitem__, ids)))
            for message in self.messages
            for ids in [message.calls]
        )
        final = next((step.text for step in reversed(steps) if step.text), None)
        return Trajectory(steps=steps, final_message=final)


def value_at(event: object, path: str | None) -> object:
    """Return the value at a path such as `message.content.0.text`; None if there is none."""
    if path is None:
        return None
    value = event
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def read_session(manifest: AgentManifest, transcript: Path) -> CliSession:
    """Read a transcript by the manifest's rules; lines that match no rule are skipped."""
    session = CliSession()
    if not manifest.event_rules:
        text = transcript.read_bytes()[-_TEXT_BYTES:].decode(errors="replace").strip()
        session.messages += [_Message([text])] if text else []
        return session
    for event in read_events(transcript):
        rule = next((rule for rule in manifest.event_rules if _matches_rule(rule, event)), None) if event else None
        if event and rule:
            session.known += 1
            _add_event(session, rule, event)
    return session


def unread_events(manifest: AgentManifest, transcript: Path) -> Counter[str]:
    """Count the lines of JSON that match no rule of a manifest, by the values of `type`, `subtype` and `role`."""
    unread = Counter[str]()
    for event in read_events(transcript):
        if event and not any(_matches_rule(rule, event) for rule in manifest.event_rules):
            kinds = (event.get(key) for key in ("type", "subtype", "role"))
            unread["/".join(kind for kind in kinds if isinstance(kind, str)) or "no type"] += 1
    return unread


def _matches_rule(rule: EventRule, event: Event) -> bool:
    return (
        all(value_at(event, path) == value for path, value in rule.when.items())
        and all(re.search(pattern, text_of(value_at(event, path))) for path, pattern in rule.matches.items())
        and not any(re.search(pattern, text_of(value_at(event, path))) for path, pattern in rule.unless.items())
    )


def text_of(value: object) -> str:
    """Return a value as text: the texts of a list of content blocks, nothing for None, JSON for other values."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and (blocks := objects(value)):
        return "\n".join(str(block.get("text", block.get("type"))) for block in blocks)
    return json.dumps(value, ensure_ascii=False)


def _add_event(session: CliSession, rule: EventRule, event: Event) -> None:
    is_joining, session.is_joining = session.is_joining, rule.kind == "delta"
    if session.version is None and isinstance(version := value_at(event, rule.version), str):
        session.version = version
    text = text_of(value_at(event, rule.text))
    if rule.kind == "start" and session.started is None:
        session.started, session.start_rule = event, rule
    elif is_joining and rule.kind == "delta":
        session.messages[-1].texts[-1] += text
    elif rule.kind in ("message", "delta"):
        _add_text(session, text)
    elif rule.kind in _READERS:
        _READERS[rule.kind](session, rule, event)


def _add_end(session: CliSession, rule: EventRule, event: Event) -> None:
    """Record the session's end or a failure; what the agent writes after a failure must not hide it."""
    failed, message = value_at(event, rule.failed), text_of(value_at(event, rule.text))
    if rule.kind == "end":
        session.ended = True
        if not (_is_failure(failed) if rule.failed else message):
            return
    session.error = session.error or message or f"{rule.kind} of the kind {text_of(value_at(event, rule.code))}"
    session.code = text_of(value_at(event, rule.code)) or session.code


def _is_failure(value: object) -> bool:
    """Tell if a value of a field such as `is_error`, `status`, `error` or `exitCode` says that something failed."""
    return bool(value) and value not in _SUCCESS_VALUES


def _add_text(session: CliSession, text: str) -> None:
    if text:
        session.messages.append(_Message([text]))
        _clear_error(session)


def _clear_error(session: CliSession) -> None:
    """Clear a failure from which the CLI recovered, since the model has answered again."""
    if not session.ended:
        session.error, session.code = None, ""


def _message_for_call(session: CliSession) -> _Message:
    """Return the last message; a new one if it has calls with results already, or if there is none."""
    last = session.messages[-1] if session.messages else None
    if last is None or any(session.calls[call].result is not None for call in last.calls):
        session.messages.append(last := _Message())
    return last


def _add_tool_call(session: CliSession, call: ToolCall, message: _Message) -> None:
    if call.id not in session.calls:
        message.calls.append(call.id)
    session.calls[call.id] = call


def _add_call(session: CliSession, rule: EventRule, event: Event) -> None:
    arguments = cast("JsonValue", value_at(event, rule.arguments))
    call_id = text_of(value_at(event, rule.id)) or f"call-{len(session.calls)}"
    call = ToolCall(id=call_id, name=text_of(value_at(event, rule.name)), arguments=arguments)
    _add_tool_call(session, call, _message_for_call(session))
    if rule.result is not None:
        _set_result(session, call.id, value_at(event, rule.result), value_at(event, rule.failed))


def _add_result(session: CliSession, rule: EventRule, event: Event) -> None:
    _set_result(session, text_of(value_at(event, rule.id)), value_at(event, rule.result), value_at(event, rule.failed))


def _set_result(session: CliSession, call: str, content: object, failed: object) -> None:
    if call in session.calls:
        answer = {"result": text_of(content), "failed": _is_failure(failed)}
        session.calls[call] = session.calls[call].model_copy(update=answer)


def _add_blocks(session: CliSession, rule: EventRule, event: Event) -> None:
    """Add the content blocks of a message in the form of the Messages API."""
    content = value_at(event, rule.blocks)
    if isinstance(content, str):
        _add_text(session, content)
        return
    message = _Message()
    for block in objects(content):
        if block.get("type") == "text" and block.get("text"):
            message.texts.append(str(block["text"]))
        elif block.get("type") == "tool_use":
            call = ToolCall(id=str(block.get("id")), name=str(block.get("name")), arguments=block.get("input"))
            _add_tool_call(session, call, message)
        elif block.get("type") == "tool_result":
            _set_result(session, str(block.get("tool_use_id")), block.get("content"), block.get("is_error"))
    if message.texts or message.calls:
        session.messages.append(message)
        _clear_error(session)


def _add_chat(session: CliSession, _: EventRule, event: Event) -> None:
    """Add a message in the form of chat completions."""
    message = _Message([text] if (text := text_of(event.get("content"))) else [])
    for call in objects(event.get("tool_calls")):
        function = call.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        arguments = function.get("arguments") if isinstance(function, dict) else None
        _add_tool_call(session, ToolCall(id=str(call.get("id")), name=str(name), arguments=arguments), message)
    if message.texts or message.calls:
        session.messages.append(message)
        _clear_error(session)


_READERS: Final[dict[str, Callable[[CliSession, EventRule, Event], None]]] = {
    "blocks": _add_blocks,
    "chat": _add_chat,
    "call": _add_call,
    "result": _add_result,
    "error": _add_end,
    "end": _add_end,
}


def claimed_outcome(manifest: AgentManifest, session: CliSession, ended: ProcessResult) -> tuple[Outcome, str]:
    """Return the outcome that the end of the process and of its transcript claims, and the reason."""
    code = ended.finished.code
    if ended.finished.timed_out:
        return Outcome.TIMEOUT, f"ended at the limit of {ended.limit_seconds:g} s"
    reason = (session.error or ended.complaint())[:_MAX_REASON_CHARACTERS]
    for rule in manifest.outcome_rules:
        if _holds(rule, session, ended):
            is_done = rule.outcome is Outcome.COMPLETED
            return rule.outcome, "the agent ended by itself" if is_done else _matched_line(rule, ended) or reason
    if code or session.error:
        return Outcome.AGENT_ERROR, f"the CLI ended with exit code {code}: {reason}"
    if not session.ended and any(rule.kind == "end" for rule in manifest.event_rules):
        return Outcome.AGENT_ERROR, f"the CLI ended with exit code {code} and no report of its end: {reason}"
    return Outcome.COMPLETED, "the agent ended by itself"


def _holds(rule: OutcomeRule, session: CliSession, ended: ProcessResult) -> bool:
    searched = (
        (rule.error, session.error or ""),
        (rule.code, session.code),
        (rule.stderr, _tail(ended.stderr) if rule.stderr else ""),
        (rule.output, _tail(ended.transcript) if rule.output else ""),
    )
    return (
        (rule.exit is None or ended.finished.code in rule.exit)
        and all(pattern is None or re.search(pattern, text) for pattern, text in searched)
        and (rule.ended is None or rule.ended == (session.ended and session.error is None))
    )


def _matched_line(rule: OutcomeRule, ended: ProcessResult) -> str:
    """Return the line of the output or of the errors by which a rule holds; empty if it holds by something else."""
    for pattern, path in ((rule.output, ended.transcript), (rule.stderr, ended.stderr)):
        if pattern and (match := re.search(pattern, text := _tail(path))):
            end = text.find("\n", match.end())
            line = text[text.rfind("\n", 0, match.start()) + 1 : None if end < 0 else end]
            return line.strip()[:_MAX_REASON_CHARACTERS]
    return ""


def _tail(path: Path) -> str:
    return path.read_bytes()[-_TAIL_BYTES:].decode(errors="replace")
