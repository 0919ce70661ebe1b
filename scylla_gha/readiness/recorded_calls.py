"""Calls of functions with literal arguments, as they were recorded while tests ran.

The records are written by the user's tests, so they are read as untrusted text: of limited size, and literals alone.
"""

import ast
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.source_code import Function
from scylla_gha.system.future_wait import run_at_once

_MOST_BYTES: Final = 4 * 1024 * 1024
_MOST_ROWS: Final = 10_000
_MOST_CHARACTERS: Final = 200  # of the arguments, and of an output
_ROW: Final = 4
_SECONDS: Final = (60.0, 20.0)  # least limit of a run, most of a test
Records = dict[str, dict[str, str]]  # output by arguments, as Python writes them, by the id of the function


@runtime_checkable
class RecordsCalls(Protocol):
    """Test runner that can record calls of functions."""

    def record_calls(
        self, tree: Path, functions: Sequence[tuple[str, str]], tests: Collection[str], *, is_reversed: bool
    ) -> bytes:
        """Run tests and return the calls of functions as a JSON list of [path, name, arguments, output].

        Args:
            tree: the code base; it is not written.
            functions: path and name of each.
            tests: ids of the tests.
            is_reversed: they run in reverse order.

        Raises:
            ToolError: the runner cannot be started.
        """


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """Call of a function and its output, which it had each time.

    Attributes:
        shown: its arguments, as Python writes them in a call.
    """

    positional: tuple[object, ...]
    keywords: Mapping[str, object]
    output: object

    @property
    def shown(self) -> str:
        """The arguments in brackets."""
        keywords = (f"{name}={argument!r}" for name, argument in self.keywords.items())
        return f"({', '.join([*map(repr, self.positional), *keywords])})"


def recorded_calls(
    material: ReadinessMaterial, functions: Sequence[Function], tests: Collection[str]
) -> dict[str, list[RecordedCall]]:
    """Return calls of functions that had the same output in two runs, and when they were made alone.

    The second run has the reverse order, so that inputs which are drawn by chance, and outputs that depend on what ran
    before, are left out.

    Raises:
        ToolError: the tests cannot be run.
    """
    runner, seconds = material.runner, material.tests.seconds
    if runner is None or not functions or not tests:
        return {}
    limited = runner.limited(max(_SECONDS[0], 3 * seconds), max(5.0, min(seconds, _SECONDS[1])))
    if not isinstance(limited, RecordsCalls):
        return {}
    wanted = [(function.path, function.name) for function in functions]
    record = partial(limited.record_calls, material.root, wanted, tests)
    runs = run_at_once([partial(record, is_reversed=order) for order in (False, True)], 2, runner.stop)
    first, second = (read_records(run, {function.id for function in functions}) for run in runs)
    both = {name: dict(calls.items() & second.get(name, {}).items()) for name, calls in first.items()}
    return {name: [_call(arguments, calls[arguments]) for arguments in sorted(calls)] for name, calls in both.items()}


def _call(arguments: str, output: str) -> RecordedCall:
    positional, keywords = ast.literal_eval(arguments)
    return RecordedCall(positional, keywords, ast.literal_eval(output))


def read_records(content: bytes, wanted: Collection[str]) -> Records:
    """Read what the tests' process wrote; what is no record of a wanted function, or too large, is left out."""
    try:
        rows = parse_json(content) if len(content) <= _MOST_BYTES else []
    except InvalidJsonError:
        rows = []
    records: Records = {}
    for row in rows[:_MOST_ROWS] if isinstance(rows, list) else []:
        if isinstance(row, list) and len(row) == _ROW and all(isinstance(text, str) for text in row):
            path, name, arguments, output = row
            own = (_literal(arguments), _literal(output))
            if f"{path}::{name}" in wanted and own[0] and own[1] and _is_call(ast.literal_eval(own[0])):
                records.setdefault(f"{path}::{name}", {})[own[0]] = own[1]
    return records


def _literal(text: str) -> str | None:
    """Return a literal as Python writes it; None: the text is none."""
    try:
        content = ast.literal_eval(text) if len(text) <= _MOST_CHARACTERS else ...
        written = repr(content)
        is_short = len(written) <= _MOST_CHARACTERS
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return written if is_short and _is_plain(content) else None


def _is_plain(content: object) -> bool:
    if isinstance(content, list | tuple):
        return all(map(_is_plain, content))
    if isinstance(content, dict):
        return all(map(_is_plain, (*content, *content.values())))
    if isinstance(content, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in content)
    return content is None or isinstance(content, int) or (isinstance(content, float) and math.isfinite(content))


def _is_call(arguments: object) -> bool:
    if not isinstance(arguments, tuple) or [type(part) for part in arguments] != [tuple, dict]:
        return False
    return all(isinstance(name, str) and name.isidentifier() for name in arguments[1])
