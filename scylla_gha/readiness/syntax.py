"""Syntax of one text: does it parse, and which of its bytes are strings and comments."""

import ast
import functools
import re
import threading
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Tree

from scylla_gha.readiness.source_code import Language, LineSpan

_PROTECTED: Final = {
    "string", "comment", "template_string", "regex", "jsx_text", "interpreted_string_literal", "raw_string_literal",
    "rune_literal", "type_annotation", "type_arguments", "type_parameters",
}  # fmt: skip

_LOCK: Final = threading.Lock()  # parsers, and the filters of warnings, are those of the whole process


def lines_of(text: str) -> list[str]:
    """Split a text at line feeds alone, as parsers and coverage count lines, and keep them."""
    return list(_split(text))


@functools.lru_cache(maxsize=256)
def _split(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\n]*\n|[^\n]+", text))


@functools.lru_cache(maxsize=1024)
def file_is_whole(text: str, language: Language, path: str) -> bool:
    """Return True if a file of the code base parses without an error; see `syntax_is_whole`."""
    return syntax_is_whole(text, language, path)


def syntax_is_whole(text: str, language: Language, path: str) -> bool:
    """Return True if the text parses without an error; Python as the interpreter that runs this reads it."""
    if language != "python":
        return not syntax_tree(text, language, path).root_node.has_error
    try:
        with _LOCK, warnings.catch_warnings(action="ignore"):
            ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def protected_spans(text: str, language: Language, path: str, lines: LineSpan) -> list[tuple[int, int]]:
    """Return first and last byte (exclusive) of the strings, comments and types that touch the lines."""
    return list(_protected(syntax_tree(text, language, path).root_node, lines))


def syntax_tree(text: str, language: Language, path: str) -> Tree:
    """Parse a text with the grammar of its language; `.tsx` files have one of their own."""
    with _LOCK:
        return _parser(language, PurePosixPath(path).suffix == ".tsx").parse(text.encode())


def _protected(root: Node, lines: LineSpan) -> Iterator[tuple[int, int]]:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.end_point[0] + 1 < lines.first or node.start_point[0] + 1 > lines.last:
            continue
        if node.type in _PROTECTED:
            yield node.start_byte, node.end_byte
        else:
            pending += node.children


@functools.cache
def _parser(language: Language, is_tsx: bool) -> Parser:
    return Parser(Grammar(_grammar(language, is_tsx)))


def _grammar(language: Language, is_tsx: bool) -> object:
    if language == "python":
        import tree_sitter_python

        return tree_sitter_python.language()
    if language == "javascript":
        import tree_sitter_javascript

        return tree_sitter_javascript.language()
    if language == "go":
        import tree_sitter_go

        return tree_sitter_go.language()
    import tree_sitter_typescript

    return tree_sitter_typescript.language_tsx() if is_tsx else tree_sitter_typescript.language_typescript()
