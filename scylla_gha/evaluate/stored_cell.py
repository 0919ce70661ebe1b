"""Cells in run folders: search by id, id prefix or glob, and all records of one cell.

The module does not import the report, so that `show` starts fast.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from scylla_gha.config import did_you_mean
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.log import read_traffic
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.result import AttemptRecord, CellRecord
from scylla_gha.model.trial import Attempt, Trajectory, Trial
from scylla_gha.store import read_record, require_digest
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, AttemptFolder, CellFolder, RunFolder

_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class CellRef:
    """A cell that is planned or has records, with its experiment's run folder."""

    run: RunFolder
    id: str

    @property
    def folder(self) -> CellFolder:
        """Return the folder of its records."""
        return self.run.cell(self.id)


def find_cell(runs: Path, name: str, experiment: str | None) -> CellRef:
    """Find the one cell with this id, id prefix or glob.

    Raises:
        ConfigError: no cell or several cells match.
    """
    everywhere = [cell for folder in _folders(runs, experiment) for cell in _cells(folder)]
    matching = [cell for cell in everywhere if cell.id == name] or [
        cell for cell in everywhere if fnmatchcase(cell.id, name) or cell.id.startswith(name)
    ]
    if not matching:
        ids = {cell.id for cell in everywhere}
        raise ConfigError(
            f"{runs}: there is no cell {name!r} among {counted(len(ids), 'cell')}{did_you_mean(name, ids)}"
            f"{'' if ids else '; run `scylla-gha evaluate` first'}"
        )
    if len(matching) > 1:
        raise ConfigError(_ambiguity(name, matching))
    return matching[0]


def _folders(runs: Path, experiment: str | None) -> list[RunFolder]:
    if not runs.is_dir():
        raise ConfigError(f"{runs}: there is no such folder; run `scylla-gha evaluate` first, or use another --runs")
    folders = [RunFolder(path) for path in sorted(runs.iterdir()) if path.is_dir()]
    if experiment is None:
        return folders
    name = Path(experiment).stem
    matching = [folder for folder in folders if folder.root.name == name]
    if not matching:
        near = did_you_mean(name, {folder.root.name for folder in folders})
        raise ConfigError(f"{runs}: there is no run of the experiment {name!r}{near}")
    return matching


def _cells(folder: RunFolder) -> Iterator[CellRef]:
    """Yield planned cells in their order, then cells that only have records."""
    plan = read_record(folder.plan, Plan)
    planned = [cell.id for cell in plan.cells] if plan else []
    yield from (CellRef(folder, cell) for cell in planned)
    for path in sorted(folder.root.iterdir()):
        if path.name not in planned and (CellFolder(path).cell.is_file() or CellFolder(path).trial.is_file()):
            yield CellRef(folder, path.name)


def _ambiguity(name: str, matching: list[CellRef]) -> str:
    """Return the message about a name that several cells match."""
    runs = sorted({cell.run.root.name for cell in matching})
    if len({cell.id for cell in matching}) == 1:
        return f"{name!r}: is a cell of several experiments: {', '.join(runs)}; choose with --experiment"
    ids = "".join(f"\n  {cell.id} of {cell.run.root.name}" for cell in matching[:_LISTED])
    more = f"\n  and {len(matching) - _LISTED} more" if len(matching) > _LISTED else ""
    return f"{name!r}: matches {counted(len(matching), 'cell')}; name one of them:{ids}{more}"


def stored_cell(cell_ref: CellRef, plan: Plan | None) -> CellRecord:
    """Read all records of a cell.

    Args:
        cell_ref: the cell.
        plan: the plan of its run; None if there is none.

    Raises:
        ConfigError: a record is invalid, or a file was changed after it was recorded.
    """
    planned = {cell.id: cell for cell in plan.cells} if plan else {}
    cell = read_record(cell_ref.folder.cell, Cell) or planned.get(cell_ref.id)
    arms = {arm.id: arm for arm in plan.arms} if plan else {}
    trial = read_record(cell_ref.folder.trial, Trial)
    return CellRecord(
        experiment=cell_ref.run.root.name,
        id=cell_ref.id,
        cell=cell,
        arm=arms.get(cell.arm) if cell else None,
        trial=trial,
        judgment=read_record(cell_ref.folder.judgment, Judgment),
        works=tuple(_stored_attempt(folder, trial) for folder in cell_ref.folder.attempts()),
    )


def _stored_attempt(folder: AttemptFolder, trial: Trial | None) -> AttemptRecord:
    attempts = {attempt.number: attempt for attempt in trial.attempts} if trial else {}
    attempt = read_record(folder.file("attempt.json"), Attempt) or attempts.get(folder.number)
    for name in ("prompt.md", "diff.patch", "trajectory.json", "traffic.jsonl", "github.json", "github.bundle"):
        require_digest(folder.file(name), attempt.files.get(name) if attempt else None)
    texts = {
        name: path.read_text(encoding="utf-8", errors="replace") if (path := folder.file(name)).is_file() else None
        for name in ("prompt.md", "diff.patch")
    }
    return AttemptRecord(
        number=folder.number,
        attempt=attempt,
        prompt=texts["prompt.md"],
        trajectory=read_record(folder.file("trajectory.json"), Trajectory),
        patch=texts["diff.patch"],
        traffic=tuple(read_traffic(folder.file("traffic.jsonl"))),
        judge_traffic=tuple(read_traffic(folder.file(JUDGE_TRAFFIC))),
    )
