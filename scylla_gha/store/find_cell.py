"""Search for cells in all experiments' runs, by id, id prefix or glob."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from scylla_gha.config.load import did_you_mean
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import CellFolder, RunFolder

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
        raise ConfigError(f"{runs}: there is no cell {name!r} in {len(ids)}{did_you_mean(name, ids)}"
                          f"{'' if ids else '; run `scylla-gha evaluate` first'}")  # fmt: skip
    if len(matching) > 1:
        raise ConfigError(_several(name, matching))
    return matching[0]


def _folders(runs: Path, experiment: str | None) -> list[RunFolder]:
    if not runs.is_dir():
        raise ConfigError(f"{runs}: there is no such folder; run `scylla-gha evaluate` first, or name it with --runs")
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


def _several(name: str, matching: list[CellRef]) -> str:
    runs = sorted({cell.run.root.name for cell in matching})
    if len({cell.id for cell in matching}) == 1:
        return f"{name!r}: is a cell of several experiments: {', '.join(runs)}; choose with --experiment"
    ids = "".join(f"\n  {cell.id} of {cell.run.root.name}" for cell in matching[:_LISTED])
    more = f"\n  and {len(matching) - _LISTED} more" if len(matching) > _LISTED else ""
    return f"{name!r}: matches {counted(len(matching), 'cell')}; name one of them:{ids}{more}"
