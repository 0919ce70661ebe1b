"""Common ground of the tasks with edits: their functions, the key of their grader, and their texts."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.model import slug
from scylla_gha.model.readiness import ChangedText
from scylla_gha.readiness.anchors import sample
from scylla_gha.readiness.hidden_tests import control_of
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.mutations import Mutant
from scylla_gha.readiness.probes import CoveringTests, Failures, Probe, run_probes
from scylla_gha.readiness.recorded_tests import StableTest, TestRequest
from scylla_gha.readiness.source_code import Function, Language, SourceFile

MOST_PER_FILE: Final = 3
_ROUNDS: Final = (slice(1), slice(1, None))  # the first fault of each function, then all others of those left
_MOST_TESTS: Final = 40  # tests that are run on a faulty function
_MOST_OTHERS: Final = 150  # further tests that a grader runs
_CHECK_SECONDS: Final = (120, 240)  # time limit of a grader's tests, which follows the suite's time
_OUTPUT_LINES: Final = 40
_NODE_FRAME: Final = re.compile(r"\s+at .*\bnode:[\w/.-]+:\d+:\d+\)?")  # of Node.js itself; not the same in each run
_ID_CHARS: Final = 50
_SUFFIXES: Final[Mapping[Language, tuple[str, ...]]] = {
    "python": (".py",),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "typescript": (".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx"),
    "go": (".go",),
}

Control = Mapping[str, str]  # as the grader reads it


@dataclass(frozen=True, slots=True)
class CoveredFunction:
    """Function that stable tests run.

    Attributes:
        tests: those tests, the ones that run the fewest lines first.
    """

    function: Function
    file: SourceFile
    tests: tuple[StableTest, ...]

    @property
    def covering(self) -> frozenset[str]:
        """Ids of all its tests."""
        return frozenset(test.id for test in self.tests)

    @property
    def lines(self) -> frozenset[int]:
        """Lines of its file that one of its tests runs."""
        return frozenset().union(*(test.lines[self.file.path] for test in self.tests))

    def most_specific(self, line: int | None = None) -> frozenset[str]:
        """Return the ids of the tests to run: of those that run the line, if any does, the ones with fewest lines."""
        at_line = [test for test in self.tests if line in test.lines[self.file.path]]
        return frozenset(test.id for test in (at_line or self.tests)[:_MOST_TESTS])


@dataclass(frozen=True, slots=True)
class EditGround:
    """Code base as the tasks with edits see it: its covered functions and its tests.

    Attributes:
        covered: functions that stable tests run, by id.
        controls: tests that must fail, by the folder of test files.
        by_file: ids of stable tests by their file.
    """

    material: ReadinessMaterial
    covered: Mapping[str, CoveredFunction]
    controls: Mapping[str, Control]
    by_file: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, material: ReadinessMaterial) -> "EditGround":
        """Find the covered functions, and the folders in which a failing test is seen to fail.

        Raises:
            ToolError: the tests cannot be run.
        """
        tests = CoveringTests.of(material.tests)
        covered = {
            function.id: CoveredFunction(function, file, run)
            for file in material.index.files.values()
            if not file.is_test
            for function in file.functions
            if (run := tests.of_function(function))
        }
        by_file: dict[str, list[str]] = {}
        for test in sorted(material.tests.tests.values(), key=lambda test: test.id):
            by_file.setdefault(test.file, []).append(test.id)
        controls = _checked_controls(material, by_file)
        return cls(material, covered, controls, {path: tuple(tests) for path, tests in by_file.items()})

    def draws(
        self, eligible: Collection[Function], wanted: int, accepted: Counter[str], spare: float
    ) -> Iterator[list[CoveredFunction]]:
        """Yield samples of functions that were not in one before, until enough are accepted or none is left.

        Args:
            eligible: functions to draw from, all of them covered.
            wanted: number of functions to accept.
            accepted: number of accepted functions by file; the caller counts them.
            spare: share that is drawn in addition, because not all can be used.
        """
        left = {function.id: function for function in eligible}
        while left and (missing := wanted - accepted.total()) > 0:
            open_files = [function for function in left.values() if accepted[function.path] < MOST_PER_FILE]
            drawn = sample(open_files, self.material.seed, missing + math.ceil(spare * missing), MOST_PER_FILE)
            if not drawn:
                return
            for function in drawn:
                del left[function.id]
            yield [self.covered[function.id] for function in drawn]

    def control(self, tests: Iterable[str]) -> Control | None:
        """Return a test that must fail, in the folder of one of the tests."""
        folders = (_folder(test.partition("::")[0]) for test in sorted(tests))
        return next((self.controls[folder] for folder in folders if folder in self.controls), None)

    def key(self, tests: Iterable[str], control: Control) -> dict[str, Any]:
        """Return the part of the grader's key that says how tests run and what counts as a source."""
        runner, files = self.material.runner, self.material.index.files.values()
        assert runner is not None  # noqa: S101 no item exists without
        return {
            "command": runner.command(sorted({*tests, control["id"]})),
            "control": dict(control),
            "seconds": round(min(max(_CHECK_SECONDS[0], 10 * self.material.tests.seconds), _CHECK_SECONDS[1])),
            "suffixes": list(_SUFFIXES[self.material.language]),
            "test_files": sorted(file.path for file in files if file.is_test),
        }

    def originals(self, paths: Iterable[str]) -> tuple[ChangedText, ...]:
        """Return test files as they are in the code base."""
        files = self.material.index.files
        return tuple(ChangedText(path=path, text=files[path].text) for path in sorted(set(paths)) if path in files)

    def others(self, tests: Collection[str]) -> list[str]:
        """Return the stable tests that share a file with these tests."""
        paths = sorted({test.partition("::")[0] for test in tests})
        return [test for path in paths for test in self.by_file.get(path, ()) if test not in tests][:_MOST_OTHERS]


