import datetime
from pathlib import Path

import pytest

from scylla_gha.config.keys import judging_digest
from scylla_gha.config.library import Library
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from scylla_gha.model.variant import Treatment, Variant
from scylla_gha.plan.reuse_results import changed_skill_notes, judging_of, reusable
from tests.support.library import write, write_scenario
from tests.support.records import WHEN, make_cell, make_excluded_result, make_plan, make_result
from tests.support.sent import rows_text

A, B = make_cell("oracle"), make_cell("nop")


PLAN = make_plan(A, B)


DAY = datetime.timedelta(days=1)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    write_scenario(tmp_path / "here")
    return Library((tmp_path / "here",))


@pytest.fixture
def row(library: Library) -> Result:
    return make_result(A, judging=judging_of(PLAN, library)[A.scenario], started_at=WHEN)


def found(tmp_path: Path, library: Library, *rows: Result, plan: Plan = PLAN) -> dict[str, Result]:
    (tmp_path / "rows.jsonl").write_bytes(rows_text(rows))
    return reusable([tmp_path / "rows.jsonl"], plan, library)


def changed(row: Result, **given: object) -> Result:
    return row.model_copy(update=given)


def test_a_row_of_the_same_key_and_judging_stands(tmp_path: Path, library: Library, row: Result) -> None:
    assert found(tmp_path, library, row) == {A.id: row}


@pytest.mark.parametrize("name", [".", "scylla-rows-demo-000-1"], ids=["one artifact", "several artifacts"])
def test_rows_stand_however_the_artifacts_of_earlier_attempts_were_unpacked(
    tmp_path: Path, library: Library, row: Result, name: str
) -> None:
    """The download of one match puts its files into the folder itself, that of several into a folder each."""
    write(tmp_path / "earlier" / name / "results.jsonl", rows_text([row]))
    write(tmp_path / "earlier" / name / "manifest.json", b"{}")
    assert reusable([tmp_path / "earlier"], PLAN, library) == {A.id: row}


def test_it_becomes_a_row_of_this_experiment(tmp_path: Path, library: Library, row: Result) -> None:
    assert found(tmp_path, library, changed(row, experiment="nightly")) == {A.id: row}


def test_a_row_of_an_arm_that_is_called_otherwise_by_now_stands(tmp_path: Path, library: Library, row: Result) -> None:
    before = changed(row, cell="001-one--oracle.head--r01", arm="oracle.head", variant="T9/00-old")
    assert found(tmp_path, library, before) == {A.id: row}


@pytest.mark.parametrize(
    "given",
    [
        {"key": "other"},
        {"judging": "other"},
        {"judging": None},
        {"scenario": "002-two"},
        {"repetition": 2},
        {"schema_version": 1},
        {"judged": False, "passed": None, "score": None, "grade": None, "progress": None},
        {"started_at": WHEN.replace(tzinfo=None)},
    ],
    ids=" ".join,
)
def test_any_other_row_does_not(tmp_path: Path, library: Library, row: Result, given: dict[str, object]) -> None:
    assert found(tmp_path, library, changed(row, **given)) == {}


def test_a_row_that_does_not_measure_the_agent_does_not(tmp_path: Path, library: Library, row: Result) -> None:
    assert found(tmp_path, library, make_excluded_result(A, Outcome.SANDBOX_ERROR, judging=row.judging)) == {}


def test_rows_beyond_the_maximum_age_do_not(tmp_path: Path, library: Library, row: Result) -> None:
    assert found(tmp_path, library, row, plan=make_plan(A, not_before=WHEN)) == {A.id: row}
    assert found(tmp_path, library, row, plan=make_plan(A, not_before=WHEN + DAY)) == {}
    unknown = changed(row, started_at=None)
    assert found(tmp_path, library, unknown, plan=make_plan(A, not_before=WHEN)) == {}
    assert found(tmp_path, library, unknown) == {A.id: unknown}


def test_the_newest_of_several_stands(tmp_path: Path, library: Library, row: Result) -> None:
    new = changed(row, started_at=WHEN + DAY, seconds=9.0)
    undated = changed(row, started_at=None)
    assert found(tmp_path, library, undated, new, row) == {A.id: new}
    assert found(tmp_path, library, row, new, undated) == {A.id: new}


def test_judging_covers_rubric_judges_and_image(tmp_path: Path, library: Library) -> None:
    scenario = library.scenario(A.scenario).judging_digest
    assert judging_of(PLAN, library) == {A.scenario: judging_digest(scenario, "")}
    boxed = make_plan(A, check_images={A.scenario: "sha256:1"})
    assert judging_of(boxed, library) == {A.scenario: judging_digest(scenario, "", "sha256:1")}
    write(tmp_path / "config" / "judge" / "prompt.md", "x")
    seen = {judging_digest(scenario, panel_digest, image) for panel_digest in ("", "c") for image in (None, "i")}
    assert len(seen) == 4


def test_folders_are_read_where_runs_shards_and_artifacts_have_rows(
    tmp_path: Path, library: Library, row: Result
) -> None:
    for at, place in enumerate(("a/results.jsonl", "b/x/results.jsonl", "c/shards/001/results.jsonl", "d/old.jsonl")):
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_bytes(rows_text([changed(row, seconds=float(at))]))
        assert reusable([tmp_path / place[0]], PLAN, library)[A.id].seconds == at
    assert reusable([tmp_path / "nowhere"], PLAN, library) == {}


def test_rows_that_an_agent_left_in_its_workspace_are_not_found(tmp_path: Path, library: Library, row: Result) -> None:
    workspace = tmp_path / "run" / A.id / "attempt-1" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "results.jsonl").write_bytes(rows_text([row]))
    (tmp_path / "run" / "results.jsonl").symlink_to(workspace / "results.jsonl")
    (tmp_path / "run" / "linked").symlink_to(workspace)
    assert reusable([tmp_path / "run"], PLAN, library) == {}


def test_what_is_no_row_is_passed_over(tmp_path: Path, library: Library, row: Result) -> None:
    text = rows_text([row])
    (tmp_path / "rows.jsonl").write_bytes(b"hello\n{}\n" + b"x" * 200_000 + b"\n" + text + text[:-40])
    assert reusable([tmp_path / "rows.jsonl"], PLAN, library) == {A.id: row}
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "rows.jsonl")
    assert reusable([tmp_path / "link.jsonl"], PLAN, library) == {A.id: row}


def test_stored_rows_of_arms_with_skills_that_have_other_keys_are_counted(tmp_path: Path) -> None:
    variant = Variant(id="T1/01", treatment=Treatment(skills=("tally",)))
    with_skill = Arm(id=A.arm, agent="claude-code", version="2.1.332", variant=variant)
    plan = PLAN.model_copy(update={"arms": (with_skill, *(arm for arm in PLAN.arms if arm.id != A.arm))})
    rows = (make_result(A, key="0" * 64), make_result(B, key="0" * 64))
    (tmp_path / "rows.jsonl").write_bytes(rows_text(rows))
    (note,) = changed_skill_notes(plan, [tmp_path / "rows.jsonl"])
    assert note.startswith("1 stored trial of arms with skills had another key and will be run again: ")
    assert not list(changed_skill_notes(PLAN, [tmp_path / "rows.jsonl"])), "no arm has skills"
    (tmp_path / "rows.jsonl").write_bytes(rows_text((make_result(A), make_result(B))))
    assert not list(changed_skill_notes(plan, [tmp_path / "rows.jsonl"])), "the keys are equal"
