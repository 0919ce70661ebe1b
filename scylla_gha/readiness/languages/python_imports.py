"""Import statements of Python."""

from collections.abc import Iterator

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import text_of
from scylla_gha.readiness.source_code import Import


def imports_of(node: Node) -> Iterator[Import]:
    """Return the names that an import statement binds; `import a.b` binds "a.b", as the file writes it."""
    line = node.start_point[0] + 1
    if node.type == "import_statement":
        for name in node.children_by_field_name("name"):
            module, local = _renamed(name)
            yield Import(local, module, None, line)
        return
    module = text_of(node.child_by_field_name("module_name")) or "__future__"
    for name in node.children_by_field_name("name"):
        imported, local = _renamed(name)
        yield Import(local, module, imported, line)
    if any(child.type == "wildcard_import" for child in node.named_children):
        yield Import("*", module, None, line)


def _renamed(node: Node) -> tuple[str, str]:
    """Return the imported name, and the name by which the file uses it."""
    if node.type == "aliased_import":
        return text_of(node.child_by_field_name("name")), text_of(node.child_by_field_name("alias"))
    return text_of(node), text_of(node)
