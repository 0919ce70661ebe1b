"""Tool calls to log in a session's traffic: calls in the provider's answers, and their results in later requests.

A call is logged only from a complete answer of the provider, and a result only if an answer contained its call. So
neither an agent's output nor a request with an invented result can add an entry. Calls in answers to another client
are not logged; a program of the agent that calls the model and copies the client's session id is not told apart.
"""

from collections.abc import Callable, Iterable
from typing import Final

from scylla_gha.gateway.evidence import is_whole
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
from scylla_gha.providers.base import USES_TOOL, ToolRequest, ToolResult

_MAX_CHARACTERS: Final = 200  # of an id, a name, an argument, or the beginning of a result
_MAX_CALLS: Final = 100  # of one answer


class CallNotes:
    """The calls of one session so far; it selects what is logged of requests and answers."""

    def __init__(
        self,
        watch: ToolWatch,
        hide: Callable[[bytes], bytes],
        earlier: Iterable[RequestRecord | ResponseRecord] = (),
    ) -> None:
        """Continue a session's log; `hide` replaces folders and secrets in logged texts."""
        self._watch = watch
        self._hide = hide
        self._texts = {name: self._hidden(text) for name, text in watch.texts.items()}
        self._answered_calls: set[str] = set()  # ids of all calls in answers
        self._unresolved: set[str] = set()  # ids of logged calls without a result
        self._shown: set[str] = set()  # resources whose text a result contained
        for record in earlier:
            if isinstance(record, ResponseRecord):
                self._unresolved |= {call.id for call in record.calls}
            else:
                self._unresolved -= {result.call for result in record.results}
                self._shown |= set(record.shown)
        self._answered_calls |= self._unresolved

    def reads(self, tool: str) -> bool:
        """Tell if the arguments of a tool's calls are logged."""
        return bool(self._watch.arguments(tool))

    def calls(self, calls: Iterable[ToolRequest]) -> tuple[AnswerCall, ...]:
        """Return the calls of an answer that are logged."""
        logged = []
        for call in [call for call in calls if len(call.id) <= _MAX_CHARACTERS][:_MAX_CALLS]:
            names = self._watch.arguments(call.tool)
            self._answered_calls.add(call.id)
            if names is not None:
                self._unresolved.add(call.id)
                texts = {name: text for name in names if isinstance(text := call.arguments.get(name), str)}
                arguments = {name: self._hidden(text)[:_MAX_CHARACTERS] for name, text in texts.items()}
                logged.append(AnswerCall(id=call.id, tool=call.tool[:_MAX_CHARACTERS], arguments=arguments))
        return tuple(logged)

    def results(self, results: Iterable[ToolResult]) -> tuple[CallResult, ...]:
        """Return the first results of logged calls in a request whose secrets are hidden already."""
        first = [result for result in results if result.call in self._unresolved]
        self._unresolved -= {result.call for result in first}
        return tuple(
            CallResult(call=result.call, text=result.text[:_MAX_CHARACTERS], failed=result.failed) for result in first
        )

    def shown(self, results: Iterable[ToolResult]) -> tuple[str, ...]:
        """Return the resources whose text appears for the first time in the result of a call in a provider's answer."""
        texts = [result.text for result in results if result.call in self._answered_calls]
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
    """Decides when a stop rule ends a session, by the calls and turns of its complete answers."""

    def __init__(self, rule: StopRule | None, earlier: Iterable[RequestRecord | ResponseRecord] = ()) -> None:
        """Continue a session's log; `rule` None: it has no stop rule. Earlier calls count if they were logged."""
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
        """Return how a complete answer ends the session; None: it does not, or the session had ended before.

        Args:
            calls: calls in the answer.
            turn: turn of the main conversation; None: the answer belongs to another one.
            wants_tool: True if it asks for a tool; otherwise the conversation ends by itself.
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
    """Return the calls in a log with their results, in order of the answers."""
    calls: list[WatchedCall] = []
    latest: dict[str, int] = {}  # a provider may repeat an id: a result belongs to the last call before it
    shown: dict[str, int] = {}
    turn = 0
    for record in records:
        if isinstance(record, RequestRecord):
            shown |= {name: turn for name in record.shown if name not in shown}  # its call is of the turn before
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
