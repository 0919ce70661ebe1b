"""Edits of JavaScript and TypeScript code: the function that a line belongs to, and proof that only layout changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages import parser_of
from scylla_gha.readiness.languages.drafts import text_of
from scylla_gha.readiness.syntax import syntax_tree

Edit = tuple[int, int, str]  # first byte, end, and the new text
Leaf = tuple[int, str, str]  # depth, type and text of a node; the text of an inner node is ""
_WRAPPERS: Final = {"as_expression", "satisfies_expression", "non_null_expression", "type_assertion"}
_TYPES: Final = {"type_annotation", "asserts_annotation", "type_predicate_annotation"}


def parsed(text: str, path: str) -> Node | None:
    """Return the syntax tree of a script; None: it is no script, or has an error."""
    parser = parser_of(path)
    if parser is None or parser.language not in ("javascript", "typescript"):
        return None
    root = syntax_tree(text, parser.language, path).root_node
    return None if root.has_error else root


def owners_of(text: str, path: str, root: Node) -> dict[int, str]:
    """Return the innermost function of each line that is in one, as its qualified name.

    A function's own documentation belongs to it.
    """
    parser = parser_of(path)
    functions = parser.parse(path, text, root, is_test=False).functions if parser else ()
    owners: dict[int, str] = {}
    for function in sorted(functions, key=lambda function: function.span.first - function.span.last):
        spans = [function.span, *([function.documented] if function.documented else [])]
        owners |= {line: function.name for span in spans for line in range(span.first, span.last + 1)}
    return owners


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with edits that do not overlap."""
    code = text.encode()
    for start, end, new in sorted(set(edits), reverse=True):
        code = code[:start] + new.encode() + code[end:]
    return code.decode()


def safely_edited(text: str, path: str, groups: Iterable[Sequence[Edit]]) -> str:
    """Return the text with all edits, or, if they would change the program, with the groups that do not."""
    groups = list(groups)
    whole = edited(text, (edit for group in groups for edit in group))
    if has_same_program(text, whole, path):
        return whole
    safe: list[Edit] = []
    for group in groups:
        if has_same_program(text, edited(text, [*safe, *group]), path):
            safe += group
    return edited(text, safe)


def has_same_program(text: str, result: str, path: str) -> bool:
    """Return True if both texts parse to the same tree, comments and types of values left out."""
    before, after = parsed(text, path), parsed(result, path)
    return before is not None and after is not None and list(program_of(before)) == list(program_of(after))


def program_of(root: Node) -> Iterator[Leaf]:
    """Yield the nodes of a tree without comments and types of values, in order."""
    pending = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if node.type == "comment" or node.type in _TYPES or _is_result_type(node):
            continue
        if node.type in _WRAPPERS:
            pending.append((value_of(node), depth))
            continue
        yield depth, node.type, "" if node.child_count else text_of(node)
        pending += [(child, depth + 1) for child in reversed(node.children)]


def value_of(node: Node) -> Node:
    """Return the value that `as`, `satisfies`, `!` or `<Type>` stands at."""
    parts = [child for child in node.named_children if child.type != "comment"]
    return parts[-1] if node.type == "type_assertion" else parts[0]


def _is_result_type(node: Node) -> bool:
    return node.parent is not None and node == node.parent.child_by_field_name("return_type")
