"""All artifacts of a wave together: which row stands for a cell, and what is missing."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.intake.artifacts import MANIFEST, Door, Limits, Row, Sent, SupersededError
from scylla_gha.intake.files import UnsoundError, safe
from scylla_gha.model.intake import Refusal
from scylla_gha.model.shards import Packing, shard_name

_MOST_ENTRIES: Final = 10_000
_OURS: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,200}", re.ASCII)


@dataclass(slots=True)
class Gathered:
    """What was let in. `came` is the latest attempt that was taken of each shard, `turned` why others were not."""

    rows: dict[str, Row] = field(default_factory=dict)
    unstarted: dict[str, str] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    came: dict[int, int] = field(default_factory=dict)
    turned: dict[int, str] = field(default_factory=dict)
    artifacts: int = 0
    superseded: int = 0
    bytes: int = 0


def gather(source: Path, door: Door, most: int) -> Gathered:
    """Take in all artifacts in a folder; one that is not there holds none.

    Args:
        source: of the artifacts, a folder for each; or the files of the only one.
        door: checks them.
        most: bytes of rows in all.

    Raises:
        ConfigError: the folder holds far more than artifacts of one run.
    """
    found = Gathered()
    for name, path in _in_order(source, door):
        claim = door.claimed(name)
        try:
            _add(found, door.take(path, name), most)
        except SupersededError:
            found.superseded += 1
        except UnsoundError as error:
            found.refused.append(Refusal(artifact=name if _OURS.fullmatch(name) else safe(name), reason=str(error)))
            if claim:
                found.turned[claim[0]] = str(error)
    found.unstarted = {cell: why for cell, why in found.unstarted.items() if cell not in found.rows}
    return found


def _in_order(source: Path, door: Door) -> list[tuple[str, Path]]:
    """Names and folders, by shard and attempt; what is none of ours first."""
    if os.path.lexists(source / MANIFEST):
        return [(door.name(source), source)]
    try:
        with os.scandir(source) as entries:
            names = [entry.name for _, entry in zip(range(_MOST_ENTRIES + 1), entries, strict=False)]
    except FileNotFoundError:
        return []
    if len(names) > _MOST_ENTRIES:
        raise ConfigError(f"{source}: holds more than {_MOST_ENTRIES} entries; give the folder that holds one folder "
                          "for each downloaded artifact")  # fmt: skip
    return [(name, source / name) for name in sorted(names, key=lambda name: (door.claimed(name) or (-1, 0), name))]


def _add(found: Gathered, sent: Sent, most: int) -> None:
    """Rows of the latest attempt stand, but for one that does not measure the agent where an earlier one does."""
    if found.bytes + sent.bytes > most:
        raise UnsoundError(f"all rows together are more than the {most} bytes that were expected")
    found.artifacts += 1
    found.bytes += sent.bytes
    found.came[sent.shard] = sent.attempt
    for cell, row in sent.rows.items():
        if row.measures or not (cell in found.rows and found.rows[cell].measures):
            found.rows[cell] = row
    found.unstarted.update(sent.unstarted)


def room(packing: Packing, attempts: int, limits: Limits) -> int:
    """The bytes of rows that all attempts at a wave may send together."""
    return attempts * sum(limits.row * len(shard.cells) + limits.line for shard in packing.shards)


def absent(packing: Packing, found: Gathered, reused: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The cells of a wave that have no row though nobody chose so, with the reason."""
    for shard in packing.shards:
        why = _why(shard.number, found)
        for cell in shard.cells:
            if cell not in found.rows and cell not in found.unstarted:
                yield cell, why
    for cell in packing.reused:
        if cell not in reused:
            yield cell, "its row was to be reused, and is not in reused.jsonl; plan again"


def _why(shard: int, found: Gathered) -> str:
    name = shard_name(shard)
    if shard in found.came:
        return f"shard {name} (attempt {found.came[shard]}) sent no row of it, and does not say why"
    if shard in found.turned:
        return f"the rows of shard {name} were refused: {found.turned[shard]}"
    return f"shard {name} sent nothing: its job failed, was cancelled, or has not run; re-run the failed jobs"
