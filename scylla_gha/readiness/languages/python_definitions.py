"""Definitions of Python: a function's spans, docstring, parameters and types, and a class's bases."""

import ast
import inspect
import re
import warnings
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import ClassDraft, FunctionDraft, Scope, dotted, span_of, text_of
from scylla_gha.readiness.source_code import Function, LineSpan

_IMPLICIT: Final = "staticmethod"
_PARAMETERS: Final = {
    "identifier", "default_parameter", "typed_parameter", "typed_default_parameter", "list_splat_pattern",
    "dictionary_splat_pattern",
}  # fmt: skip
_TYPED: Final = {"typed_parameter", "typed_default_parameter"}
_OPTIONAL: Final = re.compile(r"(?:[\w.]+\.)?Optional\[(.+)\]|(.+?)\s*\|\s*None|None\s*\|\s*(.+)")
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*")
_GENERIC: Final = re.compile(r"([A-Za-z_][\w.]*)\[.*\]", re.DOTALL)
_PLAIN_TEXT: Final = re.compile(r'"""((?:[^"\\]|"(?!""))*+)"""')
_CLASS: Final = re.compile(r"(?:[\w.]+\.)?[Tt]ype\[\s*[\"']?([A-Za-z_][\w.]*)[\"']?\s*\]")


def function_draft(node: Node, scope: Scope, path: str) -> FunctionDraft:
    """Return the draft of a function definition, with the types of its parameters."""
    name = text_of(node.child_by_field_name("name"))
    whole = _whole(node)
    last = _last_line(node)
    docstring = _docstring(node)
    decorators = decorators_of(node)
    parameters = _parameters(node)
    method = scope.inside is not None and scope.name == f"{scope.inside.name}."
    receiver = parameters[0] if method and parameters and _IMPLICIT not in decorators else None
    if receiver:
        parameters = parameters[1:]
    returns = node.child_by_field_name("return_type")
    function = Function(
        path=path,
        name=scope.name + name,
        language="python",
        span=LineSpan(whole.start_point[0] + 1, last),
        body=LineSpan(_first_line_of_body(node, docstring, last), last),
        docstring=_text_of_docstring(docstring) if docstring else None,
        documented=span_of(docstring) if docstring else None,
        statements=0, branches=0, calls=(), guards=(), handlers=(), raised=(),
        decorators=decorators,
        parameters=tuple(name for name, _ in parameters),
        annotated=returns is not None and all(kind is not None for _, kind in parameters),
        returns=type_name(text_of(returns)),
    )  # fmt: skip
    draft = FunctionDraft(function, scope.function)
    if receiver and scope.inside:
        is_class = "classmethod" in decorators or receiver[0] in ("cls", "mcs")
        draft.variables[receiver[0]] = f"type[{scope.inside.name}]" if is_class else scope.inside.name
    draft.variables.update((name, type_name(kind or "")) for name, kind in parameters)
    return draft


def class_draft(node: Node, scope: Scope) -> ClassDraft:
    """Return the draft of a class definition."""
    arguments = node.child_by_field_name("superclasses")
    expressions = arguments.named_children if arguments else []
    bases = [type_name(text_of(base)) for base in expressions if base.type != "keyword_argument"]
    name = scope.name + text_of(node.child_by_field_name("name"))
    span = LineSpan(_whole(node).start_point[0] + 1, _last_line(node))
    return ClassDraft(name, span, tuple(base for base in bases if base))


def is_overload(node: Node) -> bool:
    """Return True for a declaration of `typing.overload`, which has no body of its own."""
    return any(name.rpartition(".")[2] == "overload" for name in decorators_of(node))


def decorators_of(node: Node) -> tuple[str, ...]:
    """Return the names of a definition's decorators, without arguments."""
    whole = _whole(node)
    if whole == node:
        return ()
    expressions = [child.named_children[0] for child in whole.named_children if child.type == "decorator"]
    calls = [child.child_by_field_name("function") if child.type == "call" else child for child in expressions]
    return tuple(dotted(child, "attribute", "object") for child in calls)


