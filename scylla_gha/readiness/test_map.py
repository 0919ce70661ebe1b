"""Recording of a code base's tests: three runs, of which one measures the lines that each test executes."""

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from scylla_gha.counting import counted
from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.recorded_tests import StableTest, TestMap, TestRunner
from scylla_gha.readiness.source_code import CodeIndex
from scylla_gha.readiness.test_runners.base import BoxRun, RunLimits
from scylla_gha.readiness.test_runners.ecmascript import ScriptRunner
from scylla_gha.readiness.test_runners.go import GoRunner
from scylla_gha.readiness.test_runners.pytest import PytestRunner
from scylla_gha.system.future_wait import run_at_once
from scylla_gha.system.process import Cancel

_SHOWN: Final = 300


class RecordingRunner(TestRunner, Protocol):
    """Runner that also gives what a recording needs."""

    def record(
        self, tree: Path, tests: Collection[str] | None = None, *, is_reversed: bool = False, measured: bool = False
    ) -> BoxRun:
        """Run tests once, in reverse order if wanted, and with the executed lines if `measured`."""


def runner_of(
    environment: CodeEnvironment, cancel: Cancel | None = None, limits: RunLimits | None = None
) -> RecordingRunner | None:
    """Return the runner of an environment's tests; None: they cannot be run, for `environment.reason`."""
    if environment.framework is None:
        return None
    runners: Mapping[str, type[PytestRunner | GoRunner]] = {"pytest": PytestRunner, "go": GoRunner}
    runner = runners.get(environment.framework, ScriptRunner)
    return runner(environment, limits or RunLimits(), cancel)


def record_tests(
    tree: Path,
    environment: CodeEnvironment,
    index: CodeIndex,
    cancel: Cancel | None = None,
    limits: RunLimits | None = None,
    tests: Collection[str] | None = None,
) -> TestMap:
    """Run tests three times (None: all) and return the stable ones with the lines that each executes.

    The second run has the reverse order, because mutants are tested by single tests: those that need others before
    them are not stable. The third measures lines; both run at once.

    Raises:
        ToolError: the runner cannot be started.
    """
    runner = runner_of(environment, cancel, limits)
    if runner is None:
        return TestMap({}, reason=environment.reason or "no test runner is known for this code base")
    first = runner.record(tree, tests)
    passed = sorted(test for test, outcome in first.outcomes.items() if outcome.passed)
    if not passed:
        return TestMap({}, tuple(sorted(first.outcomes)), first.seconds, reason=_reason(first))
    stop = cancel.set if cancel else bool
    works = [
        partial(runner.record, tree, passed, is_reversed=True),
        partial(runner.record, tree, passed, measured=True),
    ]
    runs = run_at_once(works, 2, stop)
    stable = [test for test in passed if all(_has_passed(run, test) for run in runs)]
    lines = _lines_by_test(runs[1].measured, index)
    stable_tests = {}
    for test in stable:
        file = test.partition("::")[0]
        stable_tests[test] = StableTest(test, file, lines.get(_function_of(test)) or lines.get(file, {}))
    unstable = {*first.collected, *first.outcomes} - set(stable)
    reason = None if stable_tests else "no test passes in three runs"
    per_test = environment.framework in {"pytest", "go"}
    return TestMap(stable_tests, tuple(sorted(unstable)), first.seconds, per_test, reason)


def _function_of(test: str) -> str:
    """Return the id of the test function that a subtest of Go belongs to; other ids are as they were."""
    file, mark, name = test.partition("::")
    return f"{file}{mark}{name.partition('/')[0]}" if file.endswith(".go") else test


def _has_passed(run: BoxRun, test: str) -> bool:
    outcome = run.outcomes.get(test)
    return outcome is not None and outcome.passed


def _reason(run: BoxRun) -> str:
    """Return why no test passed."""
    if run.timed_out:
        return f"no test passed before the time limit of the run ({run.seconds:.0f} s)"
    reasons = []
    if run.outcomes:
        test, outcome = next(iter(run.outcomes.items()))
        count = len(run.outcomes)
        reasons.append(f"{f'all of {count} tests fail' if count > 1 else 'the only test fails'}; {test}: "
                       f"{_last_line(outcome.output)}")  # fmt: skip
    if run.broken:
        path, output = next(iter(run.broken.items()))
        reasons.append(f"{counted(len(run.broken), 'test file')} cannot be imported; {path}: {_last_line(output)}")
    if reasons:
        return "; ".join(reasons)
    return f"no tests: {_last_line(run.output)}" if run.output else "no tests"


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2].strip()[:_SHOWN]


def _lines_by_test(measured: bytes, index: CodeIndex) -> dict[str, dict[str, frozenset[int]]]:
    """Return executed lines of source files that are no tests, by test and path."""
    try:
        record = parse_json(measured or b"{}")
    except InvalidJsonError:
        return {}
    if not isinstance(record, dict):
        return {}
    ids: list[str] = record.get("tests", [])
    lines: dict[str, dict[str, set[int]]] = {test: {} for test in ids}
    files: Mapping[str, Mapping[str, list[int]]] = record.get("files", {})
    for path, tests_by_line in files.items():
        source = index.files.get(path)
        if source is not None and not source.is_test:
            for line, numbers in ((int(text), numbers) for text, numbers in tests_by_line.items()):
                for number in numbers:
                    lines[ids[number]].setdefault(path, set()).add(line)
    return {test: {path: frozenset(rows) for path, rows in by_path.items()} for test, by_path in lines.items()}
