"""A run as the results branch stores it: rows in compressed parts, the report, and a manifest with their checksums."""

import gzip
import hashlib
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.publication import RunFile, RunIndexEntry, RunManifest
from scylla_gha.model.record import digest
from scylla_gha.model.report import Report
from scylla_gha.results_branch.clone import BranchClone

_ROWS: Final = 5_000  # of a part: about half a megabyte, of which git and GitHub take well
_MOST_BYTES: Final = 2 * 1024**3  # that a part may unfold to


@dataclass(frozen=True, slots=True)
class PackedRun:
    """Files of a run by name, without their manifest; their descriptions; and a digest of their content."""

    files: Mapping[str, bytes]
    parts: tuple[RunFile, ...]
    content: str


def pack_run(results: Path, report: Path, most: int = _ROWS) -> PackedRun:
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
    return PackedRun(files, tuple(parts), digest([rows.hexdigest(), hashlib.sha256(told).hexdigest()]))


def _part(name: str, content: bytes, rows: int | None = None) -> RunFile:
    return RunFile(name=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest(), rows=rows)


def unpack_rows(manifest: RunManifest, read: Callable[[str], bytes], most: int = _MOST_BYTES) -> Iterator[bytes]:
    """Yield the rows of a run, some thousand lines at a time, after checking them against the manifest.

    Raises:
        ConfigError: a part differs from the manifest.
    """
    for part in manifest.files:
        if part.rows is not None:
            content = read(part.name)
            if hashlib.sha256(content).hexdigest() != part.sha256:
                raise ConfigError(f"{manifest.name}: {part.name}: is not what its manifest says; it was changed")
            lines = _unfold(content, most, f"{manifest.name}: {part.name}")
            if lines.count(b"\n") != part.rows:
                raise ConfigError(
                    f"{manifest.name}: {part.name}: has not {counted(part.rows, 'row')}, as its manifest says"
                )
            yield lines


def _unfold(content: bytes, most: int, where: str) -> bytes:
    unfolding = zlib.decompressobj(wbits=31)  # of gzip
    try:
        lines = unfolding.decompress(content, most)
    except zlib.error as error:
        raise ConfigError(f"{where}: cannot be unpacked: {error}") from None
    if not unfolding.eof:
        raise ConfigError(f"{where}: is cut, or unfolds to more than {counted(most, 'byte')}")
    return lines


def fetch_rows(copy: BranchClone, entries: Iterable[RunIndexEntry]) -> None:
    """Download the rows of several runs in one request, before they are read one by one.

    Raises:
        GitHubError: the remote is out of reach.
    """
    files = (found for entry in entries for found in copy.files(entry.folder).items())
    copy.bring(name for path, name in files if not path.endswith("/report.json"))


class StoredRun:
    """Files of a run, fetched when they are read."""

    def __init__(self, copy: BranchClone, entry: RunIndexEntry) -> None:
        """Fetch the manifest.

        Raises:
            ConfigError: it is missing, was changed, or is of another version.
        """
        self._copy, self._entry = copy, entry
        self._names = copy.files(entry.folder)
        content = self._read("manifest.json")
        if hashlib.sha256(content).hexdigest() != entry.manifest:
            raise ConfigError(f"{entry.name}: its manifest is not what the index says; it was changed")
        try:
            self.manifest = RunManifest.model_validate_json(content)
        except ValidationError as error:
            raise ConfigError(f"{entry.name}: not a manifest of this version: {error.errors()[0]['msg']}") from None

    def _read(self, name: str) -> bytes:
        oid = self._names.get(f"{self._entry.folder}/{name}")
        if oid is None:
            raise ConfigError(f"{self._entry.name}: {self._entry.folder}/{name} is not on {self._copy.branch}")
        return self._copy.fetch([oid])[oid]

    def rows(self) -> Iterator[bytes]:
        """Yield all rows, some thousand lines at a time.

        Raises:
            ConfigError: they differ from the manifest.
        """
        wanted = [f"{self._entry.folder}/{part.name}" for part in self.manifest.files if part.rows is not None]
        self._copy.bring(self._names[path] for path in wanted if path in self._names)
        return unpack_rows(self.manifest, self._read)

    def report(self) -> Report:
        """Read the report.

        Raises:
            ConfigError: it differs from the manifest, or is of another version.
        """
        content = self._read("report.json")
        said = next((part.sha256 for part in self.manifest.files if part.name == "report.json"), None)
        if hashlib.sha256(content).hexdigest() != said:
            raise ConfigError(f"{self._entry.name}: report.json: is not what its manifest says; it was changed")
        try:
            return Report.model_validate_json(content)
        except ValidationError as error:
            raise ConfigError(f"{self._entry.name}: not a report of this version: {error.errors()[0]['msg']}") from None
