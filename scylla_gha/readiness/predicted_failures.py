"""Questions on what a fault does: four tests of a function with one changed line, of which two fail."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scylla_gha.readiness.anchors import sample
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.mutations import Mutant, mutants
from scylla_gha.readiness.probes import CoveringTests, Failures, Probe, run_probes
from scylla_gha.readiness.question_prompts import can_be_listed
from scylla_gha.readiness.recorded_tests import StableTest
from scylla_gha.readiness.source_code import Function, SourceFile

_PER_SIDE: Final = 2  # failing tests, and passing ones
_MOST_TESTS: Final = 24  # that are run on a fault, of those that execute its line
_MOST_OTHERS: Final = 6  # tests of the function that do not
_MOST_FAULTS: Final = 4  # that are tried in a function
_ROUNDS: Final = (slice(1), slice(1, None))  # the first fault of each function, then all others of those left
_LEAST_FUNCTIONS, _MOST_FUNCTIONS = 8, 32
_MOST_MUTANTS: Final = 30  # of a function that are looked at
_MOST_PER_FILE: Final = 3


@dataclass(frozen=True, slots=True)
class PredictedFailures:
    """Function, its fault, and four tests: they run the function, or stand beside tests that do.

    Attributes:
        listed: ids of the tests, in an order that says nothing.
        failing: the two of them that fail.
    """

    function: Function
    fault: Mutant
    listed: tuple[str, ...]
    failing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    function: Function
    faults: tuple[Mutant, ...]
    tests: tuple[StableTest, ...]
    beside: tuple[str, ...]

    def probe(self, fault: Mutant, seed: int) -> Probe:
        """Return the run of a fault: tests that execute its line, some that do not, and some beside the function."""
        at_line, others = _split(fault, self.tests)
        tests = [*at_line[:_MOST_TESTS], *_ordered(others, seed)[:_MOST_OTHERS], *self.beside]
        return Probe(self.function.id, (fault,), frozenset(tests), frozenset(test.id for test in self.tests))


def _split(fault: Mutant, tests: Iterable[StableTest]) -> tuple[list[str], list[str]]:
    """Return the ids of the tests that execute a fault's line, those that run the fewest lines first, and of others."""
    at_line, others = list[str](), list[str]()
    for test in (test for test in tests if can_be_listed(test.id)):
        (at_line if fault.span.first in test.lines[fault.path] else others).append(test.id)
    return at_line, others


def predicted_failures(material: ReadinessMaterial, counts: Counter[str] | None = None) -> list[PredictedFailures]:
    """Return functions with a fault that two of their tests notice and two do not, as their runs show.

    Args:
        material: of the code base.
        counts: gets the yields, by name.

    Raises:
        ToolError: the tests cannot be run.
    """
    candidates = _candidates(material)
    questions: dict[str, PredictedFailures] = {}
    for part in _ROUNDS if material.runner else ():
        trials = [(candidate.function, candidate.probe(fault, material.seed)) for candidate in candidates
                  if candidate.function.id not in questions for fault in candidate.faults[part]]  # fmt: skip
        probes = [probe for _, probe in trials]
        for (function, probe), failures in zip(trials, run_probes(material, probes), strict=True):
            question = _question(function, probe, failures, material.seed)
            if question is not None:
                questions.setdefault(function.id, question)
    if counts is not None:
        counts["functions tried for questions on tests"] = len(candidates)
        counts["functions with two failing and two passing tests"] = len(questions)
    return [questions[candidate.function.id] for candidate in candidates if candidate.function.id in questions]


def _candidates(material: ReadinessMaterial) -> list[_Candidate]:
    """Return a sample of the functions that enough tests run, with the faults to try."""
    index, seed = material.index, material.seed
    covering = CoveringTests.of(material.tests)
    tests = {
        function.id: covering.of_function(function)
        for file in index.files.values()
        if not file.is_test
        for function in file.functions
    }
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in _ordered((test.id for test in material.tests.tests.values() if can_be_listed(test.id)), seed):
        by_file[material.tests.tests[test].file].append(test)
    eligible = [index.functions[name] for name, own in tests.items() if len(own) >= _PER_SIDE]
    return [
        _Candidate(
            function,
            _faults(index.files[function.path], function, tests[function.id], seed),
            tests[function.id],
            tuple(_beside(tests[function.id], by_file)),
        )
        for function in sample(eligible, seed, functions_tried(material), _MOST_PER_FILE)
    ]


def functions_tried(material: ReadinessMaterial) -> int:
    """Return the number of functions that are tried for questions; items may share one."""
    return min(max(material.wanted + material.wanted // 3, _LEAST_FUNCTIONS), _MOST_FUNCTIONS)


def _beside(tests: Sequence[StableTest], by_file: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Return tests that do not run the function, of the files of those that do."""
    own = {test.id for test in tests}
    for path in dict.fromkeys(test.file for test in tests[:_PER_SIDE]):
        yield from islice((name for name in by_file[path] if name not in own), _PER_SIDE)


def _faults(file: SourceFile, function: Function, tests: Sequence[StableTest], seed: int) -> tuple[Mutant, ...]:
    """Return the faults to try, first those in lines that some of the tests execute and some do not."""
    candidates = islice(mutants(file, function, seed), _MOST_MUTANTS)

    def is_undivided(fault: Mutant) -> bool:
        return min(map(len, _split(fault, tests))) < _PER_SIDE

    return tuple(sorted(candidates, key=is_undivided)[:_MOST_FAULTS])


def _question(function: Function, probe: Probe, failures: Failures | None, seed: int) -> PredictedFailures | None:
    if failures is None:
        return None
    failing = _chosen([test for test in probe.tests if test in failures], seed)
    passing = [test for test in probe.tests if test not in failures]
    own = _chosen([test for test in passing if test in probe.covering], seed)
    passing = [*own, *_chosen([test for test in passing if test not in probe.covering], seed)][:_PER_SIDE]
    if min(len(failing), len(passing)) < _PER_SIDE or not probe.covering.issuperset(failing):
        return None
    (fault,) = probe.faults
    return PredictedFailures(function, fault, tuple(_ordered([*failing, *passing], seed)), tuple(sorted(failing)))


def _chosen(tests: Sequence[str], seed: int) -> list[str]:
    """Return two tests, of two functions if possible; a parametrised test has several ids."""
    by_function: dict[str, str] = {}
    for test in _ordered(tests, seed):
        by_function.setdefault(test.partition("[")[0], test)
    first = list(by_function.values())
    return [*first, *(test for test in _ordered(tests, seed) if test not in first)][:_PER_SIDE]


def _ordered(tests: Iterable[str], seed: int) -> list[str]:
    return sorted(tests, key=lambda test: hashlib.sha256(f"{seed}\0{test}".encode(errors="replace")).hexdigest())
