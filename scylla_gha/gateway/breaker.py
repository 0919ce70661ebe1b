"""Breaker: refuses requests of a client that repeats them without an end. All of its numbers are here.

Some agent CLIs send the same request again at full speed: after a cut answer, after an error that they take for a long
context, or after an answer that lacks a promised call. A healthy client never reaches these numbers: its next request
has the last answer in it, so it is another one; and its retries wait longer each time, and end.

- The main conversation may send a request `MOST_EQUAL` times, whatever the answers were.
- Another conversation may send a request until `MOST_EQUAL` answers to it, without a whole one between them, have
  failed. So an agent's own program may ask the same question many times, as long as it is answered.
- A session may have `MOST_FAILED` failed answers in a row, whatever was asked: the requests of a CLI that shortens its
  conversation again and again are similar, and not equal.

Answers of the gateway itself, such as refusals for a budget, do not count.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

MOST_EQUAL: Final = 40  # CLIs make up to 30 tries before they give up (Codex 0.169.0, 2026-11-22)
MOST_FAILED: Final = 100
REPEATED: Final = "repeated_request"  # names of refusals in the log
FAILING: Final = "failing_requests"


@dataclass
class RequestBreaker:
    """Counts of one session; requests are known by the digests of their messages."""

    _sent: Counter[bytes] = field(default_factory=Counter)  # by the main conversation
    _failed: Counter[bytes] = field(default_factory=Counter)  # since the last whole answer to the same request
    _failed_in_a_row: int = 0

    def refusal(self, messages: bytes, *, is_main: bool) -> tuple[str, str] | None:
        """Count a request; return the name and the sentence of a refusal, or None."""
        self._sent[messages] += is_main
        if self._sent[messages] > MOST_EQUAL or self._failed[messages] >= MOST_EQUAL:
            return REPEATED, f"this request was sent {MOST_EQUAL} times; do not send it again"
        if self._failed_in_a_row >= MOST_FAILED:
            return FAILING, f"the last {MOST_FAILED} requests of this key have failed; send no more"
        return None

    def answered(self, messages: bytes, *, is_whole: bool) -> None:
        """Count the provider's answer to a request, or that there was none."""
        if is_whole:
            del self._failed[messages]
            self._failed_in_a_row = 0
        else:
            self._failed[messages] += 1
            self._failed_in_a_row += 1
