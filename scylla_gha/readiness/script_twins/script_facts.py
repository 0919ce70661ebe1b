"""Facts of one script on which it depends what its names may become: scopes, imports, exports, bases, properties."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import text_of
from scylla_gha.readiness.languages.ecmascript_definitions import bound_names
from scylla_gha.readiness.modules import ScriptModules
from scylla_gha.readiness.script_twins.properties import (
    WORD,
    PropertyNames,
    Roots,
    class_name,
    property_names,
    required_path,
    root_name,
)
from scylla_gha.readiness.script_twins.scopes import CLASS_NODES, ScriptScopes, script_scopes

_LOADERS: Final = re.compile(
    r"import|(?:jest|vi|vitest|mock|t\.mock|td|sinon)\.\w*(?:[mM]ock|module|replace|stub|spy)\w*|"
    r"proxyquire|rewire|rewiremock|esmock"
)
_INHERITS: Final = re.compile(r"\binherits\(|\bsetPrototypeOf\(|\.prototype\s*=[^=]")
_CLASS_NAMES: Final = re.compile(r"\bconstructor\.name\b|\bnew\.target\.name\b")
_EVAL: Final = re.compile(r"\beval\s*\(|\bwith\s*\(")
_MODULE: Final = re.compile(r"\b(?:import|export|require|exports)\b")
_USES_OF_MODULES: Final = {
    "member_expression", "nested_type_identifier", "namespace_import", "import_clause", "variable_declarator",
    "call_expression", "new_expression", "class_heritage", "extends_clause", "binary_expression", "import_specifier",
}  # fmt: skip
_BASES: Final = {"identifier", "type_identifier", "member_expression", "nested_type_identifier", "generic_type",
                 "call_expression"}  # fmt: skip

_ALIAS: Final = re.compile(r"[@~#$]?/|[~#$]|src/")


@dataclass(frozen=True, slots=True)
class OwnModules:
    """Modules of the code base as one script names them.

    Attributes:
        path: the script.
        modules: all scripts.
        packages: names of the packages of the code base.
    """

    path: str
    modules: ScriptModules
    packages: frozenset[str]

    def has(self, module: str) -> bool:
        """Return True if a relative path leads to a script of the code base."""
        return self.modules.find(self.path, module) is not None

    def may_have(self, module: str) -> bool:
        """Return True for a name that configuration may lead to a script of the code base."""
        package = "/".join(module.split("/")[: 2 if module.startswith("@") else 1])
        return package in self.packages or bool(_ALIAS.match(module))


@dataclass(slots=True)
class ScriptFacts:
    """Facts of a script.

    Attributes:
        exported: names that it exports as a module of ECMAScript.
        imported: names that it imports by name from other scripts of the code base.
        own_modules: names of modules of the code base.
        foreign: names of what comes from outside: imports, global variables, and variables that begin with them.
        unsafe: names that must stay in all files.
        bases: names of base classes and interfaces by class or interface.
        is_opened: exports of a module may be read as properties of an object.
        is_searched: exports of a module may be read by names that are made at run time.
    """

    scopes: ScriptScopes
    properties: PropertyNames = field(default_factory=PropertyNames)
    exported: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    own_modules: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    unsafe: set[str] = field(default_factory=set)
    bases: dict[str, set[str]] = field(default_factory=dict)
    is_opened: bool = False
    is_searched: bool = False


def script_facts(root: Node, text: str, own: OwnModules) -> ScriptFacts:
    """Return the facts of a parsed script."""
    facts = ScriptFacts(script_scopes(root))
    facts.foreign |= facts.scopes.unbound - {"module", "exports", "require"}
    facts.unsafe |= facts.scopes.unbound | facts.scopes.names("outside")
    for node in _nodes(root):
        _add_node(node, facts, own)
    routines = facts.scopes.names("function", "class")
    _add_uses_as_values(root, facts, routines)
    roots = Roots(frozenset(facts.own_modules), frozenset(facts.foreign), frozenset(routines))
    facts.properties = property_names(root, roots)
    _add_dynamic(text, facts)
    return facts


def _add_dynamic(text: str, facts: ScriptFacts) -> None:
    """Add what must stay because the script reads names at run time, or is no module."""
    if _EVAL.search(text):
        facts.unsafe |= set(WORD.findall(text))
    if _CLASS_NAMES.search(text):
        facts.unsafe |= facts.scopes.names("class")
    if _INHERITS.search(text):
        facts.properties.keys |= {name for _, name in facts.properties.methods}
    if not _MODULE.search(text):
        facts.unsafe |= facts.scopes.names()


def _nodes(root: Node) -> Iterator[Node]:
    """Yield the nodes of a tree that have children, in order."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in reversed(node.named_children) if child.child_count]


