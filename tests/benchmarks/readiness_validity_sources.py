"""Code bases of the validity table: this repository, and public packages with their tests."""

import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
OWN: Final = "this repository"
UV: Final = str(Path(sys.executable).with_name("uv"))
_IDENTITY: Final = ("-c", "user.name=Dev", "-c", "user.email=dev@example.com")


@dataclass(frozen=True)
class Source:
    """Code base to measure.

    Attributes:
        requirement: pinned package of PyPI or npm; "" for this repository.
        is_npm: it comes from npm.
        tests: patterns of the test files that are run; empty: all.
    """

    name: str
    requirement: str = ""
    is_npm: bool = False
    tests: tuple[str, ...] = ()

    @property
    def folder_name(self) -> str:
        """The name as a folder has it."""
        return self.name.replace(" ", "-")


SOURCES: Final = (
    Source(OWN, tests=("tests/unit/test_stats*", "tests/unit/test_readiness_a*")),
    Source("cachetools", "cachetools==6.2.1"),
    Source("humanize", "humanize==4.14.0"),
    Source("tomlkit", "tomlkit==0.15.2"),
    Source("find-my-way", "find-my-way@9.10.1", is_npm=True),
    Source("pino-pretty", "pino-pretty@13.2.0", is_npm=True),
)


def fetched(source: Source, folder: Path) -> Path:
    """Return a git repository of the package's source distribution, or a clone of this repository; fetched once.

    Raises:
        CalledProcessError: a package cannot be fetched.
    """
    target = folder / "source"
    if target.is_dir():
        return target
    if not source.requirement:
        _run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(target)], folder)
        return target
    unpacked = folder / "unpacked"
    with tarfile.open(_archive(source, folder / "archive")) as tar:
        tar.extractall(unpacked, filter="data")
    (root,) = unpacked.iterdir()
    _run(["git", "init", "--quiet"], root)
    _run(["git", "add", "--all", "--force"], root)
    _run(["git", *_IDENTITY, "commit", "--quiet", "-m", "Release"], root)
    root.rename(target)
    return target


def _archive(source: Source, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    if not any(folder.iterdir()):
        name = source.requirement.partition("==")[0]
        pip = [UV, "tool", "run", "pip", "download", "-q", "--no-deps", "--no-binary", name, source.requirement]
        _run(["npm", "pack", "--silent", source.requirement] if source.is_npm else pip, folder)
    (archive,) = folder.iterdir()
    return archive


def _run(argv: Sequence[str], folder: Path) -> None:
    subprocess.run(argv, cwd=folder, check=True, capture_output=True, timeout=600)


def version_of(source: Source, root: Path) -> str:
    """Return the pinned version, or the measured commit of this repository."""
    if source.requirement:
        return source.requirement.replace("==", "@").rpartition("@")[2]
    done = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=root, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()
