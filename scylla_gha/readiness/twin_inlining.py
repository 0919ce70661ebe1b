"""Body of a Python function as statements that replace its call, if that changes nothing."""

import ast
import copy
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_UNFIT: Final = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp, ast.Yield, ast.YieldFrom,
    ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Delete, ast.Match,
)  # fmt: skip
_UNFIT_NAMES: Final = frozenset(
    {"locals", "vars", "super", "eval", "exec", "dir", "globals", "__class__", "inspect", "sys", "warnings"}
)


@dataclass(frozen=True, slots=True)
class InlinedCall:
    """A function, the statement of its caller that calls it, and the prefix of both names ("Class." or "")."""

    function: ast.FunctionDef
    caller: ast.FunctionDef
    statement: ast.stmt
    call: ast.Call
    prefix: str


def own_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a function, without those of functions and classes in it."""
    for statement in body:
        if not isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement
            blocks = (getattr(statement, name, []) for name in ("body", "orelse", "finalbody", "handlers", "cases"))
            for part in itertools.chain.from_iterable(blocks):
                yield from own_statements([part] if isinstance(part, ast.stmt) else part.body)


def inlined(call: InlinedCall) -> list[ast.stmt] | None:
    """Return the statements that do what the call does; None if that cannot be proved."""
    function = call.function
    arguments = _arguments(call)
    if arguments is None or not _is_fit(function) or not _names_agree(call):
        return None
    new_names = _new_names(call)
    body = [_Renamed(new_names).visit(copy.deepcopy(statement)) for statement in _without_docstring(function.body)]
    result = _with_result(body, call.statement)
    if result is None:
        return None
    assigned: list[ast.stmt] = [
        ast.Assign(targets=[ast.Name(new_names.get(name, name), ast.Store())], value=copy.deepcopy(argument), lineno=0)
        for name, argument in arguments.items()
    ]
    return [*assigned, *result] or [ast.Pass()]


def _arguments(call: InlinedCall) -> dict[str, ast.expr] | None:
    """Return the value of each parameter in the order of evaluation; None if the call has another form."""
    spec, own = call.function.args, call.call
    if spec.vararg or spec.kwarg or any(isinstance(part, ast.Starred) for part in own.args):
        return None
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)][1 if call.prefix else 0 :]
    everything = [*names, *(arg.arg for arg in spec.kwonlyargs)]
    keywords = {keyword.arg: keyword.value for keyword in own.keywords if keyword.arg}
    if len(own.args) > len(names) or len(keywords) != len(own.keywords) or not set(keywords) <= set(everything):
        return None
    arguments = dict(zip(names, own.args, strict=False)) | keywords
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    defaults = dict(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    defaults |= {arg.arg: value for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value}
    for name in everything:
        if name not in arguments:
            default = defaults.get(name)
            if not isinstance(default, ast.Constant):
                return None
            arguments[name] = default
    return arguments


def _is_fit(function: ast.FunctionDef) -> bool:
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return not (function.decorator_list or any(isinstance(node, _UNFIT) for node in nodes) or names & _UNFIT_NAMES)


def _names_agree(call: InlinedCall) -> bool:
    """Return True if global names mean the same in the caller, and a method's object has the same name in both."""
    function, caller = call.function, call.caller
    own, bound = _bound(function), _bound(caller)
    read = {node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    if not call.prefix:
        return not (read - own) & bound
    first = function.args.args[0].arg if function.args.args else ""
    stored = {node.id for part in (*function.body, *caller.body) for node in ast.walk(part)
              if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}  # fmt: skip
    return first == caller.args.args[0].arg and first not in stored and not (read - own) & bound


def _bound(function: ast.FunctionDef) -> set[str]:
    """Return all names that a function binds, those of functions in it too."""
    names = set()
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)):
                names.add(name)
            case ast.alias(name=name, asname=alias):
                names.add((alias or name).partition(".")[0])
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if node is not function:
                names.add(name)
            case _:
                pass
    return names


def _new_names(call: InlinedCall) -> dict[str, str]:
    """Return new names for variables of the function whose names the caller uses too."""
    used = {node.id for node in ast.walk(call.caller) if isinstance(node, ast.Name)} | _bound(call.caller)
    own = _bound(call.function) - ({call.function.args.args[0].arg} if call.prefix else set())
    used_names = used | own
    names = {}
    for name in sorted(own & used):
        new = f"{name}_{call.function.name.strip('_')}"
        while new in used_names:
            new += "_"
        used_names.add(new)
        names[name] = new
    return names


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
        case _:
            return body


def _with_result(body: list[ast.stmt], statement: ast.stmt) -> list[ast.stmt] | None:
    """Return the body so that its result goes where that of the call went; None if it returns early."""
    if isinstance(statement, ast.Return):
        is_ended = bool(body) and isinstance(body[-1], ast.Return | ast.Raise)
        return body if is_ended else [*body, ast.Return(value=None)]
    returns = [part for part in own_statements(body) if isinstance(part, ast.Return)]
    last = body[-1] if body else None
    if returns and (len(returns) > 1 or returns[0] is not last):
        return None
    value = (last.value if isinstance(last, ast.Return) else None) or ast.Constant(None)
    head = body[:-1] if returns else body
    if isinstance(statement, ast.Assign):
        return [*head, ast.Assign(targets=copy.deepcopy(statement.targets), value=value, lineno=0)]
    return [*head, *([ast.Expr(value)] if returns and not isinstance(value, ast.Constant) else [])]


class _Renamed(ast.NodeTransformer):
    """Renames variables."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        node.name = self._names.get(node.name, node.name) if node.name else None
        self.generic_visit(node)
        return node
