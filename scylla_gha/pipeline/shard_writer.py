"""The rows of a shard, written anew after each cell: a job that is killed loses the cells at work, and no other."""

import datetime
import hashlib
import platform
import threading
from collections.abc import Mapping
from typing import Final

from scylla_gha import __version__
from scylla_gha.collect.rows import rows
from scylla_gha.config.library import Library
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.result import Result
from scylla_gha.model.shards import Shard, ShardManifest, WavePacking
from scylla_gha.store.records import write_record, write_text
from scylla_gha.store.run_folder import RunFolder, ShardPaths

_UNTIMELY: Final = "the job ended before the cell was started, or while it was at work"
_MOST: Final = 600  # characters of a reason, which stands there for each cell


class ShardWriter:
    """The rows of a shard's cells as they come, from several lanes.

    Args:
        packing: of the wave.
        shard: whose rows they are.
        attempt: of the workflow run.
        shelf: where they are written.
        taken: rows that were there before, by cell.
    """

    def __init__(
        self, packing: WavePacking, shard: Shard, attempt: int, paths: ShardPaths, reused: Mapping[str, Result]
    ) -> None:
        self._packing, self._shard, self._attempt, self._paths = packing, shard, attempt, paths
        self._reused = dict(reused)
        self._rows = {name: row.model_dump_json() for name, row in reused.items()}
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Rows that there are."""
        return len(self._rows)

    def add(self, plan: Plan, cell: Cell, folder: RunFolder, library: Library) -> None:
        """Collect the row of a cell that was worked on, and write all."""
        lines = [row.model_dump_json() for row in rows(plan.model_copy(update={"cells": (cell,)}), folder, library)]
        with self._lock:
            self._rows.update(dict.fromkeys([cell.id], *lines) if lines else {})
            self._write({})

    def write(self, unstarted: Mapping[str, str] | None = None) -> dict[str, str]:
        """Write the rows and their manifest.

        Args:
            unstarted: why cells were not started, where that was chosen.

        Returns:
            The shard's cells without a row, and why.
        """
        with self._lock:
            return self._write(unstarted or {})

    def _write(self, unstarted: Mapping[str, str]) -> dict[str, str]:
        lines = "".join(f"{self._rows[name]}\n" for name in self._shard.cells if name in self._rows)
        missing = {name: unstarted.get(name, _UNTIMELY)[:_MOST] for name in self._shard.cells if name not in self._rows}
        write_text(self._paths.rows, lines)
        write_record(self._paths.manifest, ShardManifest(
            experiment=self._packing.experiment,
            shard=self._shard.number,
            attempt=self._attempt,
            plan=self._packing.plan,
            sha256=hashlib.sha256(lines.encode()).hexdigest(),
            count=len(self._rows),
            carried=len(self._reused),
            unstarted=missing,
            versions=self._versions(),
            written_at=datetime.datetime.now(datetime.UTC),
        ))  # fmt: skip
        return missing

    def _versions(self) -> dict[str, str]:
        agents = {name: value for name, value in self._packing.footing.items() if name.startswith("agent ")}
        return {"scylla-gha": __version__, "python": platform.python_version(), "system": platform.platform(), **agents}
