"""Runs of tests on code with faults, several faults in one copy.

Two functions share a copy if no test of one runs the other, so each failure has one cause. A run that broke off,
because of a loop or of an error at import, is repeated for each function alone whose own test is not the cause.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.model.readiness import ChangedText
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.mutations import Mutant, with_mutants
from scylla_gha.readiness.recorded_tests import StableTest, TestMap, TestOutcome, TestRequest
from scylla_gha.readiness.source_code import Function
from scylla_gha.readiness.test_runners.box_runner import changed_tree

_BROKEN: Final = re.compile(r"no end within|did not run|not run")
_LATE: Final = re.compile(r"no end within (?!the time limit)")
_SKIPPED: Final = re.compile(r"(passed|skipped|, )+")  # a skip that a fault causes is no failure to repair
# A fault may make an endless loop; limits follow the time of the whole suite
_LEAST_RUN_SECONDS: Final = 30.0
_TEST_SECONDS: Final = (5.0, 20.0)
_MOST_TESTS: Final = 400  # of a copy, so that several copies run at the same time

Failures = Mapping[str, str]  # outputs of tests that fail, by id


@dataclass(frozen=True, slots=True)
class Probe:
    """Faults of one function and the tests to run on them.

    Attributes:
        function: id of the function.
        faults: its faults, all in one copy.
        tests: ids of the tests to run.
        covering: ids of all tests that run the function.
        has_outputs: the outputs of failing tests are needed, as a CI log shows them.
    """

    function: str
    faults: tuple[Mutant, ...]
    tests: frozenset[str]
    covering: frozenset[str]
    has_outputs: bool = False


@dataclass(frozen=True, slots=True)
class CoveringTests:
    """Tests by the files that they run, those that run the fewest lines first."""

    by_path: Mapping[str, tuple[StableTest, ...]]

    @classmethod
    def of(cls, tests: TestMap) -> "CoveringTests":
        """Sort the tests of a map."""
        by_path: dict[str, list[StableTest]] = {}
        footprints = {test.id: sum(map(len, test.lines.values())) for test in tests.tests.values()}
        for test in sorted(tests.tests.values(), key=lambda test: (footprints[test.id], test.id)):
            for path in test.lines:
                by_path.setdefault(path, []).append(test)
        return cls({path: tuple(ordered) for path, ordered in by_path.items()})

    def of_function(self, function: Function) -> tuple[StableTest, ...]:
        """Return the tests that run a line of the function's body."""
        lines = range(function.body.first, function.body.last + 1)
        tests = self.by_path.get(function.path, ())
        return tuple(test for test in tests if not test.lines[function.path].isdisjoint(lines))


def run_probes(material: ReadinessMaterial, probes: Sequence[Probe]) -> list[Failures | None]:
    """Return what fails in each probe; None: its tests broke off, so nothing is known.

    Raises:
        ToolError: the tests cannot be run.
    """
    failures: dict[int, Failures | None] = {}
    batches = _batches(probes)
    broken: list[list[int]] = []
    for numbers, outcomes in zip(batches, _run(material, probes, batches), strict=True):
        failures |= {number: _failures(probes[number], outcomes) for number in numbers}
        broken += [[number] for number in numbers if failures[number] is None and len(numbers) > 1
                   and not _has_late_test(probes[number], outcomes)]  # fmt: skip
    for (number,), outcomes in zip(broken, _run(material, probes, broken), strict=True):
        failures[number] = _failures(probes[number], outcomes)
    return [failures[number] for number in range(len(probes))]


def _failures(probe: Probe, outcomes: Mapping[str, TestOutcome]) -> Failures | None:
    results = {test: outcomes.get(test, TestOutcome(False, "not run")) for test in probe.tests}
    failed = {test: outcome.output for test, outcome in results.items()
              if not outcome.passed and not _SKIPPED.fullmatch(outcome.output)}  # fmt: skip
    return None if any(_BROKEN.match(output) for output in failed.values()) else dict(sorted(failed.items()))


def _has_late_test(probe: Probe, outcomes: Mapping[str, TestOutcome]) -> bool:
    return any(_LATE.match(outcomes[test].output) for test in probe.tests if test in outcomes)


def _batches(probes: Sequence[Probe]) -> list[list[int]]:
    """Put each probe into the first copy where it can share."""
    batches: list[list[int]] = []
    for number, probe in enumerate(probes):
        shared = next((batch for batch in batches if _fits(probe, [probes[other] for other in batch])), None)
        if shared is None:
            batches.append([number])
        else:
            shared.append(number)
    return batches


def _fits(probe: Probe, others: Sequence[Probe]) -> bool:
    if sum(len(other.tests) for other in others) + len(probe.tests) > _MOST_TESTS:
        return False
    return not any(probe.tests & other.covering or probe.covering & other.tests for other in others)


def _run(
    material: ReadinessMaterial, probes: Sequence[Probe], batches: Sequence[Sequence[int]]
) -> list[Mapping[str, TestOutcome]]:
    if not batches or material.runner is None:
        return [{} for _ in batches]
    requests = []
    for batch in batches:
        tests = frozenset[str]().union(*(probes[index].tests for index in batch))
        texts = _texts(material, (fault for index in batch for fault in probes[index].faults))
        has_outputs = any(probes[index].has_outputs for index in batch)
        requests.append(TestRequest(material.root, tests, texts, is_probe=True, has_outputs=has_outputs))
    seconds = material.tests.seconds
    runner = material.runner.limited(
        max(_LEAST_RUN_SECONDS, 3 * seconds), min(max(_TEST_SECONDS[0], seconds), _TEST_SECONDS[1])
    )
    return runner.run_many(requests)


def _texts(material: ReadinessMaterial, faults: Iterable[Mutant]) -> dict[str, str | None]:
    by_path: dict[str, list[Mutant]] = {}
    for fault in faults:
        by_path.setdefault(fault.path, []).append(fault)
    files = material.index.files
    return {path: with_mutants(files[path].text, own) for path, own in by_path.items()}


def changed_copy(root: Path, target: Path, changes: Iterable[ChangedText]) -> Path:
    """Write a copy of a folder with other texts; files that stay are hard links where that is possible."""
    return changed_tree(root, target, {change.path: change.text for change in changes})
