"""Read the artifacts of a wave: choose the row that counts for each cell, and explain missing rows.

An artifact is accepted or refused as a whole. It is a folder `scylla-rows-<experiment>-<shard>-<attempt>` with
`manifest.json` and, if there are rows, `results.jsonl`. Other files, files that are too large for the plan, and rows of
other cells than the shard's are refused. download-artifact unpacks a single match without its folder; such an artifact
gets its name from its manifest.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model import one_line
from scylla_gha.model.plan import (
    CollectReport,
    Plan,
    RefusedArtifact,
    ShardManifest,
    UnstartedCells,
    WavePacking,
    shard_name,
)
from scylla_gha.model.result import Result
from scylla_gha.store import atomic, read_lines, write_record
from scylla_gha.store.rows import (
    LINE_BYTES,
    UntrustedFileError,
    list_files,
    mismatch,
    open_file,
    parse_row,
    printable_excerpt,
    read_lines_limited,
)
from scylla_gha.store.run_folder import RunFolder, WavePaths, stored_packing

MANIFEST: Final = "manifest.json"
_FILES: Final = frozenset({MANIFEST, "results.jsonl"})
_EMPTY_SHA256: Final = hashlib.sha256(b"").hexdigest()
_REASON_CHARS: Final = 300
_ROW_BYTES: Final = 16 * 1024  # mean size of a row
_MANIFEST_BYTES: Final = 64 * 1024  # size without the entries of cells
_MANIFEST_CELL_BYTES: Final = 1024
_MOST_ENTRIES: Final = 10_000
_PLAIN_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,200}", re.ASCII)
_MOST_ATTEMPTS: Final = 10


class SupersededError(UntrustedFileError):
    """The artifact is older than the wave's plan, which already reuses its valid rows."""


@dataclass(frozen=True, slots=True)
class ReceivedRow:
    """A row as it will be stored, and whether it measures the agent."""

    text: bytes
    measures: bool


@dataclass(frozen=True, slots=True)
class ReceivedArtifact:
    """Content of an artifact: rows by cell, and the reasons why cells were not started."""

    shard: int
    attempt: int
    rows: dict[str, ReceivedRow]
    unstarted: dict[str, str]
    bytes: int


def shard_bytes(cells: int) -> int:
    """Return the maximum size in bytes of the rows of a shard."""
    return _ROW_BYTES * cells + LINE_BYTES


