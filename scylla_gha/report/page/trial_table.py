"""Rows of the page's table of trials: one for each planned cell, with or without a trial."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal

from scylla_gha.model.plan import Cell
from scylla_gha.model.printable_text import one_line
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.report.outcomes import NO_TRIAL
from scylla_gha.report.view import ReportView

TrialStatus = Literal["failed", "passed", "unjudged", "excluded", "missing"]
_MOST_WORDS: Final = 300  # characters of a reason
_TEXTS: Final = ("scenario", "arm", "status", "outcome", "why", "grade")
_NUMBERS: Final = ("repetition", "score", "usd", "seconds", "tokens")


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One cell, with what the table shows of its trial; None is unknown."""

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
    """All rows of a run, and the short names of its arms.

    Attributes:
        rows: one for each planned cell.
        arms: short names by id, in the report's order.
        has_files: whether the folders of trials lie beside the page.
        is_site: whether the page is one of a site, which has rows only.
    """

    rows: tuple[TrialRow, ...]
    arms: dict[str, str]
    has_files: bool
    is_site: bool = False


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of texts: each text once, and for each row the place of its text among them."""

    texts: list[str | None]
    rows: list[int]


@dataclass(frozen=True, slots=True)
class TrialColumns:
    """A table of trials by columns, which browsers read several times faster than rows with names.

    Attributes:
        arms: as in `TrialTable`.
        has_files: as in `TrialTable`.
        is_site: as in `TrialTable`.
        cells: ids; None if the id consists of scenario, arm and repetition.
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
    """Return a table by columns; page.js makes rows of them."""
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
    """Return a row for each result, and one for each cell without a trial, if the plan has it.

    The results are read once, one at a time, so that they need not all be in memory.
    """
    report = view.report
    reasons = {cell.cell: cell.reason for cell in report.excluded}
    rows = [_trial_row(result, reasons.get(result.cell, "")) for result in results]
    rows += _missing_rows(report, {cell.id: cell for cell in cells})
    return TrialTable(tuple(rows), {one_line(arm): one_line(view.name(arm)) for arm in view.names}, has_files)


def failing_first(view: ReportView, table: TrialTable) -> list[str]:
    """Return the cells with a trial in reading order: failures with a reason, other failures, the rest."""
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
