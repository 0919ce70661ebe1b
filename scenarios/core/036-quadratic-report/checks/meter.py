"""Count the steps that a package takes, the hidden ones of lists, sorts and copies included.

The sources are rewritten when they are imported: calls, loops, operators and slices go through a
`Meter`, which adds what the operation costs for the sizes at hand. Nothing depends on time.
"""

import ast
import bisect
import builtins
import collections
import heapq
import importlib.abc
import importlib.util
import itertools
import operator
import os
import types
from pathlib import Path

SIZED = (list, tuple, dict, set, frozenset, collections.deque, bytearray)
SIZED += (type({}.keys()), type({}.values()), type({}.items()))
UNTOUCHED = {"super", "locals", "globals", "vars", "dir", "eval", "exec", "compile", "breakpoint"}
FREE = {len, isinstance, issubclass, getattr, setattr, hasattr, id, hash, type, next, iter, range}
FREE |= {callable, reversed, ord, chr, abs, divmod, round, staticmethod, classmethod, property}
FREE_METHODS = {"append", "appendleft", "add", "discard", "get", "setdefault", "popitem", "popleft"}
FREE_METHODS |= {"keys", "values", "items", "move_to_end", "__init__", "put", "close"}
SEARCHING = {"index", "count", "remove", "insert", "reverse", "copy", "rotate", "__contains__", "__delitem__"}
SEARCHING |= {"union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint"}
LAZY = {map, filter, zip, enumerate}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}


class TooMany(BaseException):
    """More steps than allowed."""


