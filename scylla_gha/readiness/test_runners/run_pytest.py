"""Program that runs tests with pytest and writes a line of JSON for each; it imports nothing of the toolkit.

    run_pytest.py [--option=OPTION ...] [--reverse] [--stop-late] [--without=FILE ...] [ID ... | @FILE]

OPTION is one of pytest's; --stop-late runs no test after one that reached its time limit; an id is that of a test or of
a file; none: all tests; @FILE: a file with a JSON list of further arguments. Environment:

| variable | content |
|---|---|
| OUTCOMES | file to which the lines are appended |
| LINES | file for the executed lines by test, as JSON; unset: they are not measured |
| TEST_SECONDS | time limit of a test |

Lines are {"start": id of a test, or file that is imported}, {"broken": file, "output": text}, {"collected": [ids]} and
{"id", "passed", "output"}.
"""

import contextlib
import faulthandler
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from coverage import Coverage

_WITHOUT: Final = "--without="
_OPTION: Final = "--option="
_OUTPUT_CHARS: Final = 4000
_SECONDS: Final = 60.0
_AGAIN_SECONDS: Final = 1.0  # a test that catches the exception gets another one
_NOT_MEASURED: Final = ("*/tests/*", "*/test/*", "*/test_*.py", "*_test.py", "*/conftest.py", "*/.venv/*")
_KILL_SECONDS: Final = 5.0  # afterwards the whole process is ended: a library may not return to Python
# The repository's own options may require missing plug-ins, and a random order is not the same in two runs.
_OPTIONS: Final = ("-q", "-o", "addopts=", "-o", "required_plugins=", "-p", "no:cacheprovider", "-p", "no:randomly",
                   "-p", "no:xdist", "--rootdir=.", "--continue-on-collection-errors", "--tb=short",
                   "--color=no")  # fmt: skip


class OutcomeWriter:
    """Plug-in that selects tests, limits their time and writes their outcomes."""

    def __init__(
        self, ids: frozenset[str], *, is_reversed: bool, stops_late: bool, coverage: "Coverage | None"
    ) -> None:
        self.ids, self.is_reversed, self.coverage = ids, is_reversed, coverage
        self.file = os.path.abspath(os.environ.pop("OUTCOMES", "outcomes.jsonl"))  # noqa: PTH100 the folder may change
        self.seconds = float(os.environ.pop("TEST_SECONDS", _SECONDS))
        self.process = os.getpid()
        self.phases: dict[str, str] = {}
        self.failures: list[str] = []
        self.stops_late, self.is_late = stops_late, False

    def write(self, **line: object) -> None:
        """Append a line; a child process that a test forked writes none."""
        if os.getpid() == self.process:
            with open(self.file, "a", encoding="utf-8") as file:  # noqa: PTH123
                file.write(json.dumps(line) + "\n")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the wanted tests."""
        if self.ids:
            wanted = [item for item in items if self.ids & {item.nodeid, item.nodeid.partition("::")[0]}]
            config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
            items[:] = wanted
        if self.is_reversed:
            items.reverse()
        self.write(collected=[item.nodeid for item in items])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """Write which file is imported, and keep it from ending the process."""
        if isinstance(collector, pytest.File):
            self.write(start=collector.nodeid)
        outcome: Any = yield
        if outcome.excinfo and issubclass(outcome.excinfo[0], SystemExit):
            message = f"{collector.nodeid}: ended Python with {outcome.excinfo[1]!r} when it was imported"
            outcome.force_result(pytest.CollectReport(collector.nodeid, "failed", message, []))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write which file cannot be imported."""
        if report.failed:
            self.write(broken=report.nodeid, output=report.longreprtext[-_OUTPUT_CHARS:])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Limit a test's time, and note its lines as its own."""
        self.phases, self.failures = {}, []
        self.write(start=item.nodeid)
        if self.coverage is not None:
            self.coverage.switch_context(item.nodeid)
        signal.signal(signal.SIGALRM, self._end_test)
        signal.setitimer(signal.ITIMER_REAL, self.seconds, _AGAIN_SECONDS)
        faulthandler.dump_traceback_later(self.seconds + _KILL_SECONDS, exit=True)
        yield
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        if self.coverage is not None:
            self.coverage.switch_context("")
        passed = not self.failures and self.phases.get("call") == "passed"
        output = "\n".join(self.failures) or ("" if passed else ", ".join(self.phases.values()) or "not run")
        self.write(id=item.nodeid, passed=passed, output=output[-_OUTPUT_CHARS:])
        if self.is_late and self.stops_late:
            item.session.shouldstop = f"{item.nodeid} did not end"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a phase (set-up, call, tear-down), or of a subtest."""
        if report.failed:
            self.failures.append(report.longreprtext)
        if report.outcome != "passed" or report.when not in self.phases:
            self.phases[report.when] = report.outcome

    def _end_test(self, *_: object) -> None:
        self.is_late = True
        pytest.fail(f"no end within {self.seconds:g} s", pytrace=False)


def main(arguments: list[str], plugins: Sequence[object] = ()) -> int:
    """Run the tests, with further plug-ins; return pytest's exit code."""
    if arguments and arguments[-1].startswith("@"):
        arguments = arguments[:-1] + json.loads(Path(arguments[-1][1:]).read_text(encoding="utf-8"))
    ids = _ids(arguments)
    if ids and not _files(arguments):
        return int(pytest.ExitCode.NO_TESTS_COLLECTED)
    lines = os.environ.pop("LINES", None)
    coverage = _coverage() if lines else None
    with _measured(coverage, lines):
        writer = OutcomeWriter(
            frozenset(ids), is_reversed="--reverse" in arguments, stops_late="--stop-late" in arguments,
            coverage=coverage,
        )  # fmt: skip
        return start(arguments, [writer, *plugins])


