"""Drafts of functions and classes that a parser fills while it walks through a file, and their qualified names."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from scylla_gha.readiness.source_code import Call, Function, Guard, Import, Language, LineSpan, SourceClass, SourceFile

_MOST_NAME = 200  # characters of a called name
_LINE_NUMBERS: dict[int, int] = {}
_PAIRS: dict[tuple[str, str], tuple[str, str]] = {}


@dataclass(slots=True, eq=False)
class ClassDraft:
    """Class while its file is walked through; a field whose assignments differ in type has type ""."""

    name: str
    span: LineSpan
    bases: tuple[str, ...] = ()
    fields: dict[str, str] = field(default_factory=dict)

    def set_field(self, name: str, kind: str) -> None:
        """Note the type of a field; an unknown type takes nothing from a known one that came before."""
        merge_type(self.fields, name, kind)


@dataclass(slots=True, eq=False)
class FunctionDraft:
    """Function while its file is walked through."""

    function: Function
    outer: "FunctionDraft | None"
    statements: int = 0
    branches: int = 0
    calls: list[Call] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    handlers: list[LineSpan] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def type_of(self, name: str) -> str | None:
        """Return the type of a variable of this function or one around it; None: no function has such a variable."""
        draft: FunctionDraft | None = self
        while draft is not None:
            if name in draft.variables:
                return draft.variables[name]
            draft = draft.outer
        return None

    def finished(self) -> Function:
        """Return the function with all that was collected."""
        heads = sorted({call.name.partition(".")[0] for call in self.calls})
        types = ((head, self.type_of(head)) for head in heads)
        return replace(
            self.function,
            statements=self.statements,
            branches=self.branches,
            calls=shared_calls(self.calls),
            guards=tuple(self.guards),
            handlers=tuple(self.handlers),
            raised=tuple(dict.fromkeys(self.raised)),
            variables=tuple(_shared((head, kind)) for head, kind in types if kind is not None),
        )


@dataclass(frozen=True, slots=True)
class Scope:
    """Part of a file that a node stands in; `name` is the qualified name with its last dot, "" at the top."""

    name: str = ""
    function: FunctionDraft | None = None
    inside: ClassDraft | None = None


@dataclass(slots=True, eq=False)
class FileDraft:
    """File while it is walked through."""

    path: str
    language: Language
    text: str
    is_test: bool
    functions: list[FunctionDraft] = field(default_factory=list)
    classes: list[ClassDraft] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    exported: set[str] = field(default_factory=set)
    calls: list[Call] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def bind(self, name: str, kind: str, scope: Scope) -> None:
        """Note the type of a variable, where it lives: in the function, the class or the module."""
        if scope.inside is not None and scope.name == f"{scope.inside.name}.":
            scope.inside.set_field(name, kind)
        elif scope.function is not None:
            merge_type(scope.function.variables, name, kind)
        else:
            merge_type(self.variables, name, kind)

    def alias(self, name: str, original: str, node: Node) -> None:
        """Note a second name of something in this file."""
        self.imports.append(Import(name, "", original, node.start_point[0] + 1))

    def finished(self) -> SourceFile:
        """Return the file; a function whose name was defined before gets the number of its definition."""
        functions = tuple(_numbered(draft.finished() for draft in self.functions))
        classes = tuple(SourceClass(c.name, c.span, c.bases, tuple(c.fields.items())) for c in self.classes)
        exported = frozenset(self.exported)
        return SourceFile(self.path, self.language, self.text, self.is_test, functions, tuple(self.imports), exported,
                          classes, shared_calls(self.calls), tuple(self.variables.items()))  # fmt: skip


def add_counts(scope: Scope, statements: int, branches: int) -> None:
    """Add statements and branches to the function and to those around it."""
    function: FunctionDraft | None = scope.function
    while function is not None:
        function.statements += statements
        function.branches += branches
        function = function.outer


def merge_type(types: dict[str, str], name: str, kind: str) -> None:
    """Note the type of a variable; two different types make it unknown."""
    types[name] = kind if types.get(name, kind) == kind else ""


def shared_calls(calls: Iterable[Call]) -> tuple[Call, ...]:
    """Return calls with names and numbers that are stored once, since a large code base has millions."""
    return tuple(Call(sys.intern(call.name), _LINE_NUMBERS.setdefault(call.line, call.line)) for call in calls)


def _shared(pair: tuple[str, str]) -> tuple[str, str]:
    return _PAIRS.setdefault(pair, pair)


def _numbered(functions: Iterable[Function]) -> Iterator[Function]:
    counts: dict[str, int] = {}
    for function in functions:
        counts[function.name] = count = counts.get(function.name, 0) + 1
        yield function if count == 1 else replace(function, name=f"{function.name}#{count}")


def span_of(node: Node) -> LineSpan:
    """Return the lines of a node."""
    return LineSpan(node.start_point[0] + 1, node.end_point[0] + 1)


def text_of(node: Node | None) -> str:
    """Return the text of a node; "" if there is none."""
    return sys.intern((node.text or b"").decode()) if node is not None else ""


def dotted(node: Node | None, attribute: str, operand: str) -> str:
    """Return a called expression as a name with dots: "self.rows[].append", "super().save", "?.join".

    Args:
        node: the expression that is called.
        attribute: type of nodes for access to an attribute.
        operand: field of such a node that holds the expression before the dot.
    """
    if node is not None and _PLAIN_NAME.fullmatch(name := node.text or b""):
        return name.decode()
    parts: list[str] = []
    while node is not None and len(parts) < _MOST_NAME:
        if node.type == attribute:
            parts.append("." + text_of(node.named_children[-1]))
            node = node.child_by_field_name(operand)
        elif node.type in _SUFFIXES:
            parts.append(_SUFFIXES[node.type])
            node = node.named_children[0] if node.named_children else None
        elif node.type in _TRANSPARENT and node.named_children:
            node = node.named_children[-1 if node.type == "await" else 0]
        else:
            parts.append(text_of(node) if node.type in _NAMES else "?")
            break
    return "".join(reversed(parts))[-_MOST_NAME:]


_PLAIN_NAME = re.compile(rb"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*){0,9}")
_SUFFIXES = {"call": "()", "call_expression": "()", "new_expression": "()", "subscript": "[]",
             "subscript_expression": "[]", "index_expression": "[]"}  # fmt: skip
_TRANSPARENT = {"parenthesized_expression", "await", "await_expression", "non_null_expression", "as_expression",
                "satisfies_expression"}  # fmt: skip
_NAMES = {"identifier", "this", "super", "field_identifier", "property_identifier", "package_identifier",
          "private_property_identifier", "type_identifier"}  # fmt: skip
