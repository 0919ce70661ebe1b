"""Export a run's results to formats of other tools."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.log import read_traffic
from scylla_gha.interop.exporters.conversations import atif_trajectory, inspect_logs
from scylla_gha.interop.exporters.junit import junit
from scylla_gha.interop.exporters.otel import otel_traces
from scylla_gha.interop.exporters.rows import profile_rows, write_csv, write_parquet
from scylla_gha.interop.exporters.skill_creator import write_workspace
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Plan, UnstartedCells
from scylla_gha.model.result import AttemptRecord, CellRecord, Result
from scylla_gha.model.trial import Attempt, Trajectory, Trial
from scylla_gha.store import atomic, read_lines, read_record, write_bytes
from scylla_gha.store.run_folder import AttemptFolder, RunFolder

ExportFormat = Literal["csv", "parquet", "junit", "inspect", "atif", "otel", "profile", "skill-creator"]
DEFAULT_NAMES: Final[Mapping[ExportFormat, str]] = {
    "csv": "results.csv",
    "parquet": "results.parquet",
    "junit": "junit.xml",
    "inspect": "inspect",
    "atif": "atif",
    "otel": "otel-traces.jsonl",
    "profile": "profile-rows.jsonl",
    "skill-creator": "workspace",
}
_FOLDERS: Final = frozenset({"inspect", "atif", "skill-creator"})


@dataclass(frozen=True, slots=True)
class RunExport:
    """A run, and the file or folder to which it is exported.

    The formats inspect (a log per arm), atif (a trajectory per trial) and skill-creator (a workspace) write a folder.

    `content` adds messages, and arguments and results of tools, to otel; inspect and atif always have them.
    `arms` are the ids of the arms that junit has; empty: all.
    """

    folder: RunFolder
    plan: Plan
    target: Path
    content: bool = False
    arms: tuple[str, ...] = ()

    def write(self, form: ExportFormat) -> str:
        """Write the results in a format; return a note on trials that are left out, or "".

        Raises:
            ConfigError: the target is a folder and the format writes a file, or vice versa; results do not fit the
                plan; or no trial has what the format needs.
            ToolError: a package that the format needs is not installed.
        """
        target, is_folder = self.target, form in _FOLDERS
        if target.exists() and target.is_dir() != is_folder:
            raise ConfigError(
                f"-o {target}: is {'a folder' if target.is_dir() else 'a file'}, but {form} writes "
                f"{'a folder' if is_folder else 'a file'}; name another path"
            )
        if form in {"csv", "parquet"}:
            with atomic(target) as file:
                (write_csv if form == "csv" else write_parquet)(read_lines(self.folder.results, Result), file)
            return ""
        rows = list(read_lines(self.folder.results, Result))
        if form == "junit":
            unstarted = read_record(self.folder.unstarted, UnstartedCells)
            write_bytes(target, junit(self.plan, rows, unstarted.cells if unstarted else {}, self.arms))
        elif form == "inspect":
            for name, log in inspect_logs(self.plan, rows, self._start(rows), self._records(rows)).items():
                write_bytes(target / name, log)
        elif form == "otel":
            write_bytes(target, otel_traces(rows, self._records(rows), content=self.content))
        elif form == "profile":
            write_bytes(target, self.profile(rows))
        else:
            return self._write_atif(rows) if form == "atif" else self._write_workspace(rows)
        return ""

    def profile(self, rows: Sequence[Result]) -> bytes:
        """Return results in the JSON lines format of ghx's agent profiler, with details from the run's records."""
        return profile_rows(rows, self._records(rows, traffic=False))

    def _start(self, rows: list[Result]) -> datetime.datetime:
        """Return the start of the first trial; without any, the modification time of the plan's file."""
        times = [row.started_at for row in rows if row.started_at and row.started_at.tzinfo]
        written = self.folder.plan.stat().st_mtime
        return min(times) if times else datetime.datetime.fromtimestamp(written, tz=datetime.UTC)

    def _records(self, rows: Sequence[Result], *, traffic: bool = True) -> dict[str, CellRecord]:
        """Return, by cell, the records of rows whose stored trial has the row's key; faster without `traffic`."""
        return {row.cell: record for row in rows if (record := self._record(row, traffic=traffic))}

    def _record(self, row: Result, *, traffic: bool) -> CellRecord | None:
        cell = self.folder.cell(row.cell)
        trial = read_record(cell.trial, Trial)
        if trial is None or trial.key != row.key:
            return None
        judgment = read_record(cell.judgment, Judgment) if row.judged else None
        return CellRecord(
            experiment=row.experiment,
            id=row.cell,
            trial=trial,
            judgment=judgment if judgment and judgment.trial_key == row.key else None,
            works=tuple(_work(cell.attempt(attempt.number), attempt, traffic=traffic) for attempt in trial.attempts),
        )

    def _write_workspace(self, rows: list[Result]) -> str:
        return write_workspace(self.plan, rows, self._records(rows, traffic=False), self.folder, self.target)

    def _write_atif(self, rows: list[Result]) -> str:
        written = 0
        records = self._records(rows, traffic=False)
        for row in rows:
            content = atif_trajectory(records[row.cell].works[-1], row) if row.cell in records else None
            if content is not None:
                write_bytes(self.target / f"{row.cell}.json", content)
                written += 1
        if not written:
            raise ConfigError(
                f"{self.folder.root}: no trial has a trajectory with a step, so there is nothing to export for "
                "atif; trials of built-in agents and imported trials have none"
            )
        missing = len(rows) - written
        return f"{missing} of {counted(len(rows), 'trial')} left out: no trajectory" if missing else ""


def _work(folder: AttemptFolder, attempt: Attempt, *, traffic: bool) -> AttemptRecord:
    prompt = folder.file("prompt.md")
    return AttemptRecord(
        number=attempt.number,
        attempt=attempt,
        prompt=prompt.read_text(encoding="utf-8", errors="replace") if prompt.is_file() else None,
        trajectory=read_record(folder.file("trajectory.json"), Trajectory),
        traffic=tuple(read_traffic(folder.file("traffic.jsonl"))) if traffic else (),
    )
