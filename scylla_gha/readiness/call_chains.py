"""Chains of calls: which functions tests run together, shortest paths, and functions on every path."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.recorded_tests import StableTest
from scylla_gha.readiness.source_code import CodeIndex, Function

Edges = Mapping[str, Collection[str]]  # callees by caller, in order


def certain_edges(index: CodeIndex) -> dict[str, list[str]]:
    """Return the certain calls between functions that hold no tests, and whose names are clear."""
    callees: dict[str, set[str]] = defaultdict(set)
    for edge in index.edges:
        if edge.certainty == "certain" and edge.caller != edge.callee and _is_clear(index, edge.caller, edge.callee):
            callees[edge.caller].add(edge.callee)
    return {caller: sorted(names) for caller, names in callees.items()}


def _is_clear(index: CodeIndex, *names: str) -> bool:
    return not any("#" in name or f"{name}#2" in index.functions or index.files[name.partition("::")[0]].is_test
                   for name in names)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reach:
    """Functions that an entry reaches, with the one before it on a shortest path, nearest first."""

    entry: str
    before: Mapping[str, str]

    def path(self, end: str) -> list[str]:
        """Return the shortest path from the entry to one of the functions."""
        names = [end]
        while names[-1] != self.entry:
            names.append(self.before[names[-1]])
        return names[::-1]


def reach(edges: Edges, entry: str, without: str = "") -> Reach:
    """Return what an entry reaches, along calls that do not touch the function `without`."""
    before: dict[str, str] = {}
    waiting = deque([entry])
    while waiting:
        caller = waiting.popleft()
        for callee in edges.get(caller, ()):
            if callee not in before and callee not in (entry, without):
                before[callee] = caller
                waiting.append(callee)
    return Reach(entry, before)


def functions_on_every_path(edges: Edges, path: list[str]) -> list[str]:
    """Return the functions between the ends of a path which every path from its first to its last function has."""
    first, last = path[0], path[-1]
    return [name for name in path[1:-1] if last not in reach(edges, first, without=name).before]


class ExecutedFunctions:
    """Functions that tests run, by test and by function; without recorded tests nothing is known."""

    def __init__(self, material: ReadinessMaterial) -> None:
        self._index = material.index
        self._tests = material.tests.tests
        self._by_test: dict[str, frozenset[str]] = {}
        self._by_path: dict[str, list[StableTest]] = defaultdict(list)
        for test in self._tests.values():
            for path in test.lines:
                self._by_path[path].append(test)

    @property
    def is_known(self) -> bool:
        """True if there are recorded tests."""
        return bool(self._tests)

    def tests_of(self, function: Function) -> list[StableTest]:
        """Return the tests that run a line of the function's body."""
        return [test for test in self._by_path.get(function.path, ()) if _runs(test, function)]

    def by_test(self, test: StableTest) -> frozenset[str]:
        """Return the ids of the functions that a test runs."""
        if test.id not in self._by_test:
            files = (self._index.files[path] for path in test.lines if path in self._index.files)
            names = (function.id for file in files for function in file.functions if _runs(test, function))
            self._by_test[test.id] = frozenset(names)
        return self._by_test[test.id]

    def edges_from(self, entry: Function, edges: Edges) -> dict[str, list[str]]:
        """Return the calls whose two functions a test runs that runs the entry too."""
        together: dict[str, set[str]] = defaultdict(set)
        for test in self.tests_of(entry):
            ran = self.by_test(test)
            for caller in ran & edges.keys():
                together[caller] |= ran.intersection(edges[caller])
        return {caller: sorted(callees) for caller, callees in together.items()}


def _runs(test: StableTest, function: Function) -> bool:
    lines = test.lines[function.path]
    body = function.body
    if len(lines) < body.last - body.first:
        return any(line in body for line in lines)
    return any(line in lines for line in range(body.first, body.last + 1))


def paths_of(names: Iterable[str]) -> list[str]:
    """Return the files of functions, each once, in order of the functions."""
    return list(dict.fromkeys(name.partition("::")[0] for name in names))
