"""Measure repeated runs of statements and the size of a source tree."""

import ast
from dataclasses import dataclass
from pathlib import Path

LONGEST = 4  # statements that two runs may have in common

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Place:
    file: str
    line: int
    function: str
    block: int
    start: int
    end: int


class _Normal(ast.NodeTransformer):
    """Takes away what may differ between two copies: names, literals, annotations, docstrings."""

    def visit_Name(self, node: ast.AST) -> ast.AST:
        return ast.Name(id="_", ctx=ast.Load())

    visit_Constant = visit_JoinedStr = visit_Name

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self.visit_Name(node) if _dotted(node) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute):  # the name of a method stays
            node.func.value = self.visit(node.func.value)
        else:
            node.func = self.visit(node.func)
        node.args = [self.visit(item) for item in node.args]
        node.keywords = [self.visit(item) for item in node.keywords]
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg="_", annotation=None)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        value = self.visit(node.value) if node.value else ast.Constant(value=None)
        return ast.Assign(targets=[self.visit(node.target)], value=value)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        node.name = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name, node.returns, node.body = "_", None, statements(node.body) or [ast.Pass()]
        return node


def _dotted(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def statements(block: list[ast.stmt]) -> list[ast.stmt]:
    """A block without docstrings and other bare literals, ``pass``, and imports."""
    return [
        item
        for item in block
        if not isinstance(item, (ast.Pass, ast.Import, ast.ImportFrom))
        and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
    ]


def _blocks(function: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of a function, those of functions defined inside it left out."""
    result, open_nodes = [], [function]
    while open_nodes:
        node = open_nodes.pop()
        for _, value in ast.iter_fields(node):
            if not isinstance(value, list):
                continue
            if value and isinstance(value[0], ast.stmt):
                result.append(statements(value))
            open_nodes += [
                item
                for item in value
                if isinstance(item, (ast.stmt, ast.ExceptHandler, ast.match_case))
                and not isinstance(item, (*FUNCTIONS, ast.ClassDef))
            ]
    return result


def _count(statement: ast.stmt) -> int:
    total = 1
    for _, value in ast.iter_fields(statement):
        if isinstance(value, list):
            for item in value:
                if isinstance(item, (ast.ExceptHandler, ast.match_case)):
                    total += sum(_count(child) for child in statements(item.body))
            if value and isinstance(value[0], ast.stmt):
                total += sum(_count(child) for child in statements(value))
    return total


def _trees(root: Path) -> list[tuple[str, ast.Module]]:
    paths = sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)
    return [(str(path.relative_to(root)), ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def repeated(root: Path) -> list[tuple[Place, Place]]:
    """Pairs of runs of more than LONGEST statements that are alike."""
    seen: dict[tuple[str, ...], list[Place]] = {}
    pairs = []
    number = 0
    for file, tree in _trees(root):
        for function in [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]:
            for block in _blocks(function):
                number += 1
                lines = [item.lineno for item in block]
                counts = [_count(item) for item in block]
                texts = [ast.dump(_Normal().visit(_copy(item))) for item in block]
                for start in range(len(block)):
                    end, total = start, 0
                    while end < len(block) and total <= LONGEST:
                        total += counts[end]
                        end += 1
                    run = tuple(texts[start:end])
                    if total <= LONGEST or (len(run) > 1 and len(set(run)) == 1):
                        continue
                    place = Place(file, lines[start], function.name, number, start, end)
                    other = next((p for p in seen.get(run, []) if p.block != number or p.end <= start), None)
                    if other:
                        pairs.append((other, place))
                    seen.setdefault(run, []).append(place)
    return pairs


def _copy(node: ast.stmt) -> ast.stmt:
    return ast.parse(ast.unparse(node)).body[0]


def size(root: Path) -> int:
    """The number of syntax nodes, without imports, annotations and docstrings."""
    return sum(_nodes(tree) for _, tree in _trees(root))


def _nodes(node: ast.AST) -> int:
    total = 0
    for name, value in ast.iter_fields(node):
        parts = value if isinstance(value, list) else [value]
        if parts and isinstance(parts[0], ast.stmt):
            parts = statements(parts)
        if name not in ("annotation", "returns"):
            children = [part for part in parts if isinstance(part, ast.AST) and not isinstance(part, ast.expr_context)]
            total += sum(1 + _nodes(child) for child in children)
    return total
