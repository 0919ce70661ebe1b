"""Base of the runners of all frameworks: an environment, time limits, and runs in boxes of their own."""

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import BoundedSemaphore
from typing import Self

from scylla_gha.prepare.workspace import scratch
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.recorded_tests import TestOutcome, TestRequest
from scylla_gha.readiness.test_runners.base import RunLimits
from scylla_gha.system.future_wait import run_at_once
from scylla_gha.system.process import Cancel

CORES = os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class BoxRunner(ABC):
    """Runner of tests in boxes.

    Attributes:
        cancel: is set to end all boxes; None: nothing ends them.
        slots: of boxes that run at the same time, for callers in several threads; None: there is one caller.
    """

    environment: CodeEnvironment
    limits: RunLimits = field(default_factory=RunLimits)
    cancel: Cancel | None = None
    slots: BoundedSemaphore | None = None

    @abstractmethod
    def run(self, tree: Path, tests: Collection[str] | None = None) -> Mapping[str, TestOutcome]:
        """Run tests in a copy of a tree, in a box of their own."""

    def limited(self, run: float, test: float) -> Self:
        """Return this runner with other time limits."""
        return replace(self, limits=RunLimits(run, test))

    def stop(self) -> None:
        """End all boxes."""
        if self.cancel is not None:
            self.cancel.set()

    def run_each(self, requests: Sequence[TestRequest]) -> list[Mapping[str, TestOutcome]]:
        """Run each request in a box, one more than there are cores: some of them wait; the largest come first."""
        numbers = sorted(range(len(requests)), key=lambda number: -len(requests[number].tests or ()))
        works = [partial(self._run_one, requests[number]) for number in numbers]
        outcomes = dict(zip(numbers, run_at_once(works, CORES + 1, self.stop), strict=True))
        return [outcomes[number] for number in range(len(requests))]

    def _run_one(self, request: TestRequest) -> Mapping[str, TestOutcome]:
        with self.slots or nullcontext():
            if not request.changes:
                return self.run(request.tree, request.tests)
            with scratch() as folder:
                return self.run(changed_tree(request.tree, folder / "tree", request.changes), request.tests)


def changed_tree(tree: Path, target: Path, changes: Mapping[str, str | None]) -> Path:
    """Write a copy of a folder with other texts; files that stay are hard links where that is possible."""
    shutil.copytree(tree, target, symlinks=True, copy_function=_link)
    for name, text in changes.items():
        path = target / name
        path.unlink(missing_ok=True)
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return target


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
