"""Index of a code base: its files are listed, read and parsed, and their calls are resolved."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from scylla_gha.readiness.call_graph import call_edges
from scylla_gha.readiness.file_parsing import collection_paused, parsed_files
from scylla_gha.readiness.modules import ModuleMap, module_maps
from scylla_gha.readiness.source_code import CodeIndex, Language, SkippedFile, SourceFile
from scylla_gha.readiness.source_files import (
    list_files,
    package_names,
    source_paths,
)


def build_index(root: Path, *, paths: Sequence[str] | None = None) -> CodeIndex:
    """Return all functions of a code base and the calls between them.

    Args:
        root: folder of the code base; nothing outside of it is read.
        paths: the files to look at, relative to the root; None: what git tracks, or all files without git.
    """
    with collection_paused():
        return _built(root, sorted(set(paths)) if paths is not None else list_files(root))


def _built(root: Path, listed: Sequence[str]) -> CodeIndex:
    wanted, skipped = source_paths(listed)
    files: dict[str, SourceFile] = {}
    for file, reason in parsed_files(root, wanted):
        if file is not None:
            files[file.path] = file
        if reason is not None:
            skipped.append(reason)
    return _indexed(files, skipped, module_maps(files, *package_names(root, listed)))


def _indexed(
    files: dict[str, SourceFile], skipped: Iterable[SkippedFile], maps: Mapping[Language, ModuleMap]
) -> CodeIndex:
    functions = {sys.intern(function.id): function for file in files.values() for function in file.functions}
    edges = tuple(call_edges(files, maps))
    return CodeIndex(files, functions, edges, tuple(sorted(skipped, key=lambda file: file.path)))
