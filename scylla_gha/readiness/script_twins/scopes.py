"""Names of variables, functions, classes and types in a script: where each is bound, and which are used unbound."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import text_of
from scylla_gha.readiness.languages.ecmascript_definitions import bound_names

BindingKind = Literal["function", "class", "variable", "parameter", "type", "import", "outside"]
Range = tuple[int, int]

FUNCTION_VALUES: Final = {"arrow_function", "function_expression", "generator_function", "function"}
CLASS_NODES: Final = {"class", "class_declaration", "abstract_class_declaration"}
_DECLARED: Final[dict[str, BindingKind]] = {
    "function_declaration": "function", "generator_function_declaration": "function", "function_signature": "function",
    "class_declaration": "class", "abstract_class_declaration": "class", "enum_declaration": "class",
    "interface_declaration": "type", "type_alias_declaration": "type", "import_alias": "outside",
}  # fmt: skip
_NAMED_INSIDE: Final[dict[str, BindingKind]] = {
    "function_expression": "function", "generator_function": "function", "class": "class",
}  # fmt: skip
_BLOCKS: Final = {
    "statement_block",
    "program",
    "switch_body",
    "for_statement",
    "for_in_statement",
    "class_static_block",
}
_ROUTINES: Final = {
    "function_declaration", "generator_function_declaration", "function_expression", "generator_function",
    "arrow_function", "method_definition", "program", "class_static_block", "internal_module",
}  # fmt: skip
NAME_TOKENS: Final = {
    "identifier", "type_identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binding:
    """Name and the part of the text, in bytes, in which it is bound."""

    name: str
    area: Range
    kind: BindingKind


@dataclass(slots=True)
class ScriptScopes:
    """Bindings of a script, and the names that it uses where nothing binds them."""

    bindings: list[Binding] = field(default_factory=list)
    unbound: set[str] = field(default_factory=set)

    def names(self, *kinds: BindingKind) -> set[str]:
        """Return the names that are bound in one of these ways; without kinds: in any."""
        return {binding.name for binding in self.bindings if not kinds or binding.kind in kinds}


@dataclass(frozen=True, slots=True)
class _Frame:
    """Part of a script around a node."""

    block: Range
    routine: Range
    is_outside: bool = False  # in `declare ...` or in a namespace, whose names others can see


def script_scopes(root: Node) -> ScriptScopes:
    """Return the bindings of a script."""
    scopes = ScriptScopes()
    whole = _range(root)
    pending = [(root, _Frame(whole, whole))]
    while pending:
        node, frame = pending.pop()
        for binding in _bindings(node, frame):
            scopes.bindings.append(replace(binding, kind="outside") if frame.is_outside else binding)
        inner = _inner(node, frame)
        pending += [(child, inner) for child in node.named_children if child.child_count]
    areas: dict[str, list[Range]] = {}
    for binding in scopes.bindings:
        areas.setdefault(binding.name, []).append(binding.area)
    for token in name_tokens(root):
        name, at = text_of(token), token.start_byte
        if not any(start <= at < end for start, end in areas.get(name, ())):
            scopes.unbound.add(name)
    return scopes


def name_tokens(root: Node) -> Iterator[Node]:
    """Yield the tokens that name a variable, function, class or type of the script itself.

    Left out: names that only another module knows (`a` in `import { a as b }`), members of namespaces, and elements of
    HTML in JSX (`<div>`).
    """
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in NAME_TOKENS:
            if not _is_foreign_name(node) and not is_html(node):
                yield node
        else:
            pending += node.named_children


def _is_foreign_name(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "import_specifier":
        return parent.child_by_field_name("alias") is not None and node == parent.child_by_field_name("name")
    if parent.type == "export_specifier":
        return is_reexport(parent) or node == parent.child_by_field_name("alias")
    return parent.type == "namespace_export" or (
        parent.type == "nested_type_identifier" and node == parent.child_by_field_name("name")
    )


def is_reexport(specifier: Node) -> bool:
    """Return True for a specifier of `export { a } from "./module"`."""
    statement = specifier.parent.parent if specifier.parent else None
    return statement is not None and statement.child_by_field_name("source") is not None


def is_html(node: Node) -> bool:
    """Return True for the name of an element of HTML."""
    parent = node.parent
    is_element = parent is not None and parent.type.startswith("jsx_") and node == parent.child_by_field_name("name")
    return is_element and text_of(node)[:1].islower()


def _inner(node: Node, frame: _Frame) -> _Frame:
    if node.type in _ROUTINES:
        return _Frame(_range(node), _range(node), frame.is_outside or node.type == "internal_module")
    if node.type in _BLOCKS:
        return _Frame(_range(node), frame.routine, frame.is_outside)
    if node.type == "ambient_declaration":
        return _Frame(frame.block, frame.routine, True)
    return frame


def _bindings(node: Node, frame: _Frame) -> Iterator[Binding]:
    name = node.child_by_field_name("name")
    if node.type in _DECLARED:
        yield from _named(name, frame.block, _DECLARED[node.type])
    elif node.type == "internal_module":
        yield from _named(name, frame.block, "outside")
    elif node.type in ("lexical_declaration", "variable_declaration"):
        yield from _variables(node, frame.block if node.type == "lexical_declaration" else frame.routine)
    elif node.type == "for_in_statement":
        yield from _loop_variables(node, frame)
    else:
        yield from _inner_bindings(node, name)
        yield from _imports(node)


def _variables(node: Node, area: Range) -> Iterator[Binding]:
    for part in node.named_children:
        pattern, value = part.child_by_field_name("name"), part.child_by_field_name("value")
        if part.type == "variable_declarator" and pattern is not None:
            kind: BindingKind = "variable"
            if value is not None and value.type in FUNCTION_VALUES | CLASS_NODES:
                kind = "class" if value.type in CLASS_NODES else "function"
            yield from _named(pattern, area, kind)


def _loop_variables(node: Node, frame: _Frame) -> Iterator[Binding]:
    kind, pattern = node.child_by_field_name("kind"), node.child_by_field_name("left")
    if kind is not None:
        yield from _named(pattern, frame.routine if kind.type == "var" else _range(node), "variable")


def _inner_bindings(node: Node, name: Node | None) -> Iterator[Binding]:
    """Yield what a node binds in itself or in the node around it: parameters, and names of expressions and types."""
    around = _range(node.parent or node)
    if node.type in ("formal_parameters", "tuple_type"):
        for part in node.named_children:
            pattern = part.child_by_field_name("pattern") or part
            is_property = any(child.type in ("accessibility_modifier", "readonly") for child in part.children)
            yield from _named(pattern, around, "outside" if is_property else "parameter")
    elif node.type in {"arrow_function", "catch_clause"}:
        yield from _named(node.child_by_field_name("parameter"), _range(node), "parameter")
    elif node.type in _NAMED_INSIDE:
        yield from _named(name, _range(node), _NAMED_INSIDE[node.type])
    elif node.type == "index_signature":
        yield from _named(name, _range(node), "parameter")
    elif node.type in ("type_parameters", "infer_type", "mapped_type_clause"):
        yield from _type_parameters(node)


def _type_parameters(node: Node) -> Iterator[Binding]:
    if node.type == "type_parameters":
        for part in node.named_children:
            yield from _named(part.child_by_field_name("name"), _range(node.parent or node), "type")
        return
    wanted = "conditional_type" if node.type == "infer_type" else "object_type"
    outer = node
    while outer.parent is not None and outer.type != wanted:
        outer = outer.parent
    yield from _named(node.named_children[0], _range(outer), "type")


def _imports(node: Node) -> Iterator[Binding]:
    if node.type not in ("import_clause", "import_require_clause"):
        return
    area = _range(root_of(node))
    for part in node.named_children:
        if part.type == "identifier":
            yield Binding(text_of(part), area, "import")
        elif part.type == "namespace_import":
            yield from _named(part.named_children[0], area, "import")
        for specifier in part.named_children:
            if specifier.type == "import_specifier":
                local = specifier.child_by_field_name("alias") or specifier.child_by_field_name("name")
                yield from _named(local, area, "import")


def root_of(node: Node) -> Node:
    """Return the root of a node's tree."""
    while node.parent is not None:
        node = node.parent
    return node


def _named(pattern: Node | None, area: Range, kind: BindingKind) -> Iterable[Binding]:
    if pattern is None:
        return ()
    if pattern.type == "type_identifier":
        return (Binding(text_of(pattern), area, kind),)
    return (Binding(name, area, kind) for name in bound_names(pattern))


def _range(node: Node) -> Range:
    return node.start_byte, node.end_byte
