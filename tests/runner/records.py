"""Records of test files that passed, each with the digests of what they read, so that equal work is not done again.

A record holds if the machine's tools, Python and the lock file are the same, and each file, folder and tree that the
test file read is the same. Records are only written for test files of which every test passed.
"""

import functools
import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT = 4  # records of a test file, so that a change of branches does not lose all
ALWAYS = ("file pyproject.toml", "file uv.lock", "file tests/__init__.py", "tree tests/runner",
          "file tests/support/__init__.py", "file tests/support/cli_fork_server.py")  # fmt: skip
VERSIONS = (
    ("git", "--version"),
    ("node", "--version"),
    ("npm", "--version"),
    ("bwrap", "--version"),
    ("dockerd", "--version"),
    ("chromium", "--version"),
    ("mmdebstrap", "--version"),
    ("make", "--version"),
)
CHOICES = ("EXPERIMENTS", "READINESS", "UPDATE_GOLDEN")  # variables with which some tests do more
ABSENT = "absent"
DIGITS = 32


@dataclass(frozen=True)
class TestFileRecord:
    """When a test file passed, and the digests of what it read; keys are a kind and a path."""

    __test__ = False

    tests: int
    seconds: float
    when: str  # UTC
    environment: str
    inputs: dict[str, str]


class Checkout:
    """Digests of the files that git tracks, or would track, as they are when this is made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listing, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
        present = sorted({name for name in names if name and os.path.lexists(root / name)})
        self.files = {name: _content(root / name) for name in present}
        self.digest = functools.cache(self._digest)

    def inputs(self, noted: Iterable[str]) -> dict[str, str]:
        """Return the digests of what a recorder has noted, and of what else could change its meaning."""
        return {line: self.digest(line) for line in sorted({*_extended(noted), *ALWAYS})}

    def _digest(self, line: str) -> str:
        kind, _, name = line.partition(" ")
        path = self.root / name
        if name in self.files and kind == "folder":
            return "file"
        if name in self.files:
            return self.files[name]
        if not path.is_dir():  # what git ignores is read where it is
            return _content(path) if os.path.lexists(path) else ABSENT
        prefix = "" if name == "." else f"{name}/"
        below = [file for file in self.files if file.startswith(prefix)]
        if kind == "tree":
            return _sum(f"{file} {self.files[file]}" for file in below)
        return _sum(sorted({file.removeprefix(prefix).partition("/")[0] for file in below}))


def _extended(noted: Iterable[str]) -> Iterator[str]:
    """Yield what was noted, and what is looked for and not opened where there is none.

    These are packages that would hide a module, fixtures beside tests, and files beside data files.
    """
    for line in noted:
        yield line
        kind, _, name = line.partition(" ")
        folder = os.path.dirname(name)  # noqa: PTH120 pathlib is slow for so many
        if kind == "file" and name.endswith(".py"):
            yield f"file {name.removesuffix('.py')}/__init__.py"
            yield f"file {folder}/conftest.py"
        elif kind == "file":
            yield f"folder {folder or '.'}"


def _content(path: Path) -> str:
    if path.is_symlink():
        return _sum(["link", str(path.readlink())])
    return hashlib.sha256(b"%o " % (path.stat().st_mode & 0o111) + path.read_bytes()).hexdigest()[:DIGITS]


def _sum(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:DIGITS]


def environment_digest() -> str:
    """Return a digest of the system, Python and the programs that tests start; the lock file is an input of all."""
    system = Path("/etc/os-release")
    chosen = [f"{name}={os.environ.get(name, '')}" for name in CHOICES]
    root = f"{os.geteuid() == 0}"
    return _sum([platform.python_version(), platform.machine(), root, *chosen,
                 system.read_text() if system.is_file() else "", *map(_version, VERSIONS)])  # fmt: skip


def _version(command: tuple[str, ...]) -> str:
    if shutil.which(command[0]) is None:
        return f"{command[0]}: none"
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return f"{command[0]}: {done.stdout}"


class RecordStore:
    """Folder of records: one folder for each test file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def current(self, test_file: str, checkout: Checkout, environment: str) -> TestFileRecord | None:
        """Return a record of the test file that holds now; None if it must run."""
        for record in self.all(test_file):
            same = (checkout.digest(line) == digest for line, digest in record.inputs.items())
            if record.environment == environment and all(same):
                return record
        return None

    def seconds(self, test_file: str) -> float:
        """Return how long a test file took when it passed last; one that is new may take very long."""
        records = self.all(test_file)
        return records[0].seconds if records else 1e6

    def all(self, test_file: str) -> list[TestFileRecord]:
        """Return the records of a test file, the newest first; a file that cannot be read is none."""
        return [record for path in self._paths(test_file) if (record := _read(path))]

    def add(self, test_file: str, record: TestFileRecord) -> None:
        """Write a record, whole or not at all, and remove the oldest ones."""
        content = json.dumps(asdict(record), indent=0)
        folder = self._folder(test_file)
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{os.getpid()}.partial"
        partial.write_text(content, encoding="utf-8")
        partial.replace(folder / f"{record.when.replace(':', '')}-{_sum([content])[:16]}.json")
        for old in self._paths(test_file)[KEPT:]:
            old.unlink(missing_ok=True)

    def drop(self, test_file: str) -> None:
        """Remove all records of a test file, which failed."""
        shutil.rmtree(self._folder(test_file), ignore_errors=True)

    def _folder(self, test_file: str) -> Path:
        return self.folder / test_file.removesuffix(".py").replace("/", "--")

    def _paths(self, test_file: str) -> list[Path]:
        return sorted(self._folder(test_file).glob("*.json"), reverse=True)


def _read(path: Path) -> TestFileRecord | None:
    try:
        return TestFileRecord(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
