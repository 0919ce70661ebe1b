"""Definitions of JavaScript and TypeScript: a function's spans, comment, parameters and types, and a class's bases."""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import ClassDraft, FunctionDraft, Scope, dotted, span_of, text_of
from scylla_gha.readiness.source_code import Function, Language, LineSpan

_WRAPPERS: Final = {"export_statement", "lexical_declaration", "variable_declaration", "expression_statement"}
_NO_RESULT: Final = re.compile(r"constructor$|set\s")
_UNKNOWN_TYPES: Final = {"any", "unknown", "never", "void", "null", "undefined", "this"}
_NAME: Final = re.compile(r"[A-Za-z_$][\w$.]*")
_GENERIC: Final = re.compile(r"([A-Za-z_$][\w$.]*)<(.*)>", re.DOTALL)
_NULLISH: Final = re.compile(r"\s*\|\s*(null|undefined)\b|\b(null|undefined)\s*\|\s*")
_ERROR_CALLS: Final = re.compile(r"(Promise\.)?reject|next|cb|callback|done|err|Err|\w*[eE]rror")
_STAR: Final = re.compile(r"^\s*\*? ?", re.MULTILINE)
_IDENTIFIERS: Final = {"identifier", "shorthand_property_identifier_pattern"}


def function_draft(name: str, node: Node, whole: Node, scope: Scope, file: tuple[str, Language]) -> FunctionDraft:
    """Return the draft of a function, with the types of its parameters.

    Args:
        name: qualified name.
        node: the function, which may be an expression.
        whole: what defines it: the declaration, method or field around it.
        scope: where it stands.
        file: path and language.
    """
    outside = _outermost(whole)
    comment = _comment_of(outside)
    parameters = list(_parameters(node))
    returns = node.child_by_field_name("return_type")
    needs_result = not _NO_RESULT.match(text_of(node)[:40].removeprefix("public ").removeprefix("private "))
    function = Function(
        path=file[0],
        name=name,
        language=file[1],
        span=LineSpan(_first_line(outside), outside.end_point[0] + 1),
        body=_body(node),
        docstring=comment and _STAR.sub("", text_of(comment)[3:-2]).strip(),
        documented=span_of(comment) if comment else None,
        statements=0, branches=0, calls=(), guards=(), handlers=(), raised=(),
        decorators=tuple(_decorators(outside)),
        parameters=tuple(parameter for parameter, _ in parameters),
        annotated=all(kind is not None for _, kind in parameters) and (returns is not None or not needs_result)
        and file[1] == "typescript",
        returns=type_name(text_of(returns)),
    )  # fmt: skip
    draft = FunctionDraft(function, scope.function)
    if scope.inside is not None and scope.name == f"{scope.inside.name}.":
        draft.variables["this"] = scope.inside.name
    draft.variables.update((parameter, type_name(kind or "")) for parameter, kind in parameters)
    draft.statements = int(text_of(node.child_by_field_name("body"))[:1] != "{")  # the expression that it returns
    return draft


def class_draft(name: str, node: Node) -> ClassDraft:
    """Return the draft of a class."""
    heritage = next((child for child in node.named_children if child.type == "class_heritage"), None)
    clauses = [clause for clause in heritage.named_children if clause.type != "implements_clause"] if heritage else []
    expressions = [clause.named_children[0] if clause.type == "extends_clause" else clause for clause in clauses]
    bases = tuple(dotted(expression, "member_expression", "object") for expression in expressions)
    return ClassDraft(name, span_of(_outermost(node)), bases)


def name_of_call(node: Node) -> str:
    """Return the name that a call or `new` uses, with its dots."""
    called = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    return dotted(called, "member_expression", "object")


def type_name(annotation: str) -> str:
    """Return the class of a type annotation ("Promise<db.Store | null>": "db.Store"); "" if it is none or several."""
    text = _NULLISH.sub("", annotation.strip().removeprefix(":").strip())
    if match := _GENERIC.fullmatch(text):
        return type_name(match[2]) if match[1] in ("Promise", "Readonly", "Partial") else match[1]
    return text if _NAME.fullmatch(text) and text not in _UNKNOWN_TYPES else ""


