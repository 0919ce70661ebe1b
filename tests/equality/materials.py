"""What both checkouts are given to work on: made once by BASE, or written by this tool."""

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.speed import write_ladder
from tests.equality.checkouts import HERE, Checkout, git
from tests.equality.comparison import empty

EXPERIMENTS = (("quickstart",), ("hello-claude", "--replay"), (str(HERE / "github-oracle.yaml"),))

_FIXTURES = ("ledger", "loanbook")


@dataclass
class Materials:
    """Folders that are made when they are first asked for, and kept with what was collected of BASE."""

    base: Checkout
    folder: Path
    lock: threading.Lock = field(default_factory=threading.Lock)
    locks: dict[str, threading.Lock] = field(default_factory=dict)

    def ladder(self) -> Path:
        """Return a repository of 47 scenarios and 114 sub-tests, whose experiment `ladder` has 53,580 cells."""
        return self._made("ladder", write_ladder)

    def golden(self) -> Path:
        """Return run folders and a results branch of the reports that tests hold, written by BASE."""
        return self._made("golden", lambda folder: self.base.script("golden_runs.py", folder))

    def code_bases(self) -> Path:
        """Return six repositories to make readiness suites from: those of tests, and two fixtures."""
        return self._made("code-bases", self._write_code_bases)

    def _write_code_bases(self, folder: Path) -> None:
        self.base.script("code_bases.py", folder)
        for name in _FIXTURES:
            shutil.copytree(self.base.root / "fixtures" / name, folder / name)
            git("init", "--quiet", cwd=folder / name)
            git("add", "--all", cwd=folder / name)
            git("commit", "--quiet", "--message", "Begin", cwd=folder / name)

    def runs(self) -> Path:
        """Return BASE's run folders of the three experiments, with what the commands printed in `printed.json`."""
        return self._made("runs", lambda folder: evaluate(self.base, folder))

    def _made(self, name: str, write: Callable[[Path], object]) -> Path:
        with self.lock:
            lock = self.locks.setdefault(name, threading.Lock())
        folder = self.folder / name
        with lock:
            if not (self.folder / f"{name}.complete").exists():
                write(empty(folder))
                (self.folder / f"{name}.complete").touch()
        return folder


def evaluate(side: Checkout, folder: Path) -> None:
    """Evaluate the three experiments into a folder, one cell at a time, so that lines of progress have one order."""
    printed = {}
    for experiment, *options in EXPERIMENTS:
        done = side.run("evaluate", experiment, *options, "--runs", folder, "--jobs", "1", "--yes")
        printed[Path(experiment).stem] = done.text().replace(side.masked(str(folder)), "<runs>")
    (folder / "printed.json").write_text(json.dumps(printed))
