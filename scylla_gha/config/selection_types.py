"""Types of JSON values (null is possible everywhere) and of jmespath selections, to report faults at load.

A selection that jmespath would answer with null for every state (a misspelled field, a field of a list, a comparison of
a text with a number) is a fault here.
"""

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from scylla_gha.config import did_you_mean
from scylla_gha.model import Record

Kind = Literal["any", "null", "string", "number", "boolean", "list", "object"]
Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type of a value.

    Attributes:
        kind: kind of the values other than null.
        item: type of a list's elements.
        fields: types of an object's fields; None: any fields, all of the type `item`.
        values: all possible texts; empty: any.
        fixed: True for a list that the expression itself writes, so that its length is constant.
    """

    kind: Kind = "any"
    item: "ValueType | None" = None
    fields: "Mapping[str, ValueType] | None" = None
    values: tuple[str, ...] = ()
    fixed: bool = False

    def __str__(self) -> str:
        """Return the type in words."""
        if self.kind == "list":
            return f"a list of {self.item.kind}s" if self.item and self.item.kind != "any" else "a list"
        return {"any": "any value", "null": "null", "object": "an object"}.get(self.kind, f"a {self.kind}")


ANY: Final = ValueType()
NULL: Final = ValueType("null")
TEXT: Final = ValueType("string")
NUMBER: Final = ValueType("number")
TRUTH: Final = ValueType("boolean")


def type_of(annotation: Any) -> ValueType:  # noqa: ANN401 an annotation
    """Return the type of a view's annotation."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union or isinstance(annotation, types.UnionType):
        return type_of(next(arg for arg in args if arg is not type(None)))
    if origin is Literal:
        return ValueType("string", values=args)
    if origin is tuple:
        return list_of(type_of(args[0]))
    if origin is dict:
        return ValueType("object", item=type_of(args[1]))
    if isinstance(annotation, type) and issubclass(annotation, Record):
        fields = {name: type_of(field.annotation) for name, field in annotation.model_fields.items()}
        return ValueType("object", fields=fields)
    return {str: TEXT, int: NUMBER, float: NUMBER, bool: TRUTH}.get(annotation, ANY)


def list_of(item: ValueType) -> ValueType:
    """Return the type of a list."""
    return ValueType("list", item=item)


def type_of_value(value: object) -> ValueType:
    """Return the type of a JSON value."""
    if isinstance(value, str):
        return ValueType("string", values=(value,))
    if isinstance(value, (list, tuple)):
        return list_of(type_of_value(value[0]) if value else ANY)
    if isinstance(value, dict):
        return ValueType("object", fields={name: type_of_value(part) for name, part in value.items()})
    return NULL if value is None else type_of(type(value))


def mismatch(value: ValueType, expected: ValueType) -> str | None:
    """Return the reason why a value can never have the expected type, or None. Any value may be null."""
    if "any" in (value.kind, expected.kind) or "null" in (value.kind, expected.kind):
        return None
    if value.kind != expected.kind:
        return f"it is {value}, but must be {expected}"
    if value.kind == "list" and value.item and expected.item:
        return mismatch(value.item, expected.item)
    if value.values and expected.values and not set(value.values) & set(expected.values):
        text, known = (value.values, expected.values) if len(value.values) == 1 else (expected.values, value.values)
        return f"{text[0]!r} is none of {', '.join(known)}{did_you_mean(text[0], known)}"
    return None


class SelectionError(Exception):
    """Expression that is invalid, or that can never select anything."""


