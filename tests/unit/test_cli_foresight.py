from pathlib import Path

import pytest

from scylla_gha.errors import RefusedError
from scylla_gha.model.plan import Plan
from scylla_gha.plan.cells import CellSelection
from scylla_gha.plan.notes import has_statistics, power_notes, reject_impossible_gate, require_statistics
from scylla_gha.store.records import write_lines
from scylla_gha.store.run_folder import RunFolder
from tests.support.frames import table
from tests.support.records import make_cell, make_experiment, make_plan

WHOLE = CellSelection()


def planned(scenarios: int = 12, **given: object) -> Plan:
    cells = [make_cell(arm, at, f"{number:03d}-s") for arm in ("nop", "oracle") for number in range(scenarios)
             for at in (1, 2, 3)]  # fmt: skip
    return make_plan(*cells, experiment=make_experiment(**given))


def test_the_usual_variances_stand_in_where_no_rows_are(tmp_path: Path) -> None:
    (note,) = power_notes(planned(), RunFolder(tmp_path))
    assert "by the usual variances (w^2 1/30, s^2 1/6)" in note


def test_rows_of_the_same_run_are_the_pilot(tmp_path: Path) -> None:
    write_lines(tmp_path / "results.jsonl", table({"nop": ["FFF"] * 11 + ["FFP"], "oracle": ["PPP"] * 12}))
    (note,) = power_notes(planned(), RunFolder(tmp_path))
    assert note.endswith("by the variances of the rows that are stored)")


@pytest.mark.parametrize("content", ["", '{"schema_version": 0}\n'])
def test_rows_that_are_no_help_are_no_hindrance(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.jsonl").write_text(content)
    assert "by the usual variances" in power_notes(planned(), RunFolder(tmp_path))[0]


def test_a_gate_that_nothing_can_pass_is_refused_with_what_it_takes(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"oracle can never pass it: .* it takes 6 scenarios") as caught:
        reject_impossible_gate(planned(5, gate="better"), RunFolder(tmp_path), WHOLE)
    assert caught.value.exit_code == 6
    reject_impossible_gate(planned(6, gate="better"), RunFolder(tmp_path), WHOLE)
    reject_impossible_gate(planned(1), RunFolder(tmp_path), WHOLE)
    reject_impossible_gate(planned(5, gate="better"), RunFolder(tmp_path), CellSelection(only=("*",)))


def test_a_pilot_that_hardly_varies_makes_a_gate_possible(tmp_path: Path) -> None:
    plan, folder = planned(60, gate="not_worse", margin=0.05), RunFolder(tmp_path)
    with pytest.raises(RefusedError, match=r"would pass it with a chance of \d %"):
        reject_impossible_gate(planned(gate="not_worse", margin=0.02), folder, WHOLE)
    write_lines(folder.results, table({"nop": ["FFF"] * 12, "oracle": ["FFF"] * 12}))
    reject_impossible_gate(plan, folder, WHOLE)


def test_the_statistics_are_here() -> None:
    assert has_statistics()
    require_statistics()