class ArtifactReader:
    """Reader that accepts the artifacts of the shards of one wave.

    Args:
        plan: plan of the experiment.
        packing: shards of the wave.
        attempt: this run's attempt; artifacts of later attempts are refused. None: accept any attempt.
        prefix: prefix of artifact names.
        since: attempt in which the wave was planned; it reuses rows of earlier attempts.
    """

    def __init__(
        self, plan: Plan, packing: WavePacking, attempt: int | None = None, prefix: str = "", since: int = 1
    ) -> None:
        self._plan, self._packing, self._attempt = plan, packing, attempt
        self._start, self._since = f"{prefix}scylla-rows-{packing.experiment}", since
        self._cells = {cell.id: cell for cell in plan.cells}
        self._arms = {arm.id: arm for arm in plan.arms}
        self._shards = {shard.number: frozenset(shard.cells) for shard in packing.shards}
        self._name = re.compile(rf"{re.escape(self._start)}-(\d{{3}})-([1-9]\d{{0,3}})", re.ASCII)

    def parse_name(self, name: str) -> tuple[int, int] | None:
        """Return the shard and attempt in an artifact's name, or None."""
        match = self._name.fullmatch(name)
        return (int(match[1]), int(match[2])) if match else None

    def name(self, path: Path) -> str:
        """Return the name of an artifact without its own folder, from its manifest; a description if it is invalid."""
        try:
            manifest = self._manifest(path / MANIFEST, max(map(len, self._shards.values()), default=0))
        except UntrustedFileError:
            return "the only artifact"
        return f"{self._start}-{manifest.shard:03d}-{manifest.attempt}"

    def read(self, path: Path, name: str | None = None) -> ReceivedArtifact:
        """Read one whole artifact.

        Args:
            path: folder of the artifact.
            name: name of the artifact; None: the folder's name.

        Raises:
            SupersededError: the artifact is older than the wave's plan.
            UntrustedFileError: its content is invalid.
        """
        claim = self._checked_name(path.name if name is None else name)
        names = set(list_files(path, len(_FILES)))
        if names - _FILES:
            raise UntrustedFileError(
                f"contains {printable_excerpt(min(names - _FILES))}, which is not a file of such an artifact"
            )
        cells = self._shards[claim[0]]
        manifest = self._manifest(path / MANIFEST, len(cells))
        self._check_manifest(manifest, claim, cells)
        rows: dict[str, ReceivedRow] = {}
        size = 0
        if "results.jsonl" in names:
            with open_file(path / "results.jsonl", shard_bytes(len(cells))) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != manifest.sha256:
                    raise UntrustedFileError(
                        "results.jsonl does not match its manifest (SHA-256 differs); download the artifact again"
                    )
                size = file.tell()
                file.seek(0)
                rows = self._rows(file, cells)
        elif manifest.count or manifest.sha256 != _EMPTY_SHA256:
            raise UntrustedFileError("results.jsonl is missing")
        if len(rows) != manifest.count:
            raise UntrustedFileError(f"its manifest counts {counted(manifest.count, 'row')}, but there are {len(rows)}")
        if rows.keys() & manifest.unstarted.keys():
            raise UntrustedFileError(
                f"{min(rows.keys() & manifest.unstarted.keys())} has a row, but its manifest lists it as not started"
            )
        unstarted = {
            cell: one_line(reason[:_REASON_CHARS]) or "no reason given" for cell, reason in manifest.unstarted.items()
        }
        return ReceivedArtifact(manifest.shard, manifest.attempt, rows, unstarted, size)

    def _checked_name(self, name: str) -> tuple[int, int]:
        """Return shard and attempt from an artifact's name, after checking that this run may read the artifact."""
        claim = self.parse_name(name)
        if claim is not None and self._attempt is not None and claim[1] > self._attempt:
            raise UntrustedFileError(f"the artifact comes from attempt {claim[1]}, but this is attempt {self._attempt}")
        if claim is not None and claim[1] < self._since:
            raise SupersededError(
                f"the artifact comes from attempt {claim[1]}, but the wave was planned in attempt {self._since}"
            )
        if claim is None or claim[0] not in self._shards:
            kind = SupersededError if self._is_earlier(claim) else UntrustedFileError
            raise kind("its name does not match a shard of this wave")
        return claim

    def _is_earlier(self, claim: tuple[int, int] | None) -> bool:
        return claim is not None and self._attempt is not None and claim[1] < self._attempt

    def _manifest(self, path: Path, cells: int) -> ShardManifest:
        most = _MANIFEST_BYTES + _MANIFEST_CELL_BYTES * cells
        with open_file(path, most) as file:
            content = file.read(most)
        try:
            return ShardManifest.model_validate_json(content)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = printable_excerpt(".".join(str(part) for part in first["loc"]))
            raise UntrustedFileError(f"manifest.json is not valid: {where}: {first['msg'][:200]}") from None

    def _check_manifest(self, manifest: ShardManifest, claim: tuple[int, int], cells: frozenset[str]) -> None:
        if manifest.experiment != self._packing.experiment:
            raise UntrustedFileError(f"its manifest is of the experiment {printable_excerpt(manifest.experiment)}")
        if (manifest.shard, manifest.attempt) != claim:
            raise UntrustedFileError("its manifest is of another shard or attempt than its name")
        if manifest.plan != self._packing.plan:
            kind = SupersededError if self._is_earlier(claim) else UntrustedFileError
            raise kind("its manifest is of another plan")
        if manifest.count > len(cells):
            raise UntrustedFileError(
                f"its manifest counts {counted(manifest.count, 'row')} of {counted(len(cells), 'cell')}"
            )
        if manifest.unstarted.keys() - cells:
            raise UntrustedFileError("its manifest lists cells that are not in its shard")

    def _rows(self, file: BufferedReader, cells: frozenset[str]) -> dict[str, ReceivedRow]:
        rows: dict[str, ReceivedRow] = {}
        for number, line in enumerate(read_lines_limited(file, LINE_BYTES), start=1):
            row = parse_row(line, number)
            if row.cell not in cells:
                raise UntrustedFileError(f"line {number}: {printable_excerpt(row.cell)} is not a cell of its shard")
            cell = self._cells[row.cell]
            if fault := mismatch(row, cell, self._plan, self._arms[cell.arm]):
                raise UntrustedFileError(f"line {number}: {fault}")
            if cell.id in rows:
                raise UntrustedFileError(f"{cell.id} has two rows")
            rows[cell.id] = ReceivedRow(row.model_dump_json().encode() + b"\n", row.measures_agent)
        return rows


