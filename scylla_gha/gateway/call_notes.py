"""Notes on tool calls in a session's traffic: which calls the provider's answers hold, and the results of these.

A call is noted only from a whole answer of the provider, and a result only if an answer holds its call. So neither
what an agent prints nor a request with an invented result can add a note. Calls in answers to another client are not
noted; a program of the agent that speaks to the model itself and copies the client's session id is not told apart.
"""

from collections.abc import Callable, Iterable
from typing import Final

from scylla_gha.gateway.evidence import USES_TOOL, is_whole
from scylla_gha.model.traffic import (
    AnswerCall,
    CallResult,
    RequestRecord,
    ResponseRecord,
    StopRule,
    ToolWatch,
    WatchedCall,
    WatchedTraffic,
)
from scylla_gha.model.trial import SessionEnd
from scylla_gha.providers.base import ToolRequest, ToolResult

_LONGEST: Final = 200  # characters of an id, a name, an argument, or the beginning of a result
_MOST_CALLS: Final = 100  # of one answer


class CallNotes:
    """The calls of one session so far, and what is noted of requests and answers."""

    def __init__(
        self,
        watch: ToolWatch,
        hide: Callable[[bytes], bytes],
        earlier: Iterable[RequestRecord | ResponseRecord] = (),
    ) -> None:
        """Continue a session's log; `hide` replaces folders and secrets in what is noted."""
        self._watch = watch
        self._hide = hide
        self._texts = {name: self._hidden(text) for name, text in watch.texts.items()}
        self._asked: set[str] = set()  # ids of all calls
        self._noted: set[str] = set()  # ids of noted calls without a result
        self._shown: set[str] = set()
        for record in earlier:
            if isinstance(record, ResponseRecord):
                self._noted |= {call.id for call in record.calls}
            else:
                self._noted -= {result.call for result in record.results}
                self._shown |= set(record.shown)
        self._asked |= self._noted

    def reads(self, tool: str) -> bool:
        """Tell if the arguments of a tool's calls are noted."""
        return bool(self._watch.arguments(tool))

    def calls(self, calls: Iterable[ToolRequest]) -> tuple[AnswerCall, ...]:
        """Return the calls of an answer that are noted."""
        noted = []
        for call in [call for call in calls if len(call.id) <= _LONGEST][:_MOST_CALLS]:
            names = self._watch.arguments(call.tool)
            self._asked.add(call.id)
            if names is not None:
                self._noted.add(call.id)
                texts = {name: text for name in names if isinstance(text := call.arguments.get(name), str)}
                arguments = {name: self._hidden(text)[:_LONGEST] for name, text in texts.items()}
                noted.append(AnswerCall(id=call.id, tool=call.tool[:_LONGEST], arguments=arguments))
        return tuple(noted)

    def results(self, results: Iterable[ToolResult]) -> tuple[CallResult, ...]:
        """Return the first results of noted calls in a request whose secrets are hidden already."""
        first = [result for result in results if result.call in self._noted]
        self._noted -= {result.call for result in first}
        return tuple(
            CallResult(call=result.call, text=result.text[:_LONGEST], failed=result.failed) for result in first
        )

    def shown(self, results: Iterable[ToolResult]) -> tuple[str, ...]:
        """Return the resources whose text is in the result of a call of the provider's answers, for the first time."""
        texts = [result.text for result in results if result.call in self._asked]
        names = [
            name
            for name, text in self._texts.items()
            if name not in self._shown and any(text in result for result in texts)
        ]
        self._shown.update(names)
        return tuple(names)

    def _hidden(self, text: str) -> str:
        return self._hide(text.encode(errors="replace")).decode(errors="replace")


class SessionStop:
    """The end of one session by its stop rule, from the calls and the turns of its whole answers."""

    def __init__(self, rule: StopRule | None, earlier: Iterable[RequestRecord | ResponseRecord] = ()) -> None:
        """Continue a session's log; None: the session has no rule. Earlier calls count if they were noted."""
        self._rule = rule
        self._missing = set(rule.names) if rule else set()
        self._turns: set[int] = set()
        self.end: SessionEnd | None = None
        turns = {}
        for record in earlier:
            if isinstance(record, RequestRecord):
                turns[record.number] = record.turn
            elif is_whole(record):
                calls = [ToolRequest(call.id, call.tool, dict(call.arguments)) for call in record.calls]
                self.answered(calls, turns.get(record.number), wants_tool=record.stop_reason == USES_TOOL)

    def reads(self, tool: str) -> bool:
        """Tell if the rule is about the arguments of a tool's calls."""
        return self._rule is not None and tool == self._rule.tool

    def answered(self, calls: Iterable[ToolRequest], turn: int | None, *, wants_tool: bool) -> SessionEnd | None:
        """Return how a whole answer ends the session; None: it does not, or it had ended before.

        Args:
            calls: in the answer.
            turn: turn of the main conversation; None: the answer belongs to another one.
            wants_tool: it asks for a tool; otherwise the conversation is at its end, which decides too.
        """
        if self._rule is None or self.end is not None:
            return None
        values = [call.arguments.get(self._rule.argument) for call in calls if call.tool == self._rule.tool]
        names = {value for value in values if isinstance(value, str)}
        self._missing = {spellings for spellings in self._missing if names.isdisjoint(spellings)}
        if turn is not None:
            self._turns.add(turn)
        if not self._missing:
            self.end = "decided"
        elif wants_tool and turn is not None and len(self._turns) >= self._rule.answers:
            self.end = "undecided"
        return self.end


def watched_traffic(records: Iterable[RequestRecord | ResponseRecord]) -> WatchedTraffic:
    """Return the noted calls of a log with their results, in order of the answers."""
    calls: list[WatchedCall] = []
    latest: dict[str, int] = {}  # a provider may repeat an id: a result belongs to the last call before it
    shown: dict[str, int] = {}
    turn = 0
    for record in records:
        if isinstance(record, RequestRecord):
            shown |= {name: turn for name in record.shown if name not in shown}  # it was asked for before this turn
            turn = max(turn, record.turn or 0)
            for result in record.results:
                if (at := latest.get(result.call)) is not None:
                    calls[at] = calls[at].model_copy(update={"result": result})
            continue
        for call in record.calls:
            latest[call.id] = len(calls)
            is_last = record.ends is not None
            calls.append(WatchedCall(tool=call.tool, arguments=call.arguments, turn=turn, is_last=is_last))
    return WatchedTraffic(calls=tuple(calls), shown=shown)
