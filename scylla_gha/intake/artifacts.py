"""One artifact of rows: it is taken whole, or refused whole.

An artifact is a folder `scylla-rows-<experiment>-<shard>-<attempt>` of `manifest.json` and `results.jsonl`. The latter
may be missing where there is no row. Sizes are judged by what was planned, names by a list, rows by their plan.
download-artifact unpacks the only match of a pattern without that folder; such an artifact is named by its manifest.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.intake.files import UnsoundError, lines, listed, opened, safe
from scylla_gha.intake.rows import LINE_BYTES, parsed, stranger
from scylla_gha.model.plan import Plan
from scylla_gha.model.shards import Manifest, Packing

MANIFEST: Final = "manifest.json"
_FILES: Final = frozenset({MANIFEST, "results.jsonl"})
_NOTHING: Final = hashlib.sha256(b"").hexdigest()
_REASON: Final = 300  # characters of a reason


class SupersededError(UnsoundError):
    """It is of an earlier attempt, before the run was planned anew: rows of it that still hold are reused ones."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes: of a row on average, of a line, of a manifest at all and more for each cell."""

    row: int = 16 * 1024
    line: int = LINE_BYTES
    manifest: int = 64 * 1024
    cell: int = 1024


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is to be stored, and whether it measures the agent."""

    text: bytes
    measures: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """What an artifact holds: rows by cell, and why other cells of its shard have none."""

    shard: int
    attempt: int
    rows: dict[str, Row]
    unstarted: dict[str, str]
    bytes: int


class Door:
    """What is let in: artifacts of the shards of one wave.

    Args:
        plan: of the experiment.
        packing: of the wave.
        attempt: of this run; none can be of a later one. None: any is taken.
        limits: on what is read at all.
        prefix: before the names of artifacts.
        since: attempt at which the wave was planned; rows of earlier ones were taken over then.
    """

    def __init__(
        self, plan: Plan, packing: Packing, attempt: int | None = None, limits: Limits = Limits(), prefix: str = "",
        since: int = 1,
    ) -> None:  # fmt: skip
        self._plan, self._packing, self._attempt, self._limits = plan, packing, attempt, limits
        self._start, self._since = f"{prefix}scylla-rows-{packing.experiment}", since
        self._cells = {cell.id: cell for cell in plan.cells}
        self._arms = {arm.id: arm for arm in plan.arms}
        self._shards = {shard.number: frozenset(shard.cells) for shard in packing.shards}
        self._name = re.compile(rf"{re.escape(self._start)}-(\d{{3}})-([1-9]\d{{0,3}})", re.ASCII)

    def claimed(self, name: str) -> tuple[int, int] | None:
        """Shard and attempt that the name of an artifact says."""
        found = self._name.fullmatch(name)
        return (int(found[1]), int(found[2])) if found else None

    def name(self, path: Path) -> str:
        """The artifact name of a folder without one: by the shard and attempt of its manifest, else a description."""
        try:
            manifest = self._manifest(path / MANIFEST, max(map(len, self._shards.values()), default=0))
        except UnsoundError:
            return "the only artifact"
        return f"{self._start}-{manifest.shard:03d}-{manifest.attempt}"

    def take(self, path: Path, name: str | None = None) -> Sent:
        """All of one artifact.

        Args:
            path: of its folder.
            name: of the artifact; None: the folder's.

        Raises:
            SupersededError: it is of an earlier plan of this run.
            UnsoundError: anything in it is not as it must be.
        """
        claim = self._admitted(path.name if name is None else name)
        names = set(listed(path, len(_FILES)))
        if names - _FILES:
            raise UnsoundError(f"holds {safe(min(names - _FILES))}, which does not belong into it")
        cells = self._shards[claim[0]]
        manifest = self._manifest(path / MANIFEST, len(cells))
        self._check(manifest, claim, cells)
        if "results.jsonl" not in names:
            return self._empty(manifest)
        most = self._limits.row * len(cells) + self._limits.line
        with opened(path / "results.jsonl", most) as file:
            return self._sent(manifest, file, cells)

    def _admitted(self, name: str) -> tuple[int, int]:
        """Shard and attempt of an artifact that may be looked into."""
        claim = self.claimed(name)
        if claim is not None and self._attempt is not None and claim[1] > self._attempt:
            raise UnsoundError(f"it is of attempt {claim[1]}, and this is attempt {self._attempt}")
        if claim is not None and claim[1] < self._since:
            raise SupersededError(f"it is of attempt {claim[1]}, and the wave was planned in attempt {self._since}")
        if claim is None or claim[0] not in self._shards:
            kind = SupersededError if self._is_earlier(claim) else UnsoundError
            raise kind("its name is not that of a shard of this wave")
        return claim

    def _is_earlier(self, claim: tuple[int, int] | None) -> bool:
        return claim is not None and self._attempt is not None and claim[1] < self._attempt

    def _manifest(self, path: Path, cells: int) -> Manifest:
        with opened(path, self._limits.manifest + self._limits.cell * cells) as file:
            content = file.read(self._limits.manifest + self._limits.cell * cells)
        try:
            return Manifest.model_validate_json(content)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = safe(".".join(str(part) for part in first["loc"]))
            raise UnsoundError(f"manifest.json is no manifest: {where}: {first['msg'][:200]}") from None

    def _check(self, manifest: Manifest, claim: tuple[int, int], cells: frozenset[str]) -> None:
        if manifest.experiment != self._packing.experiment:
            raise UnsoundError(f"its manifest is of the experiment {safe(manifest.experiment)}")
        if (manifest.shard, manifest.attempt) != claim:
            raise UnsoundError("its manifest is of another shard or attempt than its name")
        if manifest.plan != self._packing.plan:
            kind = SupersededError if self._is_earlier(claim) else UnsoundError
            raise kind("its manifest is of another plan")
        if manifest.count > len(cells):
            raise UnsoundError(f"its manifest counts {manifest.count} rows of {len(cells)} cells")
        if manifest.unstarted.keys() - cells:
            raise UnsoundError("its manifest tells of cells that are not in its shard")

    def _empty(self, manifest: Manifest) -> Sent:
        if manifest.count or manifest.sha256 != _NOTHING:
            raise UnsoundError("results.jsonl is missing")
        return Sent(manifest.shard, manifest.attempt, {}, _reasons(manifest), 0)

    def _sent(self, manifest: Manifest, file: BufferedReader, cells: frozenset[str]) -> Sent:
        size = self._verify(manifest, file)
        rows: dict[str, Row] = {}
        for cell, row in self._rows(file, cells):
            if cell in rows:
                raise UnsoundError(f"{cell} has two rows")
            rows[cell] = row
        if len(rows) != manifest.count:
            raise UnsoundError(f"its manifest counts {manifest.count} rows, and there are {len(rows)}")
        if rows.keys() & manifest.unstarted.keys():
            raise UnsoundError(f"{min(rows.keys() & manifest.unstarted.keys())} has a row, and is said not to")
        return Sent(manifest.shard, manifest.attempt, rows, _reasons(manifest), size)

    def _verify(self, manifest: Manifest, file: BufferedReader) -> int:
        if hashlib.file_digest(file, "sha256").hexdigest() != manifest.sha256:
            raise UnsoundError("results.jsonl is not what its manifest says: its SHA-256 is another")
        size = file.tell()
        file.seek(0)
        return size

    def _rows(self, file: BufferedReader, cells: frozenset[str]) -> Iterator[tuple[str, Row]]:
        for number, line in enumerate(lines(file, self._limits.line), start=1):
            row = parsed(line, number)
            if row.cell not in cells:
                raise UnsoundError(f"line {number}: {safe(row.cell)} is not a cell of its shard")
            cell = self._cells[row.cell]
            fault = stranger(row, cell, self._plan, self._arms[cell.arm])
            if fault:
                raise UnsoundError(f"line {number}: {fault}")
            yield cell.id, Row(row.model_dump_json().encode() + b"\n", row.measures_agent)


def _reasons(manifest: Manifest) -> dict[str, str]:
    return {cell: _plain(reason) for cell, reason in manifest.unstarted.items()}


def _plain(text: str) -> str:
    """Words of another machine, on one line, and cut."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text[:_REASON]).split()) or "not said"
