"""JavaScript and TypeScript files: functions, classes, imports and calls from their syntax tree.

A function has a name: a declaration, a method, or an expression that is assigned to a variable, field or key. Other
function expressions (callbacks) belong to the function around them. Signatures without a body are no functions.
"""

import re
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.base import NodeHandler, Steps, walk
from scylla_gha.readiness.languages.drafts import FileDraft, Scope, add_counts, dotted, span_of, text_of
from scylla_gha.readiness.languages.ecmascript_definitions import (
    bound_names,
    class_draft,
    function_draft,
    is_guard,
    name_of_call,
    parameter_nodes,
    type_name,
)
from scylla_gha.readiness.languages.ecmascript_imports import add_exports, imports_of, required, required_module
from scylla_gha.readiness.source_code import Call, Guard, Language, SourceFile

_FUNCTIONS: Final = {"arrow_function", "function_expression", "generator_function", "function"}
_CLASSES: Final = {"class", "class_declaration", "abstract_class_declaration"}
_STATEMENTS: Final = (
    "expression_statement", "lexical_declaration", "variable_declaration", "return_statement", "try_statement",
    "switch_statement", "break_statement", "continue_statement", "labeled_statement",
)  # fmt: skip
_LOOPS: Final = ("for_statement", "for_in_statement", "while_statement", "do_statement")
_BRANCHES: Final = ("switch_case", "ternary_expression")
_PREFIX: Final = re.compile(r"^(module\.exports|exports)(\.|$)|(?<=\.)prototype\.")
_PLAIN: Final = re.compile(r"[A-Za-z_$][\w$.]*")


class JavaScriptParser:
    """Parser of JavaScript files."""

    language: Language = "javascript"
    suffixes: frozenset[str] = frozenset({".js", ".jsx", ".mjs", ".cjs"})

    def parse(self, path: str, text: str, root: Node, *, is_test: bool) -> SourceFile:
        """Return the functions, classes, imports and calls of a file."""
        return _parsed(FileDraft(path, self.language, text, is_test), root)


class TypeScriptParser:
    """Parser of TypeScript files."""

    language: Language = "typescript"
    suffixes: frozenset[str] = frozenset({".ts", ".tsx", ".mts", ".cts"})

    def parse(self, path: str, text: str, root: Node, *, is_test: bool) -> SourceFile:
        """Return the functions, classes, imports and calls of a file."""
        return _parsed(FileDraft(path, self.language, text, is_test), root)


def _parsed(draft: FileDraft, root: Node) -> SourceFile:
    walk(root, Scope(), _ScriptWalk(draft).handlers())
    return draft.finished()


