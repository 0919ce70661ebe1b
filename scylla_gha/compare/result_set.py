"""Result sets by name: a run, its folder, its results.jsonl, or another tool's rows; rows as a table of pandas."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from scylla_gha.config import did_you_mean
from scylla_gha.config.installed_packages import require_extra
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.rows import results_frame
from scylla_gha.interop.importers import ImportOptions, read_foreign
from scylla_gha.model import as_utc, slug
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Plan
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.results_branch.clone import chosen_remote, open_clone
from scylla_gha.results_branch.stored_runs import (
    RunQuery,
    StoredRun,
    fetch_rows,
    index_entries,
    last_waves,
    select_runs,
)
from scylla_gha.store import read_lines, read_record
from scylla_gha.store.rows import of_same_github, require_same_github
from scylla_gha.store.run_folder import RunFolder

if TYPE_CHECKING:
    import pandas

    from scylla_gha.analysis.history import ResultSet
    from scylla_gha.model.report import History

MARGIN: Final = float(Experiment.model_fields["margin"].default)  # of rows without a plan
_UNVERIFIED: Final = "its rows are another tool's, and not verified by this toolkit."


@dataclass(frozen=True, slots=True)
class LoadedResults:
    """Rows with the name by which the user asked for them.

    Attributes:
        toolkit: version of the toolkit that made their report; None: unknown.
        notes: for readers of a comparison.
    """

    name: str
    rows: tuple[Result, ...]
    toolkit: str | None
    notes: tuple[str, ...]

    @property
    def arms(self) -> list[str]:
        """Arms in the order of the rows."""
        return list(dict.fromkeys(row.arm for row in self.rows))


def load_result_set(name: str, runs: Path, foreign: ImportOptions) -> LoadedResults:
    """Find and read a set of results.

    Args:
        name: a run, a run's folder, a results.jsonl, or another tool's file or folder.
        runs: the folder of runs.
        foreign: options for reading another tool's rows.

    Raises:
        ConfigError: nothing has that name, or it has no readable rows.
    """
    path = Path(name)
    for folder in (path, runs / name):
        if (folder / "plan.json").is_file() or (folder / "results.jsonl").is_file():
            return _of_run(name, RunFolder(folder))
    if not path.exists():
        known = sorted(plan.parent.name for plan in runs.glob("*/plan.json"))
        raise ConfigError(
            f"{name}: no file, directory or run of that name in {runs}/; "
            f"the runs are: {', '.join(known[:20]) or 'none'}"
        )
    if path.is_file() and foreign.format in {None, "jsonl"} and _is_ours(path):
        rows, repeated = _first_rows(read_lines(path, Result))
        return LoadedResults(name, rows, None, tuple(_left_out(repeated)))
    imported = read_foreign(path, foreign, slug(path.stem) or "rows")
    notes = imported.plan.imported.notes if imported.plan.imported else ()
    return LoadedResults(name, imported.rows, None, (_UNVERIFIED, *notes))


def _of_run(name: str, folder: RunFolder) -> LoadedResults:
    """Read a run's rows; with a plan, only the rows of planned cells."""
    plan = read_record(folder.plan, Plan)
    keys = {cell.id: cell.key for cell in plan.cells} if plan else None
    stored = list(read_lines(folder.results, Result))
    rows, repeated = _first_rows(row for row in stored if keys is None or keys.get(row.cell) == row.key)
    report = read_record(folder.report("json"), Report)
    notes = list(_left_out(len(stored) - len(rows) if keys is not None else repeated))
    if plan and plan.imported:
        notes.append(_UNVERIFIED)
    unjudged = len(plan.cells) - sum(row.judged for row in rows) if plan else 0
    if unjudged:
        notes.append(f"No judged trial in {counted(unjudged, 'planned cell')}, left out of its rates.")
    return LoadedResults(name, rows, report.toolkit_version if report else None, tuple(notes))


def _first_rows(rows: Iterable[Result]) -> tuple[tuple[Result, ...], int]:
    """Return the first row of each cell, and the number of the other rows."""
    first: dict[str, Result] = {}
    count = 0
    for row in rows:
        first.setdefault(row.cell, row)
        count += 1
    return tuple(first.values()), count - len(first)


def _left_out(count: int) -> Iterator[str]:
    if count:
        yield f"Left out: {counted(count, 'row')} of no planned cell, or there twice."


def _is_ours(path: Path) -> bool:
    """Return whether the first line is a row of this toolkit, of any version."""
    with path.open("rb") as file:
        first = file.readline()
    try:
        row = orjson.loads(first)
    except orjson.JSONDecodeError:
        return path.name == "results.jsonl"
    return isinstance(row, dict) and {"schema_version", "experiment", "cell", "key"} <= row.keys()


def result_table(
    path_or_branch: str, repository: str | None, experiment: str | None, on: str | None
) -> "pandas.DataFrame":
    """Return rows as a table, with the run of each row in the first column; the arguments are those of `results`.

    Raises:
        ConfigError: there are no such rows, or one is invalid.
        GitHubError: the repository is out of reach.
        ToolError: pandas is not installed.
    """
    require_extra("pandas", what="a table of results")
    path = Path(path_or_branch)
    file = path / "results.jsonl" if path.is_dir() else path
    if file.is_file():
        if on is not None:
            raise ConfigError(
                f"on={on!r}: selects runs of a results branch, and {path} is a file or folder; leave it out"
            )
        name = _label(file, [file])
        return _run_table((name, row) for row in read_lines(file, Result) if experiment in {None, row.experiment})
    if path.exists():
        hint = f"results('scylla-results', repository={path_or_branch!r}) reads the results branch of a repository"
        raise ConfigError(f"{path}: has no results.jsonl; name the folder of a run; {hint}")
    return _run_table(_published_rows(path_or_branch, repository, RunQuery(experiment, on)))


