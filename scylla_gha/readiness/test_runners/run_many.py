"""Program that runs tests on many variants of a tree, in processes that share the start of Python and pytest.

    run_many.py FILE

FILE has a JSON object: `arguments` of run_pytest.py for all, `workers`, `seconds` (limit of a request), and `requests`,
each with `tests`, `arguments` of its own, and `changes`: the text of a changed file by path, null if it is removed. The current folder is the
tree that they are changes of. The lines that run_pytest.py writes get a number: {"request": 3, "id": ...}; the last one
of a request that ended, or reached its limit, is {"request": 3, "ended": true}.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
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


class RequestPool:
    """Processes of the requests: at most `workers` at once, each for at most `seconds`."""

    def __init__(self, batch: Mapping[str, Any]) -> None:
        self.batch, self.runner = batch, _load("run_pytest")
        self.root, self.copies = Path.cwd(), Path.home() / "copies"
        self.outcomes = Path(os.environ["OUTCOMES"]).absolute()
        self.running: dict[int, tuple[int, float]] = {}  # process -> request and start

    def run(self) -> None:
        """Run all requests."""
        requests: Sequence[Mapping[str, Any]] = self.batch["requests"]
        if len(requests) >= _LEAST_FOR_COMPILING:
            tests = sorted({test.partition("::")[0] for request in requests for test in request["tests"]})
            self._start(-1, {"tests": tests, "changes": {}, "arguments": []})
            self._wait_below(1)
        for number, request in enumerate(requests):
            self._wait_below(self.batch["workers"])
            self._start(number, request)
        self._wait_below(1)

    def _start(self, number: int, request: Mapping[str, Any]) -> None:
        process = os.fork()
        if process:
            self.running[process] = (number, time.monotonic())
            return
        code = 1
        try:
            os.setsid()
            code = self._run_child(number, request)
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _run_child(self, number: int, request: Mapping[str, Any]) -> int:
        arguments = [*self.batch["arguments"], *request["arguments"], *request["tests"]]
        if number < 0:  # of the tree itself: leaves compiled modules for the copies
            sys.dont_write_bytecode = False
            os.environ["OUTCOMES"] = os.devnull
            return int(self.runner.main(["--option=--collect-only", *arguments]))
        tree = self.copies / str(number)
        shutil.copytree(self.root, tree, symlinks=True)
        _change(tree, request["changes"])
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
        return self.copies.with_name(f"outcomes-{number}.jsonl")

    def _wait_below(self, most: int) -> None:
        """Wait until fewer than `most` processes run."""
        while len(self.running) >= most:
            ended = [process for process, (_, start) in self.running.items() if self._has_ended(process, start)]
            for process in ended:
                number, start = self.running.pop(process)
                self._hand_over(number, is_late=time.monotonic() - start > self.batch["seconds"])
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

    def _hand_over(self, number: int, *, is_late: bool) -> None:
        """Append a request's lines to the file of outcomes."""
        shutil.rmtree(self.copies / str(number), ignore_errors=True)
        if number < 0:
            return
        lines = self._lines(number).read_text(encoding="utf-8").splitlines() if self._lines(number).is_file() else []
        with self.outcomes.open("a", encoding="utf-8") as file:
            for line in lines:
                file.write(f'{{"request": {number}, {line[1:]}\n')
            if is_late:
                file.write(f'{{"request": {number}, "ended": true}}\n')
        self._lines(number).unlink(missing_ok=True)


def _change(tree: Path, changes: Mapping[str, str | None]) -> None:
    for name, text in changes.items():
        path = tree / name
        path.unlink(missing_ok=True)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    RequestPool(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))).run()
