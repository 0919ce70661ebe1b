"""Names of a Python code base replaced by words without meaning, the same word for a name in all files.

Only names that are safe to replace everywhere are candidates: bound in the code base, and never a keyword argument, a
word in a string, an attribute that another library's objects have, or a part of an import from outside.
"""

import ast
import builtins
import collections
import datetime
import io
import itertools
import keyword
import logging
import pathlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

WORD: Final = re.compile(r"[^\W\d]\w*")
_EXAMPLE: Final = re.compile(r"^\s*(?:>>>|\.\.\.).*$", re.MULTILINE)
_SPACE: Final = re.compile(r"\S\s+\S")
_CODE: Final = re.compile(r"\b(?:import|def|class|lambda|assert)\s|\w\(")
_FIELD: Final = re.compile(r"%\(\w+\)|\{[^{}]*\}")
_PREFIX: Final = re.compile(r"\w{2,}_\Z")
_HARMLESS_BASES: Final = frozenset({"object", "ABC", "Protocol", "Generic"})
_FOREIGN_TYPES: Final = (
    *(kind for kind in vars(builtins).values() if isinstance(kind, type)),
    io.StringIO, io.BytesIO, pathlib.Path, re.Pattern, re.Match, datetime.datetime, datetime.timedelta, logging.Logger,
    logging.LogRecord, collections.OrderedDict, collections.defaultdict, collections.deque, collections.Counter,
    type(_ for _ in ()), type(ast), ast.AST,
)  # fmt: skip
_FOREIGN_ATTRIBUTES: Final = frozenset(name for kind in _FOREIGN_TYPES for name in dir(kind))


@dataclass(slots=True)
class _Names:
    """Names of a code base by the ways in which they are used."""

    bound: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)  # of classes and modules of the code base
    attributes: set[str] = field(default_factory=set)  # read or written as `x.name`
    imported: set[str] = field(default_factory=set)  # by which files call what they import from outside
    unsafe: set[str] = field(default_factory=set)
    prefixes: set[str] = field(default_factory=set)  # of names that are put together at run time
    modules: set[str] = field(default_factory=set)  # of the code base
    roots: set[str] = field(default_factory=set)  # those of them that are imported by their name alone
    bases: dict[str, set[str]] = field(default_factory=dict)  # by class


def safe_names(sources: Mapping[str, str], tests: Iterable[str], other_texts: Iterable[str]) -> list[str]:
    """Return the names that can be replaced in all files, sorted.

    Args:
        sources: text of all Python files by path; files that do not parse make all their words unsafe.
        tests: paths of files of tests, whose own functions and parameters keep their names.
        other_texts: configuration files, which may name entry points.
    """
    names = _Names(modules={part for path in sources for part in re.split(r"[/.]", path)}, roots=_roots(sources))
    test_paths = frozenset(tests)
    nodes_by_path = {}
    for path, text in sources.items():
        try:
            nodes_by_path[path] = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            names.unsafe |= set(WORD.findall(text))
    for node in itertools.chain.from_iterable(nodes_by_path.values()):
        if isinstance(node, ast.ClassDef):
            names.bases.setdefault(node.name, set()).update(_last_name(base) for base in node.bases)
    for path, nodes in nodes_by_path.items():
        _collect(nodes, names, is_test=path in test_paths)
    for text in other_texts:
        names.unsafe |= set(WORD.findall(text))
    return sorted(name for name in names.bound - names.unsafe - names.modules if _is_safe(name, names))


def _roots(paths: Collection[str]) -> set[str]:
    """Return the names of modules in no package: `pytest.py` in a package is not what `import pytest` means."""
    names = set()
    for path in paths:
        *folders, file = path.split("/")
        for depth, name in enumerate([*folders, file.partition(".")[0]]):
            if "/".join([*folders[:depth], "__init__.py"]) not in paths:
                names.add(name)
    return names


def _is_safe(name: str, names: _Names) -> bool:
    if name.startswith("__") or keyword.iskeyword(name) or keyword.issoftkeyword(name) or hasattr(builtins, name):
        return False
    if name in names.attributes and (name in _FOREIGN_ATTRIBUTES or name not in names.members):
        return False
    return not name.startswith(tuple(names.prefixes)) and name != "_"


