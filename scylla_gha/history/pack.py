"""A run as the results branch keeps it: rows in compressed parts, the report, and a manifest over both."""

import gzip
import hashlib
import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.model.published import Part, RunManifest
from scylla_gha.model.record import digest

_ROWS: Final = 5_000  # of a part: about half a megabyte, of which git and GitHub take well
_MOST_BYTES: Final = 2 * 1024**3  # that a part may unfold to


@dataclass(frozen=True, slots=True)
class Packed:
    """The files of a run by name, without their manifest; what each is; and a digest of what they hold."""

    files: Mapping[str, bytes]
    parts: tuple[Part, ...]
    content: str


def pack(results: Path, report: Path, most: int = _ROWS) -> Packed:
    """Pack the rows, so many a part, and the report of a run.

    gzip is in every Python; what zstd would save of a row is less than a tenth of it.

    Raises:
        ConfigError: one of the two files is not there.
    """
    for path in (results, report):
        if not path.is_file():
            raise ConfigError(
                f"{path}: there is no such file; run `scylla-gha collect` and `scylla-gha aggregate` first"
            )
    told = report.read_bytes()
    files, parts, rows = {"report.json": told}, [_part("report.json", told)], hashlib.sha256()
    with results.open("rb") as lines:
        for number in itertools.count():
            chunk = list(itertools.islice(lines, most))
            if not chunk:
                break
            plain, name = b"".join(chunk), f"rows-{number:03d}.jsonl.gz"
            rows.update(plain)
            files[name] = gzip.compress(plain, 6, mtime=0)
            parts.append(_part(name, files[name], len(chunk)))
    return Packed(files, tuple(parts), digest([rows.hexdigest(), hashlib.sha256(told).hexdigest()]))


def _part(name: str, content: bytes, rows: int | None = None) -> Part:
    return Part(name=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest(), rows=rows)


def unpack(manifest: RunManifest, read: Callable[[str], bytes], most: int = _MOST_BYTES) -> Iterator[bytes]:
    """The rows of a run, some thousand lines at a time, each checked against its manifest.

    Raises:
        ConfigError: a part is not what the manifest says.
    """
    for part in manifest.files:
        if part.rows is not None:
            content = read(part.name)
            if hashlib.sha256(content).hexdigest() != part.sha256:
                raise ConfigError(f"{manifest.name}: {part.name}: is not what its manifest says; it was changed")
            lines = _unfold(content, most, f"{manifest.name}: {part.name}")
            if lines.count(b"\n") != part.rows:
                raise ConfigError(f"{manifest.name}: {part.name}: has not {part.rows} rows, as its manifest says")
            yield lines


def _unfold(content: bytes, most: int, where: str) -> bytes:
    unfolding = zlib.decompressobj(wbits=31)  # of gzip
    try:
        lines = unfolding.decompress(content, most)
    except zlib.error as error:
        raise ConfigError(f"{where}: cannot be unpacked: {error}") from None
    if not unfolding.eof:
        raise ConfigError(f"{where}: is cut, or unfolds to more than {most} bytes")
    return lines
