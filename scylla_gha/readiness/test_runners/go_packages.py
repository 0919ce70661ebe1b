"""Packages of Go with tests, and their compiled test programs; a part of run_go_tests.py."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_BUILD_SECONDS: Final = 600.0
_TEST: Final = re.compile(r"^func ((?:Test|Example|Fuzz)(?![a-z])\w*)\(", re.MULTILINE)
_LEFT_OUT: Final = {"vendor", "testdata", "node_modules", ".git"}


@dataclass
class TestPackage:
    """Package with tests.

    Attributes:
        name: import path.
        folder: its folder, from the root.
        module: the folder of its module, from the root.
        files: by test function, the file that defines it.
    """

    __test__ = False

    name: str
    folder: str
    module: str
    files: Mapping[str, str]

    def id(self, test: str) -> str:
        """Return the id of a test or subtest."""
        return f"{self.files.get(test.partition('/')[0], self.folder)}::{test}"


class GoTree:
    """Modules of a tree, with the environment in which go compiles them."""

    def __init__(self, root: Path, home: Path, go: str) -> None:
        self.root, self.home, self.go = root, home, go
        self.env = go_variables(root, home)
        self.folders: dict[str, str] = {}  # of packages, by import path

    def packages(self, paths: set[str]) -> list[TestPackage]:
        """Return the packages that have tests, or one of these files."""
        packages = []
        for module in sorted(_modules(self.root)):
            fields = "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles"
            listing = self._go(self.root / module, "list", "-e", fields, "./...")
            for package in _json_values(listing.stdout.decode(errors="replace")):
                folder = os.path.relpath(package.get("Dir", self.root), self.root)
                self.folders[package["ImportPath"]] = folder
                prefix = "" if folder == "." else f"{folder}/"
                files = [prefix + name for kind in ("TestGoFiles", "XTestGoFiles") for name in package.get(kind) or ()]
                tests = {name: path for path in files for name in _TEST.findall(read_text(self.root / path))}
                tests.pop("TestMain", None)
                if tests and (not paths or paths & set(files)):
                    packages.append(TestPackage(package["ImportPath"], folder, module, tests))
        return packages

    def compiled(self, package: TestPackage, *, measured: bool) -> tuple[Path | None, str]:
        """Return the compiled tests of a package, or None and the error."""
        program = self.home / "programs" / (re.sub(r"\W", "-", package.name)[-80:] + f"-{abs(hash(package.name))}")
        program.parent.mkdir(parents=True, exist_ok=True)
        cover = ("-cover", "-covermode=set", "-coverpkg=./...") if measured else ()
        options = ("-c", "-vet=off", "-buildvcs=false", "-ldflags=-w", *cover, "-o", str(program))
        done = self._go(self.root / package.module, "test", *options, package.name)
        if done.returncode or not program.exists():
            return None, (done.stderr or done.stdout).decode(errors="replace")
        return program, ""

    def _go(self, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        mode = "vendor" if (folder / "vendor" / "modules.txt").is_file() else "mod"
        env = {**self.env, "GOFLAGS": f"-mod={mode}"}
        try:
            return subprocess.run(
                [self.go, *arguments], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL,
                timeout=_BUILD_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess([], 1, b"", f"no end within {_BUILD_SECONDS:g} s".encode())


def _modules(root: Path) -> Iterator[str]:
    """Yield the folders with a go.mod, from the root."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _LEFT_OUT and not name.startswith(("_", "."))]
        if "go.mod" in files:
            yield os.path.relpath(folder, root)


def go_variables(root: Path, home: Path) -> dict[str, str]:
    """Return the environment of go and of tests: no network, no C compiler, no other version of Go."""
    above = {name: folder / name for name in ("go-build", "go-modules") for folder in reversed(root.parents)
             if (folder / name).is_dir()}  # fmt: skip
    cache = home / "build"
    if not cache.exists():
        cache.mkdir(parents=True)
        if "go-build" in above:
            _link_files(above["go-build"], cache)
    modules = above.get("go-modules", home / "modules")
    folders = {"GOCACHE": str(cache), "GOMODCACHE": str(modules), "GOPATH": str(home / "path")}
    return {**os.environ, **folders, "GOPROXY": "off", "GOSUMDB": "off", "GOTOOLCHAIN": "local", "GOENV": "off",
            "GOTELEMETRY": "off", "CGO_ENABLED": "0"}  # fmt: skip


def _link_files(source: Path, target: Path) -> None:
    """Link all files, because Go writes into its cache, and the source can only be read."""
    for folder, _, names in os.walk(source):
        inside = target / os.path.relpath(folder, source)
        inside.mkdir(exist_ok=True)
        for name in names:
            (inside / name).symlink_to(os.path.join(folder, name))  # noqa: PTH118


def _json_values(text: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            package, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield package
        at += len(text[at:]) - len(text[at:].lstrip())


def read_text(path: Path) -> str:
    """Return a file's text; "" if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def program_of_go() -> str:
    """Return go's own program; the one on PATH may be a script that starts it."""
    go = shutil.which("go") or "go"
    done = subprocess.run(
        [go, "env", "GOROOT"], capture_output=True, env={**os.environ, "GOTOOLCHAIN": "local"}, check=False
    )
    own = Path(done.stdout.decode(errors="replace").strip()) / "bin" / "go"
    return str(own) if own.is_file() else go
