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

from dataclasses import dataclass
from pathlib import Path

from scylla_gha.model.shards import shard_name


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
