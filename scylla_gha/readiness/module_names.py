"""Names that a module defines, and what they stand for."""

import builtins
from dataclasses import dataclass, field
from typing import Final, Literal

from scylla_gha.readiness.source_code import Function, Language, SourceClass

GLOBALS: Final[dict[Language, frozenset[str]]] = {
    "python": frozenset(dir(builtins)),
    "go": frozenset({"append", "cap", "clear", "close", "copy", "delete", "len", "make", "max", "min", "new", "panic",
                     "print", "println", "recover", "string", "int", "int64", "float64", "byte", "rune", "error",
                     "bool"}),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definition:
    """Thing that a name stands for.

    Attributes:
        kind: an "object" is one of the class `name`; "outside" is not of this code base.
        file: path of the file; a module of Go is a folder.
        name: qualified name; "" for modules.
    """

    kind: Literal["function", "class", "object", "module", "outside"]
    file: str = ""
    name: str = ""


OUTSIDE: Final = Definition("outside")


@dataclass(slots=True, eq=False)
class ModuleNames:
    """Names of a module: of one file, or of all files of a folder with Go."""

    functions: dict[str, Function | None] = field(default_factory=dict)  # None: defined more than once
    classes: dict[str, tuple[str, SourceClass]] = field(default_factory=dict)
    variables: dict[str, tuple[str, str]] = field(default_factory=dict)
