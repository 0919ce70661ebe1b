import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.rows import PlannedCell, rows_by_arm
from tests.support.records import make_cell, make_plan, make_result

FIRST, SECOND, OTHER = make_cell("nop"), make_cell("nop", 2), make_cell("oracle")


def test_every_planned_cell_is_there_with_its_row_or_without() -> None:
    row = make_result(SECOND)
    nop, oracle = rows_by_arm(make_plan(FIRST, OTHER, SECOND), [row])
    assert (nop.arm.id, nop.cells, nop.rows) == ("nop", (PlannedCell(FIRST, None), PlannedCell(SECOND, row)), (row,))
    assert (oracle.arm.id, oracle.cells, oracle.rows) == ("oracle", (PlannedCell(OTHER, None),), ())


def test_the_order_is_the_plans_and_not_that_of_the_rows() -> None:
    rows = [make_result(SECOND), make_result(FIRST)]
    (nop,) = rows_by_arm(make_plan(FIRST, SECOND), rows)
    assert [row.cell for row in nop.rows] == [FIRST.id, SECOND.id]


def test_a_row_of_another_plan_is_refused_and_named() -> None:
    with pytest.raises(ConfigError, match=f"{SECOND.id}: is not a cell of the plan; export results beside"):
        rows_by_arm(make_plan(FIRST), [make_result(SECOND)])


def test_a_cell_counts_once() -> None:
    with pytest.raises(ConfigError, match=f"{FIRST.id}: has two rows"):
        rows_by_arm(make_plan(FIRST), [make_result(FIRST), make_result(FIRST)])
