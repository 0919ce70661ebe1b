"""The names of the files of a run that is done in shards, in the folder of the run.

```
runs/<experiment>/
  plan.json  shards.json     what is to be run, and which job runs which of it
  reused.jsonl               rows that were taken over, so that their cells are not run
  shards/<NNN>/
    results.jsonl            the rows of that shard's cells; written anew after each of them
    manifest.json            what is in it, and what is missing
```
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.errors import ConfigError
from scylla_gha.model.shards import Packing, shard_name
from scylla_gha.store import RunFolder, read_record


@dataclass(frozen=True, slots=True)
class ShardShelf:
    """The folder of one shard's rows."""

    root: Path

    @property
    def rows(self) -> Path:
        """The rows' file."""
        return self.root / "results.jsonl"

    @property
    def manifest(self) -> Path:
        """What is in it."""
        return self.root / "manifest.json"


@dataclass(frozen=True, slots=True)
class Shelves:
    """The files of a wave; `root` is the run's folder."""

    root: Path

    @property
    def packing(self) -> Path:
        """Which job runs which cells."""
        return self.root / "shards.json"

    @property
    def reused(self) -> Path:
        """Rows that were taken over."""
        return self.root / "reused.jsonl"

    def shard(self, number: int) -> ShardShelf:
        """The folder of a shard."""
        return ShardShelf(self.root / "shards" / shard_name(number))


def stored_packing(folder: RunFolder) -> Packing:
    """The wave that a run's folder holds.

    Raises:
        ConfigError: there is none, or it is of another plan than the one beside it.
    """
    place = Shelves(folder.root).packing
    packing = read_record(place, Packing)
    if packing is None:
        raise ConfigError(f"{place}: there is no such file; `scylla-gha plan {folder.root.name} --github` writes it")
    if packing.plan != hashlib.sha256(folder.plan.read_bytes()).hexdigest():
        raise ConfigError(f"{place}: is of another plan than {folder.plan.name} beside it; take both files from the "
                          "same plan job")  # fmt: skip
    return packing
