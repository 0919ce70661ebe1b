"""Which of their columns is which of our fields: what is given first, then columns that have a field's own name."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.config.load import did_you_mean
from scylla_gha.errors import ConfigError
from scylla_gha.interop.importers.fields import ALIASES, FIELDS, number
from scylla_gha.interop.importers.sources import SourceTable, Value

_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq,
}  # fmt: skip
_RULE: Final = re.compile(r"\s*(\w+)\s*(>=|<=|==|>|<)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class PassRule:
    """When a row has passed, by one of its numbers."""

    field: str
    comparison: str
    limit: float

    def passed(self, values: Mapping[str, Value]) -> bool | None:
        """Whether a row has; None where its number is not known."""
        value = values.get(self.field)
        return _COMPARISONS[self.comparison](value, self.limit) if isinstance(value, int | float) else None


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Our fields with their columns, and the columns that are left over."""

    used: dict[str, str]
    ignored: tuple[str, ...]


def rule_of(text: str) -> PassRule:
    """Read a rule such as `score>=0.6`.

    Raises:
        ConfigError: the text is not a rule.
    """
    found = _RULE.fullmatch(text)
    try:
        if found:
            return PassRule(field_of(found[1], "--passed-if"), found[2], number(found[3]))
    except ValueError:
        pass
    raise ConfigError(f"--passed-if {text!r}: not a rule; give a field, a comparison and a number, as score>=0.6")


def field_of(name: str, where: str) -> str:
    """The field that a name means.

    Raises:
        ConfigError: no field has this name.
    """
    field = ALIASES.get(name, name)
    if field not in FIELDS:
        hint = did_you_mean(name, FIELDS) or f"; there are: {', '.join(FIELDS)}"
        raise ConfigError(f"{where} {name!r}: not a field of a row{hint}")
    return field


def match_columns(table: SourceTable, given: Mapping[str, str], rule: PassRule | None, where: str) -> ColumnMapping:
    """Find each field's column.

    Args:
        table: the rows.
        given: field to column, as the user says; an empty column means no column.
        rule: by which a row has passed, in place of a column.
        where: the file, for messages.

    Raises:
        ConfigError: a column is not there, or one that is needed is not known.
    """
    asked = {field_of(field, "--map"): column for field, column in given.items()}
    used: dict[str, str] = {}
    for field, column in asked.items():
        if column and column not in table.columns and table.rows:
            hint = did_you_mean(column, table.columns)
            raise ConfigError(f"{where}: --map {field}={column}: there is no such column{hint}; {_there(table)}")
    for column in table.columns:
        field = ALIASES.get(column, column)
        if field in FIELDS and field not in asked:
            used[field] = column
    used.update({field: column for field, column in asked.items() if column})
    if rule is not None:
        used.pop("passed", None)
    _check(table, used, rule, where)
    taken = set(used.values())
    return ColumnMapping(used, tuple(column for column in table.columns if column not in taken))


def _check(table: SourceTable, used: Mapping[str, str], rule: PassRule | None, where: str) -> None:
    """Rows are needed to miss something of them: of none, all is known."""
    if not table.rows:
        return
    for field in ("scenario", "arm"):
        if field not in used:
            raise ConfigError(
                f"{where}: no column is the {field}; say which one: --map {field}=COLUMN; {_there(table)}"
            )
    if rule is None and "passed" not in used:
        raise ConfigError(f"{where}: no column tells whether a row passed; say which one, --map passed=COLUMN, or by "
                          f"which number, --passed-if 'score>=0.6'; {_there(table)}")  # fmt: skip
    if rule is not None and rule.field not in used:
        raise ConfigError(f"{where}: --passed-if goes by {rule.field}, and no column is that; "
                          f"say which one: --map {rule.field}=COLUMN; {_there(table)}")  # fmt: skip


def _there(table: SourceTable) -> str:
    return f"the columns are: {', '.join(_plain(table.columns)) or 'none'}"


def _plain(columns: Sequence[str]) -> list[str]:
    return [*columns[:40], f"and {len(columns) - 40} more"] if len(columns) > 40 else list(columns)  # noqa: PLR2004
