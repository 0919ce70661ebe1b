"""Export OpenTelemetry traces: a line of OTLP JSON (`TracesData`) per trial, in the OTLP file format.

Names follow semantic-conventions-genai v0.1.0, read in 2026-11 (status: development); other names begin with `scylla.`.
A trial is a trace: an `invoke_agent` span for each attempt, with a `chat` span for each request to a model and an
`execute_tool` span for each tool call. Ids are hashes of the trial's key, so repeated exports have equal ids.

Requests have the gateway's times. The span of a tool call starts at the end of the answer with the call. It lasts for
the call's measured time, else until the next request. If the answer is unknown, the span covers the attempt.
`scylla.time` says which of the three applies: `measured`, `between_requests` or `attempt`.
"""

import datetime
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scylla_gha.interop.exporters.rows import json_bytes
from scylla_gha.model.result import (
    AttemptRecord,
    CellRecord,
    LoggedRequest,
    Result,
    model_requests,
    step_requests,
    steps_after_task,
)
from scylla_gha.model.trial import Attempt, Outcome, Step, ToolCall, Usage

_INTERNAL, _CLIENT = 1, 3  # kinds of spans
_ERROR: Final = {"code": 2}  # status of a span
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_ROW_FIELDS: Final = (
    "cell",
    "scenario",
    "arm",
    "variant",
    "repetition",
    "outcome",
    "passed",
    "score",
    "grade",
    "replayed",
)
Json = dict[str, object]
Time = datetime.datetime


def otel_traces(rows: Iterable[Result], records: Mapping[str, CellRecord], *, content: bool) -> bytes:
    """Return the traces of all results with records.

    Args:
        rows: results of a run.
        records: records of the results' trials, by cell.
        content: True: add messages, and arguments and results of tools; the conventions omit them by default.
    """
    traces = (_TrialTrace(row, records[row.cell], content) for row in rows if row.cell in records)
    return b"".join(json_bytes(trace.document()) + b"\n" for trace in traces)


