"""Definitions of Go: a function's spans, comment, parameters and types, and a type's embedded types and fields."""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import ClassDraft, FunctionDraft, dotted, span_of, text_of
from scylla_gha.readiness.source_code import Function, LineSpan

_NAMED_TYPES: Final = {"type_identifier", "qualified_type"}
_WRAPPED_TYPES: Final = {"pointer_type", "parenthesized_type"}
_COMMENT_MARK: Final = re.compile(r"^//( |$)|^/\*|\*/$", re.MULTILINE)
_ERROR: Final = re.compile(r"err\w*|.*\b(Err[A-Z]\w*|\w*Error\w*|Errorf|Wrapf?|WithMessagef?|WithStack|New)")


def function_draft(node: Node, path: str) -> FunctionDraft:
    """Return the draft of a function or method, with the types of its parameters."""
    receiver = next(iter(_parameters(node.child_by_field_name("receiver"))), None)
    name = text_of(node.child_by_field_name("name"))
    parameters = list(_parameters(node.child_by_field_name("parameters")))
    comments = _comments_above(node)
    function = Function(
        path=path,
        name=f"{receiver[1]}.{name}" if receiver else name,
        language="go",
        span=span_of(node),
        body=_body(node),
        docstring=_COMMENT_MARK.sub("", "\n".join(map(text_of, comments))).strip() if comments else None,
        documented=LineSpan(span_of(comments[0]).first, span_of(comments[-1]).last) if comments else None,
        statements=0, branches=0, calls=(), guards=(), handlers=(), raised=(), decorators=(),
        parameters=tuple(parameter for parameter, _ in parameters if parameter not in ("", "_")),
        annotated=True,
        returns=_first_result(node.child_by_field_name("result")),
    )  # fmt: skip
    draft = FunctionDraft(function, None)
    draft.variables.update(parameter for parameter in [*([receiver] if receiver else []), *parameters] if parameter[0])
    return draft


def class_draft(node: Node) -> ClassDraft:
    """Return the draft of a type."""
    draft = ClassDraft(text_of(node.child_by_field_name("name")), span_of(node))
    declared = node.child_by_field_name("type")
    fields = [child for part in (declared.named_children if declared and declared.type == "struct_type" else [])
              for child in part.named_children if child.type == "field_declaration"]  # fmt: skip
    for declaration in fields:
        kind = type_name(declaration.child_by_field_name("type"))
        names = declaration.children_by_field_name("name")
        for name in names:
            draft.set_field(text_of(name), kind)
        if not names and kind:
            draft.bases = (*draft.bases, kind)
            draft.set_field(kind.rpartition(".")[2], kind)
    return draft


def type_name(node: Node | None) -> str:
    """Return the name of a type, without pointer and type arguments; "" for slices, maps, functions and the like."""
    while node is not None and node.type in _WRAPPED_TYPES and node.named_children:
        node = node.named_children[0]
    if node is not None and node.type == "generic_type":
        node = node.child_by_field_name("type")
    return text_of(node) if node is not None and node.type in _NAMED_TYPES else ""


def returned_error(node: Node) -> str | None:
    """Return the name of the error that a `return` ends with: "fmt.Errorf", "ErrClosed", "ParseError", "err"."""
    values = (
        [child for part in node.named_children for child in part.named_children]
        if node.type == "return_statement"
        else []
    )
    if not values:
        return None
    last = values[-1]
    if last.type == "unary_expression":
        last = last.child_by_field_name("operand") or last
    if last.type == "composite_literal":
        name = type_name(last.child_by_field_name("type"))
    else:
        called = last.child_by_field_name("function") if last.type == "call_expression" else last
        name = dotted(called, "selector_expression", "operand")
    return name if _ERROR.fullmatch(name) else None


def _parameters(node: Node | None) -> Iterator[tuple[str, str]]:
    for parameter in node.named_children if node else []:
        if parameter.type != "comment":
            kind = parameter.child_by_field_name("type")
            written = type_name(kind) if parameter.type == "parameter_declaration" else ""
            names = [text_of(name) for name in parameter.children_by_field_name("name")]
            yield from ((name, written) for name in names or [""])


def _first_result(result: Node | None) -> str:
    first = next(iter(result.named_children), None) if result and result.type == "parameter_list" else result
    return type_name(first.child_by_field_name("type") if first and first.type == "parameter_declaration" else first)


def _comments_above(node: Node) -> list[Node]:
    """Return the comments on the lines right above a declaration."""
    comments: list[Node] = []
    line, before = node.start_point[0], node.prev_sibling
    while before is not None and before.type == "comment" and before.end_point[0] == line - 1:
        if text_of(before).startswith("//go:"):
            break
        comments.insert(0, before)
        line, before = before.start_point[0], before.prev_sibling
    return comments


def _body(node: Node) -> LineSpan:
    """Return the lines between the braces."""
    body = span_of(node.child_by_field_name("body") or node)
    return body if body.first == body.last else LineSpan(body.first + 1, body.last - 1)
