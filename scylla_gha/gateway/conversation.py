"""The main conversation of a session: which requests belong to it, and how many requests a session may make.

The first request for an answer starts it. A later request belongs to it if its first message is the same, or if the
client's session and the system prompt are (a client that compacts its history writes a new first message). Sub-agents
and other processes of the client have a first message, and a system prompt or a session, of their own.
"""

from dataclasses import dataclass, field
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.gateway.budget import BudgetRefusal
from scylla_gha.providers.base import RequestDigests

_TURNS: Final = "the conversation has had the {turns} that this key allows"
_REQUESTS: Final = (
    "this key has made the {requests} that it allows, those of sub-agents and of other processes included"
)


FULL: Final = BudgetRefusal(
    "budget_exceeded:trial_journal",
    "this key has made as many requests as it allows",
)


@dataclass
class Conversation:
    """One session's requests for answers, counted. A limit of None does not limit."""

    turn_limit: int | None = None
    request_limit: int | None = None
    requests: int = 0
    turns: int = 0
    _main: RequestDigests | None = None
    _seen: dict[bytes, int] = field(default_factory=dict)

    def count(self, marks: RequestDigests | None) -> tuple[int | None, BudgetRefusal | None]:
        """Count a request (None: a probe, which belongs to no conversation).

        Returns its turn of the main conversation, or None if it belongs to another one, and why it is refused. A
        repeated request is the same turn.
        """
        self.requests += 1
        turn = self._turn(marks) if marks else None
        return turn, self._refusal(turn)

    def _turn(self, marks: RequestDigests) -> int | None:
        self._main = self._main or marks
        if marks.opening != self._main.opening and not (marks.session and marks.session == self._main.session):
            return None
        if marks.messages not in self._seen:
            self.turns += 1
            self._seen[marks.messages] = self.turns
        return self._seen[marks.messages]

    def _refusal(self, turn: int | None) -> BudgetRefusal | None:
        if self.turn_limit is not None and turn is not None and turn > self.turn_limit:
            return BudgetRefusal("budget_exceeded:trial_turns", _TURNS.format(turns=counted(self.turn_limit, "turn")))
        if self.request_limit is not None and self.requests > self.request_limit:
            return BudgetRefusal(
                "budget_exceeded:trial_requests", _REQUESTS.format(requests=counted(self.request_limit, "request"))
            )
        return None
