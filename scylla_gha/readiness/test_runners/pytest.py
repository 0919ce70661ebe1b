"""Runner of Python tests: pytest, which also runs suites of unittest."""

import functools
import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from scylla_gha.process import Cancel
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.recorded_tests import TestOutcome, TestRequest
from scylla_gha.readiness.test_runners import run_pytest
from scylla_gha.readiness.test_runners.base import BoxCommand, BoxRun, RunLimits, run_at_once, run_in_box

_PROGRAM: Final = "run_pytest.py"
_WANTED: Final = "wanted.json"
_MOST_RESTARTS: Final = 5


@dataclass(frozen=True, slots=True)
class PytestRunner:
    """Runner of pytest in an environment."""

    environment: CodeEnvironment
    limits: RunLimits = field(default_factory=RunLimits)
    cancel: Cancel | None = None

    @property
    def programs(self) -> Mapping[str, str]:
        """The program that runs pytest."""
        return {_PROGRAM: _program()}

    def command(self, tests: Collection[str]) -> str:
        """Return the shell command that runs these tests."""
        return self._command(" ".join(shlex.quote(test) for test in tests))

    def _command(self, arguments: str) -> str:
        roots = ":".join("$PWD" if root == "." else f"$PWD/{root}" for root in self.environment.import_roots)
        options = "".join(f"{shlex.quote(f'--option={option}')} " for option in self.environment.options)
        program = f'python3 -P "$CHECKS/{_PROGRAM}"'
        return f'PYTHONPATH="{roots}" PYTHONDONTWRITEBYTECODE=1 {program} {options}{arguments}'.strip()

    def run(self, tree: Path, tests: Collection[str] | None = None) -> Mapping[str, TestOutcome]:
        """Run tests in a copy of a tree."""
        run = self.record(tree, tests)
        wanted = {test for test in tests or () if "::" in test}
        message = "no end within the time limit of the run" if run.timed_out else f"did not run: {run.output[-1000:]}"
        unreached = dict.fromkeys({*wanted, *run.collected} - set(run.outcomes), TestOutcome(False, message))
        return {**unreached, **run.outcomes}

    def limited(self, run: float, test: float) -> "PytestRunner":
        """Return this runner with other time limits."""
        return replace(self, limits=RunLimits(run, test))

    def run_many(self, requests: Sequence[TestRequest]) -> list[Mapping[str, TestOutcome]]:
        """Run several requests at once."""
        return run_at_once(self, requests)

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

    def _once(self, tree: Path, arguments: list[str], *, measured: bool) -> BoxRun:
        programs = {**self.programs, _WANTED: json.dumps(arguments)}
        text = self._command(f'"@$CHECKS/{_WANTED}"')
        command = BoxCommand(text, programs, self.limits, measured)
        return run_in_box(self.environment, tree, command, self.cancel)


@functools.cache
def _program() -> str:
    return Path(run_pytest.__file__).read_text(encoding="utf-8")