class Meter:
    def __init__(self) -> None:
        self.steps = 0
        self.limit = 0
        self.stop = lambda: os._exit(3)

    def start(self, limit: int) -> None:
        self.steps, self.limit = 0, limit

    def tick(self, steps: float = 1) -> bool:
        self.steps += int(steps)
        if self.limit and self.steps > self.limit:
            if self.steps > 4 * self.limit + 10_000_000:
                self.stop()
            raise TooMany
        return True

    # What the rewritten sources call.

    def each(self, values):
        for value in values:
            self.tick()
            yield value

    def sized(self, value):
        self.tick(_size(value))
        return value

    def grown(self, value, left=None):
        if isinstance(left, tuple):
            self.tick(len(left))
        if isinstance(value, (*SIZED, str)):
            self.tick(_size(value))
        elif hasattr(value, "__next__"):
            return self.each(value)
        return value

    def touched(self, value) -> None:
        if isinstance(value, (list, bytearray, collections.deque)):
            self.tick(len(value))

    def binary(self, name: str, left, right):
        function = OPERATORS[getattr(ast, name)]
        result = function(left, right)
        if isinstance(result, (str, bytes)):
            self.tick(1 + len(right) // 8 if isinstance(right, (str, bytes)) else 1)
        else:
            self.tick(1 + (_size(result) if isinstance(result, SIZED) else 0))
        if isinstance(left, (set, frozenset)):
            self.tick(len(left))
        return result

    def contains(self, container, value) -> bool:
        if isinstance(container, (list, tuple, collections.deque, type({}.values()), str, bytes)):
            self.tick(1 + _size(container))
        elif hasattr(container, "__next__"):
            container = self.each(container)
        else:
            self.tick()
        return value in container

    def equal(self, left, right):
        if isinstance(left, SIZED) and isinstance(right, SIZED) and len(left) == len(right):
            self.tick(len(left))
        return left == right

    def call(self, function, /, *arguments, **options):
        self.tick()
        if self._own(function) or _is_free(function):
            return function(*arguments, **options)
        name = getattr(function, "__name__", "")
        owner = getattr(function, "__self__", None)
        module = getattr(function, "__module__", "") or ""
        if _in_c(function) and module in ("heapq", "_heapq", "bisect", "_bisect") and arguments:
            return self._ordered(name, function, arguments, options)
        if function is itertools.repeat:
            return function(*arguments, **options)
        lazy = function in LAZY if isinstance(function, type) else False
        lazy = lazy or module == "itertools"
        if owner is not None and not isinstance(owner, (types.ModuleType, type)):
            self._method(name, owner, arguments)
        converted = [self._argument(value, lazy) for value in arguments]
        options = {key: self._argument(value, lazy) for key, value in options.items()}
        result = function(*converted, **options)
        if function is builtins.sorted or name == "sort":
            size = len(owner if name == "sort" and isinstance(owner, list) else result)
            self.tick(size * size.bit_length())
        elif isinstance(result, (str, bytes)) or isinstance(owner, (str, bytes)) or _foreign(function):
            self.tick(_size(result))
        return result

    def _own(self, function) -> bool:
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        if code is not None:
            return code.co_filename in Finder.files
        return getattr(function, "__module__", None) in Finder.modules

    def _ordered(self, name, function, arguments, options):
        sizes = [len(value) for value in arguments if isinstance(value, list)]
        size = max(sizes, default=0)
        if name in ("heappush", "heappop", "heapreplace", "heappushpop") or name.startswith("bisect"):
            self.tick(size.bit_length())
        elif not name.startswith("insort") and name != "heapify":
            return function(*[self._argument(value, False) for value in arguments], **options)
        else:
            self.tick(size)
        return function(*arguments, **options)

    def _method(self, name, owner, arguments) -> None:
        if name in FREE_METHODS and isinstance(owner, SIZED):
            return
        if name == "pop" and isinstance(owner, list):
            self.tick(len(owner) if arguments and arguments[0] not in (-1, len(owner) - 1) else 0)
        elif name in SEARCHING and isinstance(owner, SIZED):
            self.tick(len(owner))
        elif isinstance(owner, (str, bytes)):
            self.tick(_size(owner))
        elif isinstance(owner, collections.Counter) and name in ("most_common", "total", "elements"):
            self.tick(len(owner))

    def _argument(self, value, lazy: bool):
        if isinstance(value, SIZED):
            if lazy:
                return self.each(value)
            self.tick(len(value))
        elif isinstance(value, (str, bytes)):
            self.tick(_size(value))
        elif hasattr(value, "__next__") and not hasattr(value, "read"):
            return self.each(value)
        return value


def _size(value) -> int:
    if isinstance(value, (str, bytes)):
        return len(value) // 8
    return len(value) if isinstance(value, SIZED) else 0


def _in_c(function) -> bool:
    return isinstance(function, types.BuiltinFunctionType) or function in (
        heapq.heappush,
        heapq.nlargest,
        heapq.nsmallest,
        heapq.merge,
        bisect.insort,
    )


def _foreign(function) -> bool:
    return isinstance(getattr(function, "__func__", function), types.FunctionType)


def _is_free(function) -> bool:
    try:
        if function in FREE:
            return True
    except TypeError:
        return True
    owner = getattr(function, "__self__", None)
    return isinstance(owner, SIZED) and getattr(function, "__name__", "") in FREE_METHODS


def _meter(name: str, *arguments: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name("__meter__", ast.Load()), name, ast.Load())
    return ast.Call(function, list(arguments), [])


class Rewriter(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in UNTOUCHED:
            return node
        for keyword in node.keywords:
            if keyword.arg is None:
                keyword.value = _meter("sized", keyword.value)
        call = _meter("call", node.func, *node.args)
        call.keywords = node.keywords
        return call

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _meter("each", node.value)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        pairs = zip(node.keys, node.values, strict=True)
        node.values = [value if key else _meter("sized", value) for key, value in pairs]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) in OPERATORS:
            return _meter("binary", ast.Constant(type(node.op).__name__), node.left, node.right)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
            match node.ops[0]:
                case ast.In():
                    return _meter("contains", right, left)
                case ast.NotIn():
                    return ast.UnaryOp(ast.Not(), _meter("contains", right, left))
                case ast.Eq():
                    return _meter("equal", left, right)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load):
            return _meter("sized", node)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = _meter("each", node.iter)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _meter("each", node.iter)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        self.generic_visit(node)
        node.value = _meter("each", node.value)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.test = ast.BoolOp(ast.And(), [_meter("tick"), node.test])
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        node.body = ast.BoolOp(ast.And(), [_meter("tick"), node.body])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(item) for item in node.body]
        node.body = [part for item in node.body for part in (item if isinstance(item, list) else [item])]
        docstring = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        node.body.insert(1 if docstring else 0, ast.Expr(_meter("tick")))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value:
            node.value = self.visit(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        if any(isinstance(part, ast.Starred) for target in node.targets for part in ast.walk(target)):
            node.value = _meter("sized", node.value)
        sliced = [t for t in node.targets if isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Slice)]
        return [*_touches(sliced), node]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) in OPERATORS:
            left = [ast.Name(node.target.id, ast.Load())] if isinstance(node.target, ast.Name) else []
            node.value = _meter("grown", node.value, *left)
        return node

    def visit_Delete(self, node: ast.Delete) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        return [*_touches([t for t in node.targets if isinstance(t, ast.Subscript)]), node]


def _touches(targets: list[ast.Subscript]) -> list[ast.AST]:
    bases = [target.value for target in targets if isinstance(target.value, (ast.Name, ast.Attribute))]
    return [ast.Expr(_meter("touched", ast.parse(ast.unparse(base), mode="eval").body)) for base in bases]


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules below a folder, rewritten."""

    files: set[str] = set()
    modules: set[str] = set()

    def __init__(self, folder: Path, meter: Meter) -> None:
        self.folder, self.meter = folder, meter

    def find_spec(self, fullname, path=None, target=None):
        base = self.folder.joinpath(*fullname.split("."))
        for file, package in ((base / "__init__.py", True), (base.with_name(base.name + ".py"), False)):
            if file.is_file():
                places = [str(base)] if package else None
                return importlib.util.spec_from_file_location(
                    fullname, file, loader=self, submodule_search_locations=places
                )
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module) -> None:
        file = module.__spec__.origin
        tree = ast.parse(Path(file).read_text(encoding="utf-8"), file)
        tree = ast.fix_missing_locations(Rewriter().visit(tree))
        Finder.files.add(file)
        Finder.modules.add(module.__name__)
        module.__dict__["__meter__"] = self.meter
        exec(compile(tree, file, "exec", dont_inherit=True), module.__dict__)
