"""Program that runs tests on many variants of a tree; it imports nothing of the toolkit.

    run_many.py FILE

FILE has a JSON object: `options` of run_pytest.py for all requests, `workers`, `files` (test files that are collected
before the first request; may be empty) and `seconds` (time limit of that). The current folder is the tree.

Requests are files `queue/N.json` beside this program, each a JSON object: `tests`, `changes` (the text of a changed
file by path, null if it is removed), `seconds` and `test_seconds` (time limits of the request and of a test),
`has_outputs` (False: the error alone may do) and `stops_late` (no test runs after one that reached its limit).
`done/N.jsonl` below $HOME gets the lines that run_pytest.py writes; the last one of a request that ended, or reached
its limit, is {"ended": true}. The program ends when there is a file `queue/end` and no request is left.

Each worker has a copy of the tree. It collects the tests there once; a request's child process then has everything
imported. Where that is not the same as a new process with the changed files, a new process it is.
"""

import contextlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from scylla_gha.readiness.test_runners.collected_tests import CollectedTests
    from scylla_gha.readiness.test_runners.tree_copy import TreeCopy

_POLL_SECONDS: Final = 0.01
_PROGRAMS: Final = ("run_pytest", "collected_tests", "patched_functions", "property_tests")


def _load(name: str) -> ModuleType:
    """Import a program that lies beside this one."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec and spec.loader  # noqa: S101, PT018 the file is there
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Worker:
    """Process that runs one request after the other in its copy of the tree."""

    def __init__(self, number: int, batch: Mapping[str, Any]) -> None:
        self.batch, self.root, home = batch, Path.cwd(), Path.home()
        self.runner, self.collecting, self.patching, self.properties = map(_load, _PROGRAMS)
        self.queue = Path(__file__).absolute().with_name("queue")
        self.done, self.lines = home / "done", home / f"lines-{number}.jsonl"
        self.copy: TreeCopy = _load("tree_copy").TreeCopy(self.root, home / "copies" / str(number))
        self.own = [home / "homes" / str(number), Path(tempfile.gettempdir()) / str(number)]
        self.collected: CollectedTests | None = None
        self.seen: set[Path] = set()  # requests that a worker has taken

    def work(self) -> None:
        """Run requests."""
        self._move_in()
        if self.batch["files"]:
            self._collect()
        while True:
            is_last = (self.queue / "end").exists()
            request = self._next()
            if request is not None:
                self._run(*request)
            elif is_last:
                break
            else:
                time.sleep(_POLL_SECONDS)
        if self.collected is not None:
            self.collected.stop()

    def _move_in(self) -> None:
        """Make the copy the current folder, and the one that modules are imported from."""
        self.copy.make()
        tree = self.copy.path
        os.chdir(tree)
        sys.path = [str(tree / Path(entry).relative_to(self.root)) if Path(entry).is_relative_to(self.root) else entry
                    for entry in sys.path]  # fmt: skip
        os.environ["PYTHONPATH"] = os.environ.get("PYTHONPATH", "").replace(str(self.root), str(tree))
        os.environ |= {"PWD": str(tree), "HOME": str(self.own[0]), "TMPDIR": str(self.own[1])}
        tempfile.tempdir = None
        self._empty_folders()

    def _empty_folders(self) -> None:
        for folder in self.own:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)

    def _collect(self) -> None:
        arguments = [*self.batch["options"], *self.batch["files"]]
        collected = self.collecting.CollectedTests(self.root, self.runner, self.patching, self.properties, arguments)
        is_ready = collected.is_ready(self.batch["seconds"])
        has_left = [*self.own[0].iterdir(), *self.own[1].iterdir()]  # later runs would miss it
        if is_ready and not has_left:
            self.collected = collected
        else:
            collected.stop()
        self.copy.keep()

    def _next(self) -> tuple[str, Mapping[str, Any]] | None:
        """Take the first request that no other worker has."""
        for path in sorted({*self.queue.glob("*.json")} - self.seen):
            self.seen.add(path)
            with contextlib.suppress(FileExistsError):
                (self.done / f"{path.stem}.taken").touch(exist_ok=False)
                return path.stem, json.loads(path.read_text(encoding="utf-8"))
        return None

    def _run(self, number: str, request: Mapping[str, Any]) -> None:
        self.lines.unlink(missing_ok=True)
        self.copy.change(request["changes"])
        if self.collected is None or not self.collected.run(request, self.lines):
            self._run_anew(request)
        self._put_back()
        self.lines.touch()
        self.lines.rename(self.done / f"{number}.jsonl")

    def _run_anew(self, request: Mapping[str, Any]) -> None:
        """Run a request in a process that imports the changed tree."""
        process = self.collecting.start_child(lambda: self._run_child(request))
        if self.collecting.wait_for(process, request["seconds"]) is None:
            self.collecting.write_end(self.lines)

    def _run_child(self, request: Mapping[str, Any]) -> int:
        os.environ |= {"OUTCOMES": str(self.lines), "TEST_SECONDS": str(request["test_seconds"])}
        outputs = [] if request["has_outputs"] else ["--option=--tb=no", "--option=-rN"]
        late = ["--stop-late"] if request["stops_late"] else []
        steady = self.properties.PropertySettings(has_outputs=request["has_outputs"])
        code = int(self.runner.main([*self.batch["options"], *outputs, *late, *request["tests"]], [steady]))
        self.collecting.write_end(self.lines)
        return code

    def _put_back(self) -> None:
        """Put the copy back and empty the other folders; a copy that has to be made anew takes its process along."""
        self._empty_folders()
        self.copy.restore()
        if self.copy.files:
            return
        if self.collected is not None:
            self.collected.stop()
            self.collected = None
        self._move_in()


def main(batch: Mapping[str, Any]) -> None:
    """Start the workers and wait for them; one that breaks off ends all."""
    (Path.home() / "done").mkdir()
    for number in range(batch["workers"]):
        if os.fork() == 0:
            Worker(number, batch).work()
            os._exit(0)
    for _ in range(batch["workers"]):
        if os.wait()[1]:
            sys.exit(1)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
