"""Result sets by name: a run, its folder, its results.jsonl, or another tool's rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.import_options import read_foreign
from scylla_gha.interop.importers.rows import ImportOptions
from scylla_gha.model.plan import Plan
from scylla_gha.model.record import slug
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.store.records import read_lines, read_record
from scylla_gha.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class LoadedResults:
    """One of the two sets. `toolkit` is the version that reported on it, where that is known."""

    name: str
    rows: tuple[Result, ...]
    toolkit: str | None
    notes: tuple[str, ...]

    @property
    def arms(self) -> list[str]:
        """In the order of the rows."""
        return list(dict.fromkeys(row.arm for row in self.rows))


def load_result_set(named: str, runs: Path, how: ImportOptions) -> LoadedResults:
    """Find and read a set of results.

    Raises:
        ConfigError: there not one of that name, or it is not what it should be.
    """
    path = Path(named)
    for folder in (path, runs / named):
        if (folder / "plan.json").is_file() or (folder / "results.jsonl").is_file():
            return _of_run(named, RunFolder(folder))
    if not path.exists():
        there = sorted(place.parent.name for place in runs.glob("*/plan.json"))
        raise ConfigError(f"{named}: no file, directory or run of that name in {runs}/; "
                          f"the runs are: {', '.join(there[:20]) or 'none'}")  # fmt: skip
    if path.is_file() and how.format in {None, "jsonl"} and _is_ours(path):
        rows, twice = _once(read_lines(path, Result))
        return LoadedResults(named, rows, None, tuple(_left_out(twice)))
    loaded = read_foreign(path, how, slug(path.stem) or "rows")
    notes = loaded.plan.imported.notes if loaded.plan.imported else ()
    return LoadedResults(
        named, loaded.rows, None, ("its rows are another tool's, and not verified by this toolkit.", *notes)
    )


def _of_run(named: str, folder: RunFolder) -> LoadedResults:
    """The rows of the plan, where there is one."""
    plan = read_record(folder.plan, Plan)
    keys = {cell.id: cell.key for cell in plan.cells} if plan else None
    held = list(read_lines(folder.results, Result))
    rows, twice = _once(row for row in held if keys is None or keys.get(row.cell) == row.key)
    report = read_record(folder.report("json"), Report)
    notes = list(_left_out(len(held) - len(rows) if keys is not None else twice))
    if plan and plan.imported:
        notes.append("its rows are another tool's, and not verified by this toolkit.")
    lack = len(plan.cells) - sum(row.judged for row in rows) if plan else 0
    if lack:
        notes.append(f"No judged trial in {counted(lack, 'planned cell')}, left out of its rates.")
    return LoadedResults(named, rows, report.toolkit_version if report else None, tuple(notes))


def _once(rows: Iterable[Result]) -> tuple[tuple[Result, ...], int]:
    """Each cell's first row, and how many more there were."""
    found: dict[str, Result] = {}
    count = 0
    for row in rows:
        found.setdefault(row.cell, row)
        count += 1
    return tuple(found.values()), count - len(found)


def _left_out(count: int) -> Iterator[str]:
    if count:
        yield f"Left out: {counted(count, 'row')} of no planned cell, or there twice."


def _is_ours(path: Path) -> bool:
    """Whether the first line is a row of this toolkit, of whatever version."""
    with path.open("rb") as file:
        first = file.readline()
    try:
        row = orjson.loads(first)
    except orjson.JSONDecodeError:
        return path.name == "results.jsonl"
    return isinstance(row, dict) and {"schema_version", "experiment", "cell", "key"} <= row.keys()


def rows_file(named: str, runs: Path) -> Path:
    """The file of rows.

    Raises:
        ConfigError: no file has rows.
    """
    here = Path(named)
    for path in (here, here / "results.jsonl", RunFolder(runs / here.name.removesuffix(".yaml")).results):
        if path.is_file() and path.suffix != ".yaml":
            return path
    raise ConfigError(f"{named}: neither a file of rows, nor a folder with results.jsonl, nor a run in {runs}; "
                      "run `scylla-gha collect` first")  # fmt: skip


def read_rows(path: Path) -> tuple[Result, ...]:
    """The rows of a file, each once.

    Raises:
        ConfigError: a line is not a row, or the file has none.
    """
    found = {(row.epoch, row.cell, row.key): row for row in read_lines(path, Result)}
    if not found:
        raise ConfigError(f"{path}: holds no row; nothing was run")
    return tuple(found.values())


def plan_beside(path: Path) -> Plan | None:
    """The plan in the same folder as the rows."""
    return read_record(path.with_name("plan.json"), Plan)
