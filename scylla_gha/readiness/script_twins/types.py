"""TypeScript code without types of values: annotations of parameters, results and variables, `as`, `satisfies`, `!`.

Kept: all that exists at run time or that another declaration needs: parameter properties, fields of classes, classes
with decorators, overloads, signatures without a body, ambient declarations, `this`, and `let x!`.
"""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import text_of
from scylla_gha.readiness.script_twins.edits import Edit, owners_of, parsed, safely_edited, value_of
from scylla_gha.readiness.twin_texts import Choice

_ROUTINES: Final = {
    "function_declaration", "generator_function_declaration", "function_expression", "generator_function",
    "arrow_function", "method_definition",
}  # fmt: skip
_CLASSES: Final = {"class", "class_declaration", "abstract_class_declaration"}
_SIGNATURES: Final = {"function_signature", "method_signature"}
_LEFT_ALONE: Final = {
    "ambient_declaration", "interface_declaration", "type_alias_declaration", "type_annotation", "type_arguments",
    "type_parameters", "import_statement", "enum_declaration",
}  # fmt: skip
_AFTER: Final = re.compile(rb"\s*\n\s*[(\[`+\-*/<]")  # the next line would go on with the expression
_INSIDE: Final = re.compile(rb"\n\s*[(\[]")  # a statement that the parser takes for a part of the type
_THIS: Final = re.compile(r"\bthis\b")
_PROPERTY: Final = {"accessibility_modifier", "override_modifier", "readonly", "decorator"}


def without_value_types(text: str, path: str, choose: Choice) -> str:
    """Remove the types of chosen functions' parameters, results and variables, and of the module's variables.

    A text that does not parse, or a script without types, is returned as it is.
    """
    root = parsed(text, path)
    if root is None:
        return text
    owners, code = owners_of(text, path, root), text.encode()
    edits: dict[str, list[Edit]] = {}
    for node in _typed_nodes(root):
        owner = owners.get(node.start_point[0] + 1, "")
        if choose(owner):
            edits.setdefault(owner, []).extend(edit for edit in _edits(node) if _ends_before_next(code, edit))
    return safely_edited(text, path, edits.values())


def _ends_before_next(code: bytes, edit: Edit) -> bool:
    """Return True if the next line is a statement of its own, with and without the type."""
    return not (_AFTER.match(code, edit[1]) or _INSIDE.search(code, edit[0], edit[1]))


def _typed_nodes(root: Node) -> Iterator[Node]:
    """Yield the nodes that a type can be taken from."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in _LEFT_ALONE or (node.type in _CLASSES and _has_decorator(node)):
            continue
        yield node
        pending += [child for child in reversed(node.children) if child.child_count]


def _edits(node: Node) -> Iterator[Edit]:
    if node.type in _ROUTINES:
        yield from _signature_edits(node)
    elif node.type in ("as_expression", "satisfies_expression", "non_null_expression"):
        yield value_of(node).end_byte, node.end_byte, ""
    elif node.type == "type_assertion":
        yield node.start_byte, value_of(node).start_byte, ""
    elif node.type in ("variable_declarator", "catch_clause"):
        kind = node.child_by_field_name("type")
        if kind is not None and all(child.type != "!" for child in node.children):
            yield kind.start_byte, kind.end_byte, ""


def _signature_edits(node: Node) -> Iterator[Edit]:
    """Yield the removals of a function's types; an overloaded one keeps all."""
    if _is_overloaded(node):
        return
    parameters = node.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters else []:
        kind, pattern = parameter.child_by_field_name("type"), parameter.child_by_field_name("pattern")
        is_property = any(child.type in _PROPERTY for child in parameter.children)
        if kind is not None and pattern is not None and pattern.type != "this" and not is_property:
            yield kind.start_byte, kind.end_byte, ""
    result = node.child_by_field_name("return_type")
    if result is not None and not _THIS.search(text_of(result)):
        yield result.start_byte, result.end_byte, ""


def _is_overloaded(node: Node) -> bool:
    outer = node.parent if node.parent and node.parent.type == "export_statement" else node
    name = text_of(node.child_by_field_name("name"))
    before = outer.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    if before is not None and before.type == "export_statement":
        before = before.child_by_field_name("declaration")
    return before is not None and before.type in _SIGNATURES and text_of(before.child_by_field_name("name")) == name


def _has_decorator(node: Node) -> bool:
    pending = [node]
    if node.parent is not None and any(child.type == "decorator" for child in node.parent.children):
        return True
    while pending:
        part = pending.pop()
        if part.type == "decorator":
            return True
        pending += part.children
    return False
