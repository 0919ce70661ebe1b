"""Parts of source code that tasks are made of: functions, calls, guards, handlers, and the index of a code base."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Language = Literal["python", "javascript", "typescript", "go"]
Certainty = Literal["certain", "unknown"]


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines of a file, counted from 1; `last` belongs to it."""

    first: int
    last: int

    def __contains__(self, line: int) -> bool:
        """Return True if the line is one of them."""
        return self.first <= line <= self.last


@dataclass(frozen=True, slots=True)
class Call:
    """Call in a function, as written: `name` is the called name with its dots ("self.store.save")."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Guard:
    """`if` without `else` whose body only raises, throws or returns an error."""

    span: LineSpan
    condition: str


@dataclass(frozen=True, slots=True)
class Function:
    """Function or method of a source file.

    Attributes:
        path: the file, relative to the repository's root, with forward slashes.
        name: qualified name: "Class.method", "outer.inner", "function"; for a Go method "Type.Method".
        span: all lines, with decorators.
        body: the lines of the body without the docstring.
        docstring: text of the docstring or of the comment that documents it; None: it has none.
        documented: the lines of that text; None: it has none.
        statements: number of statements of the body, nested ones too.
        branches: number of decisions (if, for, while, case, and, or, conditional expressions, handlers).
        calls: calls of the body, nested functions' left out, in order.
        guards: guards of the body, in order.
        handlers: `except` or `catch` clauses, or `if err != nil` of Go.
        raised: names of error types that it raises or throws.
        decorators: names of decorators, without arguments.
        parameters: names of parameters, with `self` and the like left out.
        annotated: all parameters and the result have a type.
        variables: parameters and local variables that calls begin with, and their types as written: "Store" or, for the
            result of a call, "open_store()"; "": unknown. `self` and `this` have the class.
        returns: type of the result, as written; "": unknown.
    """

    path: str
    name: str
    language: Language
    span: LineSpan
    body: LineSpan
    docstring: str | None
    documented: LineSpan | None
    statements: int
    branches: int
    calls: tuple[Call, ...]
    guards: tuple[Guard, ...]
    handlers: tuple[LineSpan, ...]
    raised: tuple[str, ...]
    decorators: tuple[str, ...]
    parameters: tuple[str, ...]
    annotated: bool
    variables: tuple[tuple[str, str], ...] = ()
    returns: str = ""

    @property
    def id(self) -> str:
        """The name that answers, tests and records use: "path::name"."""
        return f"{self.path}::{self.name}"

    @property
    def short_name(self) -> str:
        """Last part of the qualified name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class SourceClass:
    """Class of a source file, or a type of Go with methods or fields.

    Attributes:
        name: qualified name.
        bases: base classes, as written.
        fields: fields and their types, as in `Function.variables`.
    """

    name: str
    span: LineSpan
    bases: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Import:
    """Import of a source file, or a second name (`save = _save`, `export { save as store }`).

    Attributes:
        local: name by which the file uses it, or others import it; "*": all names.
        module: the module, as written ("..store", "./db", "example.com/m/db"); "": this file.
        imported: the name in the module; None: the module itself.
        line: line of the import.
    """

    local: str
    module: str
    imported: str | None
    line: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """File of code that was parsed.

    Attributes:
        text: its content; decoded as UTF-8, and line breaks kept.
        is_test: it holds tests, or helps them.
        exported: names that the module exports (JavaScript, TypeScript, Go) or that do not begin with "_" (Python).
        classes: in order.
        calls: calls outside of functions, those in anonymous functions of JavaScript included (its tests are such).
        variables: of the module, and their types, as in `Function.variables`.
    """

    path: str
    language: Language
    text: str
    is_test: bool
    functions: tuple[Function, ...]
    imports: tuple[Import, ...]
    exported: frozenset[str]
    classes: tuple[SourceClass, ...] = ()
    calls: tuple[Call, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CallEdge:
    """Call from one function of the index to another, by their ids."""

    caller: str
    callee: str
    line: int
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """File that is not in the index, or only in part, and the reason ("generated", "syntax error in line 3").

    A path that is not UTF-8 or not printable is escaped.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class CodeIndex:
    """All functions of a code base, and the calls between them.

    Attributes:
        files: parsed files by path.
        functions: by id; those of tests are included. If a file defines a name again, the second is "name#2"; no task
            asks for either, since both have one name (`anchors.sample` leaves them out).
        edges: certain and unknown edges; an unknown one names a possible callee.
        skipped: files that were left out.
    """

    files: Mapping[str, SourceFile]
    functions: Mapping[str, Function]
    edges: tuple[CallEdge, ...]
    skipped: tuple[SkippedFile, ...]
