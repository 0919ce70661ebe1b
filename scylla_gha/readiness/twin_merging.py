"""Functions of Python code merged into their only callers, where that provably changes nothing.

A function is merged if its name occurs twice in the code base, in its definition and in one call of the same file, and
the call is a whole statement: `return f(...)`, or `x = f(...)` and `f(...)` if only the last statement returns.
Arguments become assignments, and variables that the caller has as well get new names.
"""

import ast
import hashlib
import io
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scylla_gha.readiness.twin_inlining import InlinedCall, inlined, own_statements
from scylla_gha.readiness.twin_names import WORD, docstring_nodes

_DEFINITION_AND_CALL: Final = 2


@dataclass(frozen=True, slots=True)
class MergedCode:
    """Changed texts by path, and for the id of each merged function that of its caller."""

    texts: dict[str, str]
    homes: dict[str, str]


def merge_functions(sources: Mapping[str, str], tests: frozenset[str], dose: float, seed: int) -> MergedCode:
    """Merge a share of the functions that can be merged; a larger dose has those of a smaller one too.

    Args:
        sources: text of all Python files by path.
        tests: paths of files of tests, which stay as they are.
        dose: share of the candidates.
        seed: seed of their order.
    """
    counts = Counter[str]()
    for code in sources.values():
        counts.update(_word_counts(code))
    texts, homes = dict(sources), dict[str, str]()
    pairs = [(path, call.function.name) for path, text in sources.items() if path not in tests
             for call in _calls(text, counts) if _merged(text, call) is not None]  # fmt: skip
    pairs.sort(key=lambda pair: hashlib.sha256("\0".join((str(seed), *pair)).encode()).hexdigest())
    for path, name in pairs[: round(dose * len(pairs))]:
        call = next((call for call in _calls(texts[path], counts) if call.function.name == name), None)
        text = None if call is None else _merged(texts[path], call)
        if call is not None and text is not None:
            texts[path] = text
            homes[f"{path}::{call.prefix}{name}"] = f"{path}::{call.prefix}{call.caller.name}"
    changed = {path: text for path, text in texts.items() if text != sources[path]}
    return MergedCode(changed, {merged: _last_home(home, homes) for merged, home in homes.items()})


def _last_home(home: str, homes: Mapping[str, str]) -> str:
    """Return the function that is left of a chain of merged ones."""
    while home in homes:
        home = homes[home]
    return home


def _word_counts(text: str) -> Counter[str]:
    """Count names in code and words in strings; docstrings and comments do not count."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Counter(dict.fromkeys(WORD.findall(text), 3))
    counts: Counter[str] = Counter()
    nodes = list(ast.walk(tree))
    docstrings = {id(node) for node in docstring_nodes(nodes)}
    for node in nodes:
        match node:
            case ast.Constant(value=str(string)) if id(node) not in docstrings:
                counts.update(WORD.findall(string))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                counts[name] += 1
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                counts[name] += 1
            case ast.alias(name=name):
                counts.update(name.split("."))
            case _:
                pass
    return counts


def _calls(text: str, counts: Mapping[str, int]) -> Iterator[InlinedCall]:
    """Yield the calls of functions that are used once, and whose definition stands in the same class or module."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for prefix, body in (("", tree.body), *((f"{node.name}.", node.body) for node in tree.body
                                            if isinstance(node, ast.ClassDef))):  # fmt: skip
        functions = {node.name: node for node in body
                     if isinstance(node, ast.FunctionDef) and counts[node.name] == _DEFINITION_AND_CALL}  # fmt: skip
        for caller in body:
            if isinstance(caller, ast.FunctionDef):
                yield from _calls_of(caller, functions, prefix)


def _calls_of(caller: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef], prefix: str) -> Iterator[InlinedCall]:
    for statement in own_statements(caller.body):
        match statement:
            case (
                ast.Return(value=ast.Call() as call)
                | ast.Expr(value=ast.Call() as call)
                | ast.Assign(value=ast.Call() as call)
            ):
                name = _called_name(call, caller, is_method=bool(prefix))
                if name in functions and functions[name] is not caller:
                    yield InlinedCall(functions[name], caller, statement, call, prefix)
            case _:
                pass


def _called_name(call: ast.Call, caller: ast.FunctionDef, *, is_method: bool) -> str:
    """Return the function that is called by its name, or as a method of the caller's own object; "" if by neither."""
    match call.func:
        case ast.Name(id=name) if not is_method:
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if is_method and caller.args.args:
            return name if owner == caller.args.args[0].arg and not caller.decorator_list else ""
        case _:
            return ""


def _merged(text: str, call: InlinedCall) -> str | None:
    """Return the file's text with the function in its caller; None if that cannot be proved to change nothing."""
    statements = inlined(call)
    lines = io.StringIO(text).readlines()
    statement, function = call.statement, call.function
    last = statement.end_lineno or statement.lineno
    indent = lines[statement.lineno - 1].encode()[: statement.col_offset].decode(errors="replace")
    tail = lines[last - 1].encode()[statement.end_col_offset :].decode(errors="replace").strip()
    if statements is None or indent.strip() or (tail and not tail.startswith("#")):
        return None
    code = ast.unparse(ast.fix_missing_locations(ast.Module(body=statements, type_ignores=[])))
    if _dump(ast.parse(textwrap.dedent(code))) != _dump(ast.Module(body=statements, type_ignores=[])):
        return None
    new = "".join(f"{indent}{line}\n" for line in code.splitlines())
    edits = [(statement.lineno, last, new), (function.lineno, function.end_lineno or function.lineno, "")]
    for first, end, replacement in sorted(edits, reverse=True):
        lines[first - 1 : end] = [replacement]
    result = "".join(lines)
    return result if _parses(result) else None


def _dump(tree: ast.AST) -> str:
    return ast.dump(tree)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
