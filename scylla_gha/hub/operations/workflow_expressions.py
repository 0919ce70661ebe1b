"""Expressions of workflows, `${{ ... }}`, as far as the runner knows them.

Read with https://docs.github.com/en/actions/reference/workflows-and-actions/expressions: contexts, literals, operators
and the functions of `_FUNCTIONS` and `_STATUS`. All else is a fault that names what is not supported.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Scalar = str | float | bool | None
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?))|(?P<text>'(?:[^']|'')*')"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|(?P<mark>==|!=|<=|>=|&&|\|\||[!<>()\[\].,]))"
)
_TEMPLATE: Final = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
CONTEXTS: Final = ("env", "github", "inputs", "job", "needs", "runner", "steps")
_LITERALS: Final[Mapping[str, Scalar]] = {"true": True, "false": False, "null": None}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "contains": lambda whole, part: _text(part).casefold() in _text(whole).casefold(),
    "startswith": lambda whole, part: _text(whole).casefold().startswith(_text(part).casefold()),
    "endswith": lambda whole, part: _text(whole).casefold().endswith(_text(part).casefold()),
}
_STATUS: Final = ("always", "cancelled", "failure", "success")
_MOST_TOKENS: Final = 100
_LONGEST_TEXT: Final = 1_000_000  # what a text may grow to: outputs can be put into outputs, again and again


class ExpressionError(Exception):
    """Expression that cannot be read, or that the runner does not support; the message says what."""


@dataclass(frozen=True, slots=True)
class ExpressionScope:
    """Names that expressions can use: contexts by name, and the status functions that are true."""

    contexts: Mapping[str, Any]
    status: str = "success"

    def status_is(self, function: str) -> bool:
        """Return the result of a status function."""
        return function in ("always", self.status)


_Node = Callable[[ExpressionScope], Any]


@dataclass
class _Parser:
    """Recursive descent over the tokens of one expression; `names` are the contexts and functions that it uses."""

    tokens: Sequence[tuple[str, str]]
    functions: set[str]
    at: int = 0

    def whole(self) -> _Node:
        node = self.alternatives()
        if self.at < len(self.tokens):
            raise ExpressionError(f"unexpected {self.tokens[self.at][1]!r}")
        return node

    def alternatives(self) -> _Node:
        node = self.conjunction()
        while self.take("||"):
            node = _either(node, self.conjunction())
        return node

    def conjunction(self) -> _Node:
        node = self.comparison()
        while self.take("&&"):
            node = _both(node, self.comparison())
        return node

    def comparison(self) -> _Node:
        node = self.factor()
        for mark, compare in _COMPARISONS.items():
            if self.take(mark):
                return _compared(compare, node, self.factor())
        return node

    def factor(self) -> _Node:
        if self.take("!"):
            operand = self.factor()
            return lambda scope: not _truth(operand(scope))
        if self.take("("):
            node = self.alternatives()
            self.need(")")
            return node
        kind, token = self.next()
        if kind == "text":
            return _constant(token[1:-1].replace("''", "'"))
        if kind == "number":
            return _constant(float(int(token, 16)) if "0x" in token else float(token))
        if kind == "name":
            return self.call(token.casefold()) if self.take("(") else self.path(token)
        raise ExpressionError(f"unexpected {token!r}")

    def call(self, name: str) -> _Node:
        """Read the arguments of a function, behind its bracket."""
        operands: list[_Node] = []
        while not self.take(")"):
            if operands:
                self.need(",")
            operands.append(self.alternatives())
        if name in _STATUS and not operands:
            self.functions.add(name)
            return lambda scope: scope.status_is(name)
        if name not in _FUNCTIONS or len(operands) != 2:  # noqa: PLR2004 all of them have two
            raise ExpressionError(f"the function {name}() is not supported here")
        function = _FUNCTIONS[name]
        return lambda scope: function(*(operand(scope) for operand in operands))

    def path(self, name: str) -> _Node:
        """Read the fields of a context, behind its name."""
        if name.casefold() in _LITERALS:
            return _constant(_LITERALS[name.casefold()])
        if name.casefold() not in CONTEXTS:
            raise ExpressionError(f"the context {name} is not supported")
        fields = [name.casefold()]
        while True:
            if self.take("."):
                fields.append(self.next("name")[1])
            elif self.take("["):
                fields.append(self.next("text")[1][1:-1])
                self.need("]")
            elif fields[:2] == ["github", "event"] and fields[2:3] != ["inputs"]:
                raise ExpressionError("of github.event, only the inputs are supported here")
            else:
                return lambda scope: _field(scope.contexts, fields)

    def take(self, mark: str) -> bool:
        """Move on if this mark is next."""
        is_next = self.at < len(self.tokens) and self.tokens[self.at] == ("mark", mark)
        self.at += is_next
        return is_next

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise ExpressionError(f"{mark!r} is missing")

    def next(self, kind: str | None = None) -> tuple[str, str]:
        """Move on and return the token that was next."""
        if self.at >= len(self.tokens) or kind not in (None, self.tokens[self.at][0]):
            raise ExpressionError("it is not complete")
        self.at += 1
        return self.tokens[self.at - 1]


def evaluate(text: str, scope: ExpressionScope) -> Any:  # noqa: ANN401 a scalar or a context
    """Return the value of an expression, without its `${{ }}`.

    Raises:
        ExpressionError: it cannot be read, or is not supported.
    """
    return _parsed(text)[0](scope)


def is_true(condition: str | None, scope: ExpressionScope) -> bool:
    """Return whether an `if` holds; one without a status function also asks for success.

    Raises:
        ExpressionError: it cannot be read, or is not supported.
    """
    text = _bare(condition or "success()")
    node, functions = _parsed(text)
    return (bool(functions) or scope.status_is("success")) and _truth(node(scope))


def filled_in(text: str, scope: ExpressionScope) -> str:
    """Return a text with the values of its expressions.

    Raises:
        ExpressionError: one cannot be read, or is not supported, or the text becomes too long.
    """
    length = len(text)

    def value(matched: re.Match[str]) -> str:
        nonlocal length
        filled = _text(evaluate(matched[1], scope))
        length += len(filled)
        if length > _LONGEST_TEXT:
            raise ExpressionError(f"With its expressions, a text has more than {_LONGEST_TEXT} characters")
        return filled

    whole, end, rest = text.rpartition("}}")  # what has no end is not searched from each of its beginnings
    return _TEMPLATE.sub(value, whole + end) + rest


def check_text(text: str) -> None:
    """Read all expressions of a text.

    Raises:
        ExpressionError: one cannot be read, or is not supported.
    """
    for matched in _TEMPLATE.finditer(text, 0, text.rfind("}}") + 2):
        _parsed(matched[1])


def check_condition(condition: str) -> None:
    """Read an `if`.

    Raises:
        ExpressionError: it cannot be read, or is not supported.
    """
    _parsed(_bare(condition))


def _bare(condition: str) -> str:
    stripped = condition.strip()
    is_wrapped = stripped.startswith("${{") and stripped.endswith("}}") and stripped.count("${{") == 1
    return stripped[3:-2] if is_wrapped else stripped


def _parsed(text: str) -> tuple[_Node, set[str]]:
    try:
        parser = _Parser(list(_tokens(text)), set())
        return parser.whole(), parser.functions
    except ExpressionError as error:
        raise ExpressionError(f"${{{{ {text.strip()[:100]} }}}}: {error}") from None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    for _ in range(_MOST_TOKENS):
        if not text[at:].strip():
            return
        matched = _TOKEN.match(text, at)
        if matched is None or matched.lastgroup is None:
            raise ExpressionError(f"unexpected {text[at:].strip()[:20]!r}")
        yield matched.lastgroup, matched[matched.lastgroup]
        at = matched.end()
    raise ExpressionError("it is too long")


def _constant(scalar: Scalar) -> _Node:
    return lambda _: scalar


def _either(left: _Node, right: _Node) -> _Node:
    return lambda scope: first if _truth(first := left(scope)) else right(scope)


def _both(left: _Node, right: _Node) -> _Node:
    return lambda scope: right(scope) if _truth(first := left(scope)) else first


def _compared(compare: Callable[[Any, Any], bool], left: _Node, right: _Node) -> _Node:
    return lambda scope: compare(*_comparable(left(scope), right(scope)))


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:  # noqa: ANN401 values of expressions
    """Return two values as GitHub compares them: texts without case, values of different types as numbers."""
    if isinstance(left, str) and isinstance(right, str):
        return left.casefold(), right.casefold()
    return _number(left), _number(right)


def _number(scalar: Any) -> float:  # noqa: ANN401 the value of an expression
    if isinstance(scalar, str):
        try:
            return float(scalar) if scalar.strip() else 0.0
        except ValueError:
            return float("nan")
    return float(scalar) if isinstance(scalar, bool | float) else 0.0 if scalar is None else float("nan")


_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
}


def _truth(scalar: Any) -> bool:  # noqa: ANN401 the value of an expression
    return scalar not in (None, False, 0.0, "")


def _field(contexts: Mapping[str, Any], fields: Sequence[str]) -> Any:  # noqa: ANN401 a scalar or a context
    """Return a field of a context; what is not there is null. Case does not count."""
    current: Any = contexts
    for name in fields:
        if not isinstance(current, Mapping):
            return None
        current = next((part for key, part in current.items() if key.casefold() == name.casefold()), None)
    return current


def _text(scalar: Any) -> str:  # noqa: ANN401 the value of an expression
    if scalar is None or isinstance(scalar, Mapping):
        return "" if scalar is None else "Object"
    if isinstance(scalar, bool):
        return "true" if scalar else "false"
    return f"{scalar:.15g}" if isinstance(scalar, float) else str(scalar)
