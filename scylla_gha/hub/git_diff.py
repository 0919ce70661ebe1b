"""Files of a diff, from what git prints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_STATUS: Final = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """File of a diff; `previous` is its old path if it was renamed. `patch` is None for a binary file."""

    path: str
    status: str
    additions: int
    deletions: int
    previous: str | None
    patch: str | None
    blob: str


def parse_changes(raw: str, diff: str) -> Iterator[ChangedFile]:
    """Yield the files of `git diff --raw --numstat -z`, with their hunks from the unified diff of the same commits."""
    parts = raw.split("\x00")
    listed: list[tuple[str, str, str, str | None]] = []
    at = 0
    while at < len(parts) and parts[at].startswith(":"):
        fields = parts[at].split()
        renamed = fields[4][0] in "RC"
        path = parts[at + 2] if renamed else parts[at + 1]
        blob = fields[2] if fields[4][0] == "D" else fields[3]
        listed.append((_STATUS.get(fields[4][0], "changed"), blob, path, parts[at + 1] if renamed else None))
        at += 3 if renamed else 2
    for (status, blob, path, previous), patch in zip(listed, _patches(diff), strict=False):
        added, deleted, name = parts[at].split("\t", 2)
        at += 1 if name else 3
        binary = added == "-"
        counts = (0, 0) if binary else (int(added), int(deleted))
        yield ChangedFile(path, status, *counts, previous, None if binary else patch, blob)


def _patches(diff: str) -> list[str | None]:
    """Return the hunks of each file of a unified diff, without its header; None if it has none."""
    patches: list[str | None] = []
    for part in re.split(r"^diff --git .*\n", diff, flags=re.MULTILINE)[1:]:
        at = re.search(r"^@@ ", part, re.MULTILINE)
        patches.append(part[at.start() :].removesuffix("\n") if at else None)
    return patches
