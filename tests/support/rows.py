"""A run's records, and the rows that are collected from them."""

from scylla_gha.collect import collect
from scylla_gha.config.keys import judgment_key
from scylla_gha.config.library import Library
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Trial
from scylla_gha.store import read_lines, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.records import make_cell, make_plan

CELL = make_cell()
# Columns that differ from one run of the same to the next.
TIMES = frozenset(
    {"seconds", "started_at", "first_byte_seconds", "generation_seconds", "tool_seconds", "check_seconds", "replayed"}
)


def store(folder: RunFolder, trial: Trial, judgment: Judgment | None = None) -> None:
    place = folder.cell(trial.cell)
    write_record(place.trial, trial)
    if judgment is not None:
        write_record(place.judgment, judgment)


def collected(folder: RunFolder, library: Library, plan: Plan | None = None) -> list[Result]:
    collect(plan or make_plan(CELL), folder, library)
    return list(read_lines(folder.results, Result))


def row_of(folder: RunFolder, library: Library, trial: Trial, judgment: Judgment | None = None) -> Result:
    of_today = library.scenario(CELL.scenario).judging_digest
    if judgment is not None and judgment.trial_key == trial.key:
        judgment = judgment.model_copy(update={"key": judgment_key(trial, of_today, "")})
    store(folder, trial, judgment)
    (row,) = collected(folder, library)
    return row
