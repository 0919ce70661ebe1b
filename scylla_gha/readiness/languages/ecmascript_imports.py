"""Imports and exports of JavaScript and TypeScript."""

from collections.abc import Iterator

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import FileDraft, text_of
from scylla_gha.readiness.source_code import Import


def imports_of(node: Node) -> Iterator[Import]:
    """Return the names that an import statement binds."""
    module, line = module_of(node.child_by_field_name("source")), node.start_point[0] + 1
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    for part in clause.named_children if clause else []:
        if part.type == "identifier":
            yield Import(text_of(part), module, "default", line)
        elif part.type == "namespace_import":
            yield Import(text_of(part.named_children[0]), module, None, line)
        for specifier in part.named_children:
            if specifier.type == "import_specifier":
                imported, local = _renamed(specifier)
                yield Import(local, module, imported, line)


def required(name: Node, module: str, line: int) -> Iterator[Import]:
    """Return the names that `const NAME = require(MODULE)` binds."""
    if name.type == "identifier":
        yield Import(text_of(name), module, None, line)
    for part in name.named_children:
        if part.type == "shorthand_property_identifier_pattern":
            yield Import(text_of(part), module, text_of(part), line)
        elif part.type == "pair_pattern" and part.named_children[-1].type == "identifier":
            yield Import(text_of(part.named_children[-1]), module, text_of(part.named_children[0]), line)


def required_module(node: Node | None) -> str | None:
    """Return the module of a call of `require`; None: it is another expression."""
    if node is None or node.type != "call_expression" or text_of(node.child_by_field_name("function")) != "require":
        return None
    arguments = node.child_by_field_name("arguments")
    strings = [child for child in arguments.named_children if child.type == "string"] if arguments else []
    return module_of(strings[0]) if len(strings) == 1 else None


def add_exports(node: Node, file: FileDraft) -> None:
    """Note the names of `export {...}`, `export * from` and `export default NAME`."""
    source, line = node.child_by_field_name("source"), node.start_point[0] + 1
    module = module_of(source) if source else ""
    clause = next((child for child in node.named_children if child.type == "export_clause"), None)
    if clause is None and source is not None:
        namespace = next((child for child in node.named_children if child.type == "namespace_export"), None)
        file.imports.append(Import(text_of(namespace.named_children[0]) if namespace else "*", module, None, line))
    for specifier in clause.named_children if clause else []:
        original, exported = _renamed(specifier)
        file.exported.add(exported)
        if source is not None or original != exported:
            file.imports.append(Import(exported, module, original, line))
    default = node.child_by_field_name("value")
    if default is not None and default.type == "identifier":
        file.exported.add("default")
        file.imports.append(Import("default", "", text_of(default), line))


def module_of(node: Node | None) -> str:
    """Return the module that a string names."""
    return text_of(node).strip("\"'`")


def _renamed(node: Node) -> tuple[str, str]:
    """Return the name before `as`, and the name that is bound."""
    name = text_of(node.child_by_field_name("name"))
    return name, text_of(node.child_by_field_name("alias")) or name