def selection_type(expression: str, root: ValueType) -> ValueType:
    """Return the type of an expression's result; refuse an expression that is invalid or can never select anything."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        parsed = jmespath.compile(expression).parsed
    except JMESPathError as error:
        reason = " ".join(str(error).split())
        raise SelectionError(f"{expression!r} is not a jmespath expression: {reason}") from None
    return _infer(parsed, root)


def _infer(node: Node, source: ValueType) -> ValueType:
    return _RULES[node["type"]](node, source)


def _field(node: Node, source: ValueType) -> ValueType:
    name = node["value"]
    if source.kind == "any":
        return ANY
    if source.kind == "list":
        raise SelectionError(f"{name!r} is looked up in a list; write [] or [?...] before the field")
    if source.kind != "object":
        raise SelectionError(f"{name!r} is looked up in {source}, which has no fields")
    if source.fields is None:
        return source.item or ANY
    if name not in source.fields:
        hint = did_you_mean(name, list(source.fields)) or f"; there are: {', '.join(source.fields)}"
        raise SelectionError(f"there is no field {name!r}{hint}")
    return source.fields[name]


def _chain(node: Node, source: ValueType) -> ValueType:
    for child in node["children"]:
        source = _infer(child, source)
    return source


def _item(source: ValueType, what: str) -> ValueType:
    if source.kind not in ("any", "list"):
        raise SelectionError(f"{what} needs a list, not {source}")
    return source.item or ANY


def _projection(node: Node, source: ValueType) -> ValueType:
    left, right = node["children"]
    return list_of(_infer(right, _item(_infer(left, source), "[*]")))


def _value_projection(node: Node, source: ValueType) -> ValueType:
    left, right = node["children"]
    values = _infer(left, source)
    if values.kind not in ("any", "object"):
        raise SelectionError(f"* needs an object, not {values}")
    return list_of(_infer(right, values.item or ANY))


def _filter(node: Node, source: ValueType) -> ValueType:
    left, right, condition = node["children"]
    item = _item(_infer(left, source), "[?...]")
    _infer(condition, item)
    return list_of(_infer(right, item))


def _flatten(node: Node, source: ValueType) -> ValueType:
    item = _item(_infer(node["children"][0], source), "[]")
    return item if item.kind == "list" else list_of(item)


def _comparator(node: Node, source: ValueType) -> ValueType:
    left, right = (_infer(child, source) for child in node["children"])
    ordered = node["value"] not in ("eq", "ne")
    if ordered and any(side.kind not in ("any", "number") for side in (left, right)):
        raise SelectionError(f"{node['value']} compares numbers, not {left} and {right}")
    if fault := mismatch(left, right):
        raise SelectionError(f"the comparison is never true: {fault}")
    return TRUTH


def _either(node: Node, source: ValueType) -> ValueType:
    left, right = (_infer(child, source) for child in node["children"])
    return left if left.kind == right.kind and left.fields == right.fields else ANY


def _negation(node: Node, source: ValueType) -> ValueType:
    _infer(node["children"][0], source)
    return TRUTH


def _multi_list(node: Node, source: ValueType) -> ValueType:
    items = [_infer(child, source) for child in node["children"]]
    is_uniform = all(item.kind == items[0].kind for item in items)
    return replace(list_of(items[0] if is_uniform else ANY), fixed=True)


def _multi_hash(node: Node, source: ValueType) -> ValueType:
    return ValueType("object", fields={pair["value"]: _infer(pair["children"][0], source) for pair in node["children"]})


def _function(node: Node, source: ValueType) -> ValueType:
    name = node["value"]
    if name not in _FUNCTIONS:
        raise SelectionError(f"there is no function {name!r}{did_you_mean(name, list(_FUNCTIONS))}")
    return _FUNCTIONS[name](node["children"], source)


def _gives(result: ValueType, *kinds: Kind) -> "Callable[[list[Node], ValueType], ValueType]":
    """Return the rule of a function; `kinds` are the allowed kinds of its first argument, any kind if empty."""

    def rule(args: list[Node], source: ValueType) -> ValueType:
        inferred = [_infer(arg, source) for arg in args]
        if kinds and inferred and inferred[0].kind not in ("any", "null", *kinds):
            raise SelectionError(f"a function needs {' or '.join(kinds)}, not {inferred[0]}")
        return result

    return rule


def _same_list(args: list[Node], source: ValueType) -> ValueType:
    inferred = _infer(args[0], source)
    item = _item(inferred, "the function")
    for arg in args[1:]:
        _infer(arg["children"][0] if arg["type"] == "expref" else arg, item)
    return inferred


def _one_of_list(args: list[Node], source: ValueType) -> ValueType:
    return _item(_same_list(args, source), "the function")


def _map(args: list[Node], source: ValueType) -> ValueType:
    return list_of(_infer(args[0]["children"][0], _item(_infer(args[1], source), "map")))


_FUNCTIONS: Final[Mapping[str, Callable[[list[Node], ValueType], ValueType]]] = {
    "length": _gives(NUMBER, "string", "list", "object"),
    "contains": _gives(TRUTH, "string", "list"),
    "starts_with": _gives(TRUTH, "string"),
    "ends_with": _gives(TRUTH, "string"),
    "join": _gives(TEXT, "string"),
    "keys": _gives(list_of(TEXT), "object"),
    "values": _gives(list_of(ANY), "object"),
    "to_string": _gives(TEXT),
    "to_number": _gives(NUMBER),
    "to_array": _gives(list_of(ANY)),
    "type": _gives(TEXT),
    "not_null": _gives(ANY),
    "merge": _gives(ValueType("object", item=ANY), "object"),
    "abs": _gives(NUMBER, "number"),
    "ceil": _gives(NUMBER, "number"),
    "floor": _gives(NUMBER, "number"),
    "sum": _gives(NUMBER, "list"),
    "avg": _gives(NUMBER, "list"),
    "sort": _same_list,
    "sort_by": _same_list,
    "reverse": _same_list,
    "max": _one_of_list,
    "min": _one_of_list,
    "max_by": _one_of_list,
    "min_by": _one_of_list,
    "map": _map,
}
_RULES: Final[Mapping[str, Callable[[Node, ValueType], ValueType]]] = {
    "field": _field,
    "subexpression": _chain,
    "index_expression": _chain,
    "pipe": _chain,
    "index": lambda _, source: _item(source, "an index"),
    "slice": lambda _, source: list_of(_item(source, "a slice")),
    "projection": _projection,
    "value_projection": _value_projection,
    "filter_projection": _filter,
    "flatten": _flatten,
    "comparator": _comparator,
    "or_expression": _either,
    "and_expression": _either,
    "not_expression": _negation,
    "multi_select_list": _multi_list,
    "multi_select_dict": _multi_hash,
    "function_expression": _function,
    "identity": lambda _, source: source,
    "current": lambda _, source: source,
    "literal": lambda node, _: type_of_value(node["value"]),
    "expref": lambda _, __: ANY,
}
