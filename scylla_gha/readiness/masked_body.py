"""Bodies of functions replaced by a stub; signature and documentation stay.

A stub of Go keeps a use of each package that nothing else in the file uses, because unused imports do not compile.
"""

import re
from collections.abc import Iterator
from typing import Final

from scylla_gha.readiness.mutations import Mutant, parses_with, replaced
from scylla_gha.readiness.source_code import Function, Language, LineSpan, SourceFile
from scylla_gha.readiness.syntax import lines_of

_MISSING: Final[dict[Language, str]] = {
    "python": "raise NotImplementedError", "javascript": 'throw new Error("not implemented");',
    "typescript": 'throw new Error("not implemented");', "go": 'panic("not implemented")',
}  # fmt: skip
# Go has no value that every result type accepts
_EMPTY: Final[dict[Language, str]] = {"python": "return None", "javascript": "return;", "typescript": "return;"}


def masked_body(file: SourceFile, function: Function) -> Mutant | None:
    """Return the function whose body raises an error; None if its body shares a line with other code."""
    return _stub(file, function, "body-masked", _MISSING[file.language])


def empty_body(file: SourceFile, function: Function) -> Mutant | None:
    """Return the function whose body returns nothing; None in Go, or if it shares a line with other code."""
    statement = _EMPTY.get(file.language)
    return _stub(file, function, "body-emptied", statement) if statement else None


def _stub(file: SourceFile, function: Function, name: str, statement: str) -> Mutant | None:
    span = _inner(file, function)
    if span is None:
        return None
    lines = lines_of(file.text)
    first = next(line for line in lines[span.first - 1 : span.last] if line.strip())
    indent, end = first[: len(first) - len(first.lstrip())], "\r\n" if first.endswith("\r\n") else "\n"
    statements = [*(_kept_uses(file, span) if file.language == "go" else ()), statement]
    mutant = replaced(file, function.id, name, span, "".join(f"{indent}{line}{end}" for line in statements))
    return mutant if parses_with(file, function, mutant) else None


def _kept_uses(file: SourceFile, span: LineSpan) -> Iterator[str]:
    """Yield a statement of Go for each package that only these lines use."""
    lines = lines_of(file.text)
    body, others = "".join(lines[span.first - 1 : span.last]), "".join(lines[: span.first - 1] + lines[span.last :])
    for name in sorted({line.local for line in file.imports}):
        used = re.compile(rf"(?<![\w.\"]){re.escape(name)}\.([A-Z]\w*)(.?)")
        uses = used.findall(body)
        if uses and not used.search(others):
            called = next((member for member, after in uses if after == "("), None)
            is_type = called is None and uses[0][1] == "{"
            yield f"{'var _' if is_type else '_ ='} {name}.{called or uses[0][0]}"


def _inner(file: SourceFile, function: Function) -> LineSpan | None:
    """Return the lines of the body; None if they hold other code too, such as a brace or the signature."""
    body, span, lines = function.body, function.span, lines_of(file.text)
    if file.language == "python":
        is_apart = body.first > span.first and _indent(lines[body.first - 1]) > _indent(lines[span.first - 1])
        return body if is_apart and not lines[body.first - 2].rstrip().endswith("\\") else None
    has_text = any(line.strip() for line in lines[body.first - 1 : body.last])
    return body if span.first < body.first <= body.last < span.last and has_text else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
