"""Read the results branch: list its runs, choose the run to compare with, and read a run's files with their digests."""

import hashlib
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import ValidationError

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model import Record
from scylla_gha.model.publication import RunIndexEntry, RunManifest, RunName
from scylla_gha.model.readiness import REPORT_FILE, ReadinessReport
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.results_branch.clone import BranchClone

INDEX: Final = "v1/index"
_ENOUGH_RUNS: Final = 200  # for a page that shows the latest runs
_MIN_COMMIT: Final = 7  # characters of an abbreviated commit
_MAX_PART_BYTES: Final = 2 * 1024**3  # of an unpacked part
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class RunQuery:
    """A selection of runs; None matches all. `run` is `<run>` or `<run>-<attempt>`, perhaps after `<experiment>/`."""

    experiment: str | None = None
    branch: str | None = None
    commit: str | None = None
    campaign: str | None = None
    run: str | None = None
    complete: bool = False

    def matches(self, entry: RunIndexEntry) -> bool:
        """Return whether a run is selected, regardless of the branch."""
        name, origin = entry.name, entry.origin
        names = (name.run, f"{name.run}-{name.attempt}", str(name), f"{name.experiment}/{name.run}")
        return (
            self.experiment in {None, name.experiment}
            and self.campaign in {None, origin.campaign}
            and (self.commit is None or (origin.head or "").startswith(self.commit.lower()))
            and self.run in {None, *names}
            and (entry.complete or not self.complete)
        )


def index_entries(copy: BranchClone) -> list[RunIndexEntry]:
    """Return all runs of a branch, oldest first; none if the branch does not exist.

    Entries of a later version of the toolkit, and files that are not entries, are skipped.

    Raises:
        GitHubError: the remote is out of reach.
    """
    copy.refresh()
    return _read_entries(copy, copy.files(INDEX).values())


def recent_entries(copy: BranchClone, index: Mapping[str, str]) -> list[RunIndexEntry]:
    """Return the runs of the newest months of the index, oldest first: whole months, until there are enough runs.

    Raises:
        GitHubError: the remote is out of reach.
    """
    months: dict[str, list[str]] = {}
    for path, oid in index.items():
        months.setdefault(path.split("/")[-2], []).append(oid)
    names: list[str] = []
    for month in sorted(months, reverse=True):
        if len(names) >= _ENOUGH_RUNS:
            break
        names += months[month]
    return _read_entries(copy, names)


def _read_entries(copy: BranchClone, names: Iterable[str]) -> list[RunIndexEntry]:
    entries = [_entry(content) for content in copy.fetch(names).values()]
    return sorted((entry for entry in entries if entry), key=lambda entry: (entry.published_at, str(entry.name)))


def index_entry(copy: BranchClone, index: Mapping[str, str], name: RunName) -> RunIndexEntry | None:
    """Return the entry of one run among the files of the index.

    Raises:
        ConfigError: its file is not an entry.
    """
    path = next((path for path in index if path.endswith(f"/{name.file}.json")), None)
    if path is None:
        return None
    (content,) = copy.fetch([index[path]]).values()
    entry = _entry(content)
    if entry is None:
        raise ConfigError(f"{copy.branch}: {path}: is not an entry of this version; publish under another --run")
    return entry


def _entry(content: bytes) -> RunIndexEntry | None:
    try:
        return RunIndexEntry.model_validate_json(content)
    except ValidationError:
        return None


def select_runs(entries: Iterable[RunIndexEntry], query: RunQuery) -> list[RunIndexEntry]:
    """Return the selected runs, oldest first; a campaign's later waves count as runs of its first wave's branch.

    Raises:
        ConfigError: a commit is abbreviated to too few characters.
    """
    if query.commit is not None and len(query.commit) < _MIN_COMMIT:
        raise ConfigError(f"--commit {query.commit}: give at least {_MIN_COMMIT} characters")
    runs = list(entries)
    campaigns = {_campaign(entry) for entry in runs if entry.origin.branch == query.branch}
    return [entry for entry in runs if query.matches(entry) and _is_on(entry, query.branch, campaigns)]


def last_waves(runs: Sequence[RunIndexEntry]) -> list[RunIndexEntry]:
    """Return only the last wave of each campaign, which contains the rows of earlier waves; order is preserved."""
    last = {_campaign(entry): entry for entry in runs if entry.origin.campaign is not None}
    return [entry for entry in runs if entry.origin.campaign is None or last[_campaign(entry)] is entry]


def _is_on(entry: RunIndexEntry, branch: str | None, campaigns: Collection[tuple[str | None, str | None]]) -> bool:
    origin = entry.origin
    is_later_wave = (origin.wave or 1) > 1 and origin.branch is None and origin.pull is None  # these run on a tag
    return branch in {None, origin.branch} or (is_later_wave and _campaign(entry) in campaigns)


