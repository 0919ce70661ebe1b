"""Recorded test runs of a code base: which tests are stable, and which lines each of them executes."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """Result of one test in one run.

    Attributes:
        output: assertion and the end of the traceback, as a CI log shows it; "" if it passed.
    """

    __test__ = False  # no class of tests for pytest

    passed: bool
    output: str = ""


@dataclass(frozen=True, slots=True)
class TestRequest:
    """Tests to run on a tree.

    Attributes:
        tests: as in `TestRunner.run`.
        changes: texts of files that differ from the tree, None for a missing one; not UTF-8 is kept by surrogates.
        is_probe: a test that does not end says enough, so that the others need not be run.
        has_outputs: outputs show where in the code a test fails; False: the error alone may do, which is faster.
    """

    __test__ = False

    tree: Path
    tests: frozenset[str] | None = None
    changes: Mapping[str, str | None] = field(default_factory=dict)
    is_probe: bool = False
    has_outputs: bool = True


class TestRunner(Protocol):
    """Way to run a code base's tests in the check box, without network, under a time limit."""

    @property
    def programs(self) -> Mapping[str, str]:
        """Texts of the programs that `command` needs in the folder $CHECKS, by file name."""

    def run(self, tree: Path, tests: Collection[str] | None = None) -> Mapping[str, TestOutcome]:
        """Run tests in a copy of `tree` and return their outcomes by id; the tree itself is not written.

        A test that the run did not reach, because of a crash or the time limit, has failed.

        Args:
            tree: the code base, possibly changed.
            tests: ids of tests, or of whole files; None: all.

        Raises:
            ToolError: the runner cannot be started.
        """

    def run_many(self, requests: Sequence[TestRequest]) -> list[Mapping[str, TestOutcome]]:
        """Run several requests at once, one for each core; return their outcomes in the same order.

        Raises:
            ToolError: the runner cannot be started.
        """

    def kept(self, tree: Path, files: Collection[str] = ()) -> AbstractContextManager["TestRunner"]:
        """Give a runner that keeps for many requests what they have in common.

        Args:
            tree: the requests are on it and on its variants.
            files: files of tests that will be asked for.
        """

    def limited(self, run: float, test: float) -> "TestRunner":
        """Return this runner with other time limits in seconds: of a run, and of a test (JavaScript: of a file)."""

    def stop(self) -> None:
        """End all runs: an error was raised in another thread."""

    def command(self, tests: Collection[str]) -> str:
        """Return the shell command that runs these tests in the code base's root, for a checkpoint of a scenario.

        It appends a line of JSON to the file $OUTCOMES for each test that ended: {"id": "tests/a.py::test_b",
        "passed": false, "output": "assert 1 == 2"}; other lines have no "passed". A test without a line has failed.
        The exit code says nothing.
        """


@dataclass(frozen=True, slots=True)
class StableTest:
    """Test that passed in all recorded runs.

    Attributes:
        id: name that the runner understands ("tests/test_a.py::test_b", "test/a.test.js::adds").
        file: its file.
        lines: executed lines of source files that are no tests, by path.
    """

    id: str
    file: str
    lines: Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class TestMap:
    """Stable tests of a code base and what they execute.

    Attributes:
        tests: by id.
        unstable: ids of tests that failed in a run, or that not every run had.
        seconds: time of the suite's first run, without coverage.
        per_test: False if lines are known for whole test files only (JavaScript), so each test has those of its file.
        reason: why there are no tests; None if there are.
    """

    __test__ = False

    tests: Mapping[str, StableTest]
    unstable: tuple[str, ...] = ()
    seconds: float = 0.0
    per_test: bool = True
    reason: str | None = None
