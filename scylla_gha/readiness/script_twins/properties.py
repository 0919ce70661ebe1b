"""Names of properties in a script by the ways in which they are used, and the words of its strings."""

import re
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import text_of
from scylla_gha.readiness.script_twins.scopes import CLASS_NODES, FUNCTION_VALUES

WORD: Final = re.compile(r"[A-Za-z_$][\w$]*")
_SPACE: Final = re.compile(r"\S\s+\S")
_CODE: Final = re.compile(r"\b(?:import|export|function|class|const|let|return|throw)\s|[\w$]\(|=>|[{};]")
_LAST_WORD: Final = re.compile(r"[\w$]{2,}\Z")
_FIRST_WORD: Final = re.compile(r"\A[\w$]{2,}")
_EXPORTS: Final = {"exports", "module.exports"}
_OPERANDS: Final = {
    "member_expression": "object", "call_expression": "function", "new_expression": "constructor",
    "subscript_expression": "object",
}  # fmt: skip
_WRAPPERS: Final = {"await_expression", "parenthesized_expression", "as_expression", "non_null_expression"}
_WRITES: Final = {"assignment_expression": "left", "augmented_assignment_expression": "left",
                  "update_expression": "argument"}  # fmt: skip
_SIGNATURES: Final = {"method_signature", "abstract_method_signature"}


@dataclass(slots=True)
class PropertyNames:
    """Names of properties by use.

    Attributes:
        methods: of classes and prototypes, with their class.
        routines: all that hold a function, class or object, wherever they are defined.
        keys: of literals, patterns, types and fields, and what is written from outside; others may read them.
        accesses: read of an object.
        signatures: of interfaces and abstract classes.
        exports: what modules of CommonJS export.
        module_uses: read of a module of the code base.
        foreign: read of what is imported from outside, or global.
        private: `#name`, with the number sign.
        words: words of strings that a program may read as names.
        prefixes: beginnings of names that are put together.
        suffixes: their ends.
    """

    methods: set[tuple[str, str]] = field(default_factory=set)
    routines: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    accesses: set[str] = field(default_factory=set)
    signatures: set[str] = field(default_factory=set)
    exports: set[str] = field(default_factory=set)
    module_uses: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    prefixes: set[str] = field(default_factory=set)
    suffixes: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Roots:
    """Names that a chain of properties may begin with, by their origin."""

    own_modules: frozenset[str]
    foreign: frozenset[str]
    own_routines: frozenset[str]


def property_names(root: Node, roots: Roots) -> PropertyNames:
    """Return the properties of a script by their uses."""
    names = PropertyNames()
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type == "private_property_identifier":
            names.private.add(text_of(node))
        elif node.type in ("string", "template_string", "regex", "jsx_text"):
            _add_words(node, names)
        elif _is_property(node) and node.parent is not None:
            _add_use(node, node.parent, names, roots)
        pending += node.named_children
    return names


def _is_property(node: Node) -> bool:
    if node.type == "type_identifier":
        parent = node.parent
        return parent is not None and parent.type == "nested_type_identifier" and (
            node == parent.child_by_field_name("name"))  # fmt: skip
    return node.type.startswith("shorthand_property") or node.type == "property_identifier"


def _add_use(node: Node, parent: Node, names: PropertyNames, roots: Roots) -> None:
    name = text_of(node)
    if parent.type in ("member_expression", "nested_type_identifier"):
        _add_member(name, parent, names, roots)
    elif parent.type in _SIGNATURES:
        names.signatures.add(name)
    elif parent.type == "method_definition" or parent.type.endswith("field_definition"):
        _add_definition(name, parent, names)
    else:
        part = parent if parent.type.startswith(("pair", "object_assignment")) else node
        _of_literal(part, names).add(name)
    if parent.type == "pair" and _is_routine(parent.child_by_field_name("value")):
        names.routines.add(name)


def _add_member(name: str, member: Node, names: PropertyNames, roots: Roots) -> None:
    owner = member.child_by_field_name("object") or member.child_by_field_name("module")
    first, outer = root_name(member), member.parent
    is_written = outer is not None and member == outer.child_by_field_name(_WRITES.get(outer.type, "-"))
    value = outer.child_by_field_name("right") if outer is not None and is_written else None
    if _is_routine(value):
        names.routines.add(name)
    if text_of(owner) in _EXPORTS:
        names.exports.add(name)
    elif text_of(owner) in roots.own_modules:
        (names.keys if is_written else names.module_uses).add(name)
    elif first in roots.foreign:
        names.foreign.add(name)
    elif is_written:
        kind = text_of(owner).removesuffix(".prototype")
        if kind in roots.own_routines and value is not None and value.type in FUNCTION_VALUES | CLASS_NODES:
            names.methods.add((kind, name))
        else:
            names.keys.add(name)
    else:
        names.accesses.add(name)


