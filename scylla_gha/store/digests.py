"""Digests of stored files, written into the record that names them and checked when the files are read.

An attempt's record has the digests of the files beside it; a judgment, and the controls of a judge, have that of their
request log, to which later judgments append. Records of older versions have none.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import JudgeControl, Judgment
from scylla_gha.model.record import FileDigest
from scylla_gha.model.trial import Attempt
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, AttemptFolder, RunFolder, traffic_of

_CHUNK: Final = 1 << 20
_OPEN: Final = frozenset({"attempt.json", JUDGE_TRAFFIC})  # the record itself, and what later judgments write to


def file_digest(path: Path) -> FileDigest:
    """Compute size and digest of a file."""
    return _read(path, None)


def file_digests(folder: AttemptFolder) -> dict[str, FileDigest]:
    """Compute the digests of the files that an attempt left, by name."""
    files = sorted(path for path in folder.root.iterdir() if path.name not in _OPEN and not path.name.startswith("."))
    return {path.name: file_digest(path) for path in files if path.is_file() and not path.is_symlink()}


def digest_mismatch(path: Path, seal: FileDigest | None) -> str | None:
    """Return why a file differs from its digest; None if it matches, was appended to, or has no digest."""
    if seal is None:
        return None
    try:
        actual = _read(path, seal.size)
    except OSError as error:
        return f"{path}: is sealed, and cannot be read: {error.strerror}"
    return None if actual == seal else f"{path}: was changed or cut after it was stored"


def require_digests(path: Path, seal: FileDigest | None) -> None:
    """Require that a file matches its digest.

    Raises:
        ConfigError: it does not.
    """
    if why := digest_mismatch(path, seal):
        raise ConfigError(f"{why}; restore it, or remove the cell's folder to run it again")


def require_log_digests(folder: RunFolder) -> int:
    """Require that the request logs, which prove what was spent, match their digests.

    Returns the number of attempts without digests.

    Raises:
        ConfigError: a request log differs from its digest, so the amount spent is unknown.
    """
    unsealed = 0
    for path in folder.journals("attempt.json"):
        attempt = read_record(path, Attempt)
        unsealed += attempt is not None and not attempt.files
        _require_log(path.with_name("traffic.jsonl"), attempt.files.get("traffic.jsonl") if attempt else None)
    for path, seal in _judged(folder):
        _require_log(path, seal)
    return unsealed


def _judged(folder: RunFolder) -> Iterator[tuple[Path, FileDigest | None]]:
    for path, cell in folder.judgment_records():
        judgment = read_record(path, Judgment)
        yield from ((cell / name, seal) for name, seal in (judgment.files if judgment else {}).items())
    for path in folder.probes():
        control = read_record(path, JudgeControl)
        yield traffic_of(path), control.traffic if control else None


def _require_log(path: Path, seal: FileDigest | None) -> None:
    if why := digest_mismatch(path, seal):
        raise ConfigError(f"{why}, so what was spent is not known; restore it, or begin anew elsewhere by --runs")


def _read(path: Path, most: int | None) -> FileDigest:
    """Compute the digest of a file, or of its first bytes."""
    hashed, left = hashlib.sha256(), path.stat().st_size if most is None else most
    size = 0
    with path.open("rb") as file:
        while left and (chunk := file.read(min(_CHUNK, left))):
            hashed.update(chunk)
            size, left = size + len(chunk), left - len(chunk)
    return FileDigest(sha256=hashed.hexdigest(), size=size)
