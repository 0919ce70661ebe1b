"""Process of a compiled test program of Go: its tests by what it prints; a part of run_go_tests.py."""

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

OUTPUT_CHARS: Final = 4000
_PIPE_SECONDS: Final = 0.2  # for what a child process left in the pipe
_MOST_BYTES: Final = 1_000_000  # of output that are read at once
_ERROR_MARKS: Final = b"\x0e\x0f"  # around what t.Error prints
_MARK: Final = re.compile(rb" *=== (RUN|NAME|CONT|PAUSE) *(.*)| *--- (PASS|FAIL|SKIP): (.*) \(\d[\d.]*s\)")


@dataclass
class ProcessTests:
    """Tests of one process: status and output by name, in the order of their start."""

    statuses: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    current: str = ""
    is_late: bool = False
    code: int = 0

    def read(self, line: bytes) -> None:
        """Take a line that the process printed."""
        printed, mark, after = line.rpartition(b"\x16")
        match = _MARK.fullmatch(after) if mark else None
        if match is None or printed:
            text = (printed if match else line).translate(None, _ERROR_MARKS).decode(errors="replace")
            self.outputs[self.current] = f"{self.outputs.get(self.current, '')}{text}\n"[-OUTPUT_CHARS:]
        if match is None:
            return
        name = (match[2] or match[4] or b"").decode(errors="replace")
        if match[3]:
            self.statuses[name] = match[3].decode()
        elif match[1] == b"RUN":
            self.statuses.setdefault(name, "")
        self.current = name if match[1] != b"PAUSE" else self.current

    def end(self, message: str) -> None:
        """Fail the test that was under way when the process ended: the last one, if none says that it failed."""
        open_tests = [name for name, status in self.statuses.items() if not status]
        if open_tests and (self.is_late or "FAIL" not in self.statuses.values()):
            last = self.current if self.current in open_tests else open_tests[-1]
            self.outputs[last] = f"{self.outputs.get(last, '')}{self.outputs.pop('', '')}{message}"
            self.statuses[last] = "FAIL"
        for name in [name for name, status in self.statuses.items() if status == "FAIL"]:
            top = name.partition("/")[0]
            self.statuses[top] = "FAIL"


def run_program(argv: Sequence[str], folder: Path, env: Mapping[str, str], seconds: float) -> ProcessTests:
    """Run a test program until it ends, or a test of it reaches its limit in seconds."""
    process = subprocess.Popen(argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
    tests = ProcessTests()
    try:
        _read(process, tests, seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        tests.code = process.wait()
    late, ended = f"no end within {seconds:g} s", f"the process ended in this test ({tests.code})"
    tests.end(late if tests.is_late else ended)
    return tests


def _read(process: "subprocess.Popen[bytes]", tests: ProcessTests, seconds: float) -> None:
    """Read what a process prints."""
    rest, since, shown = b"", time.monotonic(), ""
    for block in _blocks(process):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            tests.read(line)
        rest = rest[-_MOST_BYTES:]
        if tests.current != shown:
            since, shown = time.monotonic(), tests.current
        if time.monotonic() - since > seconds:
            tests.is_late = True
            return
    if rest:
        tests.read(rest)


def _blocks(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """Yield what a process prints, b"" when it prints nothing, until it ends."""
    assert process.stdout is not None  # noqa: S101 it is a pipe
    descriptor = process.stdout.fileno()
    while True:
        has_ended = process.poll() is not None
        if select.select([descriptor], [], [], _PIPE_SECONDS)[0]:
            block = os.read(descriptor, _MOST_BYTES)
            if not block:
                return
            yield block
        elif has_ended:
            return
        else:
            yield b""