def _campaign(entry: RunIndexEntry) -> tuple[str | None, str | None]:
    return entry.origin.campaign, entry.origin.head


def baseline(entries: Sequence[RunIndexEntry], query: RunQuery) -> RunIndexEntry | None:
    """Return the run to compare with: the last complete selected run, or the last one if none is complete."""
    selected = select_runs(entries, query)
    complete = [entry for entry in selected if entry.complete]
    return next(reversed(complete or selected), None)


def unpack_rows(
    manifest: RunManifest, read: Callable[[str], bytes], max_bytes: int = _MAX_PART_BYTES
) -> Iterator[bytes]:
    """Yield the rows of a run, some thousand lines at a time, after checking them against the manifest.

    Raises:
        ConfigError: a part differs from the manifest.
    """
    for part in manifest.files:
        if part.rows is not None:
            where, content = f"{manifest.name}: {part.name}", read(part.name)
            _require_digest(where, content, part.sha256)
            lines = _unpack(content, max_bytes, where)
            if lines.count(b"\n") != part.rows:
                raise ConfigError(f"{where}: its manifest states {counted(part.rows, 'row')}; the part was changed")
            yield lines


def _unpack(content: bytes, max_bytes: int, where: str) -> bytes:
    decompressor = zlib.decompressobj(wbits=31)  # of gzip
    try:
        lines = decompressor.decompress(content, max_bytes)
    except zlib.error as error:
        raise ConfigError(f"{where}: cannot be unpacked: {error}") from None
    if not decompressor.eof:
        raise ConfigError(f"{where}: is truncated, or unpacks to more than {counted(max_bytes, 'byte')}")
    return lines


def _require_digest(where: str, content: bytes, sha256: str | None, listed_in: str = "its manifest") -> None:
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ConfigError(f"{where}: does not match {listed_in} (SHA-256 differs); it was changed")


def fetch_rows(copy: BranchClone, entries: Iterable[RunIndexEntry]) -> None:
    """Download the rows of several runs in one request, before they are read one by one.

    Raises:
        GitHubError: the remote is out of reach.
    """
    files = (file for entry in entries for file in copy.files(entry.folder).items())
    copy.download(oid for path, oid in files if not path.endswith("/report.json"))


class StoredRun:
    """Files of a run, fetched when they are read."""

    def __init__(self, copy: BranchClone, entry: RunIndexEntry) -> None:
        """Fetch the manifest.

        Raises:
            ConfigError: the manifest is missing, was changed, or has another version.
        """
        self._copy, self._entry = copy, entry
        self._oids = copy.files(entry.folder)
        content = self._read("manifest.json")
        _require_digest(f"{entry.name}: its manifest", content, entry.manifest, "the index")
        self.manifest = self._parse(content, RunManifest, "manifest")

    def _read(self, name: str) -> bytes:
        oid = self._oids.get(f"{self._entry.folder}/{name}")
        if oid is None:
            raise ConfigError(f"{self._entry.name}: {self._entry.folder}/{name} is not on {self._copy.branch}")
        return self._copy.fetch([oid])[oid]

    def _parse(self, content: bytes, kind: type[R], noun: str) -> R:
        try:
            return kind.model_validate_json(content)
        except ValidationError as error:
            raise ConfigError(f"{self._entry.name}: not a {noun} of this version: {error.errors()[0]['msg']}") from None

    def rows(self) -> Iterator[bytes]:
        """Yield all rows, some thousand lines at a time.

        Raises:
            ConfigError: they differ from the manifest.
        """
        paths = [f"{self._entry.folder}/{part.name}" for part in self.manifest.files if part.rows is not None]
        self._copy.download(self._oids[path] for path in paths if path in self._oids)
        return unpack_rows(self.manifest, self._read)

    def results(self) -> Iterator[Result]:
        """Yield all rows as records.

        Raises:
            ConfigError: they differ from the manifest, or a row is of another version.
        """
        for lines in self.rows():
            for line in lines.splitlines():
                yield self._parse(line, Result, "row")

    def report(self) -> Report:
        """Read the report.

        Raises:
            ConfigError: it differs from the manifest, or is of another version.
        """
        return self._read_listed("report.json", Report, "report")

    def readiness(self) -> ReadinessReport | None:
        """Read the readiness measurement; None for other runs.

        Raises:
            ConfigError: it differs from the manifest, or is of another version.
        """
        if not any(part.name == REPORT_FILE for part in self.manifest.files):
            return None
        return self._read_listed(REPORT_FILE, ReadinessReport, "measurement of readiness")

    def _read_listed(self, name: str, kind: type[R], noun: str) -> R:
        content = self._read(name)
        sha256 = next((part.sha256 for part in self.manifest.files if part.name == name), None)
        _require_digest(f"{self._entry.name}: {name}", content, sha256)
        return self._parse(content, kind, noun)
