"""A private copy of the repository in which make runs; calls of the interpreter are recorded."""

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROJECT = ("logtools", "tests", "samples", "docs", "VERSION")  # always taken from the base
PYTHON = os.path.realpath(sys.executable)
SHIM = """#!/bin/sh
printf 'start %s\\n' "$$" >> {record}.events
printf '{name}\\037%s' "$LOGTOOLS_LIMIT" >> {record}.$$
for word; do printf '\\037%s' "$word" >> {record}.$$; done
{body}
code=$?
printf 'end %s\\n' "$$" >> {record}.events
exit $code
"""

REAL = f'{PYTHON} -S "$@"'
LIGHT = """case "$2 $3" in
    "logtools lint") shift 3 && ! grep -q '^no request' "$@" ;;
    "logtools summary") [ -f "$6" ] && ! grep -q '^no request' "$6" ;;
    "logtools prepare") mkdir -p "$4/site" ;;
    "logtools index") echo "{}" > "$5" ;;
    "logtools note") mkdir -p "$(dirname "$4")" && printf '%s\\n' "$5" >> "$4" ;;
esac"""  # what the next commands of a target need, without the time to start Python


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Call:
    """One start of the interpreter."""

    interpreter: str
    limit: str
    args: tuple[str, ...]


@functools.cache
def template() -> Path:
    """A copy of the workspace with the project's own files as they are in the base, and old logs."""
    root = Path(tempfile.mkdtemp(prefix="source-")) / "repo"
    base = Path(os.environ["BASE"])
    cwd = str(Path.cwd())
    skip = {".git", *PROJECT}
    shutil.copytree(cwd, root, symlinks=True, ignore=lambda at, names: (skip if at == cwd else {".git"}) & set(names))
    for name in PROJECT:
        (shutil.copytree if (base / name).is_dir() else shutil.copy)(base / name, root / name)
    for path in root.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))
    for log in (root / "samples").iterdir():
        os.utime(log, (1_700_000_000, 1_700_000_000))
    return root


class Sandbox:
    """Copy of the workspace with the project's own files as they are in the base."""

    def __init__(self, light: bool = False, delay: bool = False) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="make-"))
        self.root = self.home / "repo"
        shutil.copytree(template(), self.root, symlinks=True)
        self.bin = self.home / "bin"
        self.bin.mkdir()
        (self.home / "calls").mkdir()
        self.body = ("sleep 0.03\n" if delay else "") + (LIGHT if light else REAL)
        for name in ("python3", "python"):
            self.interpreter(name)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    def interpreter(self, name: str) -> Path:
        """Another interpreter that records its calls under its own name."""
        path = self.bin / name
        record = self.home / "calls" / "call"
        path.write_text(SHIM.format(record=record, name=name, body=self.body))
        path.chmod(0o755)
        return path

    def log(self, name: str, text: str) -> str:
        """Write a log with an old time stamp."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        return name

    def run(self, *command: str, cwd: Path | None = None, **env: str) -> Result:
        """Run a command with the recording interpreter on PATH."""
        full = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
        }
        process = subprocess.Popen(
            command,
            cwd=cwd or self.root,
            env=full | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Result(124, "", "no end after 10 seconds")
        return Result(process.returncode, out, err)

    def make(self, *args: str, **env: str) -> Result:
        """Run make without the echo of its commands."""
        return self.run("make", "-s", *args, **env)

    def calls(self) -> list[Call]:
        """The project's commands that were started since the last look, in order."""
        found = []
        for event in self.events():
            if event[0] == "start":
                text = (self.home / "calls" / f"call.{event[1]}").read_text(errors="replace")
                name, limit, *args = text.split("\037")
                if tuple(args[:2]) in (("-m", "logtools"), ("-m", "unittest")):
                    found.append(Call(name, limit, tuple(args[1:])))
        for path in (self.home / "calls").iterdir():
            path.unlink()
        return found

    def events(self) -> list[tuple[str, str]]:
        """Starts and ends of interpreters since the last look."""
        path = self.home / "calls" / "call.events"
        if not path.exists():
            return []
        return [(kind, pid) for kind, pid in (line.split() for line in path.read_text().splitlines())]

    def overlaps(self) -> bool:
        """Whether two interpreters ran at the same time."""
        kinds = [kind for kind, _ in self.events()]
        return kinds != ["start", "end"] * (len(kinds) // 2)

    def read(self, name: str) -> str:
        """Text of a file in the copy; empty when it is not there."""
        path = self.root / name
        return path.read_text(errors="replace") if path.is_file() else ""
