"""Cells of all experiments' runs, by id, by the beginning of one, or by a glob."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from scylla_gha.config.load import did_you_mean
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.store import CellFolder, RunFolder, read_record

_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A cell that is planned or has left records, in its experiment's run."""

    run: RunFolder
    id: str

    @property
    def folder(self) -> CellFolder:
        """Where its records are, or will be."""
        return self.run.cell(self.id)


def find_cell(runs: Path, name: str, experiment: str | None) -> Found:
    """The one cell that is meant.

    Raises:
        ConfigError: none is, or several are.
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
    found = [RunFolder(path) for path in sorted(runs.iterdir()) if path.is_dir()]
    if experiment is None:
        return found
    name = Path(experiment).stem
    named = [folder for folder in found if folder.root.name == name]
    if not named:
        near = did_you_mean(name, {folder.root.name for folder in found})
        raise ConfigError(f"{runs}: there is no run of the experiment {name!r}{near}")
    return named


def _cells(folder: RunFolder) -> Iterator[Found]:
    """Planned ones in their order, then those that only have records."""
    plan = read_record(folder.plan, Plan)
    planned = [cell.id for cell in plan.cells] if plan else []
    yield from (Found(folder, cell) for cell in planned)
    for path in sorted(folder.root.iterdir()):
        if path.name not in planned and (CellFolder(path).cell.is_file() or CellFolder(path).trial.is_file()):
            yield Found(folder, path.name)


def _several(name: str, matching: list[Found]) -> str:
    runs = sorted({cell.run.root.name for cell in matching})
    if len({cell.id for cell in matching}) == 1:
        return f"{name!r}: is a cell of several experiments: {', '.join(runs)}; choose with --experiment"
    ids = "".join(f"\n  {cell.id} of {cell.run.root.name}" for cell in matching[:_LISTED])
    more = f"\n  and {len(matching) - _LISTED} more" if len(matching) > _LISTED else ""
    return f"{name!r}: matches {len(matching)} cells; name one of them:{ids}{more}"
