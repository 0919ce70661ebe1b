"""Parsing of source files: one by one, or in several processes if there are many."""

import contextlib
import copyreg
import gc
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from tree_sitter import Node

from scylla_gha.errors import ToolError
from scylla_gha.readiness.languages import parser_of
from scylla_gha.readiness.source_code import (
    Call,
    Function,
    Guard,
    Import,
    LineSpan,
    SkippedFile,
    SourceClass,
    SourceFile,
)
from scylla_gha.readiness.source_files import is_test_file, read_source, skipped_file
from scylla_gha.readiness.syntax import syntax_tree
from scylla_gha.system.process import capture

ParsedFile = tuple[SourceFile | None, SkippedFile | None]

_FEWEST_FOR_PROCESSES: Final = 1_500  # a process starts in the time of about 200 files
_PER_PROCESS: Final = 2_500
_RECORDS: Final = (Call, Function, Guard, Import, LineSpan, SkippedFile, SourceClass, SourceFile)


def parsed_files(root: Path, paths: Sequence[str], fewest: int = _FEWEST_FOR_PROCESSES) -> Iterator[ParsedFile]:
    """Yield each file with the reason why all or a part of it is left out, in the order of the paths.

    Args:
        root: folder of the code base.
        paths: the files.
        fewest: number of files from which on processes are started, one for each core.

    Raises:
        ToolError: a process ended early.
    """
    workers = len(os.sched_getaffinity(0))
    if len(paths) < fewest or workers < 2:  # noqa: PLR2004 one core
        yield from (parsed_file(root, path) for path in paths)
        return
    parts = [paths[start : start + _PER_PROCESS] for start in range(0, len(paths), _PER_PROCESS)]
    with ThreadPoolExecutor(workers) as pool:
        for content in pool.map(lambda part: _parsed_elsewhere(root, part), parts):
            yield from pickle.loads(content)  # noqa: S301 of a process of this program


def parsed_file(root: Path, path: str) -> ParsedFile:
    """Return a parsed file, and why all or a part of it is left out."""
    source = read_source(root, path)
    if isinstance(source, SkippedFile):
        return None, source
    parser = parser_of(path)
    if parser is None:
        return None, skipped_file(path, "not code that can be parsed")
    tree = syntax_tree(source.text.removeprefix("\ufeff"), parser.language, path)
    file = parser.parse(path, source.text, tree.root_node, is_test=is_test_file(path))
    if not tree.root_node.has_error:
        return file, None
    reason = f"syntax error in line {_line_of_error(tree.root_node)}"
    return (file if file.functions else None), skipped_file(path, reason)


def _line_of_error(root: Node) -> int:
    node = root
    while not (node.is_error or node.is_missing):
        inner = next((child for child in node.children if child.has_error), None)
        if inner is None:
            break
        node = inner
    return node.start_point[0] + 1


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the search for cycles of objects: none arise here, and it would visit millions of them again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _parsed_elsewhere(root: Path, paths: Sequence[str]) -> bytes:
    """Return the pickled results of a new process."""
    module = "scylla_gha.readiness.file_parsing"
    ended = capture([sys.executable, "-P", "-m", module], stdin=pickle.dumps((root, list(paths))))
    if ended.code:
        raise ToolError(f"files cannot be parsed: {ended.message or f'the process ended with {ended.code}'}")
    return ended.stdout


def _pickled(results: Sequence[ParsedFile]) -> bytes:
    """Pickle results as calls of constructors, which is faster and smaller than their states."""
    target = io.BytesIO()
    pickler = pickle.Pickler(target, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = copyreg.dispatch_table | {kind: _reducer(kind) for kind in _RECORDS}
    pickler.dump(results)
    return target.getvalue()


def _reducer(kind: type[Any]) -> Callable[[Any], tuple[type[Any], tuple[Any, ...]]]:
    values = attrgetter(*(field.name for field in fields(kind)))
    return lambda record: (kind, values(record))


def _main() -> None:
    with collection_paused():
        root, paths = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 of the process that started this one
        sys.stdout.buffer.write(_pickled([parsed_file(root, path) for path in paths]))


if __name__ == "__main__":
    _main()