def _published_rows(branch: str, repository: str | None, query: RunQuery) -> Iterator[tuple[str, Result]]:
    """Yield the rows of the selected runs on a results branch, with the run's name."""
    try:
        chosen_remote(repository)
    except ConfigError as error:
        reason = str(error).replace("--remote", "repository=")
        raise ConfigError(f"{branch}: no such file or folder; as a results branch: {reason}") from None
    with open_clone(repository, branch) as clone:
        entries = last_waves(select_runs(index_entries(clone), query))
        if not entries:
            where = f"a results branch with such a run in {repository or 'origin'}"
            raise ConfigError(f"{branch}: neither a file or folder, nor {where}; run `scylla-gha results list`")
        fetch_rows(clone, entries)
        for entry in entries:
            yield from ((str(entry.name), row) for row in StoredRun(clone, entry).results())


def _run_table(rows: Iterable[tuple[str, Result]]) -> "pandas.DataFrame":
    """Return a table of rows with their runs; the rows are read one at a time, to save memory."""
    import pandas

    runs: list[str] = []

    def results() -> Iterator[Result]:
        for run, row in rows:
            runs.append(run)
            yield row

    table = results_frame(results())
    table.insert(0, "run", pandas.Series(runs, dtype="string"))
    return table


def rows_file(name: str, runs: Path) -> Path:
    """Return the file of rows of a run, of a run's folder, or with this path.

    Raises:
        ConfigError: no such file exists.
    """
    path = Path(name)
    for file in (path, path / "results.jsonl", RunFolder(runs / path.name.removesuffix(".yaml")).results):
        if file.is_file() and file.suffix != ".yaml":
            return file
    raise ConfigError(
        f"{name}: neither a file of rows, nor a folder with results.jsonl, nor a run in {runs}; "
        "run `scylla-gha collect` first"
    )


def read_rows(path: Path) -> tuple[Result, ...]:
    """Return the rows of a file, each once.

    Raises:
        ConfigError: a line is not a row, the file has none, or some are of the hub and some of github.com.
    """
    stored = map(_with_offset, of_same_github(read_lines(path, Result), str(path)))
    rows = {(row.epoch, row.cell, row.key): row for row in stored}
    if not rows:
        raise ConfigError(f"{path}: holds no row; nothing was run")
    return tuple(rows.values())


def _with_offset(row: Result) -> Result:
    """Add the time zone that is missing in rows that earlier versions imported."""
    return row if row.started_at is None else row.model_copy(update={"started_at": as_utc(row.started_at)})


def plan_beside(path: Path) -> Plan | None:
    """Return the plan in the folder of a file of rows; None if there is none."""
    return read_record(path.with_name("plan.json"), Plan)


def history_of_files(
    files: Sequence[Path], baseline: Path | None, arms: Sequence[str], margin: float | None
) -> "History":
    """Follow arms over the result sets of files, oldest first; each epoch of a file is a result set.

    Args:
        files: files of rows.
        baseline: the file whose first result set is the baseline; None: the first file.
        arms: arms to follow; empty: all.
        margin: largest difference that counts as none; None: that of the newest plan, or 0.05.

    Raises:
        ConfigError: a file has no rows, no row has one of the arms, or some rows are of the hub and some of
            github.com.
    """
    from scylla_gha.analysis.history import Pin, history

    pinned = baseline or files[0]
    if pinned not in files:
        files = [pinned, *files]
    sets = [result_set for file in dict.fromkeys(files) for result_set in _epochs(file, _label(file, files))]
    require_same_github((row for result_set in sets for row in result_set.rows), ", ".join(map(str, files)))
    if margin is None:
        plans = [plan for file in files if (plan := plan_beside(file))]
        margin = plans[-1].experiment.margin if plans else MARGIN
    label = _label(pinned, files)
    known = list(dict.fromkeys(row.arm for result_set in sets for row in result_set.rows))
    for arm in arms:
        if arm not in known:
            raise ConfigError(
                f"--arm {arm}: no row is of it{did_you_mean(arm, known)}; there are: {', '.join(known[:20])}"
            )
    pin = Pin(next(result_set.name for result_set in sets if result_set.run == label), margin)
    return history(sets, list(dict.fromkeys(arms)) or known, pin)


def _label(file: Path, others: Sequence[Path]) -> str:
    """Return the folder of a results.jsonl, or a file's own name; the whole path if two files have the same."""

    def short(path: Path) -> str:
        return path.resolve().parent.name if path.name == "results.jsonl" else path.stem

    return str(file) if len({path for path in others if short(path) == short(file)}) > 1 else short(file)


def _epochs(file: Path, label: str) -> "Iterator[ResultSet]":
    """Yield the result sets of a file by their start times, or in the order of the rows if these are unknown."""
    from scylla_gha.analysis.history import ResultSet

    epochs: dict[str, list[Result]] = defaultdict(list)
    for row in read_rows(file):
        epochs[row.epoch].append(row)
    begins = {
        epoch: min((row.started_at for row in rows if row.started_at), default=None) for epoch, rows in epochs.items()
    }
    order = list(epochs) if None in begins.values() else sorted(epochs, key=lambda epoch: str(begins[epoch]))
    for epoch in order:
        yield ResultSet(f"{label}@{epoch}" if epoch else label, label, epoch, tuple(epochs[epoch]))
