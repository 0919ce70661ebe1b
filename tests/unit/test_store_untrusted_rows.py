import pytest

from scylla_gha.model.trial import Outcome
from scylla_gha.store.untrusted_files import UntrustedFileError, mismatch, parse_row, row_fault
from tests.support.records import (
    make_arm,
    make_cell,
    make_excluded_result,
    make_experiment,
    make_model_arm,
    make_plan,
    make_result,
)
from tests.support.sent import rows_text

CELL = make_cell()
PLAN = make_plan(CELL)


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if not outcome.measures_agent])
def test_rows_of_the_toolkits_own_are_sound(outcome: Outcome) -> None:
    excluded = make_excluded_result(CELL, outcome)
    assert row_fault(excluded) is None
    assert parse_row(rows_text([excluded]), 1) == excluded


def test_a_trial_that_nobody_judged_is_sound() -> None:
    verdict = {"passed": None, "score": None, "grade": None, "progress": None}
    assert row_fault(make_result(CELL, judged=False, **verdict)) is None
    assert row_fault(make_result(CELL, score=None, grade=None, progress=None)) is None  # all its items are N/A


def test_a_fault_names_the_line_and_never_the_value() -> None:
    with pytest.raises(UntrustedFileError) as caught:
        parse_row(rows_text([make_result(CELL)]).replace(b'"passed":true', b'"passed":"@everyone"'), 7)
    assert str(caught.value) == "line 7 is not a row: 'passed': Input should be a valid boolean"


def test_a_row_is_of_its_cell_and_arm() -> None:
    assert mismatch(make_result(CELL), CELL, PLAN, make_arm()) is None
    of_model = make_model_arm(id="nop", agent="nop")
    row = make_result(CELL, model="m", variant="T0/00-empty")
    assert mismatch(row, CELL, PLAN, of_model) is None
    assert mismatch(row, CELL, PLAN, make_arm()) == f"{CELL.id}: its model is not the planned one"
    other = make_plan(CELL, experiment=make_experiment(id="x"))
    assert mismatch(row, CELL, other, of_model) == f"{CELL.id}: its experiment is not the planned one"


def test_a_judged_row_was_judged_as_planned() -> None:
    plan = make_plan(CELL, judging={CELL.scenario: "now"})
    assert mismatch(make_result(CELL, judging="now"), CELL, plan, make_arm()) is None
    assert mismatch(make_excluded_result(CELL, Outcome.CANCELLED), CELL, plan, make_arm()) is None
    for other in (None, "then"):
        fault = mismatch(make_result(CELL, judging=other), CELL, plan, make_arm())
        assert fault == f"{CELL.id}: its judging is not the planned one"
