"""Rows by the name of a run: an experiment under the folder of runs, a run's folder, or a file of rows."""

from pathlib import Path

from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result
from scylla_gha.store import RunFolder, read_lines, read_record


def place_of(named: str, runs: Path) -> Path:
    """The file of rows.

    Raises:
        ConfigError: there is none.
    """
    here = Path(named)
    for path in (here, here / "results.jsonl", RunFolder(runs / here.name.removesuffix(".yaml")).results):
        if path.is_file() and path.suffix != ".yaml":
            return path
    raise ConfigError(f"{named}: neither a file of rows, nor a folder with results.jsonl, nor a run in {runs}; "
                      "run `scylla-gha collect` first")  # fmt: skip


def rows_in(path: Path) -> tuple[Result, ...]:
    """The rows of a file, each once.

    Raises:
        ConfigError: a line is no row, or there is none.
    """
    found = {(row.epoch, row.cell, row.key): row for row in read_lines(path, Result)}
    if not found:
        raise ConfigError(f"{path}: holds no row; nothing was run")
    return tuple(found.values())


def plan_beside(path: Path) -> Plan | None:
    """The plan in the same folder as the rows."""
    return read_record(path.with_name("plan.json"), Plan)