def _collect(nodes: Sequence[ast.AST], names: _Names, *, is_test: bool) -> None:
    names.imported = set(_imported_names(nodes, names))
    documented = {id(text) for text in docstring_nodes(nodes)}
    exported = {id(node) for node in exported_strings(nodes)}
    for node in nodes:
        _collect_binding(node, names, is_test=is_test)
        _collect_use(node, names)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in exported:
            is_docstring = id(node) in documented
            code = "\n".join(_EXAMPLE.findall(node.value)) if is_docstring else _code_in(node.value)
            names.unsafe |= set(WORD.findall(code))
            names.prefixes |= set() if is_docstring else set(_PREFIX.findall(node.value[-40:]))


def _code_in(text: str) -> str:
    """Return what a program may read as names in a string: of a message with spaces, its fields alone."""
    if not _SPACE.search(text) or _CODE.search(text):
        return text
    return " ".join(_FIELD.findall(text))


def _collect_binding(node: ast.AST, names: _Names, *, is_test: bool) -> None:
    target = names.unsafe if is_test else names.bound
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            target.add(name)
        case ast.ClassDef(name=name):
            target.add(name)
            members = {member for part in node.body for member in _members(part)}
            names.members |= members
            names.attributes |= members & _FOREIGN_ATTRIBUTES
            if is_test or not _is_own(name, names, set()):
                names.unsafe |= members | {attribute.attr for attribute in _stored_attributes(node)}
                names.unsafe |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
        case ast.arg(arg=name):
            target.add(name)
        case ast.Name(id=name, ctx=ast.Store()):
            names.bound.add(name)
        case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self" | "cls")):
            names.bound.add(name)
            names.members.add(name)
        case ast.Module(body=body):
            names.members |= {member for part in body for member in _members(part)}
        case _:
            pass


def _collect_use(node: ast.AST, names: _Names) -> None:
    match node:
        case ast.Attribute(attr=name):
            names.attributes.add(name)
            if _root(node) in names.imported:
                names.unsafe.add(name)
        case ast.keyword(arg=str(name)):
            names.unsafe.add(name)
        case ast.MatchClass(kwd_attrs=attributes):
            names.unsafe.update(attributes)
        case ast.Import(names=aliases):
            names.unsafe.update(part for alias in aliases for part in _parts(alias))
        case ast.ImportFrom(names=aliases) if _is_foreign(node, names):
            names.unsafe.update(part for alias in aliases for part in _parts(alias))
        case _:
            pass


def _is_foreign(node: ast.ImportFrom, names: _Names) -> bool:
    return node.level == 0 and (node.module or "").split(".")[0] not in names.roots


def _imported_names(nodes: Iterable[ast.AST], names: _Names) -> Iterator[str]:
    """Yield the names by which a file calls what is not of the code base."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] not in names.roots:
                    yield (alias.asname or alias.name).split(".")[0]
        elif isinstance(node, ast.ImportFrom) and _is_foreign(node, names):
            yield from (alias.asname or alias.name for alias in node.names)


def _root(node: ast.expr) -> str:
    """Return the name that a chain of attributes begins with; "" if it begins with another expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _parts(alias: ast.alias) -> list[str]:
    return [*alias.name.split("."), *([alias.asname] if alias.asname else [])]


def _members(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a class binds."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name):
            yield name
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case _:
            pass


def _stored_attributes(node: ast.ClassDef) -> Iterator[ast.Attribute]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store))


def _is_own(name: str, names: _Names, seen: set[str]) -> bool:
    """Return True if all bases of the class are of this code base, or say nothing of its members."""
    seen.add(name)
    return all(base in _HARMLESS_BASES or (base in names.bases and (base in seen or _is_own(base, names, seen)))
               for base in names.bases[name])  # fmt: skip


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_name(value)
        case _:
            return ""


Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstring_of(node: Documented) -> ast.Constant | None:
    """Return the node of a docstring; None if there is none."""
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str()) as docstring), *_]:
            return docstring
        case _:
            return None


def docstring_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """Yield the docstrings of those nodes of a file that have one."""
    owners = (node for node in nodes if isinstance(node, Documented))
    return (docstring for node in owners if (docstring := docstring_of(node)))


def exported_strings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    """Yield the strings of `__all__` among the nodes of a file, which are replaced with their names."""
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
                yield from (part for part in ast.walk(node.value) if isinstance(part, ast.Constant))
