"""What the writers share: rows by planned cell, and text that every format can hold."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.result import Result


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell and its row; None where no trial was collected."""

    cell: Cell
    row: Result | None


@dataclass(frozen=True, slots=True)
class ArmRows:
    """All cells of one arm, in the plan's order."""

    arm: Arm
    cells: tuple[PlannedCell, ...]

    @property
    def rows(self) -> tuple[Result, ...]:
        """The rows that there are."""
        return tuple(each.row for each in self.cells if each.row is not None)


def rows_by_arm(plan: Plan, results: Iterable[Result]) -> tuple[ArmRows, ...]:
    """All arms of the plan with all of their cells.

    Raises:
        ConfigError: two rows of one cell, or a row of a cell that is not planned.
    """
    rows: dict[str, Result] = {}
    planned = {cell.id for cell in plan.cells}
    for row in results:
        if row.cell in rows:
            raise ConfigError(f"{row.cell}: has two rows; run `scylla-gha collect` again")
        if row.cell not in planned:
            message = f"{row.cell}: is not a cell of the plan; export results beside the plan.json that they belong to"
            raise ConfigError(message)
        rows[row.cell] = row
    cells: dict[str, list[PlannedCell]] = {arm.id: [] for arm in plan.arms}
    for cell in plan.cells:
        cells[cell.arm].append(PlannedCell(cell, rows.get(cell.id)))
    return tuple(ArmRows(arm, tuple(cells[arm.id])) for arm in plan.arms)


REPLACEMENT: Final = "\ufffd"
# The characters that XML 1.0 cannot hold, not even escaped; surrogates alone are no characters in any format.
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def escape_xml(text: str) -> str:
    """The text, with a replacement for each character that XML 1.0 cannot hold; escaping is the writer's."""
    return _NOT_IN_XML.sub(REPLACEMENT, text)


def json_bytes(value: object, indent: int | None = None) -> bytes:
    """Plain data as JSON in UTF-8, with keys as they come.

    Raises:
        ValueError: NaN or an infinity, which JSON has no word for.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _SURROGATE.sub(REPLACEMENT, text).encode()
