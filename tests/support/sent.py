"""Artifacts of rows, as jobs send them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from scylla_gha.model import Record
from scylla_gha.model.plan import Cell, Plan, Shard, ShardManifest, WavePacking
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.records import WHEN, make_cell, make_plan, make_result

CELLS = tuple(make_cell(arm, repetition) for repetition in (1, 2) for arm in ("oracle", "nop"))
SHARDS = ((CELLS[0].id, CELLS[1].id), (CELLS[2].id, CELLS[3].id))


def make_packing(shards: Sequence[Sequence[str]] = SHARDS, plan: str = "0" * 64, **given: Any) -> WavePacking:
    """A wave of shards, by the ids of their cells."""
    defaults = {
        "experiment": "demo", "plan": plan, "campaign": "c", "lanes": 1, "minutes": 300.0,
        "shards": tuple(Shard(number=at, cells=tuple(cells), minutes=1.0) for at, cells in enumerate(shards)),
    }  # fmt: skip
    return WavePacking.model_validate({**defaults, **given})


def make_run(root: Path, plan: Plan | None = None, shards: Sequence[Sequence[str]] = SHARDS, **given: Any) -> RunFolder:
    """A run's folder with its plan and its wave."""
    folder = RunFolder(root)
    write_record(folder.plan, plan or make_plan(*CELLS))
    write_record(root / "shards.json", make_packing(shards, plan_digest(folder), **given))
    return folder


def plan_digest(folder: RunFolder) -> str:
    return hashlib.sha256(folder.plan.read_bytes()).hexdigest()


def rows_text(rows: Iterable[Record]) -> bytes:
    return b"".join(row.model_dump_json().encode() + b"\n" for row in rows)


def send(
    into: Path, rows: bytes | None, shard: int = 0, attempt: int = 1, said: Mapping[str, Any] = MappingProxyType({})
) -> Path:
    """An artifact; `said` replaces what its manifest says."""
    content = rows or b""
    told = ShardManifest(experiment="demo", shard=shard, attempt=attempt, plan="0" * 64, count=content.count(b"\n"),
                    sha256=hashlib.sha256(content).hexdigest(), written_at=WHEN)  # fmt: skip
    place = into / f"scylla-rows-demo-{shard:03d}-{attempt}"
    place.mkdir(parents=True)
    (place / "manifest.json").write_text(json.dumps({**told.model_dump(mode="json"), **said}))
    if rows is not None:
        (place / "results.jsonl").write_bytes(rows)
    return place


def good(*cells: Cell, **given: Any) -> bytes:
    """Rows of cells, as text."""
    return rows_text(make_result(cell, **given) for cell in cells or CELLS[:2])
