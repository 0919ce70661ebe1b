"""Rows from the artifacts of a wave: which row counts for a cell, and what is missing."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.collect.artifacts import (
    MANIFEST,
    ArtifactReader,
    ReceivedArtifact,
    ReceivedRow,
    SupersededError,
    shard_bytes,
)
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import CollectReport, Plan, RefusedArtifact, UnstartedCells, WavePacking, shard_name
from scylla_gha.model.result import Result
from scylla_gha.store.records import atomic, read_lines, write_record
from scylla_gha.store.run_folder import RunFolder, WavePaths, stored_packing
from scylla_gha.store.untrusted_files import UntrustedFileError, printable_excerpt

_MOST_ENTRIES: Final = 10_000
_PLAIN_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,200}", re.ASCII)
_MOST_ATTEMPTS: Final = 10


@dataclass(slots=True)
class ReceivedRows:
    """Accepted rows. `latest_attempts` and `refusals` are by shard."""

    rows: dict[str, ReceivedRow] = field(default_factory=dict)
    unstarted: dict[str, str] = field(default_factory=dict)
    refused: list[RefusedArtifact] = field(default_factory=list)
    latest_attempts: dict[int, int] = field(default_factory=dict)
    refusals: dict[int, str] = field(default_factory=dict)
    artifacts: int = 0
    superseded: int = 0
    bytes: int = 0


def read_artifacts(source: Path, reader: ArtifactReader, most: int) -> ReceivedRows:
    """Read all artifacts in a folder; a missing folder holds none.

    Args:
        source: folder with a folder per artifact, or with the files of the only one.
        reader: reader of the artifacts.
        most: highest total size in bytes of the rows.

    Raises:
        ConfigError: the folder holds far more than the artifacts of one run.
    """
    received = ReceivedRows()
    for name, path in _in_order(source, reader):
        claim = reader.parse_name(name)
        try:
            _add(received, reader.read(path, name), most)
        except SupersededError:
            received.superseded += 1
        except UntrustedFileError as error:
            received.refused.append(
                RefusedArtifact(
                    artifact=name if _PLAIN_NAME.fullmatch(name) else printable_excerpt(name), reason=str(error)
                )
            )
            if claim:
                received.refusals[claim[0]] = str(error)
    received.unstarted = {cell: why for cell, why in received.unstarted.items() if cell not in received.rows}
    return received


def _in_order(source: Path, reader: ArtifactReader) -> list[tuple[str, Path]]:
    """Return names and folders by shard and attempt; unknown names come first."""
    if os.path.lexists(source / MANIFEST):
        return [(reader.name(source), source)]
    try:
        with os.scandir(source) as entries:
            names = [entry.name for _, entry in zip(range(_MOST_ENTRIES + 1), entries, strict=False)]
    except FileNotFoundError:
        return []
    if len(names) > _MOST_ENTRIES:
        raise ConfigError(f"{source}: holds more than {_MOST_ENTRIES} entries; give the folder that holds one folder "
                          "for each downloaded artifact")  # fmt: skip
    return [
        (name, source / name) for name in sorted(names, key=lambda name: (reader.parse_name(name) or (-1, 0), name))
    ]


def _add(received: ReceivedRows, sent: ReceivedArtifact, most: int) -> None:
    """Add an artifact's rows. The latest attempt counts, unless only an earlier one measures the agent."""
    if received.bytes + sent.bytes > most:
        raise UntrustedFileError(f"all rows together are more than the {counted(most, 'byte')} that are allowed")
    received.artifacts += 1
    received.bytes += sent.bytes
    received.latest_attempts[sent.shard] = sent.attempt
    for cell, row in sent.rows.items():
        if row.measures or not (cell in received.rows and received.rows[cell].measures):
            received.rows[cell] = row
    received.unstarted.update(sent.unstarted)


def missing_cells(packing: WavePacking, received: ReceivedRows, reused: frozenset[str]) -> dict[str, str]:
    """Return the cells of a wave that should have a row and have none, with the reason."""
    missing = {
        cell: _missing_reason(shard.number, received)
        for shard in packing.shards
        for cell in shard.cells
        if cell not in received.rows and cell not in received.unstarted
    }
    reason = "its row should be reused, but is not in reused.jsonl; plan again"
    return missing | {cell: reason for cell in packing.reused if cell not in reused}


def _missing_reason(shard: int, received: ReceivedRows) -> str:
    name = shard_name(shard)
    if shard in received.latest_attempts:
        return f"shard {name} (attempt {received.latest_attempts[shard]}) sent no row of it, and does not say why"
    if shard in received.refusals:
        return f"the rows of shard {name} were refused: {received.refusals[shard]}"
    return f"shard {name} sent nothing: its job failed, was cancelled, or has not run; re-run the failed jobs"


def collect_from(
    plan: Plan, folder: RunFolder, source: Path, attempt: int | None = None, *, prefix: str = "", since: int = 1
) -> CollectReport:
    """Write `results.jsonl` from rows that other machines sent, `unstarted.json`, and `refused.json`.

    Args:
        plan: plan of the experiment.
        folder: its run folder, with `shards.json`, and `reused.jsonl` if rows are reused.
        source: folder with a folder per artifact, or with the files of the only one; all is checked before use.
        attempt: this run's attempt; None: any.
        prefix: prefix of artifact names.
        since: attempt in which the wave was planned; artifacts of earlier ones are skipped.

    Raises:
        ConfigError: `shards.json` is missing or of another plan, or a reused row is invalid.
    """
    packing = stored_packing(folder)
    reader = ArtifactReader(plan, packing, attempt, prefix, since)
    most = (attempt or _MOST_ATTEMPTS) * sum(shard_bytes(len(shard.cells)) for shard in packing.shards)
    received = read_artifacts(source, reader, most)
    reused = {row.cell: row for row in _reused(plan, folder) if row.cell not in received.rows}
    missing = missing_cells(packing, received, frozenset(reused))
    with atomic(folder.results) as temporary, temporary.open("wb") as file:
        for cell in plan.cells:
            if cell.id in received.rows:
                file.write(received.rows[cell.id].text)
            elif cell.id in reused:
                file.write(reused[cell.id].model_dump_json().encode() + b"\n")
    waiting = dict.fromkeys(packing.left, f"left for the next wave of {packing.campaign}")
    if unstarted := {**waiting, **received.unstarted}:
        write_record(folder.unstarted, UnstartedCells(cells=unstarted))
    else:
        folder.unstarted.unlink(missing_ok=True)
    report = CollectReport(artifacts=received.artifacts, rows=len(received.rows), reused=len(reused), missing=missing,
                           refused=tuple(received.refused), superseded=received.superseded)  # fmt: skip
    write_record(folder.refused, report)
    return report


def _reused(plan: Plan, folder: RunFolder) -> Iterator[Result]:
    """Yield the reused rows of planned cells."""
    path = WavePaths(folder.root).reused
    if path.exists():
        keys = {cell.id: cell.key for cell in plan.cells}
        yield from (row for row in read_lines(path, Result) if keys.get(row.cell) == row.key)
