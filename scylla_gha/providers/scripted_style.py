"""Interface of the scripted providers: each module reads the requests and writes the answers of one API."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from scylla_gha.providers.base import Body, ToolRequest


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """An answer of the scripted model: a text, and perhaps a call of a tool."""

    text: str = "Done."
    call: ToolRequest | None = None


class ScriptedStyle(Protocol):
    """Requests and answers of one API. `PATHS` matches paths that ask for an answer."""

    PATHS: re.Pattern[str]
    COUNT_PATHS: re.Pattern[str]

    def offered(self, body: Body) -> list[tuple[str, Body]]:
        """Return the tools of a request, each with the JSON schema of its arguments."""

    def has_result(self, body: Body) -> bool:
        """Tell if a request has the result of a tool call."""

    def is_streamed(self, path: str, body: Body) -> bool:
        """Tell if the request asks for a stream."""

    def count(self) -> dict[str, Any]:
        """Return the answer to a count of tokens."""

    def whole(self, body: Body, answer: ScriptedAnswer) -> dict[str, Any]:
        """Return an answer as one object."""

    def events(self, body: Body, answer: ScriptedAnswer) -> Iterator[str]:
        """Yield an answer as server-sent events."""
