"""Embed trials in the page: a table row for each planned cell, and the records of cells as compressed JSON.

Records are cut until they fit into the page's budget of bytes.
"""

import base64
import datetime
import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, Literal

import orjson

from scylla_gha.counting import head_and_tail
from scylla_gha.model import Record, one_line, visible
from scylla_gha.model.judgment import CheckResult, ItemScore, JudgeAnswer, Judgment
from scylla_gha.model.plan import Cell
from scylla_gha.model.report import Report
from scylla_gha.model.result import (
    AttemptRecord,
    CellRecord,
    LoggedRequest,
    Result,
    model_requests,
    step_requests,
    steps_after_task,
    task_text,
)
from scylla_gha.model.trial import Step, Trajectory
from scylla_gha.report.outcomes import NO_TRIAL
from scylla_gha.report.trial import attempt_words, trial_facts
from scylla_gha.report.view import ReportView

TrialStatus = Literal["failed", "passed", "unjudged", "excluded", "missing"]
_MOST_WORDS: Final = 300  # characters of a reason
_TEXTS: Final = ("scenario", "arm", "status", "outcome", "why", "grade")
_NUMBERS: Final = ("repetition", "score", "usd", "seconds", "tokens")
PAGE_BYTES: Final = 1_000_000  # maximum of all trials in a page, in base64
TRIAL_BYTES: Final = 60_000  # maximum of a trial
_LEAST_BYTES: Final = 2_000  # with less left, no further trial is embedded
_MOST_FILES: Final = 40
# Maximum characters of a text and entries of a list: the first pair with which a trial fits is used.
_CUTS: Final = ((100_000, 2_000), (20_000, 400), (4_000, 200), (1_000, 100), (200, 30))


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A cell, and its trial's values in the table; None: unknown."""

    cell: str
    scenario: str
    arm: str
    repetition: int
    status: TrialStatus
    outcome: str
    why: str
    score: float | None = None
    grade: str | None = None
    usd: float | None = None
    seconds: float | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TrialTable:
    """Rows of a run's table of trials, and the short names of its arms.

    Attributes:
        rows: a row for each planned cell.
        arms: short names by id, in the report's order.
        has_files: whether the folders of trials are beside the page.
        is_site: whether the page belongs to a site, which has rows but no records of trials.
    """

    rows: tuple[TrialRow, ...]
    arms: dict[str, str]
    has_files: bool
    is_site: bool = False


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of texts: each distinct text, and the index of its text for each row."""

    texts: list[str | None]
    rows: list[int]


@dataclass(frozen=True, slots=True)
class TrialColumns:
    """A table of trials by columns, which browsers read several times faster than rows with field names.

    Attributes:
        arms: short names by id, as in `TrialTable`.
        has_files: as in `TrialTable`.
        is_site: as in `TrialTable`.
        cells: ids of cells; None if the id follows from scenario, arm and repetition.
        texts: columns of `TrialRow` by name.
        numbers: columns of `TrialRow` by name.
    """

    arms: dict[str, str]
    has_files: bool
    is_site: bool
    cells: list[str | None]
    texts: dict[str, TextColumn]
    numbers: dict[str, list[float | int | None]]


def trial_columns(table: TrialTable) -> TrialColumns:
    """Return a table by columns, from which page.js builds rows."""
    return TrialColumns(
        table.arms,
        table.has_files,
        table.is_site,
        [None if row.cell == f"{row.scenario}--{row.arm}--r{row.repetition:02d}" else row.cell for row in table.rows],
        {name: _text_column(list(map(attrgetter(name), table.rows))) for name in _TEXTS},
        {name: list(map(attrgetter(name), table.rows)) for name in _NUMBERS},
    )


def _text_column(texts: list[str | None]) -> TextColumn:
    ranks = {text: rank for rank, text in enumerate(dict.fromkeys(texts))}
    return TextColumn(list(ranks), [ranks[text] for text in texts])


def trial_table(view: ReportView, results: Iterable[Result], cells: Sequence[Cell], *, has_files: bool) -> TrialTable:
    """Return a row for each result, and for each planned cell without a trial.

    The results are read one at a time, so they need not all be in memory.
    """
    report = view.report
    reasons = {cell.cell: cell.reason for cell in report.excluded}
    rows = [_trial_row(result, reasons.get(result.cell, "")) for result in results]
    rows += _missing_rows(report, {cell.id: cell for cell in cells})
    return TrialTable(tuple(rows), {one_line(arm): one_line(view.name(arm)) for arm in view.names}, has_files)


def failing_first(view: ReportView, table: TrialTable) -> list[str]:
    """Return the cells with a trial: examples of failures first, then failed, unjudged, excluded and passed ones."""
    examples = [cell for failure in view.report.failures for cell in failure.cells]
    statuses: tuple[TrialStatus, ...] = ("failed", "unjudged", "excluded", "passed")
    others = [row.cell for status in statuses for row in table.rows if row.status == status]
    return list(dict.fromkeys([*examples, *others]))


def _trial_row(result: Result, exclusion: str) -> TrialRow:
    status = _status(result)
    why = result.failure if status == "failed" else (exclusion or result.reason) if status != "passed" else ""
    kinds = (result.input_tokens, result.output_tokens, result.cache_read_tokens, result.cache_write_tokens)
    known = [count for count in kinds if count is not None]
    return TrialRow(
        cell=one_line(result.cell),
        scenario=one_line(result.scenario),
        arm=one_line(result.arm),
        repetition=result.repetition,
        status=status,
        outcome=result.outcome.value,
        why=one_line(why)[:_MOST_WORDS],
        score=result.score,
        grade=result.grade,
        usd=_rounded(result.usd, 6),
        seconds=_rounded(result.seconds, 2),
        tokens=sum(known) if len(known) == len(kinds) else result.total_tokens,
    )


def _status(result: Result) -> TrialStatus:
    if result.measures_agent and result.judged:
        return "passed" if result.passed else "failed"
    return "unjudged" if result.measures_agent else "excluded"


def _missing_rows(report: Report, cells: dict[str, Cell]) -> Iterator[TrialRow]:
    for excluded in report.excluded:
        cell = cells.get(excluded.cell)
        if excluded.outcome in NO_TRIAL and cell is not None:
            yield TrialRow(
                cell.id,
                cell.scenario,
                cell.arm,
                cell.repetition,
                "missing",
                excluded.outcome,
                one_line(excluded.reason)[:_MOST_WORDS],
            )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


class PageRequest(Record):
    """A request to a model: seconds since the first request, duration, tokens, cost and error; None: unknown."""

    second: float
    seconds: float | None = None
    model: str
    prompt: int | None = None
    cached: int | None = None
    output: int | None = None
    usd: float | None = None
    error: str | None = None


class PageTrial(Record):
    """Parts of a cell's records that the page shows, from its last attempt.

    `step_requests` has an entry for each step: the request whose answer it is, or None if unknown.
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
    """A cell whose records cannot be read, and why; the page shows the reason."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class EmbeddedTrial:
    """A trial as text of a script element: base64 of gzipped JSON, so that no text in it is read as HTML."""

    cell: str
    data: str


def embedded_trials(records: Iterable[CellRecord | UnreadableCell]) -> Iterator[EmbeddedTrial]:
    """Yield trials in this order until the page's budget is used up; further records are not read."""
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
    """Yield the trial's main facts, and each attempt if there are several."""
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
    """Yield the paths of a cell's files, relative to the page."""
    yield from (
        f"{record.id}/{name}.json"
        for name, part in (("trial", record.trial), ("judgment", record.judgment))
        if part is not None
    )
    for work in record.works:
        names = list(work.attempt.files) if work.attempt else []
        yield from (f"{record.id}/attempt-{work.number}/{name}" for name in names[:_MOST_FILES])


def _fitting(trial: PageTrial, room: int) -> str:
    """Return the trial as base64 of at most `room` characters, cut as little as possible; empty if it cannot fit."""
    tree = trial.model_dump(mode="json")
    for text_room, list_room in _CUTS:
        data = base64.b64encode(gzip.compress(orjson.dumps(_cut(tree, text_room, list_room)), mtime=0)).decode()
        if len(data) <= room:
            return data
    return ""


def _cut(tree: Any, text_room: int, list_room: int) -> Any:  # noqa: ANN401 plain data of any shape
    """Return plain data with long texts and lists cut in the middle, and hidden characters shown as codes."""
    if isinstance(tree, str):
        return visible(head_and_tail(tree, text_room))
    if isinstance(tree, dict):
        return {visible(key[:text_room]): _cut(value, text_room, list_room) for key, value in tree.items()}
    if isinstance(tree, list):
        half = list_room // 2
        shown = tree if len(tree) <= list_room else [*tree[:half], {"cut": len(tree) - 2 * half}, *tree[-half:]]
        return [_cut(value, text_room, list_room) for value in shown]
    return tree
