"""Trials inside the page: the records of a cell as compressed JSON, cut until they fit into a budget of bytes."""

import base64
import datetime
import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from scylla_gha.model import Record
from scylla_gha.model.cell_records import (
    AttemptRecord,
    CellRecord,
    LoggedRequest,
    model_requests,
    step_requests,
    steps_after_task,
    task_text,
)
from scylla_gha.model.judgment import CheckResult, ItemScore, JudgeAnswer, Judgment
from scylla_gha.model.printable_text import head_and_tail, visible
from scylla_gha.model.trial import Step, Trajectory
from scylla_gha.report.trial import attempt_words, trial_facts

PAGE_BYTES: Final = 1_000_000  # of all trials in a page
TRIAL_BYTES: Final = 60_000  # of one of them
_LEAST_BYTES: Final = 2_000  # below which no further trial is tried
_MOST_FILES: Final = 40
# Characters of one text, and entries of one list: the first pair with which a trial fits is used.
_ROOMS: Final = ((100_000, 2_000), (20_000, 400), (4_000, 200), (1_000, 100), (200, 30))


class PageRequest(Record):
    """One request to a model: when it was sent, how many seconds its answer took, and what it cost."""

    second: float
    seconds: float | None = None
    model: str
    prompt: int | None = None
    cached: int | None = None
    output: int | None = None
    usd: float | None = None
    error: str | None = None


class PageTrial(Record):
    """Parts of a cell's records that the page shows; the attempt is the last one.

    `step_requests` has an entry for each step: the request that the step answers, or None if that is unknown.
    """

    cell: str
    facts: tuple[tuple[str, str], ...]
    task: str | None = None
    checks: tuple[CheckResult, ...] = ()
    items: tuple[ItemScore, ...] = ()
    answers: tuple[JudgeAnswer, ...] = ()
    steps: tuple[Step, ...] = ()
    step_requests: tuple[PageRequest | None, ...] = ()
    final_message: str | None = None
    patch: str | None = None
    changed_files: tuple[str, ...] = ()
    requests: tuple[PageRequest, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnreadableCell:
    """A cell whose records cannot be read, and why; the page says so in its place."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class EmbeddedTrial:
    """A trial as text of a script element: base64 of compressed JSON, so no text of it is read as HTML."""

    cell: str
    data: str


def embedded_trials(records: Iterable[CellRecord | UnreadableCell]) -> Iterator[EmbeddedTrial]:
    """Yield as many trials, in this order, as the budget of the page has room for; read no further record then."""
    left = PAGE_BYTES
    for record in records:
        data = _fitting(page_trial(record), min(TRIAL_BYTES, left))
        left -= len(data)
        if data:
            yield EmbeddedTrial(record.id, data)
        if left < _LEAST_BYTES:
            return


def page_trial(record: CellRecord | UnreadableCell) -> PageTrial:
    """Return the parts of a cell's records that the page shows."""
    if isinstance(record, UnreadableCell):
        return PageTrial(cell=record.id, facts=(("records", f"cannot be read: {record.reason}"),))
    work = record.works[-1] if record.works else AttemptRecord(number=1)
    judgment = record.judgment or Judgment(cell=record.id, key="", trial_key="")
    conversation = work.trajectory or Trajectory()
    diff = work.attempt.diff if work.attempt else None
    asked = model_requests(work)
    requests = [_page_request(request, asked[0].asked.at) for request in asked]
    steps = [_page_request(request, asked[0].asked.at) if request else None for request in step_requests(work)]
    return PageTrial(
        cell=record.id,
        facts=tuple(_facts(record)),
        task=task_text(record),
        checks=judgment.checks,
        items=judgment.items,
        answers=judgment.answers,
        steps=steps_after_task(work),
        step_requests=tuple(steps),
        final_message=conversation.final_message,
        patch=work.patch,
        changed_files=diff.files if diff else (),
        requests=tuple(requests),
        files=tuple(_files(record)),
    )


def _facts(record: CellRecord) -> Iterator[tuple[str, str]]:
    """Yield the facts at the head of the trial, and each attempt if there are several."""
    yield from ((fact.name, fact.words) for fact in trial_facts(record))
    if len(record.works) > 1:
        yield from ((f"attempt {work.number}", attempt_words(work)) for work in record.works)


def _page_request(request: LoggedRequest, start: datetime.datetime) -> PageRequest:
    answer = request.answer
    counts = answer.tokens if answer else None
    return PageRequest(
        second=round((request.asked.at - start).total_seconds(), 1),
        seconds=request.seconds,
        model=request.asked.model,
        prompt=counts.prompt if counts else None,
        cached=counts.cache_read if counts else None,
        output=counts.output if counts else None,
        usd=request.usd,
        error=(answer.error or answer.fault) if answer else "no answer",
    )


def _files(record: CellRecord) -> Iterator[str]:
    """Yield the paths of a cell's records, from the folder of the page."""
    yield from (
        f"{record.id}/{name}.json"
        for name, part in (("trial", record.trial), ("judgment", record.judgment))
        if part is not None
    )
    for work in record.works:
        names = list(work.attempt.files) if work.attempt else []
        yield from (f"{record.id}/attempt-{work.number}/{name}" for name in names[:_MOST_FILES])


def _fitting(trial: PageTrial, room: int) -> str:
    """Return the trial as base64 of at most `room` characters, with its texts cut as little as needed; else nothing."""
    tree = trial.model_dump(mode="json")
    for text_room, list_room in _ROOMS:
        data = base64.b64encode(gzip.compress(orjson.dumps(_cut(tree, text_room, list_room)), mtime=0)).decode()
        if len(data) <= room:
            return data
    return ""


def _cut(tree: Any, text_room: int, list_room: int) -> Any:  # noqa: ANN401 plain data of any shape
    """Return plain data with long texts and lists shortened in the middle, and hidden characters as their codes."""
    if isinstance(tree, str):
        return visible(head_and_tail(tree, text_room))
    if isinstance(tree, dict):
        return {visible(key[:text_room]): _cut(value, text_room, list_room) for key, value in tree.items()}
    if isinstance(tree, list):
        half = list_room // 2
        shown = tree if len(tree) <= list_room else [*tree[:half], {"cut": len(tree) - 2 * half}, *tree[-half:]]
        return [_cut(value, text_room, list_room) for value in shown]
    return tree
