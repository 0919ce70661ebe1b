"""Replacement of changed functions in a process that has imported the code; it imports nothing of the toolkit.

A function's new code takes effect in the function object that all callers, classes and wrappers hold. That is the same
as importing the changed file only if the old code was not executed before, and if nothing outside of functions differs;
`ImportedFunctions.replace` returns False in all other cases. It cannot know of a decorator that makes another function
from the source text.
"""

import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from inspect import CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

_SAME_OUTSIDE: Final = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount",
                        "co_kwonlyargcount", "co_posonlyargcount", "co_exceptiontable")  # fmt: skip


def changed_functions(before: str, after: str, path: str) -> list[tuple[CodeType, CodeType]] | None:
    """Return the outermost functions that differ between two texts of a file, each with its old and its new code.

    None: something outside of functions differs as well, default values and decorators too, or a text has no syntax.
    """
    try:
        old, new = (compile(text, path, "exec", dont_inherit=True) for text in (before, after))
        return list(_differences(old, new))
    except (SyntaxError, ValueError):
        return None


def _differences(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the differing functions of a module's or class's code.

    Raises:
        ValueError: it differs itself.
    """
    if old == new:
        return
    if old.co_flags & CO_OPTIMIZED and new.co_flags & CO_OPTIMIZED:
        if _seen_outside(old) != _seen_outside(new):
            raise ValueError(old.co_name)
        yield old, new
        return
    if any(getattr(old, name, None) != getattr(new, name, None) for name in _SAME_OUTSIDE):
        raise ValueError(old.co_name)
    for first, second in zip(old.co_consts, new.co_consts, strict=True):  # raises it for another number, too
        if isinstance(first, CodeType) and isinstance(second, CodeType):
            yield from _differences(first, second)
        elif repr(first) != repr(second):  # 0 == False, 0.0 == -0.0
            raise ValueError(old.co_name)


def _seen_outside(code: CodeType) -> tuple[object, ...]:
    """Return what decorators see of a function: its name, its parameters, and whether it is a generator."""
    variadic = sum(bool(code.co_flags & flag) for flag in (CO_VARARGS, CO_VARKEYWORDS))
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + variadic]
    return code.co_name, code.co_flags, code.co_posonlyargcount, code.co_kwonlyargcount, parameters


class ImportedFunctions:
    """Function objects of the process whose code comes from a folder."""

    def __init__(self, folder: Path, executed: Iterable[CodeType]) -> None:
        """Find them.

        Args:
            folder: the code base's.
            executed: all code that was executed so far, modules included.
        """
        self.folder = folder
        self.executed = {(_path(code), code) for code in executed}
        self.loaded = {path for path, code in self.executed if code.co_name == "<module>"}
        self.functions: dict[tuple[str, CodeType], list[FunctionType]] = {}
        for function in gc.get_objects():
            if type(function) is FunctionType and (path := _path(function.__code__)).startswith(f"{folder}{os.sep}"):
                self.functions.setdefault((path, function.__code__), []).append(function)

    def replace(self, originals: Mapping[str, str | None], changes: Mapping[str, str | None]) -> bool:
        """Give functions the code that they have in the changed files; return False if that does not do, then none.

        Args:
            originals: text of each changed file as it was imported, by its path in the folder; None: there is no such.
            changes: the new texts; None: the file is missing.
        """
        pairs: list[tuple[FunctionType, CodeType]] = []
        for name, after in changes.items():
            replaced = self._replaced(str(self.folder / name), originals[name], after)
            if replaced is None:
                return False
            pairs += replaced
        for function, code in pairs:
            function.__code__ = code
        return True

    def _replaced(self, path: str, before: str | None, after: str | None) -> list[tuple[FunctionType, CodeType]] | None:
        if before is None or after is None or not path.endswith(".py"):
            return None  # what was imported may have looked at it
        if path not in self.loaded:
            return []  # it is imported when a test needs it
        changed = changed_functions(before, after, path)
        if changed is None or not all(self._fits(path, old, new) for old, new in changed):
            return None
        return [(function, new) for old, new in changed for function in self.functions.get((path, old), ())]

    def _fits(self, path: str, old: CodeType, new: CodeType) -> bool:
        if _without_lines(old) == _without_lines(new):
            return True  # so nothing that was executed is wrong
        is_unused = (path, old) in self.functions and (path, old) not in self.executed
        return is_unused and len(old.co_freevars) == len(new.co_freevars)


def _without_lines(code: CodeType) -> CodeType:
    """Return code that is equal to that of the same text at other lines."""
    constants = tuple(_without_lines(value) if isinstance(value, CodeType) else value for value in code.co_consts)
    return code.replace(co_firstlineno=1, co_linetable=b"", co_consts=constants)


def _path(code: CodeType) -> str:
    return os.path.abspath(code.co_filename)  # noqa: PTH100 links are not resolved
