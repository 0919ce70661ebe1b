"""Program that runs tests on many variants of a tree, in processes that share the start of Python and pytest.

    run_many.py FILE

FILE has a JSON object: `arguments` of run_pytest.py for all, `workers`, `seconds` (limit of a request), and `requests`,
each with `tests`, `arguments` of its own, and `changes`: the text of a changed file by path, null if it is removed. The
current folder is the tree that they are changes of. The lines that run_pytest.py writes get a number: {"request": 3,
"id": ...}; the last one of a request that ended, or reached its limit, is {"request": 3, "ended": true}.
"""

import contextlib
import dataclasses
import glob
import importlib.util
import json
import os
import shutil
import signal
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_POLL_SECONDS: Final = 0.01
_LEAST_FOR_COMPILING: Final = 4  # requests


def _load(name: str) -> ModuleType:
    """Import the program of one run, which lies beside this one."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec and spec.loader  # noqa: S101, PT018 the file is there
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TreeCopy:
    """Copy of the tree, used by one request after the other; what one left in it is put back."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.files: dict[str, tuple[int, ...]] = {}

    def change(self, changes: Mapping[str, str | None]) -> None:
        """Write the texts of a request."""
        if not self.files:
            shutil.copytree(self.root, self.path, symlinks=True)
            self.files = _file_states(self.path)
        for name, text in changes.items():
            path = self.path / name
            path.unlink(missing_ok=True)
            for compiled in _compiled(path):
                compiled.unlink()
            if text is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode("utf-8", "surrogateescape"))

    def restore(self) -> None:
        """Put back each file that a request changed, added or removed; if one cannot be, the next gets a new copy."""
        try:
            states = _file_states(self.path)
            for name in sorted(states, reverse=True):  # what a folder holds before the folder
                if states[name] != self.files.get(name):
                    self._take_away(name, states[name])
            for name in sorted(self.files):
                if states.get(name) != self.files[name]:
                    self._put_back(name)
        except OSError:
            self.remove()

    def _take_away(self, name: str, state: tuple[int, ...]) -> None:
        if not _is_folder(state):
            (self.path / name).unlink()
        elif not _is_folder(self.files.get(name, ())):
            (self.path / name).rmdir()

    def _put_back(self, name: str) -> None:
        path, original = self.path / name, self.root / name
        if _is_folder(self.files[name]):
            path.mkdir(exist_ok=True)
            path.chmod(self.files[name][0])
            return
        shutil.copy2(original, path, follow_symlinks=False)
        self.files[name] = _state(path.lstat())

    def remove(self) -> None:
        """Remove it; the next request makes it anew."""
        self.files = {}
        shutil.rmtree(self.path, ignore_errors=True)


def _file_states(root: Path) -> dict[str, tuple[int, ...]]:
    """Return the times, sizes and modes of files by path, and the modes of folders."""
    states: dict[str, tuple[int, ...]] = {}
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                state, name = entry.stat(follow_symlinks=False), f"{folder}{entry.name}"
                states[name] = _state(state)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{name}/")
    return states


def _state(status: os.stat_result) -> tuple[int, ...]:
    if stat.S_ISDIR(status.st_mode):
        return (stat.S_IMODE(status.st_mode),)
    return (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_folder(state: Sequence[int]) -> bool:
    return len(state) == 1


def _compiled(path: Path) -> list[Path]:
    return list((path.parent / "__pycache__").glob(f"{glob.escape(path.stem)}.*"))


@dataclasses.dataclass
class RunningRequest:
    """Process of a request; without a copy it runs on the tree itself."""

    number: int
    started: float
    request: Mapping[str, Any]
    copy: TreeCopy | None


class RequestPool:
    """Processes of the requests: at most `workers` at once, each for at most `seconds`."""

    def __init__(self, batch: Mapping[str, Any]) -> None:
        self.batch, self.runner = batch, _load("run_pytest")
        self.root, self.outcomes = Path.cwd(), Path(os.environ["OUTCOMES"]).absolute()
        folder = Path.home() / "copies"
        self.copies = [TreeCopy(self.root, folder / str(number)) for number in range(batch["workers"])]
        self.running: dict[int, RunningRequest] = {}  # by process

    def run(self) -> None:
        """Run all requests."""
        requests: Sequence[Mapping[str, Any]] = self.batch["requests"]
        if len(requests) >= _LEAST_FOR_COMPILING:
            tests = sorted({test.partition("::")[0] for request in requests for test in request["tests"]})
            self._start(-1, {"tests": tests, "changes": {}, "arguments": ["--option=--collect-only"]}, None)
            self._wait_below(1)
        for number, request in enumerate(requests):
            self._wait_below(self.batch["workers"])
            copy = self.copies.pop()
            copy.change(request["changes"])
            self._start(number, request, copy)
        self._wait_below(1)

    def _start(self, number: int, request: Mapping[str, Any], copy: TreeCopy | None) -> None:
        process = os.fork()
        if process:
            self.running[process] = RunningRequest(number, time.monotonic(), request, copy)
            return
        code = 1
        try:
            os.setsid()
            code = self._run_child(number, request, copy)
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _run_child(self, number: int, request: Mapping[str, Any], copy: TreeCopy | None) -> int:
        arguments = [*self.batch["arguments"], *request["arguments"], *request["tests"]]
        if copy is None:  # leaves compiled modules for the copies
            sys.dont_write_bytecode = False
            os.environ["OUTCOMES"] = os.devnull
            return int(self.runner.main(arguments))
        tree = copy.path
        os.chdir(tree)
        sys.path = [str(tree / Path(entry).relative_to(self.root)) if Path(entry).is_relative_to(self.root) else entry
                    for entry in sys.path]  # fmt: skip
        os.environ["PYTHONPATH"] = os.environ.get("PYTHONPATH", "").replace(str(self.root), str(tree))
        os.environ["PWD"] = str(tree)
        os.environ["OUTCOMES"] = str(self._lines(number))
        code = int(self.runner.main(arguments))
        with self._lines(number).open("a", encoding="utf-8") as file:
            file.write('{"ended": true}\n')
        return code

    def _lines(self, number: int) -> Path:
        return Path.home() / f"outcomes-{number}.jsonl"

    def _wait_below(self, most: int) -> None:
        """Wait until fewer than `most` processes run."""
        while len(self.running) >= most:
            ended = [process for process, running in self.running.items() if self._has_ended(process, running.started)]
            for process in ended:
                self._hand_over(self.running.pop(process))
            if not ended:
                time.sleep(_POLL_SECONDS)

    def _has_ended(self, process: int, start: float) -> bool:
        """Return True if a process has ended; end it, and all that it left, at its limit."""
        ended = os.waitpid(process, os.WNOHANG)[0] == process
        if ended or time.monotonic() - start > self.batch["seconds"]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            if not ended:
                os.waitpid(process, 0)
            return True
        return False

    def _hand_over(self, running: RunningRequest) -> None:
        """Give the copy back, and append a request's lines to the file of outcomes."""
        if running.copy is None:
            return
        running.copy.restore()
        self.copies.append(running.copy)
        own = self._lines(running.number)
        lines = own.read_text(encoding="utf-8").splitlines() if own.is_file() else []
        with self.outcomes.open("a", encoding="utf-8") as file:
            for line in lines:
                file.write(f'{{"request": {running.number}, {line[1:]}\n')
            if time.monotonic() - running.started > self.batch["seconds"]:
                file.write(f'{{"request": {running.number}, "ended": true}}\n')
        own.unlink(missing_ok=True)


if __name__ == "__main__":
    RequestPool(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))).run()
