"""Python code without its documentation, or without the types of its functions; all else stays byte for byte."""

import ast
import hashlib
import io
import itertools
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from scylla_gha.readiness.twin_inlining import own_statements
from scylla_gha.readiness.twin_names import docstring_of

Choice = Callable[[str], bool]  # qualified name of a function or class, "" of the module; True: it is changed
_Span = tuple[int, int, str]  # offsets in bytes, and the new text
_Routine = ast.FunctionDef | ast.AsyncFunctionDef
_Owner = tuple[str, _Routine | ast.ClassDef]
_EXAMPLE: Final = ">>>"
_DIRECTIVE: Final = re.compile(
    r"#\s*(?:!|type:|noqa|pragma|pylint|mypy|pyright|fmt:|isort:|-\*-|coding)", re.IGNORECASE
)
_PLAIN_DECORATORS: Final = frozenset({
    "property", "staticmethod", "classmethod", "abstractmethod", "override", "contextmanager", "cached_property",
    "cache", "lru_cache", "wraps", "setter", "getter",
})  # fmt: skip


def chooser(dose: float, seed: int, path: str) -> Choice:
    """Return a choice of a share of the names; a larger dose has those of a smaller one too."""

    def choose(name: str) -> bool:
        number = int(hashlib.sha256(f"{seed}\0{path}\0{name}".encode()).hexdigest()[:8], 16)
        return number < dose * 16**8

    return choose


def without_documentation(text: str, choose: Choice) -> str:
    """Remove docstrings and comments of chosen functions and classes, and of the module.

    Kept: docstrings with examples, which may be tests, and those of decorated functions, which programs read (click);
    all docstrings in a file that uses `__doc__`; comments for tools.
    """
    tree = _parsed(text)
    if tree is None:
        return text
    owners = list(_owners(tree))
    spans = [] if "__doc__" in text else list(_docstring_spans(tree, owners, text, choose))
    areas = sorted(((node.end_lineno or 0) - node.lineno, node.lineno, node.end_lineno or 0, name)
                   for name, node in owners)  # fmt: skip
    offsets = _line_offsets(text)
    for line, column, comment in _comments(text):
        owner = next((name for _, first, last, name in areas if first <= line <= last), "")
        if choose(owner):
            start = offsets[line - 1] + column
            spans.append((start, start + len(comment.encode()), ""))
    return _edited(text, spans)


def without_types(text: str, choose: Choice) -> str:
    """Remove the annotations of chosen functions' parameters, results and variables.

    Kept: those of classes' fields and of decorated functions, which programs read (dataclasses, pydantic, typer).
    """
    tree = _parsed(text)
    if tree is None:
        return text
    offsets = _line_offsets(text)
    routines = [node for name, node in _owners(tree) if isinstance(node, _Routine) and choose(name)]
    plain = [node for node in routines if all(_is_plain(decorator) for decorator in node.decorator_list)]
    spans = {span for node in plain for span in _annotation_spans(node, text.encode(), offsets)}
    return _edited(text, spans)


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _owners(tree: ast.AST, prefix: str = "") -> Iterator[_Owner]:
    """Yield functions and classes with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Routine | ast.ClassDef):
            yield prefix + node.name, node
            yield from _owners(node, f"{prefix}{node.name}.")
        else:
            yield from _owners(node, prefix)


def _docstring_spans(tree: ast.Module, owners: Iterable[_Owner], text: str, choose: Choice) -> Iterator[_Span]:
    offsets = _line_offsets(text)
    first = docstring_of(tree)
    if first and choose("") and _EXAMPLE not in str(first.value):
        yield *_bounds(first, offsets), ""
    for name, node in owners:
        docstring = docstring_of(node)
        is_read = isinstance(node, _Routine) and not all(_is_plain(decorator) for decorator in node.decorator_list)
        if docstring and not is_read and choose(name) and _EXAMPLE not in str(docstring.value):
            yield *_bounds(docstring, offsets), "pass" if len(node.body) == 1 else ""


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield line, offset in bytes and text of each comment that is not for a tool."""
    lines = io.StringIO(text).readlines()
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string):
            row, column = token.start
            yield row, len(lines[row - 1][:column].encode()), token.string


def _annotation_spans(node: _Routine, code: bytes, offsets: list[int]) -> Iterator[_Span]:
    arguments = node.args
    for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if arg is not None and arg.annotation is not None:
            start, _ = _bounds(arg, offsets)
            yield start + len(arg.arg.encode()), _bounds(arg, offsets)[1], ""
    if node.returns is not None:
        start, end = _bounds(node.returns, offsets)
        arrow = code.rindex(b"->", 0, start)
        yield len(code[:arrow].rstrip()), code.index(b":", end), ""
    for part in own_statements(node.body):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            start, end = _bounds(part, offsets)
            name_end = _bounds(part.target, offsets)[1]
            yield (start, end, "pass") if part.value is None else (name_end, _bounds(part.annotation, offsets)[1], "")


def _is_plain(decorator: ast.expr) -> bool:
    """Return True if the decorator neither reads annotations nor a docstring."""
    match decorator:
        case ast.Call(func=function):
            return _is_plain(function)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _PLAIN_DECORATORS
        case _:
            return False


def _line_offsets(text: str) -> list[int]:
    """Return the offset in bytes of each line."""
    return [0, *itertools.accumulate(len(line.encode()) for line in io.StringIO(text).readlines())]


def _bounds(node: ast.expr | ast.arg | ast.stmt, offsets: list[int]) -> tuple[int, int]:
    return (offsets[node.lineno - 1] + node.col_offset,
            offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0))  # fmt: skip


def _edited(text: str, spans: Iterable[_Span]) -> str:
    """Return the text with spans replaced; the text as it was if the result would not parse."""
    code = text.encode()
    for start, end, new in sorted(set(spans), reverse=True):
        code = code[:start] + new.encode() + code[end:]
    result = code.decode()
    return text if _parsed(result) is None else result
