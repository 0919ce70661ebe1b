"""Replacement of names in JavaScript and TypeScript code."""

from collections.abc import Collection, Iterator, Mapping

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import text_of
from scylla_gha.readiness.script_twins.edits import Edit, edited, parsed
from scylla_gha.readiness.script_twins.scopes import NAME_TOKENS, is_html

_PROPERTIES = {"property_identifier", "private_property_identifier"}


def rename_script(text: str, path: str, names: Mapping[str, str], members: Collection[str]) -> str:
    """Replace names in a script; `{a}` becomes `{a: new}` if the property `a` keeps its name.

    A text that does not parse is returned as it is.

    Args:
        text: the script.
        path: its path, which says the language.
        names: new names by old ones.
        members: those that are replaced where they are properties too.
    """
    root = parsed(text, path)
    if root is None:
        return text
    return edited(text, _edits(root, names, members))


def _edits(root: Node, names: Mapping[str, str], members: Collection[str]) -> Iterator[Edit]:
    pending = [root]
    while pending:
        node = pending.pop()
        pending += node.named_children
        name = text_of(node) if node.type in NAME_TOKENS | _PROPERTIES else ""
        if name not in names or is_html(node):
            continue
        if node.type.startswith("shorthand") and name not in members:
            yield node.start_byte, node.end_byte, f"{name}: {names[name]}"
        elif name in members or not _is_property(node):
            yield node.start_byte, node.end_byte, names[name]


def _is_property(node: Node) -> bool:
    if node.type in _PROPERTIES:
        return True
    parent = node.parent
    return parent is not None and parent.type == "nested_type_identifier" and node == parent.child_by_field_name("name")
