"""Program that runs tests as run_pytest.py does, and records calls of functions; it imports nothing of the toolkit.

    record_calls.py FILE

FILE has a JSON object: `arguments` of run_pytest.py, and `functions`: lists of path and name. Recorded are calls whose
arguments and output are literals: None, booleans, numbers, texts, and small lists, tuples and dictionaries of these.
Functions at the top of their module are recorded when they return; those with decorators, generators, coroutines and
those that read their own variables are not. They are changed as they are imported, in place and line for line: tests
see the same objects, frames and line numbers.

Afterwards each recorded call is made again. $LINES gets a JSON list of [path, name, arguments, output] of those that
then have the same output; arguments are the text of a Python tuple: (positional arguments, {name: keyword argument}).
"""

from __future__ import annotations  # the project's Python may be older

import ast
import builtins
import hashlib
import importlib.machinery
import importlib.util
import json
import math
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

_ENTER, _LEAVE, _TOKEN = "@recorded_enter", "@recorded_leave", "@recorded_call"
_READ_BY_NAME: Final = {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"}
_MOST_CHARACTERS: Final = 200  # of all arguments, and of an output
_MOST_PARTS: Final = 20  # of a list or tuple; of a dictionary, its keys count too
_MOST_BITS: Final = 640
_MOST_DEPTH: Final = 3
_MOST_KEPT: Final = 64  # calls of a function: those with the smallest hashes, in whatever order they come
_MOST_LOOKED_AT: Final = 20_000  # calls of a function
_REPLAY_SECONDS: Final = 1.0  # of a call
_ALL_REPLAYS_SECONDS: Final = 20.0


_OTHER_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class CallRecorder:
    """Recorded calls by function and arguments; calls with unequal outputs are kept with none."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, str | None]] = {}
        self.looked_at: dict[str, int] = {}
        self.process, self.is_recording = os.getpid(), True

    def enter(
        self, function: str, positional: Iterable[object], more: Iterable[object], keywords: object
    ) -> tuple[str, str] | None:
        """Return function and arguments of a call that is to be recorded."""
        if not self.is_recording or self.looked_at.get(function, 0) >= _MOST_LOOKED_AT:
            return None
        self.looked_at[function] = self.looked_at.get(function, 0) + 1
        text = literal(((*positional, *more), keywords))
        return None if text is None else (function, text)

    def leave(self, call: tuple[str, str] | None, output: object) -> object:
        """Record a call and return its output as it is; a process that a test forked records none."""
        if call is not None and self.is_recording and os.getpid() == self.process:
            function, arguments = call
            calls, text = self.calls.setdefault(function, {}), literal(output)
            calls[arguments] = text if calls.get(arguments, text) == text else None
            if len(calls) > _MOST_KEPT:
                del calls[max(calls, key=lambda own: hashlib.sha256(own.encode()).digest())]
        return output


def literal(content: object) -> str | None:
    """Return the text of a literal; None: it is none, or too long."""
    try:
        text = repr(content) if _is_literal(content, _MOST_DEPTH + 2) else None
        return text if text is not None and len(text) <= _MOST_CHARACTERS and text.encode() else None
    except Exception:  # noqa: BLE001 the tests must not see it, such as the end of the stack
        return None


def _is_literal(content: object, depth: int) -> bool:
    if type(content) is str:
        return len(content) <= _MOST_CHARACTERS and not any("\ud800" <= letter <= "\udfff" for letter in content)
    if type(content) is dict:
        return _is_literal([*content, *content.values()], depth)
    if type(content) is list or type(content) is tuple:
        return depth > 0 and len(content) <= _MOST_PARTS and all(_is_literal(part, depth - 1) for part in content)
    if type(content) is int:
        return content.bit_length() <= _MOST_BITS
    return content is None or type(content) is bool or (type(content) is float and math.isfinite(content))


class _InPlace(ast.NodeTransformer):
    """Changes the returns of a function's own body."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Record what is returned."""
        output = node.value or ast.copy_location(ast.Constant(None), node)
        return ast.copy_location(ast.Return(_call(_LEAVE, ast.Name(_TOKEN, ast.Load()), output)), node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Leave functions and classes in the function as they are."""
        return node if isinstance(node, _OTHER_SCOPES) else super().generic_visit(node)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def recorded_code(text: bytes, path: str, names: Sequence[str], origin: str) -> CodeType:
    """Compile a module in which functions record their calls."""
    tree = ast.parse(text, origin)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names and can_be_recorded(node):
            _record(node, f"{path}::{node.name}")
    return compile(tree, origin, "exec", dont_inherit=True)


def can_be_recorded(node: ast.FunctionDef) -> bool:
    """Return True if a function says itself what its calls return, and does not read its own frame."""
    pending: list[ast.AST] = list(node.body)
    while pending:
        part = pending.pop()
        if isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)):
            return False
        if getattr(part, "id", getattr(part, "attr", "")) in _READ_BY_NAME:
            return False
        if not isinstance(part, _OTHER_SCOPES):
            pending += ast.iter_child_nodes(part)
    return not node.decorator_list


def _record(node: ast.FunctionDef, function: str) -> None:
    own = node.args
    positional = [ast.Name(argument.arg, ast.Load()) for argument in (*own.posonlyargs, *own.args)]
    more: ast.expr = ast.Name(own.vararg.arg, ast.Load()) if own.vararg else ast.Tuple([], ast.Load())
    keys: list[ast.expr | None] = [ast.Constant(argument.arg) for argument in own.kwonlyargs]
    keywords: list[ast.expr] = [ast.Name(argument.arg, ast.Load()) for argument in own.kwonlyargs]
    if own.kwarg:
        keys.append(None)
        keywords.append(ast.Name(own.kwarg.arg, ast.Load()))
    arguments = (ast.Tuple(list(positional), ast.Load()), more, ast.Dict(keys, keywords))
    begin = ast.Assign([ast.Name(_TOKEN, ast.Store())], _call(_ENTER, ast.Constant(function), *arguments))
    end = ast.Expr(_call(_LEAVE, ast.Name(_TOKEN, ast.Load()), ast.Constant(None)))
    documented = 1 if ast.get_docstring(node, clean=False) is not None else 0
    first, last = node.body[min(documented, len(node.body) - 1)], node.body[-1]
    body = [_InPlace().visit(statement) for statement in node.body[documented:]]
    node.body = [*node.body[:documented], ast.copy_location(begin, first), *body, ast.copy_location(end, last)]
    ast.fix_missing_locations(node)


class RecordingImporter:
    """Finder of the modules of some files, which it loads with recording functions.

    Attributes:
        modules: those that were loaded, by path.
    """

    def __init__(self, names: dict[str, list[str]], root: Path) -> None:
        self.names = {str(root / path): (path, own) for path, own in names.items()}
        self.modules: dict[str, ModuleType] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as Python does."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        origin = os.path.realpath(spec.origin) if spec and spec.has_location and spec.origin else ""
        if spec is None or origin not in self.names or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        own, modules = self.names[origin], self.modules

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType | None:
                try:
                    return recorded_code(self.get_data(self.path), *own, self.path)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    return super().get_code(fullname)

            def exec_module(self, module: ModuleType) -> None:
                modules[own[0]] = module
                super().exec_module(module)

        spec.loader = Loader(name, origin)
        return spec


class _LateError(BaseException):
    """End of a replay that takes too long."""


def replayed(recorder: CallRecorder, modules: dict[str, ModuleType]) -> list[list[str]]:
    """Return path, name, arguments and output of the calls that have the same output again."""
    recorder.is_recording = False
    before, end = signal.signal(signal.SIGALRM, _late), time.monotonic() + _ALL_REPLAYS_SECONDS
    rows = []
    try:
        for function, calls in sorted(recorder.calls.items()):
            path, _, name = function.partition("::")
            rows += [[path, name, arguments, output] for arguments, output in sorted(calls.items())
                     if output is not None and _again(modules[path], name, arguments, end) == output]  # fmt: skip
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
    return rows


def _again(module: ModuleType, name: str, arguments: str, end: float) -> str | None:
    """Return the output of a call that is made again; None if there is none in time, or it is no literal."""
    seconds = min(_REPLAY_SECONDS, end - time.monotonic())
    if seconds <= 0:
        return None
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # again, if the code catches the first
            positional, keywords = ast.literal_eval(arguments)
            return literal(getattr(module, name)(*positional, **keywords))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException:  # noqa: BLE001 whatever the code does
        return None


def _late(*_: object) -> None:
    raise _LateError


def main(wanted: dict[str, Any]) -> int:
    """Run the tests and write the calls; return pytest's exit code."""
    lines = Path(os.environ.pop("LINES")).absolute()
    spec = importlib.util.spec_from_file_location("run_pytest", Path(__file__).with_name("run_pytest.py"))
    assert spec and spec.loader  # noqa: S101, PT018 the file is there
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    names: dict[str, list[str]] = {}
    for path, name in wanted["functions"]:
        names.setdefault(path, []).append(name)
    recorder, importer = CallRecorder(), RecordingImporter(names, Path(os.path.realpath(Path.cwd())))
    setattr(builtins, _ENTER, recorder.enter)
    setattr(builtins, _LEAVE, recorder.leave)
    sys.meta_path.insert(0, importer)
    code = program.main(wanted["arguments"])
    lines.write_text(json.dumps(replayed(recorder, importer.modules)), encoding="utf-8")
    return int(code)


if __name__ == "__main__":
    wanted_calls = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sys.argv[1:] = []
    exit_code = main(wanted_calls)
    sys.stdout.flush()
    os._exit(exit_code)  # threads that tests left would keep the process
