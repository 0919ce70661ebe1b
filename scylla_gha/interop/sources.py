"""Rows as another tool left them, before anything is made of them."""

from collections.abc import Iterable
from dataclasses import dataclass

Value = object  # of JSON, or a time that a table's own format knows


@dataclass(frozen=True, slots=True)
class Source:
    """One row: where it stands, for messages, and its values by column; None is an empty one."""

    where: str
    values: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a file or folder, in order, with what had to be left out of it."""

    columns: tuple[str, ...]
    rows: tuple[Source, ...]
    notes: tuple[str, ...] = ()


def table_of(rows: Iterable[Source], notes: Iterable[str] = ()) -> Table:
    """Rows whose columns are those that any of them has, in the order of their first use."""
    held = tuple(rows)
    columns = dict.fromkeys(column for row in held for column in row.values)
    return Table(tuple(columns), held, tuple(notes))


def flat(value: dict[str, Value], prefix: str = "") -> dict[str, Value]:
    """Objects inside objects as columns of their own: `metrics.score`. The object itself stays a column too."""
    found: dict[str, Value] = {}
    for name, each in value.items():
        found[f"{prefix}{name}"] = each
        if isinstance(each, dict):
            found.update(flat(each, f"{prefix}{name}."))
    return found