def _add_definition(name: str, definition: Node, names: PropertyNames) -> None:
    """Note a method or field of a class, or a method of a literal."""
    body, value = definition.parent, definition.child_by_field_name("value")
    is_accessor = any(child.type in ("get", "set", "decorator") for child in definition.children)
    is_method = definition.type == "method_definition"
    if is_method or _is_routine(value):
        names.routines.add(name)
    has_function = is_method or (value is not None and value.type in FUNCTION_VALUES)
    if body is not None and body.type == "class_body" and has_function and not is_accessor:
        names.methods.add((class_name(body.parent), name))
    else:
        _of_literal(definition, names).add(name)


def class_name(node: Node | None) -> str:
    """Return the name that a class is known by; "" if it has none."""
    if node is None:
        return ""
    name = node.child_by_field_name("name")
    if name is None and node.parent is not None and node.parent.type == "variable_declarator":
        name = node.parent.child_by_field_name("name")
    return text_of(name)


def _is_routine(value: Node | None) -> bool:
    return value is not None and value.type in FUNCTION_VALUES | CLASS_NODES | {"object"}


def _of_literal(part: Node, names: PropertyNames) -> set[str]:
    """Return the set for the key of a literal, pattern or type.

    Those of `module.exports = {...}` and of `const {...} = require("./own")` have sets of their own.
    """
    literal = part.parent
    outer = literal.parent if literal else None
    if literal is None or outer is None:
        return names.keys
    if literal.type == "object" and outer.type == "assignment_expression":
        is_export = text_of(outer.child_by_field_name("left")) in _EXPORTS
        return names.exports if is_export and not _has_spread(literal) else names.keys
    if outer.type == "variable_declarator" and literal.type == "object_pattern":
        module = required_path(outer.child_by_field_name("value"))
        return names.module_uses if module is not None and module.startswith(".") else names.keys
    return names.keys


def _has_spread(literal: Node) -> bool:
    return any(child.type == "spread_element" for child in literal.named_children)


def required_path(node: Node | None) -> str | None:
    """Return the module of `require("module")`; None: it is another expression."""
    if node is None or node.type != "call_expression" or text_of(node.child_by_field_name("function")) != "require":
        return None
    arguments = node.child_by_field_name("arguments")
    only = arguments.named_children if arguments else []
    return text_of(only[0])[1:-1] if len(only) == 1 and only[0].type == "string" else None


def root_name(node: Node | None) -> str:
    """Return the name that a chain of properties and calls begins with; "" if it begins with something else."""
    while node is not None and node.type != "identifier":
        if node.type in _WRAPPERS:
            node = node.named_children[0] if node.named_children else None
        elif node.type == "nested_type_identifier":
            node = node.child_by_field_name("module")
        else:
            node = node.child_by_field_name(_OPERANDS.get(node.type, "-"))
    return text_of(node)


def _add_words(node: Node, names: PropertyNames) -> None:
    """Note the words of a string that may be names: of a text with spaces none, unless it looks like code."""
    if node.parent is not None and (_is_source(node) or node.type == "jsx_text"):
        return
    if node.type != "template_string":
        names.words |= _words_in(text_of(node)[1:-1])
        if node.parent is not None and text_of(node.parent.child_by_field_name("operator")) == "+":
            _add_affixes(node, text_of(node)[1:-1], names)
        return
    for fragment in node.named_children:
        if fragment.type == "string_fragment":
            names.words |= _words_in(text_of(fragment))
            _add_affixes(fragment, text_of(fragment), names)


def _add_affixes(node: Node, text: str, names: PropertyNames) -> None:
    """Note the ends of a text that something is put before or after."""
    before, after = node.prev_named_sibling, node.next_named_sibling
    names.prefixes |= set(_LAST_WORD.findall(text)) if after is not None else set()
    names.suffixes |= set(_FIRST_WORD.findall(text)) if before is not None else set()


def _words_in(text: str) -> set[str]:
    return set(WORD.findall(text)) if not _SPACE.search(text) or _CODE.search(text) else set()


def _is_source(node: Node) -> bool:
    """Return True for the path of an import."""
    parent = node.parent
    if parent is None or parent.type != "arguments":
        return parent is not None and node == parent.child_by_field_name("source")
    call = parent.parent
    return call is not None and text_of(call.child_by_field_name("function")) in ("require", "import")
