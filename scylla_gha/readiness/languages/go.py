"""Go files: functions, types, imports and calls from their syntax tree.

Function literals belong to the function around them. A type with a declaration is a class; its embedded types are the
bases, and interfaces have no functions.
"""

import re
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.base import NodeHandler, Steps, walk
from scylla_gha.readiness.languages.drafts import FileDraft, Scope, add_counts, dotted, span_of, text_of
from scylla_gha.readiness.languages.go_definitions import class_draft, function_draft, returned_error, type_name
from scylla_gha.readiness.source_code import Call, Guard, Import, Language, SourceFile

_STATEMENTS: Final = (
    "expression_statement", "return_statement", "assignment_statement", "inc_statement", "dec_statement",
    "go_statement", "defer_statement", "send_statement", "expression_switch_statement", "type_switch_statement",
    "select_statement", "labeled_statement", "break_statement", "continue_statement", "goto_statement",
    "fallthrough_statement", "const_declaration",
)  # fmt: skip
_BRANCHES: Final = ("expression_case", "type_case", "communication_case")
_PLAIN: Final = re.compile(r"[A-Za-z_][\w.]*")
_BEFORE_ERROR: Final = {"short_var_declaration", "var_declaration"}


class GoParser:
    """Parser of Go files."""

    language: Language = "go"
    suffixes: frozenset[str] = frozenset({".go"})

    def parse(self, path: str, text: str, root: Node, *, is_test: bool) -> SourceFile:
        """Return the functions, types, imports and calls of a file."""
        draft = FileDraft(path, self.language, text, is_test)
        walk(root, Scope(), _GoWalk(draft).handlers())
        names = {function.function.name for function in draft.functions} | {kind.name for kind in draft.classes}
        draft.exported |= {name for name in names if name[:1].isupper()}
        return draft.finished()


class _GoWalk:
    """Handlers of node types, which fill the draft of a file."""

    def __init__(self, file: FileDraft) -> None:
        self._file = file

    def handlers(self) -> dict[str, NodeHandler]:
        """Return the handler of each node type that means something."""
        return {
            "import_spec": self._import,
            "type_spec": self._type,
            "function_declaration": self._function,
            "method_declaration": self._function,
            "call_expression": self._call,
            "short_var_declaration": self._assigned,
            "var_declaration": _statement,
            "var_spec": self._declared,
            "range_clause": self._range,
            "func_literal": self._literal,
            "if_statement": self._if,
            "for_statement": _loop,
            "binary_expression": _operator,
            "return_statement": self._return,
            "comment": lambda *_: [],
            **{kind: _statement for kind in _STATEMENTS if kind != "return_statement"},
            **dict.fromkeys(_BRANCHES, _branch),
        }

    def _import(self, node: Node, _: Scope) -> Steps:
        module = text_of(node.child_by_field_name("path")).strip('"`')
        written = text_of(node.child_by_field_name("name"))
        last = re.sub(r"/v[0-9]+$|\.v[0-9]+$", "", module).rpartition("/")[2]
        local = {"": last, ".": "*"}.get(written, written)
        if local != "_":
            self._file.imports.append(Import(local, module, None, node.start_point[0] + 1))
        return []

    def _type(self, node: Node, scope: Scope) -> Steps:
        if not scope.name:
            self._file.classes.append(class_draft(node))
        return []

    def _function(self, node: Node, scope: Scope) -> Steps:
        body = node.child_by_field_name("body")
        if body is None or node.has_error:
            return []
        draft = function_draft(node, self._file.path)
        self._file.functions.append(draft)
        return [(body, Scope(f"{draft.function.name}.", draft, scope.inside))]

    def _call(self, node: Node, scope: Scope) -> None:
        calls = scope.function.calls if scope.function else self._file.calls
        name = dotted(node.child_by_field_name("function"), "selector_expression", "operand")
        calls.append(Call(name, node.start_point[0] + 1))

    def _assigned(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 1, 0)
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        names = left.named_children if left else []
        expressions = right.named_children if right else []
        for position, name in enumerate(names):
            source = (
                expressions[position] if len(names) == len(expressions) else expressions[0] if not position else None
            )
            self._bind(name, self._type_of(source, scope), scope)

    def _declared(self, node: Node, scope: Scope) -> None:
        kind = type_name(node.child_by_field_name("type"))
        for name in node.children_by_field_name("name"):
            self._bind(name, kind, scope)

    def _range(self, node: Node, scope: Scope) -> None:
        left = node.child_by_field_name("left")
        for name in left.named_children if left else []:
            self._bind(name, "", scope)

    def _literal(self, node: Node, scope: Scope) -> None:
        parameters = node.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters and scope.function else []:
            for name in parameter.children_by_field_name("name"):
                self._bind(name, type_name(parameter.child_by_field_name("type")), scope)

    def _bind(self, name: Node, kind: str, scope: Scope) -> None:
        if name.type == "identifier" and text_of(name) not in ("_", "err"):
            self._file.bind(text_of(name), kind, scope)

    def _type_of(self, node: Node | None, scope: Scope) -> str:
        if node is not None and node.type == "unary_expression":
            node = node.child_by_field_name("operand")
        if node is None:
            return ""
        if node.type == "composite_literal":
            return type_name(node.child_by_field_name("type"))
        if node.type == "call_expression":
            name = dotted(node.child_by_field_name("function"), "selector_expression", "operand")
            return f"{name}()" if _PLAIN.fullmatch(name) else ""
        if node.type == "identifier" and scope.function:
            return scope.function.type_of(text_of(node)) or ""
        return ""

    def _if(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 1, 1)
        body, function = node.child_by_field_name("consequence"), scope.function
        if function is None or body is None:
            return
        condition = text_of(node.child_by_field_name("condition"))
        if re.search(r"\b[eE]rr\w*\s*!=\s*nil", condition):
            function.handlers.append(span_of(node))
        is_chained = node.parent is not None and node.parent.type == "if_statement"
        if is_chained or node.child_by_field_name("alternative") is not None:
            return
        parts = [
            part for child in body.named_children if child.type == "statement_list" for part in child.named_children
        ]
        statements = [part for part in parts if part.type != "comment"]
        if statements and _is_error(statements[-1]) and all(part.type in _BEFORE_ERROR for part in statements[:-1]):
            function.guards.append(Guard(span_of(node), condition))

    def _return(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 1, 0)
        name = returned_error(node)
        if scope.function and name and name != "err":
            scope.function.raised.append(name)


def _is_error(node: Node) -> bool:
    """Return True for a `return` with an error, and for `panic`."""
    return returned_error(node) is not None or text_of(node).startswith("panic(")


def _operator(node: Node, scope: Scope) -> None:
    operator = node.child_by_field_name("operator")
    add_counts(scope, 0, int(operator is not None and operator.type in ("&&", "||")))


def _loop(_: Node, scope: Scope) -> None:
    add_counts(scope, 1, 1)


def _statement(_: Node, scope: Scope) -> None:
    add_counts(scope, 1, 0)


def _branch(_: Node, scope: Scope) -> None:
    add_counts(scope, 0, 1)