@dataclass(slots=True)
class ReceivedRows:
    """Accepted rows, and refused artifacts; `latest_attempts` and `refusals` are by shard."""

    rows: dict[str, ReceivedRow] = field(default_factory=dict)
    unstarted: dict[str, str] = field(default_factory=dict)
    refused: list[RefusedArtifact] = field(default_factory=list)
    latest_attempts: dict[int, int] = field(default_factory=dict)
    refusals: dict[int, str] = field(default_factory=dict)
    artifacts: int = 0
    superseded: int = 0
    bytes: int = 0


def read_artifacts(source: Path, reader: ArtifactReader, most: int) -> ReceivedRows:
    """Read all artifacts in a folder, which may be missing.

    Args:
        source: folder with a folder per artifact, or with the files of a single artifact.
        reader: reader of the artifacts.
        most: maximum total size in bytes of the rows.

    Raises:
        ConfigError: the folder contains far more than the artifacts of one run.
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
        raise ConfigError(
            f"{source}: contains more than {_MOST_ENTRIES} entries; give the folder with one folder "
            "for each downloaded artifact"
        )
    return [
        (name, source / name) for name in sorted(names, key=lambda name: (reader.parse_name(name) or (-1, 0), name))
    ]


def _add(received: ReceivedRows, sent: ReceivedArtifact, most: int) -> None:
    """Add an artifact's rows. The latest attempt counts, unless only an earlier one measures the agent."""
    if received.bytes + sent.bytes > most:
        raise UntrustedFileError(f"all rows together exceed the limit of {counted(most, 'byte')}")
    received.artifacts += 1
    received.bytes += sent.bytes
    received.latest_attempts[sent.shard] = sent.attempt
    for cell, row in sent.rows.items():
        if row.measures or not (cell in received.rows and received.rows[cell].measures):
            received.rows[cell] = row
    received.unstarted.update(sent.unstarted)


def missing_cells(packing: WavePacking, received: ReceivedRows, reused: frozenset[str]) -> dict[str, str]:
    """Return the cells of a wave whose row is missing, with the reason."""
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
        return f"shard {name} (attempt {received.latest_attempts[shard]}) sent no row of this cell, and gave no reason"
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
        source: folder with a folder per artifact, or with the files of a single artifact; all are checked.
        attempt: this run's attempt; None: any attempt.
        prefix: prefix of artifact names.
        since: attempt in which the wave was planned; artifacts of earlier attempts are skipped.

    Raises:
        ConfigError: `shards.json` is missing or belongs to another plan, or a reused row is invalid.
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
    report = CollectReport(
        artifacts=received.artifacts,
        rows=len(received.rows),
        reused=len(reused),
        missing=missing,
        refused=tuple(received.refused),
        superseded=received.superseded,
    )
    write_record(folder.refused, report)
    return report


def _reused(plan: Plan, folder: RunFolder) -> Iterator[Result]:
    """Yield the reused rows of planned cells."""
    path = WavePaths(folder.root).reused
    if path.exists():
        keys = {cell.id: cell.key for cell in plan.cells}
        yield from (row for row in read_lines(path, Result) if keys.get(row.cell) == row.key)