def bound_names(pattern: Node) -> Iterator[str]:
    """Return the names that a pattern binds."""
    pending = [pattern]
    while pending:
        part = pending.pop()
        if part.type in _IDENTIFIERS:
            yield text_of(part)
        elif part.type in ("assignment_pattern", "object_assignment_pattern"):
            pending += part.named_children[:1]
        elif part.type == "pair_pattern":
            pending += part.named_children[-1:]
        elif part.type in ("object_pattern", "array_pattern", "rest_pattern"):
            pending += reversed(part.named_children)


def parameter_nodes(node: Node) -> list[Node]:
    """Return the nodes of a function's parameters."""
    parameters = node.child_by_field_name("parameters")
    single = node.child_by_field_name("parameter")
    return [single] if single else parameters.named_children if parameters else []


def _parameters(node: Node) -> Iterator[tuple[str, str | None]]:
    for parameter in parameter_nodes(node):
        pattern = parameter.child_by_field_name("pattern") or parameter
        kind = parameter.child_by_field_name("type")
        if pattern.type != "this":
            names = list(bound_names(pattern))
            plain = len(names) == 1 and pattern.type == "identifier"
            for name in names:
                yield name, None if kind is None else text_of(kind) if plain else ""


def _outermost(node: Node) -> Node:
    """Return a definition with `export`, `const` and the like around it, if they define nothing else."""
    while (parent := node.parent) is not None and parent.type in _WRAPPERS:
        if sum(child.type == "variable_declarator" for child in parent.named_children) > 1:
            break
        node = parent
    return node


def _first_line(node: Node) -> int:
    while node.prev_sibling is not None and node.prev_sibling.type == "decorator":
        node = node.prev_sibling
    return node.start_point[0] + 1


def _comment_of(node: Node) -> Node | None:
    while node.prev_sibling is not None and node.prev_sibling.type == "decorator":
        node = node.prev_sibling
    before = node.prev_sibling
    is_documentation = before is not None and before.type == "comment" and text_of(before).startswith("/**")
    return before if before and is_documentation and before.end_point[0] + 1 >= node.start_point[0] else None


def _decorators(node: Node) -> Iterator[str]:
    decorators = [child for child in node.named_children if child.type == "decorator"]
    while (node := node.prev_sibling) is not None and node.type == "decorator":  # type: ignore[assignment]
        decorators.insert(0, node)
    for decorator in decorators:
        expression = decorator.named_children[0]
        called = expression.child_by_field_name("function") if expression.type == "call_expression" else expression
        yield dotted(called, "member_expression", "object")


def _body(node: Node) -> LineSpan:
    """Return the lines between the braces, or those of the expression that an arrow function returns."""
    body = node.child_by_field_name("body") or node
    span = span_of(body)
    if body.type != "statement_block":
        return span
    if span.first == span.last:
        return span if body.named_children else LineSpan(span.first + 1, span.first)
    return LineSpan(span.first + 1, span.last - 1)


def is_guard(node: Node) -> bool:
    """Return True for an `if` without `else` whose body only throws or returns an error."""
    body = node.child_by_field_name("consequence")
    is_chained = node.parent is not None and node.parent.type == "else_clause"
    if body is None or is_chained or node.child_by_field_name("alternative") is not None:
        return False
    parts = body.named_children if body.type == "statement_block" else [body]
    statements = [part for part in parts if part.type != "comment"]
    return bool(statements) and _ends_with_error(statements[-1]) and all(map(_is_plain, statements[:-1]))


def _ends_with_error(node: Node) -> bool:
    """Return True for `throw`, and for `return` of an error or of a call that passes one on."""
    if node.type == "throw_statement":
        return True
    returned = node.named_children[0] if node.type == "return_statement" and node.named_children else None
    if returned is None or returned.type not in ("call_expression", "new_expression"):
        return False
    name = name_of_call(returned)
    has_argument = bool((arguments := returned.child_by_field_name("arguments")) and arguments.named_children)
    return bool(_ERROR_CALLS.fullmatch(name)) and has_argument


def _is_plain(node: Node) -> bool:
    return node.type in ("lexical_declaration", "variable_declaration")