def start(arguments: Sequence[str], plugins: Sequence[object]) -> int:
    """Run pytest on the files of the arguments; return its exit code."""
    options = [argument.removeprefix(_OPTION) for argument in arguments if argument.startswith(_OPTION)]
    ignored = [f"--ignore={name}" for name in _without(arguments)]
    return int(pytest.main([*_OPTIONS, *options, *ignored, *map(_argument, _files(arguments))], plugins=plugins))


def _ids(arguments: Sequence[str]) -> list[str]:
    return [argument for argument in arguments if not argument.startswith("--")]


def _without(arguments: Sequence[str]) -> list[str]:
    return [argument.removeprefix(_WITHOUT) for argument in arguments if argument.startswith(_WITHOUT)]


def _files(arguments: Sequence[str]) -> list[str]:
    """Return the files of the ids that exist and are not left out."""
    names = {test.partition("::")[0] for test in _ids(arguments)}
    return sorted(name for name in names if Path(name).exists() and name not in _without(arguments))


def _argument(name: str) -> str:
    """Return the path of a file as pytest takes it: a dash may begin it, and of a name with a bracket the folder."""
    return f"./{name}" if "[" not in name else f"./{name.partition('[')[0].rpartition('/')[0]}"


def _coverage() -> "Coverage":
    from coverage import Coverage

    os.environ["COVERAGE_CORE"] = "ctrace"  # sys.monitoring knows no contexts before Python 3.14
    # Not `source`: it would look at each file of the tree, and fail at names that are not UTF-8
    return Coverage(data_file=None, config_file=False, include=[f"{Path.cwd()}/*"], omit=_NOT_MEASURED)


@contextlib.contextmanager
def _measured(coverage: "Coverage | None", lines: str | None) -> Iterator[None]:
    """Measure the lines and write them, also if a plug-in of the code base raises an error in the end."""
    if coverage is None or lines is None:
        yield
        return
    root = Path.cwd()
    coverage.start()
    try:
        yield
    finally:
        coverage.stop()
        Path(lines).write_text(json.dumps(_lines_by_test(coverage, root)), encoding="utf-8")


def _lines_by_test(coverage: "Coverage", root: Path) -> dict[str, object]:
    """Return the tests' ids, and by file and line the numbers of the tests that executed the line."""
    measured = coverage.get_data()
    numbers: dict[str, int] = {}
    files: dict[str, dict[str, list[int]]] = {}
    for name in measured.measured_files():
        path = Path(name)
        if not path.is_relative_to(root):
            continue
        files[path.relative_to(root).as_posix()] = {
            str(line): [numbers.setdefault(context, len(numbers)) for context in contexts if context]
            for line, contexts in measured.contexts_by_lineno(name).items()
            if any(contexts)
        }
    return {"tests": list(numbers), "files": files}


if __name__ == "__main__":
    given_arguments, sys.argv[1:] = sys.argv[1:], []
    code = main(given_arguments)
    sys.stdout.flush()
    os._exit(code)  # threads that tests left would keep the process
