"""Index of a code base: its files are listed, read and parsed, and their calls are resolved."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tree_sitter import Node

from scylla_gha.readiness.call_graph import call_edges
from scylla_gha.readiness.languages import parser_of
from scylla_gha.readiness.modules import ModuleMap, module_maps
from scylla_gha.readiness.source_code import CodeIndex, Language, SkippedFile, SourceFile
from scylla_gha.readiness.source_files import (
    is_test_file,
    list_files,
    package_names,
    read_source,
    skipped_file,
    source_paths,
)
from scylla_gha.readiness.syntax import syntax_tree


def build_index(root: Path, *, paths: Sequence[str] | None = None) -> CodeIndex:
    """Return all functions of a code base and the calls between them.

    Args:
        root: folder of the code base; nothing outside of it is read.
        paths: the files to look at, relative to the root; None: what git tracks, or all files without git.
    """
    listed = sorted(set(paths)) if paths is not None else list_files(root)
    wanted, skipped = source_paths(listed)
    files: dict[str, SourceFile] = {}
    for path in wanted:
        file, reason = parsed_file(root, path)
        if file is not None:
            files[path] = file
        if reason is not None:
            skipped.append(reason)
    return _indexed(files, skipped, module_maps(files, *package_names(root, listed)))


def _indexed(
    files: dict[str, SourceFile], skipped: Iterable[SkippedFile], maps: Mapping[Language, ModuleMap]
) -> CodeIndex:
    functions = {sys.intern(function.id): function for file in files.values() for function in file.functions}
    edges = tuple(call_edges(files, maps))
    return CodeIndex(files, functions, edges, tuple(sorted(skipped, key=lambda file: file.path)))


def parsed_file(root: Path, path: str) -> tuple[SourceFile | None, SkippedFile | None]:
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