class _ScriptWalk:
    """Handlers of node types, which fill the draft of a file."""

    def __init__(self, file: FileDraft) -> None:
        self._file = file

    def handlers(self) -> dict[str, NodeHandler]:
        """Return the handler of each node type that means something."""
        return {
            "import_statement": self._import,
            "export_statement": self._export,
            "function_declaration": self._declaration,
            "generator_function_declaration": self._declaration,
            "method_definition": self._declaration,
            "internal_module": self._namespace,
            "variable_declarator": self._variable,
            "assignment_expression": self._assignment,
            "public_field_definition": self._field,
            "field_definition": self._field,
            "pair": self._pair,
            "call_expression": self._call,
            "new_expression": self._call,
            "if_statement": self._if,
            "catch_clause": self._handler,
            "throw_statement": self._throw,
            "binary_expression": self._operator,
            "comment": _nothing,
            "type_annotation": _nothing,
            "interface_declaration": _nothing,
            "type_alias_declaration": _nothing,
            "ambient_declaration": _nothing,
            **dict.fromkeys(_FUNCTIONS, self._callback),
            **dict.fromkeys(_CLASSES, self._class_declaration),
            **dict.fromkeys(_STATEMENTS, _statement),
            **dict.fromkeys(_LOOPS, self._loop),
            **dict.fromkeys(_BRANCHES, _branch),
        }

    def _import(self, node: Node, _: Scope) -> Steps:
        self._file.imports += imports_of(node)
        return []

    def _export(self, node: Node, scope: Scope) -> Steps | None:
        add_exports(node, self._file)
        default = node.child_by_field_name("value")
        if default is None:
            return None
        self._file.exported.add("default")
        if default.type in _FUNCTIONS:
            return self._define("default", default, default, scope)
        return self._class("default", default, scope) if default.type in _CLASSES else [(default, scope)]

    def _declaration(self, node: Node, scope: Scope) -> Steps | None:
        add_counts(scope, 1, 0)
        name = text_of(node.child_by_field_name("name")).strip("\"'[]")
        self._note_export(node, name)
        return self._define(name, node, node, scope)

    def _note_export(self, node: Node, name: str) -> None:
        parent = node.parent
        if parent is None or parent.type != "export_statement":
            return
        self._file.exported.add(name)
        if any(child.type == "default" for child in parent.children):
            self._file.exported.add("default")
            self._file.alias("default", name, node)

    def _define(self, name: str, node: Node, whole: Node, scope: Scope) -> Steps | None:
        if node.has_error or not name or node.child_by_field_name("body") is None:
            return []
        draft = function_draft(scope.name + name, node, whole, scope, (self._file.path, self._file.language))
        self._file.functions.append(draft)
        self._set_parameter_properties(node, scope)
        inner = Scope(f"{scope.name}{name}.", draft, scope.inside)
        body = node.child_by_field_name("body")
        return [*((part, scope) for part in parameter_nodes(node)), *([(body, inner)] if body else [])]

    def _set_parameter_properties(self, node: Node, scope: Scope) -> None:
        """Note the fields that parameters of a constructor declare."""
        for part in parameter_nodes(node) if scope.inside else []:
            if part.named_children and part.named_children[0].type == "accessibility_modifier" and scope.inside:
                kind = type_name(text_of(part.child_by_field_name("type")))
                scope.inside.set_field(text_of(part.child_by_field_name("pattern")), kind)

    def _class_declaration(self, node: Node, scope: Scope) -> Steps | None:
        add_counts(scope, int(node.type != "class"), 0)
        name = text_of(node.child_by_field_name("name"))
        self._note_export(node, name)
        return self._class(name, node, scope) if name else None

    def _class(self, name: str, node: Node, scope: Scope) -> Steps | None:
        body = node.child_by_field_name("body")
        draft = class_draft(scope.name + name, node)
        self._file.classes.append(draft)
        return [(body, Scope(f"{draft.name}.", scope.function, draft))] if body else []

    def _namespace(self, node: Node, scope: Scope) -> Steps | None:
        body = node.child_by_field_name("body")
        name = text_of(node.child_by_field_name("name"))
        return [(body, Scope(f"{scope.name}{name}.", scope.function))] if body else []

    def _variable(self, node: Node, scope: Scope) -> Steps | None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return None
        if node.parent is not None:
            for bound in bound_names(name):
                self._note_export(node.parent, bound)
        module = required_module(value)
        if module is not None:
            self._file.imports += required(name, module, node.start_point[0] + 1)
            return []
        if name.type == "identifier" and value is not None and value.type in _FUNCTIONS | _CLASSES | {"object"}:
            return self._named(text_of(name), value, node, scope)
        kind = node.child_by_field_name("type")
        written = type_name(text_of(kind)) if kind else self._type_of(value, scope)
        for bound in bound_names(name):
            self._file.bind(bound, written if name.type == "identifier" else "", scope)
        return [(value, scope)] if value else []

    def _named(self, name: str, node: Node, whole: Node, scope: Scope) -> Steps | None:
        """Visit a function, class or object that gets a name."""
        if node.type in _FUNCTIONS:
            return self._define(name, node, whole, scope)
        if node.type in _CLASSES:
            return self._class(name, node, scope)
        if node.type == "object":
            return [(child, Scope(f"{scope.name}{name}.", scope.function)) for child in node.named_children]
        return [(node, scope)]

    def _assignment(self, node: Node, scope: Scope) -> Steps | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        target = dotted(left, "member_expression", "object")
        if target.startswith("this.") and scope.inside and target.count(".") == 1:
            scope.inside.set_field(target[5:], self._type_of(right, scope))
            return [(right, scope)] if right.type not in _FUNCTIONS else self._define(target[5:], right, node, scope)
        name = _PREFIX.sub("", target)
        is_export = target.startswith(("module.exports", "exports."))
        if is_export:
            self._export_assigned(name, right, node)
        if right.type not in _FUNCTIONS | _CLASSES | {"object"} or not _PLAIN.fullmatch(name or "default"):
            return [(left, scope), (right, scope)]
        if right.type == "object" and not name:
            return [(child, scope) for child in right.named_children]
        return self._named(name or text_of(right.child_by_field_name("name")) or "default", right, node, scope)

    def _export_assigned(self, name: str, right: Node, node: Node) -> None:
        """Note the names of `exports.NAME = ...` and `module.exports = {...}`."""
        if right.type == "object":
            keys = [child.child_by_field_name("key") or child.child_by_field_name("name") or child
                    for child in right.named_children]  # fmt: skip
            self._file.exported |= {text_of(key) for key in keys if _PLAIN.fullmatch(text_of(key))}
            return
        exported = name or "default"
        self._file.exported.add(exported)
        own_name = text_of(right) if right.type == "identifier" else text_of(right.child_by_field_name("name"))
        if own_name and _PLAIN.fullmatch(own_name) and own_name != exported:
            self._file.alias(exported, own_name, node)

    def _field(self, node: Node, scope: Scope) -> Steps | None:
        name = text_of(node.child_by_field_name("name") or node.child_by_field_name("property"))
        value, kind = node.child_by_field_name("value"), node.child_by_field_name("type")
        if value is not None and value.type in _FUNCTIONS:
            return self._define(name, value, node, scope)
        if scope.inside is not None:
            scope.inside.set_field(name, type_name(text_of(kind)) if kind else self._type_of(value, scope))
        return [(value, scope)] if value else []

    def _pair(self, node: Node, scope: Scope) -> Steps | None:
        key, value = text_of(node.child_by_field_name("key")).strip("\"'"), node.child_by_field_name("value")
        if value is None or not _PLAIN.fullmatch(key) or not scope.name or value.type not in _FUNCTIONS | {"object"}:
            return None
        return self._named(key, value, node, scope)

    def _callback(self, node: Node, scope: Scope) -> None:
        for parameter in parameter_nodes(node) if scope.function else []:
            for name in bound_names(parameter.child_by_field_name("pattern") or parameter):
                self._file.bind(name, "", scope)

    def _call(self, node: Node, scope: Scope) -> None:
        calls = scope.function.calls if scope.function else self._file.calls
        calls.append(Call(name_of_call(node), node.start_point[0] + 1))

    def _type_of(self, node: Node | None, scope: Scope) -> str:
        if node is not None and node.type == "await_expression":
            node = node.named_children[0] if node.named_children else None
        if node is not None and node.type in ("call_expression", "new_expression"):
            name = name_of_call(node)
            return f"{name}()" if _PLAIN.fullmatch(name) else ""
        if node is not None and node.type == "identifier" and scope.function:
            return scope.function.type_of(text_of(node)) or ""
        return ""

    def _if(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 1, 1)
        if scope.function and is_guard(node):
            condition = text_of(node.child_by_field_name("condition"))
            scope.function.guards.append(Guard(span_of(node), condition[1:-1].strip()))

    def _handler(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 0, 1)
        if scope.function:
            scope.function.handlers.append(span_of(node))

    def _throw(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 1, 0)
        error = node.named_children[0] if node.named_children else None
        if scope.function and error is not None and error.type in ("new_expression", "call_expression"):
            name = name_of_call(error)
            if _PLAIN.fullmatch(name) and name.rpartition(".")[2][:1].isupper():
                scope.function.raised.append(name)

    def _loop(self, node: Node, scope: Scope) -> None:
        add_counts(scope, 1, 1)
        left = node.child_by_field_name("left")
        for name in bound_names(left) if left and scope.function else ():
            self._file.bind(name, "", scope)

    def _operator(self, node: Node, scope: Scope) -> None:
        operator = node.child_by_field_name("operator")
        add_counts(scope, 0, int(operator is not None and operator.type in ("&&", "||", "??")))


def _statement(_: Node, scope: Scope) -> None:
    add_counts(scope, 1, 0)


def _branch(_: Node, scope: Scope) -> None:
    add_counts(scope, 0, 1)


def _nothing(_: Node, __: Scope) -> Steps:
    return []
