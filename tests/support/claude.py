"""Transcripts in the form of Claude Code 2.1.197, whole or made of single events."""

import json
from pathlib import Path
from typing import Any

from scylla_gha.agents.base import ProcessResult
from scylla_gha.agents.claude.transcript import ClaudeSession, read_transcript
from scylla_gha.system.process import FinishedProcess

DATA = Path(__file__).parent.parent / "unit" / "data" / "claude"
Event = dict[str, Any]

INIT: Event = {"type": "system", "subtype": "init", "claude_code_version": "2.1.197"}


def result(**given: Any) -> Event:
    """The last event of a session that ended well."""
    return {"type": "result", "subtype": "success", "is_error": False, "api_error_status": None, "result": "Done.",
            "stop_reason": "end_turn", "modelUsage": {}, **given}  # fmt: skip


def streamed(name: str, *, model: str = "m", stop: bool = True, **usage: int) -> list[Event]:
    """A message of the model, as the provider streams it."""
    events: list[Event] = [
        {"type": "message_start", "message": {"id": name, "model": model, "usage": {"output_tokens": 1, **usage}}},
        {"type": "message_delta", "usage": {"output_tokens": usage.get("output_tokens", 1)}},
    ]
    events += [{"type": "message_stop"}] if stop else []
    return [{"type": "stream_event", "event": event} for event in events]


def said(name: str, *content: Event, model: str = "m", **given: Any) -> Event:
    """Return what the CLI says of a message."""
    return {"type": "assistant", "message": {"id": name, "model": model, "content": list(content)}, **given}


def text(words: str) -> Event:
    return {"type": "text", "text": words}


def tool_use(call: str, name: str = "Bash") -> Event:
    return {"type": "tool_use", "id": call, "name": name, "input": {"command": "ls"}}


def tool_result(call: str, content: Any = "ok", **given: Any) -> Event:
    return {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": call, "content": content,
                                                     **given}]}}  # fmt: skip


def write_transcript(path: Path, *events: Event | str) -> Path:
    """One event a line; a string is a line as it is."""
    lines = (event if isinstance(event, str) else json.dumps(event) for event in events)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read_events(folder: Path, *events: Event | str) -> ClaudeSession:
    """The session that the events tell."""
    return read_transcript(write_transcript(folder / "transcript.jsonl", *events))


def ended_with(
    transcript: Path,
    code: int = 0,
    seconds: float = 10.0,
    limit: float = 60.0,
    *,
    timed_out: bool = False,
) -> ProcessResult:
    """A process that left the transcript."""
    stderr = transcript.with_suffix(".stderr")
    return ProcessResult(FinishedProcess(code, seconds, timed_out), limit, transcript, stderr)
