"""Size and digest of stored files, written into the record that names them and checked when they are read.

An attempt's record seals the files beside it; a judgment, and the controls of a judge, seal the journal of their
requests, which later judgments append to. Files that a record of an older version names are not sealed.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.probe import Probe
from scylla_gha.model.record import Seal
from scylla_gha.model.trial import Attempt
from scylla_gha.store import JUDGE_TRAFFIC, AttemptFolder, RunFolder, read_record, traffic_of

_CHUNK: Final = 1 << 20
_OPEN: Final = frozenset({"attempt.json", JUDGE_TRAFFIC})  # the record itself, and what later judgments write to


def seal_of(path: Path) -> Seal:
    """The seal of a file as it is now."""
    return _read(path, None)


def seals_of(folder: AttemptFolder) -> dict[str, Seal]:
    """The seals of the files that an attempt left, by name."""
    files = sorted(path for path in folder.root.iterdir() if path.name not in _OPEN and not path.name.startswith("."))
    return {path.name: seal_of(path) for path in files if path.is_file() and not path.is_symlink()}


def breach(path: Path, seal: Seal | None) -> str | None:
    """Return why a file differs from its seal; None if it matches, continues the sealed content, or has no seal."""
    if seal is None:
        return None
    try:
        found = _read(path, seal.size)
    except OSError as error:
        return f"{path}: is sealed, and cannot be read: {error.strerror}"
    return None if found == seal else f"{path}: was changed or cut after it was stored"


def require(path: Path, seal: Seal | None) -> None:
    """See that a file is what was sealed.

    Raises:
        ConfigError: it is not.
    """
    if why := breach(path, seal):
        raise ConfigError(f"{why}; restore it, or remove the cell's folder to run it again")


def require_journals(folder: RunFolder) -> int:
    """See that what was spent stands as it was written; returns how many attempts have no seals to tell that.

    Raises:
        ConfigError: a journal of requests is not what was sealed, so what was spent is not known.
    """
    unsealed = 0
    for path in folder.journals("attempt.json"):
        attempt = read_record(path, Attempt)
        unsealed += attempt is not None and not attempt.files
        _require_spent(path.with_name("traffic.jsonl"), attempt.files.get("traffic.jsonl") if attempt else None)
    for path, seal in _judged(folder):
        _require_spent(path, seal)
    return unsealed


def _judged(folder: RunFolder) -> Iterator[tuple[Path, Seal | None]]:
    for path, cell in folder.judgment_records():
        judgment = read_record(path, Judgment)
        yield from ((cell / name, seal) for name, seal in (judgment.files if judgment else {}).items())
    for path in folder.probes():
        probe = read_record(path, Probe)
        yield traffic_of(path), probe.traffic if probe else None


def _require_spent(path: Path, seal: Seal | None) -> None:
    if why := breach(path, seal):
        raise ConfigError(f"{why}, so what was spent is not known; restore it, or begin anew elsewhere by --runs")


def _read(path: Path, most: int | None) -> Seal:
    """The seal of a file, or of its first bytes."""
    hashed, left = hashlib.sha256(), path.stat().st_size if most is None else most
    size = 0
    with path.open("rb") as file:
        while left and (chunk := file.read(min(_CHUNK, left))):
            hashed.update(chunk)
            size, left = size + len(chunk), left - len(chunk)
    return Seal(sha256=hashed.hexdigest(), size=size)