def name_of_call(node: Node) -> str:
    """Return the called name with its dots."""
    return dotted(node.child_by_field_name("function"), "attribute", "object")


def type_name(annotation: str) -> str:
    """Return the class of an annotation ("Optional[a.Store]": "a.Store"); "" if it is none or several.

    A class itself, and no object of it, is "type[Store]".
    """
    text = annotation.strip().strip("\"'").strip()
    if match := _CLASS.fullmatch(text):
        return f"type[{match[1]}]"
    if match := _OPTIONAL.fullmatch(text):
        return type_name(next(group for group in match.groups() if group)) if text.count("|") <= 1 else ""
    if match := _GENERIC.fullmatch(text):
        return match[1]
    return text if _NAME.fullmatch(text) and text != "None" else ""


def _whole(node: Node) -> Node:
    """Return the definition with its decorators."""
    parent = node.parent
    return parent if parent is not None and parent.type == "decorated_definition" else node


def code_span(node: Node) -> LineSpan:
    """Return the lines of a node, without comments after it."""
    return LineSpan(node.start_point[0] + 1, _last_line(node))


def _last_line(node: Node) -> int:
    """Return the last line of code; comments after it, which the grammar puts into blocks, do not count."""
    end = node.descendant_for_byte_range(node.end_byte - 1, node.end_byte)
    if end is None or end.type != "comment":
        return node.end_point[0] + 1
    while inner := [child for child in node.children if child.type != "comment"]:
        node = inner[-1]
    return node.end_point[0] + 1


def _docstring(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    first = next((child for child in body.named_children if child.type != "comment"), None) if body else None
    if first is None or first.type != "expression_statement" or first.named_child_count != 1:
        return None
    text = first.named_children[0]
    if text.type not in ("string", "concatenated_string"):
        return None
    prefix = re.match(r"[A-Za-z]*", text_of(text))
    return None if prefix is None or set(prefix[0].lower()) & {"b", "f", "t"} else first


def _text_of_docstring(node: Node) -> str:
    source = text_of(node)
    if (plain := _PLAIN_TEXT.fullmatch(source)) and "\r" not in source:
        return inspect.cleandoc(plain[1])
    try:
        with warnings.catch_warnings(action="ignore"):
            literal = ast.literal_eval(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        literal = source
    return inspect.cleandoc(literal) if isinstance(literal, str) else source


def _first_line_of_body(node: Node, docstring: Node | None, last: int) -> int:
    """Return the first line below the signature and the docstring that has code or a comment."""
    body = node.child_by_field_name("body")
    above = docstring or next(child for child in reversed(node.children) if child.type == ":")
    inner = [child for part in (node, body) if part for child in part.children if child.start_byte >= above.end_byte]
    row = above.end_point[0]
    if any(child.start_point[0] == row for child in inner if child.type not in ("comment", "block")):
        return row + 1  # all on one line
    below = [child.start_point[0] for child in inner if child.start_point[0] > row]
    return min([last, *below]) + 1


def _parameters(node: Node) -> list[tuple[str, str | None]]:
    """Return names and annotations of the parameters."""
    parameters = node.child_by_field_name("parameters")
    nodes = [child for child in parameters.named_children if child.type in _PARAMETERS] if parameters else []
    return [(_parameter_name(child), _annotation(child)) for child in nodes]


def _parameter_name(node: Node) -> str:
    while node.type != "identifier" and node.named_children:
        node = node.named_children[0]
    return text_of(node)


def _annotation(node: Node) -> str | None:
    if node.type not in _TYPED:
        return None
    splat = node.named_children[0].type in ("list_splat_pattern", "dictionary_splat_pattern")
    return "" if splat else text_of(node.child_by_field_name("type"))