def _checked_controls(material: ReadinessMaterial, by_file: Mapping[str, object]) -> dict[str, Control]:
    """Return a control for each folder of test files in which it is run and fails."""
    files = material.index.files
    controls = {_folder(path): control for path in sorted(by_file)
                if path in files and (control := control_of(files[path]))}  # fmt: skip
    if not controls or material.runner is None:
        return {}
    texts = {control["path"]: control["text"] for control in controls.values()}
    wanted = frozenset(control["id"] for control in controls.values())
    (outcomes,) = material.runner.run_many([TestRequest(material.root, wanted, texts)])
    seen = {test for test, outcome in outcomes.items() if not outcome.passed and "not run" not in outcome.output}
    return {path: control for path, control in controls.items() if control["id"] in seen}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def item_id(verb: str, function: Function, seed: int) -> str:
    """Return an item's id; its number is a hash of the anchor, so a commit elsewhere leaves it as it is."""
    number = int(hashlib.sha256(f"{seed}\0{verb}\0{function.id}".encode()).hexdigest()[:8], 16) % 1000
    name = re.sub("[.-]+", "-", slug(f"{verb} {function.name}"))
    return f"{number:03d}-{name[:_ID_CHARS].strip('-')}"


def shown_name(function: Function) -> str:
    """Return how a prompt names a function."""
    return f"`{function.name}` in `{function.path}`"


def log_of(test: str, output: str) -> str:
    """Return a failure as a CI log shows it, as a block of Markdown, without what differs from run to run."""
    text = re.sub(r"\b0x[0-9a-f]{6,}\b", "0x7f0000000000", output.strip())
    text = re.sub(r"(?<![\w/])/(tmp|var/folders)/[\w./-]*?/(?=\w)", "", text)
    shown = [line for line in text.splitlines() if not _NODE_FRAME.fullmatch(line)]
    lines = [f"FAILED {test}", *shown[-_OUTPUT_LINES:]]
    fence = "`" * max(3, *(len(run) + 1 for line in lines for run in re.findall("`+", line)), 0)
    return "\n".join((fence, *lines, fence))


def killed_faults(
    material: ReadinessMaterial, candidates: Iterable[tuple[CoveredFunction, Sequence[Mutant]]]
) -> list[tuple[CoveredFunction, Mutant | None, Failures]]:
    """Return each function's first fault that a test notices, and what fails then; None if no test notices any.

    Raises:
        ToolError: the tests cannot be run.
    """
    pending = [*candidates]
    noticed: dict[str, tuple[Mutant, Failures]] = {}
    for part in _ROUNDS:
        trials = [(covered, fault) for covered, faults in pending if covered.function.id not in noticed
                  for fault in faults[part]]  # fmt: skip
        probes = [
            Probe(fault.function, (fault,), covered.most_specific(fault.span.first), covered.covering, has_outputs=True)
            for covered, fault in trials
        ]
        for (_, fault), failures in zip(trials, run_probes(material, probes), strict=True):
            if failures:
                noticed.setdefault(fault.function, (fault, failures))
    return [(covered, *noticed.get(covered.function.id, (None, {}))) for covered, _ in pending]
