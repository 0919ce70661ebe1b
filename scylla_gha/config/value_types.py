"""Types of JSON values, for conditions on GitHub's state; null is possible everywhere."""

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from scylla_gha.config import did_you_mean
from scylla_gha.model import Record

Kind = Literal["any", "null", "string", "number", "boolean", "list", "object"]


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type of a value.

    Attributes:
        kind: what it is beside null.
        item: type of a list's elements.
        fields: of an object; None: any fields, all of the type `item`.
        values: all texts that it can be; empty: any.
        fixed: a list that the expression writes out, so that its length says nothing.
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
    """Return why a value can never be equal to one of the expected type, or None. Null is possible everywhere."""
    if "any" in (value.kind, expected.kind) or "null" in (value.kind, expected.kind):
        return None
    if value.kind != expected.kind:
        return f"it is {value}, and {expected} is needed"
    if value.kind == "list" and value.item and expected.item:
        return mismatch(value.item, expected.item)
    if value.values and expected.values and not set(value.values) & set(expected.values):
        text, known = (value.values, expected.values) if len(value.values) == 1 else (expected.values, value.values)
        return f"{text[0]!r} is none of {', '.join(known)}{did_you_mean(text[0], known)}"
    return None
