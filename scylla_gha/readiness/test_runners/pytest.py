"""Runner of Python tests: pytest, which also runs suites of unittest."""

import functools
import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scylla_gha.readiness.recorded_tests import TestOutcome, TestRequest
from scylla_gha.readiness.test_runners.base import BoxCommand, BoxRun, RunLimits, changes_between, run_in_box
from scylla_gha.readiness.test_runners.box_runner import CORES, BoxRunner
from scylla_gha.readiness.test_runners.request_box import RequestBox

_PROGRAM: Final = "run_pytest.py"
_WANTED: Final = "wanted.json"
_BATCH: Final = ("run_many.py", "tree_copy.py", "collected_tests.py", "patched_functions.py", "property_tests.py")
_CALLS: Final = "record_calls.py"
_MOST_RESTARTS: Final = 5
_BOX_SECONDS: Final = 24 * 3600.0
_MOST_LATE: Final = 10  # tests of a request that reach their limit, before the request does
_MUTANT_SECONDS: Final = 20.0  # limit of a test on a variant: faults make endless loops


@dataclass(frozen=True, slots=True)
class PytestRunner(BoxRunner):
    """Runner of pytest in an environment.

    Attributes:
        box: is kept for all requests; None: each call has one of its own.
    """

    box: RequestBox | None = None

    @property
    def programs(self) -> Mapping[str, str]:
        """The program that runs pytest."""
        return {_PROGRAM: _text(_PROGRAM)}

    def command(self, tests: Collection[str]) -> str:
        """Return the shell command that runs these tests."""
        return self._command(" ".join(shlex.quote(test) for test in tests))

    def _command(self, arguments: str) -> str:
        options = "".join(f"{shlex.quote(f'--option={option}')} " for option in self.environment.options)
        program = f'python3 -P "$CHECKS/{_PROGRAM}"'
        return f"{self._variables()} {program} {options}{arguments}".strip()

    def _variables(self) -> str:
        roots = ":".join("$PWD" if root == "." else f"$PWD/{root}" for root in self.environment.import_roots)
        return f'PYTHONPATH="{roots}" PYTHONDONTWRITEBYTECODE=1'

    def run(self, tree: Path, tests: Collection[str] | None = None) -> Mapping[str, TestOutcome]:
        """Run tests in a copy of a tree."""
        run = self.record(tree, tests)
        wanted = {test for test in tests or () if "::" in test}
        message = "no end within the time limit of the run" if run.timed_out else f"did not run: {run.output[-1000:]}"
        unreached = dict.fromkeys({*wanted, *run.collected} - set(run.outcomes), TestOutcome(False, message))
        return {**unreached, **run.outcomes}

    @contextmanager
    def kept(self, tree: Path, files: Collection[str] = ()) -> Iterator["PytestRunner"]:
        """Give a runner that keeps its box for all requests on a tree and its variants."""
        batch = {
            "options": [f"--option={option}" for option in self.environment.options],
            "workers": CORES,
            "files": sorted(files),
            "seconds": self.limits.run,
        }
        programs = {name: _text(name) for name in (_PROGRAM, *_BATCH)} | {_WANTED: json.dumps(batch)}
        text = f'{self._variables()} python3 -P "$CHECKS/{_BATCH[0]}" "$CHECKS/{_WANTED}"'
        command = BoxCommand(text, programs, RunLimits(_BOX_SECONDS))
        with closing(RequestBox(self.environment, tree, command, self.cancel)) as box:
            yield replace(self, box=box)

    def run_many(self, requests: Sequence[TestRequest]) -> list[Mapping[str, TestOutcome]]:
        """Run several requests at once, in one sandbox; those that it loses run again in one of their own."""
        if any(request.tests is None for request in requests):
            return self.run_each(requests)
        if self.box is None:
            with self.kept(requests[0].tree) as runner:
                return runner.run_many(requests)
        test = min(self.limits.test, _MUTANT_SECONDS)
        limits = {"seconds": min(self.limits.run, test * _MOST_LATE), "test_seconds": test}
        by_request = self.box.run([{**_content(request, self.box.tree), **limits} for request in requests])
        pairs = list(zip(requests, by_request, strict=True))
        again = iter(self.run_each([request for request, outcomes in pairs if outcomes is None]))
        return [next(again) if outcomes is None else self._completed(outcomes, request) for request, outcomes in pairs]

    @staticmethod
    def _completed(outcomes: Mapping[str, TestOutcome], request: TestRequest) -> Mapping[str, TestOutcome]:
        wanted = {test for test in request.tests or () if "::" in test}
        return {**dict.fromkeys(wanted, TestOutcome(False, "did not run to its end")), **outcomes}

    def record(
        self,
        tree: Path,
        tests: Collection[str] | None = None,
        *,
        is_reversed: bool = False,
        measured: bool = False,
    ) -> BoxRun:
        """Run tests, in reverse order if wanted, and with the executed lines if `measured`.

        A test or file that ends the process has failed; the rest is then run in a new process.
        """
        options = ["--reverse"] if is_reversed else []
        first = run = self._once(tree, [*options, *(tests or ())], measured=measured)
        outcomes, wanted = dict(run.outcomes), sorted(tests or ())
        for _ in range(_MOST_RESTARTS):
            rest = [test for test in run.collected if test not in run.outcomes]
            if run.timed_out or run.started is None or (run.collected and not rest):
                break
            if run.collected:
                outcomes[run.started] = TestOutcome(False, f"the process ended in this test: {run.output[-1000:]}")
                wanted = [test for test in rest if test != run.started]
                if not wanted:
                    break
            else:
                options.append(f"--without={run.started}")
            run = self._once(tree, [*options, *wanted], measured=measured)
            outcomes |= run.outcomes
        collected = first.collected or run.collected
        return replace(run, outcomes=outcomes, collected=collected, broken={**first.broken, **run.broken})

    def record_calls(
        self, tree: Path, functions: Sequence[tuple[str, str]], tests: Collection[str], *, is_reversed: bool
    ) -> bytes:
        """Run tests and return the recorded calls of functions as JSON; b"" if the process did not end by itself."""
        options = [f"--option={option}" for option in self.environment.options]
        arguments = [*options, *(["--reverse"] if is_reversed else []), *sorted(tests)]
        wanted = json.dumps({"functions": functions, "arguments": arguments})
        programs = {**self.programs, _CALLS: _text(_CALLS), _WANTED: wanted}
        text = f'{self._variables()} python3 -P "$CHECKS/{_CALLS}" "$CHECKS/{_WANTED}"'
        command = BoxCommand(text, programs, self.limits, measured=True)
        return run_in_box(self.environment, tree, command, self.cancel).measured

    def _once(self, tree: Path, arguments: list[str], *, measured: bool) -> BoxRun:
        programs = {**self.programs, _WANTED: json.dumps(arguments)}
        text = self._command(f'"@$CHECKS/{_WANTED}"')
        command = BoxCommand(text, programs, self.limits, measured)
        return run_in_box(self.environment, tree, command, self.cancel)


def _content(request: TestRequest, tree: Path) -> dict[str, object]:
    """Return a request as the program in the box reads it."""
    return {
        "tests": sorted(request.tests or ()),
        "changes": {**changes_between(tree, request.tree), **request.changes},
        "has_outputs": request.has_outputs,
        "stops_late": request.is_probe,
    }


@functools.cache
def _text(program: str) -> str:
    """Return a program of the box; it is not imported, since it needs packages that only the box has."""
    return Path(__file__).with_name(program).read_text(encoding="utf-8")
