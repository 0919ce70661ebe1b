"""Patterns of a function's code: facts read from its text, and rules about them.

Python is read by `ast`, other languages by regular expressions on text whose strings and comments are blanked. The file
works alone, beside the grader that is copied into a scenario.
"""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_LEVELS: Final = {"debug", "info", "warning", "warn", "error", "exception", "critical", "log"}
_CASES: Final = {
    "snake": re.compile(r"_*[a-z][a-z0-9_]*|_+|[A-Z][A-Z0-9_]*"),
    "camel": re.compile(r"[_$]*[a-z][A-Za-z0-9$]*|[_$]+|[A-Z][A-Z0-9_]*"),
}
_TEXTS: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`""", re.DOTALL
)
_THROWN: Final = re.compile(r"\bthrow\s+new\s+([A-Za-z_$][\w$.]*)")
# Errors of Go, made or handed on; `%w` is left of a blanked format that wraps one
_ERROR: Final = re.compile(
    r"\b(fmt\.Errorf)\s*\([^\n]*?(%w)|\b(errors\.(?:New|Wrapf?|Join|WithStack|WithMessage)|fmt\.Errorf)\s*\("
    r"|\breturn\b[^\n]*?[\s,&](err|(?:\w+\.)?Err[A-Z]\w*|(?:\w+\.)?[A-Z]\w*Error)\s*(?:\{|$)",
    re.MULTILINE,
)
_LOGGED: Final = re.compile(
    r"\b((?:this\.)?\w*(?:log|logger|console))\.(?:debug|info|warn|error|log)\s*\(", re.IGNORECASE
)
_DECLARED: Final = re.compile(r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)|\b([A-Za-z_]\w*)\s*:=")
_LOADED: Final = re.compile(r"\brequire\s*\(|\bawait\s+import\s*\(")
_MODIFIERS: Final = "public|private|protected|static|async|override|get|set"
_TYPED: Final = re.compile(r"\)\s*:\s*[^={]+(=>|\{)")


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """Patterns that one function shows.

    Attributes:
        raised: names of error types that it raises or throws.
        loggers: names of the objects that it logs to.
        decorators: names of decorators, without arguments.
        names: names of local variables.
        annotated: all parameters and the result have a type.
        documented: it has a docstring; None in languages where that stands outside.
        imports: it imports in its body.
    """

    raised: frozenset[str]
    loggers: frozenset[str]
    decorators: frozenset[str]
    names: frozenset[str]
    annotated: bool
    documented: bool | None
    imports: bool


def facts_in(source: str, language: str, name: str) -> CodeFacts | None:
    """Return the facts of a function in a file's text; None if the text does not parse or has no such function."""
    if language == "python":
        node = _python_function(source, name)
        return None if node is None else _python_facts(node)
    text = _block_of(source, name, language)
    return None if text is None else _text_facts(text, language)


def facts_of(text: str, language: str) -> CodeFacts | None:
    """Return the facts of a function's own text."""
    if language != "python":
        return _text_facts(_blanked(text), language)
    tree = _parsed(textwrap.dedent(text))
    nodes = tree.body if tree else []
    return next((_python_facts(node) for node in nodes if isinstance(node, _DEFINITIONS)), None)


def holds(rule: Mapping[str, object], facts: CodeFacts) -> bool:
    """Return True if a function keeps a rule.

    Rules are {"kind": "raises", "names": [...]}: it raises errors, of these types alone; {"kind": "logger", "name"};
    {"kind": "decorator", "name"}; {"kind": "naming", "case": "snake" or "camel"}; {"kind": "annotations"};
    {"kind": "docstring"}; {"kind": "imports"}: it imports nothing in its body.
    """
    names = rule.get("names")
    allowed = set(names) if isinstance(names, list) else set()
    case = _CASES.get(str(rule.get("case")), re.compile(""))
    return {
        "raises": bool(facts.raised) and facts.raised <= allowed,
        "logger": facts.loggers == {rule.get("name")},
        "decorator": rule.get("name") in facts.decorators,
        "naming": all(case.fullmatch(name) for name in facts.names),
        "annotations": facts.annotated,
        "docstring": facts.documented is True,
        "imports": not facts.imports,
    }.get(str(rule.get("kind")), False)


_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


def _parsed(source: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _python_function(source: str, name: str) -> _Definition | None:
    """Return the last definition of a qualified name, since later ones replace those before."""
    tree = _parsed(source)
    definitions = _definitions(tree, "") if tree else ()
    return next((node for path, node in reversed([*definitions]) if path == name), None)


def _definitions(parent: ast.AST, prefix: str) -> Iterator[tuple[str, _Definition]]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, (*_DEFINITIONS, ast.ClassDef)):
            if not isinstance(node, ast.ClassDef):
                yield prefix + node.name, node
            yield from _definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.stmt | ast.excepthandler):
            yield from _definitions(node, prefix)


def _python_facts(function: _Definition) -> CodeFacts:
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    raised = {_dotted(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
              for node in nodes if isinstance(node, ast.Raise) and node.exc}  # fmt: skip
    calls = [node.func for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    decorators = (node.func if isinstance(node, ast.Call) else node for node in function.decorator_list)
    return CodeFacts(
        raised=frozenset(name for name in raised if name.rpartition(".")[2][:1].isupper()),
        loggers=frozenset(
            name for call in calls if call.attr in _LEVELS and "log" in (name := _dotted(call.value)).lower()
        ),
        decorators=frozenset(map(_dotted, decorators)),
        names=frozenset(stored),
        annotated=_is_annotated(function),
        documented=ast.get_docstring(function) is not None,
        imports=any(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes),
    )


def _dotted(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _is_annotated(function: _Definition) -> bool:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    own = positional[1:] if positional and positional[0].arg in {"self", "cls"} else positional
    rest = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return function.returns is not None and all(
        argument.annotation for argument in (*own, *arguments.kwonlyargs, *rest)
    )


def _errors_of_go(text: str) -> Iterator[str]:
    for match in _ERROR.finditer(text):
        yield f"{match[1]} %w" if match[2] else match[3] or match[4]


def _text_facts(text: str, language: str) -> CodeFacts:
    return CodeFacts(
        raised=frozenset(_errors_of_go(text) if language == "go" else (m[1] for m in _THROWN.finditer(text))),
        loggers=frozenset(match[1] for match in _LOGGED.finditer(text)),
        decorators=frozenset(),
        names=frozenset(match[1] or match[2] for match in _DECLARED.finditer(text)),
        annotated=bool(_TYPED.search(text)),
        documented=None,
        imports=bool(_LOADED.search(text)),
    )


def _blanked(source: str) -> str:
    """Return the text with spaces for the characters of strings and comments; line breaks and `%w` of strings stay."""
    blanked = re.compile(r"(?!%w|(?<=%)w)[^\n]")
    return _TEXTS.sub(
        lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0][0] == "/" else blanked.sub(" ", match[0]), source
    )


def _block_of(source: str, name: str, language: str) -> str | None:
    """Return the blanked text of the first function of a name, from its name to its closing brace."""
    owner, _, short = name.rpartition(".")
    text, word = _blanked(source), re.escape(short)
    receiver = rf"\([^)]*\b{re.escape(owner)}\b[^)]*\)\s*" if owner else ""
    forms = (
        (rf"\bfunc\s+{receiver}{word}\s*[\[(]",)
        if language == "go"
        else (
            rf"\bfunction\s*\*?\s*{word}\s*[<(]",
            rf"\b{word}\s*(?::[^=\n]+)?=\s*(?:async\s+)?(?:function\b|\(|<|[\w$]+\s*=>)",
            rf"(?m)^[ \t]*(?:(?:{_MODIFIERS}|\*)\s*)*#?{word}\s*(?:<[^>\n]*>)?\((?=[^;]*?\)[^;{{]*\{{)",
            rf"\b{word}\s*:\s*(?:async\s+)?(?:function\b|\(|[\w$]+\s*=>)",
        )
    )
    start = next((match.start() for form in forms if (match := re.search(form, text))), None)
    return None if start is None else _to_closing_brace(text, start)


def _to_closing_brace(text: str, start: int) -> str | None:
    """Return the text up to the brace that closes the body; None if none does, or the file's braces do not pair."""
    if text.count("{") != text.count("}"):
        return None
    round_depth = depth = 0
    for at in range(start, len(text)):
        character = text[at]
        round_depth += (character in "([") - (character in ")]")
        if round_depth:
            continue
        depth += (character == "{") - (character == "}")
        if character == "}" and depth == 0:
            return text[start : at + 1]
        if character == ";" and depth == 0:
            return text[start : at + 1]
    return None
