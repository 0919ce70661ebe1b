"""Python files: functions, classes, imports and calls from their syntax tree."""

import re
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.base import NodeHandler, Steps, walk
from scylla_gha.readiness.languages.drafts import FileDraft, Scope, add_counts, text_of
from scylla_gha.readiness.languages.python_definitions import (
    class_draft,
    code_span,
    function_draft,
    is_overload,
    name_of_call,
    type_name,
)
from scylla_gha.readiness.languages.python_imports import imports_of
from scylla_gha.readiness.source_code import Call, Guard, Language, SourceFile

_DOTTED: Final = re.compile(r"[A-Za-z_][\w.]*")
_STATEMENTS: Final = (
    "expression_statement", "return_statement", "assert_statement", "delete_statement", "pass_statement",
    "break_statement", "continue_statement", "global_statement", "nonlocal_statement", "with_statement",
    "try_statement", "match_statement", "type_alias_statement", "print_statement", "exec_statement",
)  # fmt: skip
_BRANCHES: Final = ("case_clause", "boolean_operator", "conditional_expression", "if_clause")


class PythonParser:
    """Parser of Python files."""

    language: Language = "python"
    suffixes: frozenset[str] = frozenset({".py"})

    def parse(self, path: str, text: str, root: Node, *, is_test: bool) -> SourceFile:
        """Return the functions, classes, imports and calls of a file."""
        draft = FileDraft(path, self.language, text, is_test)
        walk(root, Scope(), _PythonWalk(draft).handlers())
        draft.exported |= {name for name in draft.variables if not name.startswith("_")}
        return draft.finished()


