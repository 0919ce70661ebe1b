"""Calls between functions of a code base: certain, unknown, or refuted."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scylla_gha.readiness.definitions import Definitions
from scylla_gha.readiness.module_names import Definition
from scylla_gha.readiness.modules import ModuleMap, module_maps
from scylla_gha.readiness.refutation import refutes
from scylla_gha.readiness.source_code import Call, CallEdge, Function, Language, SourceFile
from scylla_gha.readiness.standard_methods import STANDARD_METHODS

__all__ = ["call_edges", "refutes"]

_MOST_CANDIDATES: Final = 8
_SEVERAL_WORDS: Final = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z0-9][A-Z]")


def call_edges(files: Mapping[str, SourceFile], maps: Mapping[Language, ModuleMap] | None = None) -> Iterator[CallEdge]:
    """Return the certain and unknown calls between functions, once for each pair.

    Args:
        files: all parsed files of a code base.
        maps: modules of each language; None: without names of packages and modules of Go.
    """
    graph = _CallGraph(files, Definitions(files, maps or module_maps(files, {}, {})))
    for file in files.values():
        for function in file.functions:
            yield from graph.edges(function)


class _CallGraph:
    """Functions by their last names, and the classes that redefine methods."""

    def __init__(self, files: Mapping[str, SourceFile], definitions: Definitions) -> None:
        self._files, self._definitions = files, definitions
        self._by_name: dict[str, list[Function]] = defaultdict(list)
        self._subclasses: dict[Definition, list[Definition]] = defaultdict(list)
        for file in files.values():
            for function in file.functions:
                self._by_name[function.short_name].append(function)
            for declared in file.classes if not file.is_test else ():
                definition = Definition("class", file.path, declared.name)
                for ancestor in definitions.ancestors(definition)[0][1:]:
                    self._subclasses[ancestor].append(definition)

    def edges(self, function: Function) -> Iterator[CallEdge]:
        """Return the calls of a function."""
        certain: dict[str, int] = {}
        unknown: dict[str, int] = {}
        for call in function.calls:
            callees, is_certain = self._callees(function, call)
            for callee in callees:
                (certain if is_certain else unknown).setdefault(sys.intern(callee.id), call.line)
        caller_id = sys.intern(function.id)
        for callee_id, line in certain.items():
            yield CallEdge(caller_id, callee_id, line, "certain")
        for callee_id, line in unknown.items():
            if callee_id not in certain:
                yield CallEdge(caller_id, callee_id, line, "unknown")

    def _callees(self, function: Function, call: Call) -> tuple[Sequence[Function], bool]:
        definition = self._definitions.called(function.path, function, call.name)
        if definition is None:
            return self._candidates(function, call)
        callee = self._definitions.callee(definition, call.name)
        if callee is None:
            return [], True
        is_open = "." in call.name and not call.name.startswith("super") and definition.kind == "function"
        overriding = self._overriding(callee) if is_open else []
        return ([callee, *overriding], False) if overriding else ([callee], True)

    def _overriding(self, method: Function) -> list[Function]:
        """Return methods of subclasses that may run instead; those of tests do not count."""
        owner, _, name = method.name.rpartition(".")
        subclasses = self._subclasses.get(Definition("class", method.path, owner), [])
        methods = (self._definitions.method(subclass, name) for subclass in subclasses)
        return list({other.id: other for other in methods if other is not None and other.id != method.id}.values())

    def _candidates(self, function: Function, call: Call) -> tuple[Sequence[Function], bool]:
        """Return the functions of that name; the only one is certain if its name is no usual one."""
        receiver, _, name = call.name.rpartition(".")
        if not receiver and name in dict(function.variables):
            return [], False
        in_tests = self._files[function.path].is_test
        callees = [
            other
            for other in self._by_name.get(name, ())
            if _same_family(other.language, function.language) and (in_tests or not self._files[other.path].is_test)
        ]
        if len(callees) > _MOST_CANDIDATES:
            return [], False
        is_specific = bool(_SEVERAL_WORDS.search(name.strip("_"))) and name not in STANDARD_METHODS
        is_unique = len(callees) == 1 and bool(receiver) == ("." in callees[0].name) and is_specific
        return callees, is_unique and bool(receiver)


def _same_family(first: Language, second: Language) -> bool:
    scripts = ("javascript", "typescript")
    return first == second or (first in scripts and second in scripts)
