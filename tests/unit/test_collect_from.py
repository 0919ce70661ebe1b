import json
from pathlib import Path

import pytest

from scylla_gha.aggregate import aggregate
from scylla_gha.collect.artifacts import collect_from
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import CollectReport, UnstartedCells
from scylla_gha.model.result import Result
from scylla_gha.store import read_lines, read_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.command import scylla
from tests.support.records import make_plan
from tests.support.sent import CELLS, SHARDS, good, make_run, plan_digest, send

PLAN = make_plan(*CELLS)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return make_run(tmp_path / "runs" / "demo")


def sent(folder: RunFolder, rows: bytes, shard: int = 0, attempt: int = 1) -> Path:
    return send(folder.root.parent / "artifacts", rows, shard, attempt, {"plan": plan_digest(folder)}).parent


def test_rows_are_stored_in_the_order_of_the_plan(folder: RunFolder) -> None:
    sent(folder, good(CELLS[3], CELLS[2]), 1)
    made = collect_from(PLAN, folder, sent(folder, good(CELLS[1], CELLS[0])))
    assert [row.cell for row in read_lines(folder.results, Result)] == [cell.id for cell in CELLS]
    assert made == CollectReport(artifacts=2, rows=4) == read_record(folder.refused, CollectReport)
    assert not folder.unstarted.exists()


def test_reused_rows_fill_in_and_cells_of_later_waves_are_not_missing(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "demo", shards=SHARDS[:1], reused=(CELLS[2].id,), left=(CELLS[3].id,))
    stranger = good(CELLS[3], key="of another plan")
    (folder.root / "reused.jsonl").write_bytes(good(CELLS[2]) + stranger)
    made = collect_from(PLAN, folder, sent(folder, good()))
    assert made == CollectReport(artifacts=1, rows=2, reused=1)
    assert read_record(folder.unstarted, UnstartedCells) == UnstartedCells(
        cells={CELLS[3].id: "left for the next wave of c"}
    )
    assert folder.results.read_bytes() == good(*CELLS[:3])


def test_the_report_says_what_was_refused_and_what_is_missing(folder: RunFolder) -> None:
    sent(folder, good(*CELLS[2:]), 1)
    made = collect_from(PLAN, folder, sent(folder, b"{}\n"))
    report = aggregate(PLAN, read_lines(folder.results, Result), intake=made)
    assert report.warnings[0] == ("Rows of 1 artifact were refused and are not counted: scylla-rows-demo-000-1: "
                                  "line 1 is not a row: 'experiment': Field required.")  # fmt: skip
    assert [(one.cell, one.outcome, one.reason[:31]) for one in report.excluded] == [
        (cell, "missing", "the rows of shard 000 were refu") for cell in SHARDS[0]
    ]


def test_many_refusals_are_counted(folder: RunFolder) -> None:
    for attempt in range(1, 8):
        source = sent(folder, b"{}\n", attempt=attempt)
    made = collect_from(PLAN, folder, source)
    warning = aggregate(PLAN, [], intake=made).warnings[0]
    assert warning.startswith("Rows of 7 artifacts were refused")
    assert warning.endswith("; and 2 more.")


def test_shards_of_another_plan_are_refused(folder: RunFolder) -> None:
    folder.plan.write_text(folder.plan.read_text() + "\n")
    with pytest.raises(ConfigError, match=r"shards\.json: is of another plan than plan\.json beside it"):
        collect_from(PLAN, folder, folder.root)
    (folder.root / "shards.json").unlink()
    with pytest.raises(ConfigError, match=r"shards\.json: there is no such file; `scylla-gha plan demo"):
        collect_from(PLAN, folder, folder.root)


def test_the_command_line_takes_them_in(folder: RunFolder, tmp_path: Path) -> None:
    sent(folder, good(), attempt=2)
    sent(folder, good(*CELLS[2:]), 1)
    args = ("collect", "demo", "--runs", str(folder.root.parent), "--from", str(folder.root.parent / "artifacts"))
    said = scylla(*args, cwd=tmp_path, env={"GITHUB_RUN_ATTEMPT": "1"})
    assert said.code == 0, said.err
    assert said.out.strip() == str(folder.results)
    assert said.err.splitlines() == ["2 rows of 1 artifact, 0 reused",
                                     ("refused: scylla-rows-demo-000-2: the artifact comes from attempt 2, "
                                     "but this is attempt 1"),
                                     "missing: 2 cells"]  # fmt: skip
    assert scylla(*args, "--attempt", "2", cwd=tmp_path).err == "4 rows of 2 artifacts, 0 reused\n"
    sent(folder, b"", attempt=3)
    assert scylla("aggregate", "demo", "--runs", str(folder.root.parent), cwd=tmp_path).code == 0
    assert json.loads(folder.report("json").read_text())["counts"]["ran"] == 4


def test_collecting_trials_of_this_machine_forgets_what_was_sent(folder: RunFolder, tmp_path: Path) -> None:
    collect_from(PLAN, folder, tmp_path / "none")
    assert folder.refused.exists()
    assert scylla("collect", "demo", "--runs", str(folder.root.parent), cwd=tmp_path).code == 0
    assert not folder.refused.exists()


def test_the_name_of_an_artifact_is_no_command_to_the_runner(folder: RunFolder, tmp_path: Path) -> None:
    (folder.root.parent / "artifacts" / "##[add-mask]6").mkdir(parents=True)
    args = ("collect", "demo", "--runs", str(folder.root.parent), "--from", str(folder.root.parent / "artifacts"))
    said = scylla(*args, cwd=tmp_path)
    assert ("add-mask]6" in said.err, "##[" in said.err) == (True, False)
