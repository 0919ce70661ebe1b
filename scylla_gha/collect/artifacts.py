"""Reader of one artifact of rows, which is accepted or refused as a whole.

An artifact is a folder `scylla-rows-<experiment>-<shard>-<attempt>` with `manifest.json` and, if there are rows,
`results.jsonl`. The plan limits the sizes, a list the names of files, the shard's cells the rows. download-artifact
unpacks a single match without its folder; such an artifact gets its name from its manifest.
"""

import hashlib
import re
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.counting import counted
from scylla_gha.model.plan import Plan, ShardManifest, WavePacking
from scylla_gha.model.printable_text import one_line
from scylla_gha.store.untrusted_files import (
    LINE_BYTES,
    UntrustedFileError,
    list_files,
    mismatch,
    open_file,
    parse_row,
    printable_excerpt,
    read_lines_limited,
)

MANIFEST: Final = "manifest.json"
_FILES: Final = frozenset({MANIFEST, "results.jsonl"})
_EMPTY_SHA256: Final = hashlib.sha256(b"").hexdigest()
_REASON_CHARS: Final = 300
_ROW_BYTES: Final = 16 * 1024  # on average
_MANIFEST_BYTES: Final = 64 * 1024  # and more for each cell
_MANIFEST_CELL_BYTES: Final = 1024


class SupersededError(UntrustedFileError):
    """The artifact is older than the wave's plan, which already reuses its valid rows."""


@dataclass(frozen=True, slots=True)
class ReceivedRow:
    """A row as it will be stored, and whether it measures the agent."""

    text: bytes
    measures: bool


@dataclass(frozen=True, slots=True)
class ReceivedArtifact:
    """Content of an artifact: rows by cell, and the reasons of cells that were not started."""

    shard: int
    attempt: int
    rows: dict[str, ReceivedRow]
    unstarted: dict[str, str]
    bytes: int


def shard_bytes(cells: int) -> int:
    """Return the highest size in bytes of the rows of a shard."""
    return _ROW_BYTES * cells + LINE_BYTES


class ArtifactReader:
    """Reader that accepts the artifacts of the shards of one wave.

    Args:
        plan: plan of the experiment.
        packing: shards of the wave.
        attempt: this run's attempt; later ones are refused. None: any attempt is accepted.
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
        """Return the name of an artifact that has no folder of its own: from its manifest, or a description."""
        try:
            manifest = self._manifest(path / MANIFEST, max(map(len, self._shards.values()), default=0))
        except UntrustedFileError:
            return "the only artifact"
        return f"{self._start}-{manifest.shard:03d}-{manifest.attempt}"

    def read(self, path: Path, name: str | None = None) -> ReceivedArtifact:
        """Read one whole artifact.

        Args:
            path: its folder.
            name: its name; None: the folder's name.

        Raises:
            SupersededError: it is older than the wave's plan.
            UntrustedFileError: its content is not valid.
        """
        claim = self._checked_name(path.name if name is None else name)
        names = set(list_files(path, len(_FILES)))
        if names - _FILES:
            raise UntrustedFileError(
                f"holds {printable_excerpt(min(names - _FILES))}, which is not a file of such an artifact"
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
            raise UntrustedFileError(f"its manifest counts {counted(manifest.count, 'row')}, and there are {len(rows)}")
        if rows.keys() & manifest.unstarted.keys():
            raise UntrustedFileError(
                f"{min(rows.keys() & manifest.unstarted.keys())} has a row, but its manifest lists it as not started"
            )
        unstarted = {
            cell: one_line(reason[:_REASON_CHARS]) or "not said" for cell, reason in manifest.unstarted.items()
        }
        return ReceivedArtifact(manifest.shard, manifest.attempt, rows, unstarted, size)

    def _checked_name(self, name: str) -> tuple[int, int]:
        """Return shard and attempt of an artifact that may be read."""
        claim = self.parse_name(name)
        if claim is not None and self._attempt is not None and claim[1] > self._attempt:
            raise UntrustedFileError(f"it is of attempt {claim[1]}, and this is attempt {self._attempt}")
        if claim is not None and claim[1] < self._since:
            raise SupersededError(f"it is of attempt {claim[1]}, and the wave was planned in attempt {self._since}")
        if claim is None or claim[0] not in self._shards:
            kind = SupersededError if self._is_earlier(claim) else UntrustedFileError
            raise kind("its name is not that of a shard of this wave")
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
            raise UntrustedFileError(f"manifest.json is not a manifest: {where}: {first['msg'][:200]}") from None

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
