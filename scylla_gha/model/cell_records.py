"""Stored records of one cell, and the requests to models that answer the steps of its conversation."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Arm, Cell
from scylla_gha.model.traffic import RequestRecord, ResponseRecord
from scylla_gha.model.trial import NO_USAGE, Attempt, Step, Trajectory, Trial, Usage


class AttemptRecord(Record):
    """Records of one attempt of the agent."""

    number: Annotated[int, Field(ge=1)]
    attempt: Attempt | None = Field(
        default=None, description="Summary of the attempt; None: it is running, or was killed"
    )
    prompt: str | None = Field(default=None, description="Text of the task; None: the agent was not started")
    trajectory: Trajectory | None = Field(
        default=None, description="Conversation of the attempt; None: a built-in agent, or a killed attempt"
    )
    patch: str | None = Field(
        default=None, description="Diff of the agent's change; None: nothing was changed, or the change was not read"
    )
    traffic: tuple[RequestRecord | ResponseRecord, ...] = ()
    judge_traffic: tuple[RequestRecord | ResponseRecord, ...] = ()


class CellRecord(Record):
    """Records of one cell; everything except experiment and id may be missing."""

    schema_version: int = 1
    experiment: str
    id: str
    cell: Cell | None = None
    arm: Arm | None = None
    trial: Trial | None = None
    judgment: Judgment | None = None
    works: tuple[AttemptRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request of the agent to a model, and its answer; None: it has none."""

    asked: RequestRecord
    answer: ResponseRecord | None

    @property
    def usd(self) -> float | None:
        """Cost; None is unknown."""
        return self.answer.usd if self.answer else None

    @property
    def seconds(self) -> float | None:
        """Time until the answer ended, including waits for rate limits; None: there is no answer."""
        return self.answer.waited_seconds + self.answer.seconds if self.answer else None

    @property
    def is_answered(self) -> bool:
        """True if the provider answered it."""
        return self.answer is not None and self.answer.source != "refused" and self.answer.tokens is not None


def model_requests(work: AttemptRecord) -> list[LoggedRequest]:
    """Return the agent's requests, without those that only count tokens; a repeated number is the same request."""
    asked = {record.number: record for record in work.traffic if isinstance(record, RequestRecord)}
    answers = {record.number: record for record in work.traffic if isinstance(record, ResponseRecord)}
    return [LoggedRequest(record, answers.get(record.number)) for record in asked.values() if not record.counting]


def usage_by_model(record: CellRecord) -> dict[str, Usage]:
    """Return the usage of all attempts by model, without requests that the gateway refused."""
    usage: dict[str, Usage] = {}
    for request in (request for work in record.works for request in model_requests(work)):
        answer = request.answer
        if answer is None or answer.source != "refused":
            model = request.asked.model
            usage[model] = usage.get(model, NO_USAGE).plus(answer.usage if answer else Usage())
    return usage


def task_text(record: CellRecord) -> str | None:
    """Return the prompt of the task; None if no attempt stored it."""
    prompts = [work.prompt or _first_user_text(work) for work in record.works]
    return next((prompt for prompt in reversed(prompts) if prompt), None)


def _first_user_text(work: AttemptRecord) -> str | None:
    steps = work.trajectory.steps if work.trajectory else ()
    return steps[0].text if steps and steps[0].source == "user" else None


def steps_after_task(work: AttemptRecord) -> tuple[Step, ...]:
    """Return the steps of the conversation after the task, which is its first step."""
    steps = work.trajectory.steps if work.trajectory else ()
    return steps if _first_user_text(work) is None else steps[1:]


def step_requests(work: AttemptRecord) -> list[LoggedRequest | None]:
    """Return the request that each step after the task answers.

    The gateway's log and the CLI's transcript share no ids, so they are matched by order: the turns of the main
    conversation, or all answered requests if sub-agents are in the transcript too. If neither count is the number of
    the agent's steps, the match is unknown and every entry is None.
    """
    steps = steps_after_task(work)
    answered = [request for request in model_requests(work) if request.is_answered]
    turns = {request.asked.turn: request for request in answered if request.asked.turn is not None}
    count = sum(step.source == "agent" for step in steps)
    fitting = next((group for group in ([*turns.values()], answered) if len(group) == count), None)
    rest = iter(fitting or ())
    return [next(rest, None) if step.source == "agent" else None for step in steps]
