"""Functions that a question names, and their callers; they lie apart from what another question looks for."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from scylla_gha.readiness.source_code import CodeIndex, Function

MOST_CALLERS: Final = 8
Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Callers:
    """Functions that call another one, tests left out.

    Attributes:
        certain: ids of its callers.
        undecided: ids of functions that might call it, or contain a caller.
    """

    certain: tuple[str, ...]
    undecided: tuple[str, ...]


class CallersByFunction:
    """Direct callers of each function, and which functions lie apart from others."""

    def __init__(self, index: CodeIndex) -> None:
        self._index = index
        self._edges: dict[str, dict[str, set[str]]] = {"certain": defaultdict(set), "unknown": defaultdict(set)}
        for edge in index.edges:
            self._edges[edge.certainty][edge.callee].add(edge.caller)

    def of(self, function: str) -> Callers:
        """Return the callers of a function."""
        certain = {name for name in self._edges["certain"].get(function, ()) if self._counts(name, function)}
        outer = {f"{path}::{ancestor}" for path, _, name in (caller.partition("::") for caller in certain)
                 for ancestor in _ancestors(name)}  # fmt: skip
        undecided = (self._edges["unknown"].get(function, set()) | outer | {function}) - certain
        known = {name for name in undecided if name in self._index.functions}
        return Callers(tuple(sorted(certain)), tuple(sorted(known)))

    def _counts(self, caller: str, function: str) -> bool:
        path = self._index.functions[caller].path
        return caller != function and "#" not in caller and not self._index.files[path].is_test

    def called(self) -> list[Function]:
        """Return the functions, tests left out, with one to eight certain callers."""
        return [
            function
            for function in self._index.functions.values()
            if not self._index.files[function.path].is_test
            and "#" not in function.id
            and not is_called_implicitly(function)
            and f"{function.id}#2" not in self._index.functions
            and 0 < len(self.of(function.id).certain) <= MOST_CALLERS
        ]

    def apart(self, function: Function, targets: Sequence[str]) -> bool:
        """Return True if a function has another file than the targets, and none of them calls it or is called by it."""
        near = self._edges["certain"].get(function.id, set())
        paths = {target.partition("::")[0] for target in targets}
        calls = any(function.id in self._edges["certain"].get(target, ()) for target in targets)
        return function.path not in paths and not calls and not near & set(targets)


def is_called_implicitly(function: Function) -> bool:
    """Return True if a function is called without its name: a constructor, an operator."""
    name = function.short_name
    return name == "constructor" or (name.startswith("__") and name.endswith("__"))


def _ancestors(name: str) -> Iterable[str]:
    parts = name.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts)))


def nearest(choices: Mapping[str, Choice], anchor: str, seed: int) -> Choice | None:
    """Return the choice with the smallest hash of anchor and name, so that another choice rarely takes its place."""

    def distance(name: str) -> str:
        return hashlib.sha256(f"{seed}\0{anchor}\0{name}".encode()).hexdigest()

    return choices[min(choices, key=distance)] if choices else None
