"""The main conversation of a session: which requests belong to it, and how many requests a session may make.

The first request for an answer begins it. A later request belongs to it if its first message is the same, or if the
client's session and the system prompt are (a client that compacts its history writes a new first message). Sub-agents
and other processes of the client have a first message, and a system prompt or a session, of their own.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from scylla_gha.gateway.ledger import Refusal

_TURNS: Final = "the conversation has had the {limit} turns that this key allows"
_REQUESTS: Final = (
    "this key has made the {limit} requests that it allows, those of sub-agents and of other processes included"
)


FULL: Final = Refusal(
    "budget_exceeded:trial_journal",
    "this key has made as many requests as it allows",
)


@dataclass(frozen=True, slots=True)
class Marks:
    """Digests that tell conversations apart: of the first message, of session and system prompt, of all messages."""

    opening: bytes = b""
    session: bytes = b""
    messages: bytes = b""


def marks_of(content: Mapping[str, Any], metadata: object) -> Marks:
    """The marks of a request's normalised content, and the client's words on whose request it is."""
    given = content.get("messages")
    messages = given if isinstance(given, list) else []
    client = metadata.get("user_id") if isinstance(metadata, dict) else None
    setting = [client, _bare(content.get("system"))] if isinstance(client, str) else None
    return Marks(
        opening=_digest([_bare(part) for part in _parts(messages[:1])]),
        session=_digest(setting) if setting else b"",
        messages=_digest(messages),
    )


@dataclass
class Conversation:
    """One session's requests for answers, counted. A limit of None does not limit."""

    turn_limit: int | None = None
    request_limit: int | None = None
    requests: int = 0
    turns: int = 0
    _main: Marks | None = None
    _seen: dict[bytes, int] = field(default_factory=dict)

    def count(self, marks: Marks | None) -> tuple[int | None, Refusal | None]:
        """Count a request (None: a probe, which is part of no conversation).

        Returns its turn of the main conversation, or None if it belongs to another one, and why it is refused. A
        repeated request is the same turn.
        """
        self.requests += 1
        turn = self._turn(marks) if marks else None
        return turn, self._refusal(turn)

    def _turn(self, marks: Marks) -> int | None:
        self._main = self._main or marks
        if marks.opening != self._main.opening and not (marks.session and marks.session == self._main.session):
            return None
        if marks.messages not in self._seen:
            self.turns += 1
            self._seen[marks.messages] = self.turns
        return self._seen[marks.messages]

    def _refusal(self, turn: int | None) -> Refusal | None:
        if self.turn_limit is not None and turn is not None and turn > self.turn_limit:
            return Refusal("budget_exceeded:trial_turns", _TURNS.format(limit=self.turn_limit))
        if self.request_limit is not None and self.requests > self.request_limit:
            return Refusal("budget_exceeded:trial_requests", _REQUESTS.format(limit=self.request_limit))
        return None


def _parts(messages: list[Any]) -> list[Any]:
    content = messages[0].get("content") if messages and isinstance(messages[0], dict) else None
    return content if isinstance(content, list) else [content]


def _bare(part: object) -> object:
    """A part of a request without the marks of what is to be cached, which move from request to request."""
    if isinstance(part, list):
        return [_bare(each) for each in part]
    if isinstance(part, dict):
        return {key: value for key, value in part.items() if key != "cache_control"}
    return {"type": "text", "text": part} if isinstance(part, str) else part


def _digest(value: object) -> bytes:
    return hashlib.blake2b(orjson.dumps(value), digest_size=16).digest()
