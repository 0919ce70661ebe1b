"""Refutation of claimed calls: the text of a function shows that it does not call another one."""

import re
from collections import defaultdict
from typing import Final

from scylla_gha.readiness.source_code import CodeIndex, Function

_IMPLICIT: Final = re.compile(r"__\w+__")
_DYNAMIC: Final = re.compile(r"\b(getattr|globals|eval|exec|attrgetter|methodcaller|Reflect)\b")
_OF_RECEIVER: Final = re.compile(r"(?:self|cls|this|\w)\.(\w+)")
_WORD: Final = re.compile(r"[\w$]+")
_CONSTRUCTORS: Final = {"__init__", "__new__", "constructor"}
_OWN_CLASS: Final = {"cls", "super", "__class__", "type", "this"}


class Refutation:
    """Words of functions and names of functions in an index, each collected once."""

    def __init__(self, index: CodeIndex) -> None:
        """Note which names stand for others: aliases of imports, and subclasses."""
        self._index = index
        self._words: dict[str, frozenset[str] | None] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._lines: dict[str, list[str]] = {}
        self._second_names: dict[str, set[str]] = defaultdict(set)
        self._default_imports: dict[str, set[str]] = defaultdict(set)
        owners = {(file.path, declared.name) for file in index.files.values() for declared in file.classes}
        owners |= {(path.rpartition("/")[0], name) for path, name in owners if path.endswith(".go")}
        self._methods = {function.short_name for function in index.functions.values() if _owner(function) in owners}
        for file in index.files.values():
            for line in file.imports:
                if line.imported == "default" or line.imported is None:
                    self._default_imports[file.path].add(line.local)
                elif line.local != line.imported:
                    self._second_names[line.imported.rpartition(".")[2]].add(line.local)
            for declared in file.classes:
                for base in declared.bases:
                    self._second_names[base.rpartition(".")[2]].add(declared.name.rpartition(".")[2])

    def is_of(self, index: CodeIndex) -> bool:
        """Return True if it was made of this very index."""
        return self._index is index

    def holds(self, caller_id: str, callee_id: str) -> bool:
        """Return True if the caller's text shows that it does not call the callee: no name of it occurs.

        What is called without a name (operators, calls of parameters or fields, `getattr`) is never refuted. A function
        that is not in the index refutes the call.
        """
        caller, callee = self._index.functions.get(caller_id), self._index.functions.get(callee_id)
        if caller is None or callee is None:
            return True
        words = self._words_of(caller)
        if words is None or (_IMPLICIT.fullmatch(callee.short_name) and callee.short_name not in _CONSTRUCTORS):
            return False
        return words.isdisjoint(self._names_of(callee))

    def _words_of(self, caller: Function) -> frozenset[str] | None:
        """Return the words of a function; None: it calls something without naming it."""
        if caller.id not in self._words:
            if caller.path not in self._lines:
                self._lines[caller.path] = self._index.files[caller.path].text.split("\n")
            text = "\n".join(self._lines[caller.path][caller.span.first - 1 : caller.span.last])
            body = self._lines[caller.path][caller.body.first - 1 : caller.body.last]
            decorates = any(line.lstrip().startswith("@") for line in body)  # what a decorator returns is called
            indirect = (
                decorates or _DYNAMIC.search(text) or any(self._is_indirect(caller, call.name) for call in caller.calls)
            )
            self._words[caller.id] = None if indirect else frozenset(_WORD.findall(text))
        return self._words[caller.id]

    def _is_indirect(self, caller: Function, name: str) -> bool:
        """Return True for a call of what a variable, a field, a module or an expression holds."""
        if name[-1:] in (")", "]", "?") or name in dict(caller.variables):
            return True
        attribute = _OF_RECEIVER.fullmatch(name)
        is_default = name in self._default_imports.get(caller.path, ())
        return is_default or (attribute is not None and attribute[1] not in self._methods)

    def _names_of(self, callee: Function) -> frozenset[str]:
        """Return the words by which a function can be called; for a constructor those of its class and subclasses."""
        if callee.id not in self._names:
            name = callee.short_name.partition("#")[0]
            names, pending = set(_OWN_CLASS) if name in _CONSTRUCTORS else set(), [name]
            pending += [callee.name.rpartition(".")[0].rpartition(".")[2]] if name in _CONSTRUCTORS else []
            while pending:
                word = pending.pop()
                if word not in names:
                    names.add(word)
                    pending += self._second_names.get(word, ())
            self._names[callee.id] = frozenset(names)
        return self._names[callee.id]


def _owner(function: Function) -> tuple[str, str]:
    """Return the file (Go: the folder) and the name of the class whose method it would be."""
    owner = function.name.rpartition(".")[0]
    return function.path.rpartition("/")[0] if function.language == "go" else function.path, owner


_LATEST: list[Refutation] = []


def refutes(index: CodeIndex, caller_id: str, callee_id: str) -> bool:
    """Return True if the caller's text shows that it does not call the callee; see `Refutation.holds`."""
    if not _LATEST or not _LATEST[0].is_of(index):
        _LATEST[:] = [Refutation(index)]
    return _LATEST[0].holds(caller_id, callee_id)
