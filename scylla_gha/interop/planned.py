"""Rows beside the cells that they were planned as: a cell without a row is missing, and stays in the count."""

from collections.abc import Iterable
from dataclasses import dataclass

from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Arm, Cell, Plan
from scylla_gha.model.result import Result


@dataclass(frozen=True, slots=True)
class Planned:
    """A cell and its row; None where no trial was collected."""

    cell: Cell
    row: Result | None


@dataclass(frozen=True, slots=True)
class ArmRows:
    """All cells of one arm, in the plan's order."""

    arm: Arm
    cells: tuple[Planned, ...]

    @property
    def rows(self) -> tuple[Result, ...]:
        """The rows that there are."""
        return tuple(each.row for each in self.cells if each.row is not None)


def by_arm(plan: Plan, results: Iterable[Result]) -> tuple[ArmRows, ...]:
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
    cells: dict[str, list[Planned]] = {arm.id: [] for arm in plan.arms}
    for cell in plan.cells:
        cells[cell.arm].append(Planned(cell, rows.get(cell.id)))
    return tuple(ArmRows(arm, tuple(cells[arm.id])) for arm in plan.arms)