class _PythonWalk:
    """Handlers of node types, which fill the draft of a file."""

    def __init__(self, file: FileDraft) -> None:
        self._file = file

    def handlers(self) -> dict[str, NodeHandler]:
        """Return the handler of each node type that means something."""
        return {
            "decorated_definition": self._decorated,
            "function_definition": self._function,
            "class_definition": self._class,
            "call": self._call,
            "if_statement": self._if,
            "for_statement": self._for,
            "while_statement": self._loop,
            "elif_clause": self._loop,
            "except_clause": self._handler,
            "raise_statement": self._raise,
            "import_statement": self._import,
            "import_from_statement": self._import,
            "future_import_statement": self._import,
            "assignment": self._assignment,
            "for_in_clause": self._bound_left,
            "as_pattern_target": self._bound,
            "lambda_parameters": self._bound,
            "named_expression": self._bound_name,
            "comment": _nothing,
            "type": _nothing,
            **dict.fromkeys(_STATEMENTS, self._statement),
            **dict.fromkeys(_BRANCHES, self._branch),
        }

    def _decorated(self, node: Node, scope: Scope) -> Steps | None:
        definition = node.child_by_field_name("definition")
        if definition is None:
            return None
        decorators = [child for child in node.named_children if child.type == "decorator"]
        inner = self._class if definition.type == "class_definition" else self._function
        return [*((child, scope) for child in decorators), *(inner(definition, scope) or ())]

    def _function(self, node: Node, scope: Scope) -> Steps | None:
        add_counts(scope, 1, 0)
        body, parameters = node.child_by_field_name("body"), node.child_by_field_name("parameters")
        if body is None or parameters is None or node.has_error or is_overload(node):
            return []
        draft = function_draft(node, scope, self._file.path)
        self._file.functions.append(draft)
        if not scope.name and not draft.function.name.startswith("_"):
            self._file.exported.add(draft.function.name)
        inner = Scope(f"{draft.function.name}.", draft, scope.inside)
        documented = draft.function.documented
        children = body.named_children
        if documented is not None:
            docstring = next(child for child in children if child.type != "comment")
            children = [child for child in children if child != docstring]
        return [(parameters, scope), *((child, inner) for child in children)]

    def _class(self, node: Node, scope: Scope) -> Steps | None:
        add_counts(scope, 1, 0)
        body = node.child_by_field_name("body")
        if body is None:
            return []
        draft = class_draft(node, scope)
        self._file.classes.append(draft)
        if not scope.name and not draft.name.startswith("_"):
            self._file.exported.add(draft.name)
        bases = node.child_by_field_name("superclasses")
        inner = Scope(f"{draft.name}.", scope.function, draft)
        return [*([(bases, scope)] if bases else []), (body, inner)]

    def _call(self, node: Node, scope: Scope) -> None:
        calls = scope.function.calls if scope.function else self._file.calls
        calls.append(Call(name_of_call(node), node.start_point[0] + 1))

    def _if(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 1, 1)
        function, body = scope.function, node.child_by_field_name("consequence")
        if function is None or body is None or node.child_by_field_name("alternative") is not None:
            return
        statements = [child for child in body.named_children if child.type != "comment"]
        if statements and statements[-1].type == "raise_statement" and all(map(_is_assignment, statements[:-1])):
            function.guards.append(Guard(code_span(node), text_of(node.child_by_field_name("condition"))))

    def _for(self, node: Node, scope: Scope) -> None:
        self._loop(node, scope)
        self._bound_left(node, scope)

    def _loop(self, _: Node, scope: Scope) -> None:
        add_counts(scope, 1, 1)

    def _handler(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 0, 1)
        if scope.function:
            scope.function.handlers.append(code_span(node))

    def _raise(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 1, 0)
        error = node.named_children[0] if node.named_children else None
        if error is not None and error.type == "call":
            error = error.child_by_field_name("function")
        name = text_of(error)
        if scope.function and _DOTTED.fullmatch(name) and name.rpartition(".")[2][:1].isupper():
            scope.function.raised.append(name)

    def _import(self, node: Node, scope: Scope) -> Steps:
        add_counts(scope, 1, 0)
        self._file.imports += imports_of(node)
        return []

    def _statement(self, _: Node, scope: Scope) -> None:
        add_counts(scope, 1, 0)

    def _branch(self, _: Node, scope: Scope) -> None:
        add_counts(scope, 0, 1)

    def _assignment(self, node: Node, scope: Scope) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None:
            return
        kind = self._type_of(node, right, scope)
        if left.type == "identifier":
            self._file.bind(text_of(left), kind, scope)
            if right is not None and scope == Scope() and _DOTTED.fullmatch(text_of(right)):
                self._file.alias(text_of(left), text_of(right), node)
        elif left.type == "attribute":
            owner, _, attribute = text_of(left).rpartition(".")
            function, inside = scope.function, scope.inside
            if inside and function and function.type_of(owner) in (inside.name, f"type[{inside.name}]"):
                inside.set_field(attribute, kind)
        else:
            self._bound(left, scope)

    def _type_of(self, node: Node, right: Node | None, scope: Scope) -> str:
        annotation = node.child_by_field_name("type")
        if annotation is not None:
            return type_name(text_of(annotation))
        if right is not None and right.type == "await":
            right = right.named_children[0] if right.named_children else None
        if right is not None and right.type == "call":
            name = text_of(right.child_by_field_name("function"))
            return f"{name}()" if _DOTTED.fullmatch(name) else ""
        if right is not None and right.type == "identifier" and scope.function:
            return scope.function.type_of(text_of(right)) or ""
        return ""

    def _bound_left(self, node: Node, scope: Scope) -> None:
        left = node.child_by_field_name("left")
        if left is not None:
            self._bound(left, scope)

    def _bound_name(self, node: Node, scope: Scope) -> None:
        self._file.bind(text_of(node.child_by_field_name("name")), "", scope)

    def _bound(self, node: Node, scope: Scope) -> None:
        """Note names that are bound by a loop, a pattern or a lambda; their types are unknown."""
        pending = [node]
        while pending:
            part = pending.pop()
            if part.type == "identifier":
                self._file.bind(text_of(part), "", scope)
            elif part.type not in ("attribute", "subscript", "default_parameter"):
                pending += part.named_children
            elif part.type == "default_parameter":
                pending += part.named_children[:1]


def _is_assignment(node: Node) -> bool:
    return node.type == "expression_statement" and node.named_children[0].type == "assignment"


def _nothing(_: Node, __: Scope) -> Steps:
    return []
