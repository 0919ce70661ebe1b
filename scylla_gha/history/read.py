"""What the branch holds of one run, checked against what the index and the manifest say of it."""

import hashlib
from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.history.copy import Copy
from scylla_gha.history.pack import unpack
from scylla_gha.model.published import Entry, RunManifest
from scylla_gha.model.report import Report


def bring_rows(copy: Copy, entries: Iterable[Entry]) -> None:
    """Have the rows of several runs here, in one request, before they are read one after the other.

    Raises:
        GitHubError: the remote is out of reach.
    """
    files = (found for entry in entries for found in copy.files(entry.folder).items())
    copy.bring(name for path, name in files if not path.endswith("/report.json"))


class Stored:
    """The files of a run; each is fetched when it is asked for."""

    def __init__(self, copy: Copy, entry: Entry) -> None:
        """Fetch the manifest.

        Raises:
            ConfigError: it is not there, was changed, or is of another version.
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
        """All rows, some thousand lines at a time.

        Raises:
            ConfigError: they are not what the manifest says.
        """
        wanted = [f"{self._entry.folder}/{part.name}" for part in self.manifest.files if part.rows is not None]
        self._copy.bring(self._names[path] for path in wanted if path in self._names)
        return unpack(self.manifest, self._read)

    def report(self) -> Report:
        """The report.

        Raises:
            ConfigError: it is not what the manifest says, or of another version.
        """
        content = self._read("report.json")
        said = next((part.sha256 for part in self.manifest.files if part.name == "report.json"), None)
        if hashlib.sha256(content).hexdigest() != said:
            raise ConfigError(f"{self._entry.name}: report.json: is not what its manifest says; it was changed")
        try:
            return Report.model_validate_json(content)
        except ValidationError as error:
            raise ConfigError(f"{self._entry.name}: not a report of this version: {error.errors()[0]['msg']}") from None
