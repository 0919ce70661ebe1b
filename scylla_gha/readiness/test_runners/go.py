"""Runner of Go's tests: a package's tests are compiled once, and run in as few processes as they allow."""

import functools
import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from threading import BoundedSemaphore
from typing import Final, Self

from scylla_gha.readiness.recorded_tests import TestOutcome, TestRequest
from scylla_gha.readiness.test_runners.base import BoxCommand, BoxRun, RunLimits, changes_between, run_in_box
from scylla_gha.readiness.test_runners.box_runner import CORES, BoxRunner

_PROGRAM: Final = "run_go_tests.py"
_PROGRAMS: Final = (_PROGRAM, "go_packages.py", "go_process.py")
_WANTED: Final = "wanted.json"
_BATCH_SECONDS: Final = 1800.0
_LEAST_FOR_BATCH: Final = 2
_MUTANT_SECONDS: Final = 20.0  # limit of a test on a variant: faults make endless loops


@dataclass(frozen=True, slots=True)
class GoRunner(BoxRunner):
    """Runner of Go's tests in an environment."""

    @property
    def programs(self) -> Mapping[str, str]:
        """The program that runs tests of Go, and its parts."""
        return {name: _text(name) for name in _PROGRAMS}

    def command(self, tests: Collection[str]) -> str:
        """Return the shell command that runs these tests."""
        return self._command(" ".join(shlex.quote(test) for test in tests))

    @staticmethod
    def _command(arguments: str) -> str:
        return f'python3 -P "$CHECKS/{_PROGRAM}" {arguments}'.strip()

    def run(self, tree: Path, tests: Collection[str] | None = None) -> Mapping[str, TestOutcome]:
        """Run tests in a copy of a tree."""
        run = self.record(tree, tests)
        message = "no end within the time limit of the run" if run.timed_out else f"did not run: {_error(run)[-1000:]}"
        return _completed(run.outcomes, tests, message)

    def kept(self, tree: Path, files: Collection[str] = ()) -> AbstractContextManager[Self]:  # noqa: ARG002
        """Give this runner for several threads, one box at a time; it keeps nothing."""
        return nullcontext(replace(self, slots=BoundedSemaphore(1)))

    def run_many(self, requests: Sequence[TestRequest]) -> list[Mapping[str, TestOutcome]]:
        """Run several requests in one sandbox, which compiles what they share once; lost ones run again alone."""
        if len(requests) < _LEAST_FOR_BATCH or any(request.tests is None for request in requests):
            return self.run_each(requests)
        tree = requests[0].tree
        test = min(self.limits.test, _MUTANT_SECONDS)
        batch = {
            "workers": CORES,
            "requests": [
                {
                    "tests": sorted(request.tests or ()),
                    "stops_late": request.is_probe,
                    "changes": {**changes_between(tree, request.tree), **request.changes},
                }
                for request in requests
            ],
        }
        programs = {**self.programs, _WANTED: json.dumps(batch)}
        seconds = min(self.limits.run * len(requests), _BATCH_SECONDS)
        command = BoxCommand(self._command(f'--batch "$CHECKS/{_WANTED}"'), programs, RunLimits(seconds, test))
        with self.slots or nullcontext():
            run = run_in_box(self.environment, tree, command, self.cancel)
        lost = [request for number, request in enumerate(requests) if number not in run.by_request]
        again = iter(self.run_each(lost))
        return [
            _completed(run.by_request[number], request.tests, "did not run") if number in run.by_request
            else next(again)
            for number, request in enumerate(requests)
        ]  # fmt: skip

    def record(
        self,
        tree: Path,
        tests: Collection[str] | None = None,
        *,
        is_reversed: bool = False,
        measured: bool = False,
    ) -> BoxRun:
        """Run tests, in another order if `is_reversed`; if `measured` each alone, with the executed lines."""
        programs = {**self.programs, _WANTED: json.dumps(sorted(tests or ()))}
        shuffle = "--shuffle " if is_reversed else ""
        command = BoxCommand(self._command(f'{shuffle}"@$CHECKS/{_WANTED}"'), programs, self.limits, measured)
        return run_in_box(self.environment, tree, command, self.cancel)


def _completed(
    outcomes: Mapping[str, TestOutcome], tests: Collection[str] | None, message: str
) -> Mapping[str, TestOutcome]:
    wanted = {test for test in tests or () if "::" in test}
    return {**dict.fromkeys(wanted - set(outcomes), TestOutcome(False, message)), **outcomes}


def _error(run: BoxRun) -> str:
    return next(iter(run.broken.values()), run.output)


@functools.cache
def _text(program: str) -> str:
    """Return a program of the box."""
    return Path(__file__).with_name(program).read_text(encoding="utf-8")
