"""File of ProfileRow lines that grows while a run goes on: one line for each trial, appended when its cell is done."""

import errno
import hashlib
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import orjson

from scylla_gha.collect import rows
from scylla_gha.evaluate.context import RunSettings
from scylla_gha.interop.exporters import DEFAULT_NAMES, RunExport
from scylla_gha.model.plan import Cell, Shard
from scylla_gha.model.result import Result
from scylla_gha.store.records import atomic
from scylla_gha.store.run_folder import RunFolder


def profile_path(folder: RunFolder, shard: Shard | None = None) -> Path:
    """Return the path of the file of a run, or of one of its shards."""
    path = folder.root / DEFAULT_NAMES["profile"]
    return path if shard is None else path.with_stem(f"{path.stem}-{shard.name}")


class ProfileLog:
    """Writer of the lines of a run, or of one of its shards, used by several threads.

    A new line is appended by one write. An equal line is not written again. If the line of a cell changed (another key
    or judgment), the file is written anew.

    Args:
        path: of the file. Torn lines, second lines of a cell, and lines of unplanned cells are removed.
        cells: ids of the planned cells.
    """

    def __init__(self, path: Path, cells: Collection[str]) -> None:
        self._path, self._lock, self._digests = path, threading.Lock(), dict[str, bytes]()
        is_clean = True
        for cell, line in _cell_lines(path):
            if cell in cells and cell not in self._digests:
                self._digests[cell] = _digest(line)
            else:
                is_clean = False
        if not is_clean:
            self._rewrite({})

    def add_cell(self, settings: RunSettings, cell: Cell) -> None:
        """Append the line of a finished cell, if a row can be collected."""
        for row in rows(settings.plan.model_copy(update={"cells": (cell,)}), settings.folder, settings.library):
            self.add(settings, row)

    def add(self, settings: RunSettings, row: Result) -> None:
        """Append the line of a row.

        Raises:
            OSError: the file cannot be written; it ends with a whole line.
        """
        line = RunExport(settings.folder, settings.plan, self._path).profile((row,))
        digest = _digest(line)
        with self._lock:
            before = self._digests.get(row.cell)
            if before is None:
                _append(self._path, line)
            elif before != digest:
                self._rewrite({row.cell: line})
            self._digests[row.cell] = digest

    def _rewrite(self, replaced: Mapping[str, bytes]) -> None:
        left = set(self._digests)
        with atomic(self._path) as temporary, temporary.open("wb") as file:
            for cell, line in _cell_lines(self._path):
                if cell in left:
                    left.remove(cell)
                    file.write(replaced.get(cell, line))


def _append(path: Path, line: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        end, written = file.tell(), 0
        try:
            written = file.write(line)
        finally:
            if written != len(line):
                file.truncate(end)
    if written != len(line):
        raise OSError(errno.ENOSPC, "only a part of a line could be written", str(path))


def _digest(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()


def _cell_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a file, each with its cell; "" if it is not a whole ProfileRow."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                profile = orjson.loads(line) if line.endswith(b"\n") else None
            except orjson.JSONDecodeError:
                profile = None
            cell = profile.get("sessionId") if isinstance(profile, dict) else None
            yield cell if isinstance(cell, str) else "", line