@dataclass(frozen=True, slots=True)
class _TrialTrace:
    row: Result
    record: CellRecord
    content: bool

    def document(self) -> Json:
        resource = {"attributes": _attributes({"service.name": "scylla-gha", "scylla.experiment": self.row.experiment})}
        scope = {"scope": {"name": "scylla_gha.export"}, "spans": list(self._spans())}
        return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}

    def _spans(self) -> Iterator[Json]:
        works = [(work, work.attempt) for work in self.record.works if work.attempt]
        start, end = works[0][1].started_at, _end(works[-1][1])
        trial = self._span("trial", f"trial {self.row.scenario}", (start, end), self._row_attributes())
        yield {**trial, "events": list(self._evaluations(end))}
        for work, attempt in works:
            parent = self._agent(work, attempt)
            yield {**parent, "parentSpanId": trial["spanId"]}
            for span in (*self._chats(work, attempt), *self._tools(work, attempt)):
                yield {**span, "parentSpanId": parent["spanId"]}

    def _span(self, key: str, name: str, times: tuple[Time, Time], attributes: Json, kind: int = _INTERNAL) -> Json:
        trace = hashlib.sha256(f"{self.row.experiment}\n{self.row.cell}\n{self.row.key}".encode()).hexdigest()[:32]
        span = {
            "traceId": trace,
            "spanId": hashlib.sha256(f"{trace}\n{key}".encode()).hexdigest()[:16],
            "name": name,
            "kind": kind,
            "startTimeUnixNano": _nanoseconds(times[0]),
            "endTimeUnixNano": _nanoseconds(max(times)),
            "attributes": _attributes(attributes),
        }
        return {**span, "status": _ERROR} if attributes.get("error.type") else span

    def _row_attributes(self) -> Json:
        values = {f"scylla.{name}": getattr(self.row, name) for name in _ROW_FIELDS}
        return {**values, "error.type": None if self.row.measures_agent else self.row.outcome.value}

    def _evaluations(self, when: Time) -> Iterator[Json]:
        """Yield events with the verdict and the score; none if the trial does not measure the agent."""
        label = {True: "pass", False: "fail", None: None}[self.row.passed]
        scores: tuple[Json, ...] = (
            {"gen_ai.evaluation.name": "passed", "gen_ai.evaluation.score.label": label},
            {"gen_ai.evaluation.name": "score", "gen_ai.evaluation.score.value": self.row.score},
        )
        for score in scores:
            if self.row.measures_agent and None not in score.values():
                yield {
                    "timeUnixNano": _nanoseconds(when),
                    "name": "gen_ai.evaluation.result",
                    "attributes": _attributes(score),
                }

    def _agent(self, work: AttemptRecord, attempt: Attempt) -> Json:
        steps = work.trajectory.steps if work.trajectory else ()
        asked = [_message("user", step) for step in steps if step.source == "user"]
        final = [_message("assistant", step) for step in steps if step.source == "agent"][-1:]
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": _provider(self.row.model),
            "gen_ai.agent.name": self.row.agent,
            "gen_ai.agent.version": attempt.agent_version or self.row.agent_version,
            "gen_ai.conversation.id": f"{self.row.cell}--attempt-{attempt.number}",
            "gen_ai.request.model": self.row.model,
            **_usage(attempt.usage),
            "error.type": None if attempt.outcome is Outcome.COMPLETED else attempt.outcome.value,
            **self._content({"gen_ai.input.messages": asked, "gen_ai.output.messages": final}),
        }
        name = f"invoke_agent {self.row.agent}"
        return self._span(f"attempt {attempt.number}", name, (attempt.started_at, _end(attempt)), attributes)

    def _content(self, content: Mapping[str, object]) -> Json:
        """Return the non-empty values as JSON text if the export includes content; else nothing."""
        return {
            name: json.dumps(value, ensure_ascii=False) for name, value in content.items() if self.content and value
        }

    def _chats(self, work: AttemptRecord, attempt: Attempt) -> Iterator[Json]:
        answering_steps = {
            request.asked.number: step
            for step, request in zip(steps_after_task(work), step_requests(work), strict=True)
            if request
        }
        for request in model_requests(work):
            number, model, answer = request.asked.number, request.asked.model, request.answer
            step = answering_steps.get(number)
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": _provider(model),
                "gen_ai.request.model": model,
                "gen_ai.response.finish_reasons": [answer.stop_reason] if answer and answer.stop_reason else None,
                **_usage(answer.usage if answer else Usage()),
                "error.type": _fault(request),
                **self._content({"gen_ai.output.messages": [_message("assistant", step)] if step else []}),
            }
            times = (request.asked.at, _answered(request) or _end(attempt))
            yield self._span(f"attempt {attempt.number} request {number}", f"chat {model}", times, attributes, _CLIENT)

    def _tools(self, work: AttemptRecord, attempt: Attempt) -> Iterator[Json]:
        requests = step_requests(work)
        for index, step in enumerate(steps_after_task(work)):
            following = next((request.asked.at for request in requests[index + 1 :] if request), _end(attempt))
            for number, call in enumerate(step.tool_calls):
                start = _answered(requests[index])
                key = f"attempt {attempt.number} step {index} call {number}"
                bounds = (start, following) if start else None
                yield self._tool(key, call, attempt, bounds)

    def _tool(self, key: str, call: ToolCall, attempt: Attempt, bounds: tuple[Time, Time] | None) -> Json:
        times, source = bounds or (attempt.started_at, _end(attempt)), "between_requests" if bounds else "attempt"
        if bounds and call.seconds is not None:
            times, source = (bounds[0], bounds[0] + datetime.timedelta(seconds=call.seconds)), "measured"
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "scylla.time": source,
            "error.type": "_OTHER" if call.failed else None,
            **self._content({"gen_ai.tool.call.arguments": call.arguments, "gen_ai.tool.call.result": call.result}),
        }
        return self._span(key, f"execute_tool {call.name}", times, attributes)


def _end(attempt: Attempt) -> Time:
    return attempt.started_at + datetime.timedelta(seconds=attempt.seconds)


def _answered(request: LoggedRequest | None) -> Time | None:
    """Return the time at which the request's answer ended; None if it is unknown."""
    seconds = request.seconds if request else None
    return request.asked.at + datetime.timedelta(seconds=seconds) if request and seconds is not None else None


def _fault(request: LoggedRequest) -> str | None:
    """Return the kind of a request's failure; None for a complete answer."""
    answer = request.answer
    if answer is None:
        return "no_answer"
    return answer.error or (None if answer.complete else str(answer.status or "_OTHER"))


def _provider(model: str | None) -> str | None:
    """Return the provider of a model, by the model's name; None if it is unknown."""
    return "anthropic" if model and model.startswith("claude") else None


def _usage(usage: Usage) -> Json:
    """Return tokens and cost; the conventions' input tokens include cached tokens."""
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_write.input_tokens": usage.cache_write_tokens,
        "scylla.cost.usd": usage.usd,
    }


def _message(role: str, step: Step) -> Json:
    calls = [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments} for call in step.tool_calls
    ]
    text = [{"type": "text", "content": step.text}] if step.text else []
    return {"role": role, "parts": [*text, *calls]}


def _nanoseconds(when: Time) -> str:
    return str((when - _EPOCH) // datetime.timedelta(microseconds=1) * 1000)


def _attributes(values: Mapping[str, object]) -> list[Json]:
    """Return the known values as OTLP attributes."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: object) -> Json:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(part) for part in value]}}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
