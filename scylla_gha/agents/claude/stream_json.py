"""Claude Code's stream-json transcript as a session: conversation, tool calls, and how it ended.

One event a line. `stream_event` carries the provider's own events. The agent can write to it: nothing there may raise.
The CLI's session files in HOME, which hold times of tool calls, are not read: they are the agent's as well, and the
gateway knows when requests were made.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from scylla_gha.model.trial import Step, ToolCall, Trajectory

Event = dict[str, Any]

_MOST_LINES: Final = 1_000_000  # read in seconds; far more than a session has, and whoever writes more has no result
_DEEPEST: Final = 100  # levels of an event; Python and pydantic stop at a few hundred


@dataclass
class ClaudeSession:
    """What the transcript says; filled event by event."""

    version: str | None = None
    result: Event | None = None
    error: str | None = None  # the CLI's name of the fault for which it gave up
    refused: bool = False
    unreadable: int = 0
    messages: dict[str, "ModelMessage"] = field(default_factory=dict)
    newest: dict[str, str] = field(default_factory=dict)  # of a provider's id, the key in `messages`
    calls: dict[str, ToolCall] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        """Messages of the model."""
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


@dataclass
class ModelMessage:
    """One message of the model."""

    synthetic: bool = False
    texts: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


def read_transcript(transcript: Path) -> ClaudeSession:
    """Read a transcript."""
    session = ClaudeSession()
    current = ""
    for event in _events(transcript, session):
        current = _take(session, event, current)
    return session


def _events(path: Path, session: ClaudeSession) -> Iterator[Event]:
    with path.open("rb") as file:
        for line in itertools.islice(file, _MOST_LINES):
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError:
                event = None
            if isinstance(event, dict) and not _is_deep(line, event):
                yield event
            elif line.strip():
                session.unreadable += 1
        session.unreadable += any(file)


def _is_deep(line: bytes, event: Event) -> bool:
    """Whether it is nested deeper than what could be written again."""
    if line.count(b"[") + line.count(b"{") <= _DEEPEST:
        return False
    level: list[object] = [event]
    for _ in range(_DEEPEST):
        level = [each for one in level if isinstance(one, dict | list) for each in _inside(one)]
    return bool(level)


def _inside(one: Event | list[object]) -> Iterable[object]:
    return one.values() if isinstance(one, dict) else one


def _take(session: ClaudeSession, event: Event, current: str) -> str:
    """Take one event in; returns the id of the message that is being streamed."""
    match event.get("type"):
        case "system":
            _system(session, event)
        case "stream_event":
            return _streamed(session, _mapping(event.get("event")), current)
        case "assistant":
            _assistant(session, event)
        case "user":
            _tool_results(session, event)
        case "result":
            # The CLI writes one. A process that outlives it may write another, which must not make good the first.
            session.result = session.result if session.result and _is_failure(session.result) else event
        case _:
            pass  # a kind that says nothing we need
    return current


def _system(session: ClaudeSession, event: Event) -> None:
    match event.get("subtype"):
        case "init":
            # The first is the CLI's own, from before the model's first answer; the agent could write another.
            session.version = session.version or str(event.get("claude_code_version") or "unknown")
        case str(subtype) if subtype.startswith("model_refusal"):
            session.refused = True
        case _:
            pass


def _is_failure(result: Event) -> bool:
    return bool(result.get("is_error")) or result.get("stop_reason") == "refusal" or result.get("subtype") != "success"


def _streamed(session: ClaudeSession, event: Event, current: str) -> str:
    if event.get("type") == "message_start":
        started = _mapping(event.get("message"))
        current = _unique(session, str(started.get("id")))
        session.newest[str(started.get("id"))] = current
        session.messages[current] = ModelMessage()
    return current


def _unique(session: ClaudeSession, name: str) -> str:
    """A provider's ids are unique; a replaying or broken one's may not be, and no message may hide another."""
    return name if name not in session.messages else f"{name}#{len(session.messages)}"


def _assistant(session: ClaudeSession, event: Event) -> None:
    said = _mapping(event.get("message"))
    if event.get("error"):
        session.error = str(event["error"])
    name = str(said.get("id"))
    newest = session.newest.setdefault(name, name)
    message = session.messages.setdefault(newest, ModelMessage(synthetic=said.get("model") == "<synthetic>"))
    for block in _blocks(said):
        if block.get("type") == "text":
            message.texts.append(str(block.get("text")))
        elif block.get("type") == "tool_use":
            call = str(block.get("id"))
            message.calls.append(call)
            session.calls[call] = ToolCall(id=call, name=str(block.get("name")), arguments=block.get("input"))


def _tool_results(session: ClaudeSession, event: Event) -> None:
    for block in _blocks(_mapping(event.get("message"))):
        call = session.calls.get(str(block.get("tool_use_id")))
        if call:
            answer = {"result": _plain(block.get("content")), "failed": bool(block.get("is_error"))}
            session.calls[call.id] = call.model_copy(update=answer)


def _plain(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", part.get("type"))) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _mapping(value: object) -> Event:
    """The value, or nothing where it is of a form that we do not know."""
    return value if isinstance(value, dict) else {}


def _blocks(message: Event) -> list[Event]:
    """The parts of a message's content."""
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