def _add_node(node: Node, facts: ScriptFacts, own: OwnModules) -> None:
    if node.type == "import_statement":
        _add_import(node, facts, own)
    elif node.type == "export_statement":
        _add_export(node, facts, own)
    elif node.type == "variable_declarator":
        _add_variable(node, facts, own)
    elif node.type in CLASS_NODES or node.type == "interface_declaration":
        _add_class(node, facts)
    elif node.type == "call_expression":
        facts.is_opened |= bool(_LOADERS.fullmatch(text_of(node.child_by_field_name("function"))[:60]))


def _add_import(node: Node, facts: ScriptFacts, own: OwnModules) -> None:
    source = node.child_by_field_name("source")
    tokens = [part for part in _leaves(node) if part.type == "identifier"]
    if source is None or not own.has(text_of(source)[1:-1]):
        facts.is_opened |= source is None or own.may_have(text_of(source)[1:-1])
        facts.foreign |= {text_of(token) for token in tokens}
        facts.unsafe |= {text_of(token) for token in tokens}
        return
    for token in tokens:
        parent = token.parent
        if parent is not None and parent.type == "namespace_import":
            facts.own_modules.add(text_of(token))
        elif parent is not None and parent.type == "import_specifier" and token == parent.child_by_field_name("name"):
            facts.imported.add(text_of(token))


def _add_export(node: Node, facts: ScriptFacts, own: OwnModules) -> None:
    source, declaration = node.child_by_field_name("source"), node.child_by_field_name("declaration")
    for part in _leaves(node) if declaration is None else ():
        specifier = part.parent
        if specifier is None or specifier.type not in ("export_specifier", "namespace_export"):
            continue
        facts.is_opened |= specifier.type == "namespace_export"
        if source is not None and not own.has(text_of(source)[1:-1]):
            facts.unsafe.add(text_of(part))
        elif source is not None and part == specifier.child_by_field_name("name"):
            facts.imported.add(text_of(part))
        if part == (specifier.child_by_field_name("alias") or specifier.child_by_field_name("name") or part):
            facts.exported.add(text_of(part))
    if declaration is not None and all(child.type != "default" for child in node.children):
        facts.exported |= _declared(declaration)


def _declared(declaration: Node) -> set[str]:
    """Return the names that a declaration binds around itself."""
    name = declaration.child_by_field_name("name")
    if name is not None:
        return {text_of(name)}
    patterns = [part.child_by_field_name("name") for part in declaration.named_children]
    return {name for pattern in patterns if pattern is not None for name in bound_names(pattern)}


def _add_variable(node: Node, facts: ScriptFacts, own: OwnModules) -> None:
    pattern, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if pattern is None or value is None:
        return
    names, module = set(bound_names(pattern)), required_path(value)
    if module is not None and own.has(module):
        facts.own_modules |= names if pattern.type == "identifier" else set()
        return
    first = root_name(value)
    if first == "require":
        words = {text_of(token) for token in _leaves(pattern)}
        facts.foreign |= names
        facts.unsafe |= {word for word in words if WORD.fullmatch(word)}
        called = required_path(_innermost(value)) or ""
        facts.is_opened |= own.has(called) or own.may_have(called)
    elif first in facts.foreign:
        facts.foreign |= names


def _innermost(node: Node) -> Node:
    """Return the call that a chain of properties and calls begins with."""
    while (inner := node.child_by_field_name("object") or node.child_by_field_name("function")) is not None:
        if inner.type == "identifier":
            break
        node = inner
    return node


def _add_class(node: Node, facts: ScriptFacts) -> None:
    name = class_name(node)
    bases = facts.bases.setdefault(name, set())
    heritage = [child for child in node.named_children if "heritage" in child.type or "extends" in child.type]
    pending = heritage
    while pending:
        part = pending.pop()
        if part.type in _BASES:
            bases.add(text_of(part).partition("<")[0])
        else:
            pending += [child for child in part.named_children if child.type != "type_arguments"]
    if any(child.type == "decorator" for child in _leaves_around(node)):
        facts.unsafe.add(name)
        facts.unsafe |= {text_of(part) for part in _leaves(node) if part.type == "property_identifier"}
        bases.add("")


def _leaves_around(node: Node) -> Iterator[Node]:
    """Yield the nodes of a class, and those beside it, which may be its decorators."""
    yield from _nodes(node)
    yield from node.parent.named_children if node.parent is not None else ()


def _add_uses_as_values(root: Node, facts: ScriptFacts, routines: set[str]) -> None:
    """Note modules that are used as objects, and functions whose name is read."""
    known = routines | facts.imported
    for token in _leaves(root):
        parent = token.parent
        if token.type != "identifier" or parent is None:
            continue
        name = text_of(token)
        if name in facts.own_modules and parent.type not in _USES_OF_MODULES:
            facts.is_opened = facts.is_searched = True
        is_owner = parent.type == "member_expression" and token == parent.child_by_field_name("object")
        if is_owner and name in known and text_of(parent.child_by_field_name("property")) == "name":
            facts.unsafe.add(name)


def _leaves(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        if not node.child_count:
            yield node
        pending += node.named_children
