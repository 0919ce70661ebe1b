"""Functions of the index against Python's own parser, on the toolkit's files and on the standard library's."""

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

import pytest

from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.source_code import Function

ROOT = Path(__file__).parents[2]
STDLIB = Path(sysconfig.get_path("stdlib"))
Definition = ast.FunctionDef | ast.AsyncFunctionDef
TREES = {
    "toolkit": (ROOT, [str(path.relative_to(ROOT)) for path in sorted((ROOT / "scylla_gha").rglob("*.py"))[::4]]),
    "stdlib": (STDLIB, ["argparse.py", "ast.py", "asyncio/base_events.py", "calendar.py", "dataclasses.py",
                        "difflib.py", "email/_header_value_parser.py", "enum.py", "inspect.py", "json/decoder.py",
                        "logging/__init__.py", "pathlib.py", "shutil.py", "typing.py", "zipfile.py"]),
}  # fmt: skip


@pytest.mark.parametrize("tree", sorted(TREES))
def test_functions_are_those_of_pythons_own_parser(tree: str) -> None:
    root, names = TREES[tree]
    paths = [name for name in names if (root / name).is_file()]
    index = build_index(root, paths=paths)
    assert sorted(index.files) == paths
    functions = {key: facts_of(function) for key, function in index.functions.items()}
    expected = {
        f"{path}::{name}": facts for path in paths for name, facts in definitions((root / path).read_text("utf-8"))
    }
    unread = {skipped.path for skipped in index.skipped}  # the grammar lacks `return a, *(b for c in d)`
    missing = expected.keys() - functions.keys()
    assert {key.partition("::")[0] for key in missing} <= unread
    assert len(missing) <= len(expected) / 500
    assert functions == {key: facts for key, facts in expected.items() if key not in missing}


def facts_of(function: Function) -> dict[str, Any]:
    return {
        "span": (function.span.first, function.span.last),
        "last of body": function.body.last,
        "documented": (function.documented.first, function.documented.last) if function.documented else None,
        "docstring": function.docstring,
        "statements": function.statements,
        "guards": [(guard.span.first, guard.span.last) for guard in function.guards],
        "handlers": [(handler.first, handler.last) for handler in function.handlers],
        "raised": function.raised,
        "decorators": len(function.decorators),
        "calls": sorted(call.line for call in function.calls),
    }


def definitions(source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    counts: dict[str, int] = {}
    for name, node in walk(ast.parse(source), ""):
        counts[name] = counts.get(name, 0) + 1
        yield (name if counts[name] == 1 else f"{name}#{counts[name]}"), facts(node)


def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            if not any(ast.unparse(decorator).endswith("overload") for decorator in child.decorator_list):
                yield f"{prefix}{child.name}", child
                yield from walk(child, f"{prefix}{child.name}.")
        else:
            yield from walk(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)


def facts(node: Definition) -> dict[str, Any]:
    docstring = ast.get_docstring(node)
    body = node.body[1:] if docstring is not None else node.body
    own = [part for statement in body for part in inside(statement)]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return {
        "span": (first, node.end_lineno),
        "last of body": node.end_lineno,
        "documented": (node.body[0].lineno, node.body[0].end_lineno) if docstring is not None else None,
        "docstring": docstring,
        "statements": sum(statements(part) for statement in body for part in ast.walk(statement)),
        "guards": sorted((part.lineno, part.end_lineno) for part in own if is_guard(part, own)),
        "handlers": sorted((part.lineno, part.end_lineno) for part in own if isinstance(part, ast.ExceptHandler)),
        "raised": tuple(dict.fromkeys(name for part in own if isinstance(part, ast.Raise) if (name := error(part)))),
        "decorators": len(node.decorator_list),
        "calls": sorted(part.lineno for part in own if isinstance(part, ast.Call)),
    }  # fmt: skip


def statements(node: ast.AST) -> int:
    """1 for a statement; less the docstring of a nested function."""
    has_docstring = isinstance(node, Definition) and ast.get_docstring(node) is not None
    return isinstance(node, ast.stmt) - has_docstring


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a statement in the order of the text, without bodies of nested functions."""
    yield node
    if isinstance(node, Definition):
        children: list[ast.AST] = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        yield from inside(child)


def is_guard(node: ast.AST, own: list[ast.AST]) -> TypeGuard[ast.If]:
    if not isinstance(node, ast.If) or node.orelse or any(is_elif(node, part) for part in own):
        return False
    *before, last = node.body
    plain = all(isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign) for part in before)
    return plain and isinstance(last, ast.Raise)


def is_elif(node: ast.If, parent: ast.AST) -> bool:
    return isinstance(parent, ast.If) and parent.orelse == [node] and node.col_offset == parent.col_offset


def error(node: ast.Raise) -> str:
    called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    name = ast.unparse(called) if isinstance(called, ast.Name | ast.Attribute) else ""
    plain = name.replace(".", "").replace("_", "a").isalnum()
    return name if plain and name.rpartition(".")[2][:1].isupper() else ""
