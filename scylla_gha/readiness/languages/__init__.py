"""Languages that the index reads: one parser each, found by the suffix of a file."""

import functools
from pathlib import PurePosixPath
from typing import Final

from scylla_gha.readiness.languages.base import LanguageParser
from scylla_gha.readiness.languages.ecmascript import JavaScriptParser, TypeScriptParser
from scylla_gha.readiness.languages.go import GoParser
from scylla_gha.readiness.languages.python import PythonParser

PARSERS: Final[tuple[LanguageParser, ...]] = (PythonParser(), JavaScriptParser(), TypeScriptParser(), GoParser())


@functools.cache
def _by_suffix() -> dict[str, LanguageParser]:
    return {suffix: parser for parser in PARSERS for suffix in parser.suffixes}


def parser_of(path: str) -> LanguageParser | None:
    """Return the parser of a file by its suffix; None: no code, or of another language."""
    return _by_suffix().get(PurePosixPath(path).suffix)
