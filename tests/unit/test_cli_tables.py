"""`scylla-gha import`, with what is wrong with rows in the world, and `export` back to where they came from."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Step, Trajectory
from scylla_gha.store import read_lines, read_record, write_lines, write_record, write_text
from scylla_gha.store.run_folder import RunFolder
from tests.support.foreign import asked, csv_file, jsonl_file, strict_json
from tests.support.records import make_arm, make_cell, make_plan, make_result, make_trial

HEADER = "scenario,arm,repetition,passed,score,usd,seconds\n"


def imported(place: Path, *more: str, name: str = "run") -> Report:
    """Import a file, and check that all that was written is JSON as it is defined."""
    runs = place.parent / "runs"
    done = asked("import", str(place), "--name", name, "--runs", str(runs), "--json", *more)
    if done.exception:
        raise done.exception
    folder = RunFolder(runs / name)
    strict_json(folder.report("json").read_text())
    strict_json(folder.plan.read_text())
    for line in folder.results.read_text().splitlines():
        strict_json(line)
    assert "nan" not in folder.report("md").read_text().lower().split()
    found = read_record(folder.report("json"), Report)
    assert found is not None
    return found


def rows(scenarios: int, repetitions: int = 2, arms: int = 2, **given: Any) -> str:
    values = {"passed": "1", "score": "0.5", "usd": "0.1", "seconds": "2", **given}
    return HEADER + "".join(
        f"s{s:02d},arm{a},{r},{values['passed']},{values['score']},{values['usd']},{values['seconds']}\n"
        for s in range(scenarios) for a in range(arms) for r in range(1, repetitions + 1)
    )  # fmt: skip


BAD = {
    "no rows": HEADER,
    "one row": HEADER + "s,a,1,1,,,\n",
    "one scenario": rows(1, 5),
    "all passes": rows(8),
    "no pass": rows(8, passed="0"),
    "all costs unknown": rows(8, usd=""),
    "all costs zero": rows(8, usd="0", seconds="0"),
    "unequal repetitions": rows(7) + "s90,arm0,1,1,1,1,1\ns90,arm1,1,0,0,1,1\n",
    "scenarios missing in one arm": rows(7) + "s90,arm0,1,1,1,1,1\ns91,arm1,1,0,0,1,1\n",
    "no scenario in common": HEADER + "s,a,1,1,,,\nt,b,1,0,,,\n",
    "nothing judged": rows(8, passed="", score=""),
    "one arm": rows(8, arms=1),
    "huge numbers": rows(8, usd="1e17", seconds="1e17"),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_bad_rows_make_a_report_with_nulls_and_never_a_made_up_number(tmp_path: Path, text: str) -> None:
    made = imported(csv_file(tmp_path / "a.csv", text))
    assert made.warnings[0].startswith("The rows are imported from a.csv")
    given = text.count("\n") - 1
    assert made.counts.planned == made.counts.ran == given
    for arm in made.arms:
        assert (arm.pass_rate is None) == (arm.counts.judged == 0)
        assert arm.tokens is None
        if "1e17" not in text:
            assert (arm.usd is None) == (",,\n" in text or ",,2\n" in text)
    assert all(one.verdict != "better" for one in made.comparisons)


def test_no_rows_are_said_to_be_none(tmp_path: Path) -> None:
    made = imported(csv_file(tmp_path / "a.csv", HEADER))
    assert ("The table has no rows." in made.warnings, made.arms) == (True, ())


def test_hundreds_of_arms_are_reported_and_their_models_are_compared_with_the_baseline_alone(tmp_path: Path) -> None:
    lines = [f"s{s},arm{a:04d},{(a + s) % 2},m{a}" for a in range(300) for s in range(2)]
    made = imported(csv_file(tmp_path / "a.csv", "scenario,arm,passed,model\n" + "\n".join(lines)))
    assert (len(made.arms), len(made.comparisons)) == (300, 299)
    assert any(warning.startswith("300 models are too many") for warning in made.warnings)


def test_duplicate_rows_are_refused_with_both_lines_and_nothing_is_written(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "a.csv", HEADER + "s,a,1,1,,,\ns,a,1,0,,,\n")
    with pytest.raises(ConfigError, match=rf"{place}:3: repetition 1 .* exists already at {place}:2"):
        imported(place)
    assert not (tmp_path / "runs").exists()


def test_the_same_file_again_is_the_same(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "a.csv", rows(6))
    imported(place)
    first = {path.name: path.read_bytes() for path in (tmp_path / "runs" / "run").rglob("*.*")}
    imported(place)
    assert {path.name: path.read_bytes() for path in (tmp_path / "runs" / "run").rglob("*.*")} == first


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_what_is_exported_and_imported_again_has_equal_rows_and_verdicts(tmp_path: Path, to: str) -> None:
    text = HEADER + "".join(f"s{s:02d},a,1,{s % 2},0.{s},0.1,2\ns{s:02d},b,1,1,,0.3,3\n" for s in range(10, 22))
    first = imported(csv_file(tmp_path / "a.csv", text))
    runs = tmp_path / "runs"
    target = tmp_path / f"out.{to}"
    assert asked("export", "run", "--to", to, "-o", str(target), "--runs", str(runs)).exit_code == 0
    second = imported(target, name="again")
    assert second.comparisons == first.comparisons
    assert second.analysis == first.analysis
    assert second.arms == first.arms
    before, after = (
        [
            row.model_copy(update={"experiment": "", "key": ""})
            for row in read_lines(RunFolder(runs / name).results, Result)
        ]
        for name in ("run", "again")
    )
    assert after == before


def test_columns_are_mapped_on_the_command_line_or_in_a_file(tmp_path: Path) -> None:
    place = jsonl_file(
        tmp_path / "a.jsonl", [{"t": "x", "m": {"id": "a", "s": 0.7}}, {"t": "x", "m": {"id": "b", "s": 0}}]
    )
    stored = csv_file(
        tmp_path / "map.yaml", "columns: {scenario: t, arm: m.id, score: t}\npassed_if: score>=0.6\nbaseline: b\n"
    )
    made = imported(place, "--map-file", str(stored), "--map", "score=m.s")
    assert [(arm.arm, arm.passed) for arm in made.arms] == [("a", 1), ("b", 0)]
    assert made.comparisons[0].baseline == "b"


def test_a_run_that_was_paid_for_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "runs" / "run").mkdir(parents=True)
    (tmp_path / "runs" / "run" / "results.jsonl").write_text("")
    with pytest.raises(
        ConfigError, match="contains a run that was not imported, and is not overwritten; give another --name"
    ):
        imported(csv_file(tmp_path / "a.csv", HEADER))


@pytest.mark.parametrize(
    ("file", "more", "message"),
    [
        ("none.csv", (), "there is no such file or folder"),
        ("a.txt", (), "the name does not show the format"),
        (".", ("--format", "csv"), "is a folder, but the format csv is a file"),
        ("a.txt", ("--name", "No Name"), "is not valid; use small letters"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, file: str, more: tuple[str, ...], message: str) -> None:
    csv_file(tmp_path / "a.txt", HEADER)
    done = asked("import", str(tmp_path / file), "--name", "run", "--runs", str(tmp_path / "runs"), *more)
    assert message in str(done.exception)


def test_a_mapping_that_is_none_is_wrong_use(tmp_path: Path) -> None:
    assert asked("import", str(tmp_path), "--map", "task").exit_code == 2


def test_what_a_source_does_not_tell_is_not_invented(tmp_path: Path) -> None:
    """Neither a reason for a failure, nor a folder of a trial."""
    report = imported(csv_file(tmp_path / "their.csv", rows(8, passed="0") + "s90,arm0,1,1,1,1,1\n"))
    assert {one.kind for one in report.failures} == {"its source does not say why"}
    text = (tmp_path / "runs/run/report.md").read_text()
    assert "its source does not say why" in text
    assert "](s0" not in text


CELLS = (make_cell("nop"), make_cell("oracle"))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    write_record(made.plan, make_plan(*CELLS))
    write_lines(made.results, [make_result(cell) for cell in CELLS])
    for cell in CELLS:
        write_record(made.cell(cell.id).trial, make_trial(cell))
    step = Step(source="agent", text="done")
    write_record(made.cell(CELLS[1].id).attempt(1).file("trajectory.json"), Trajectory(steps=(step,)))
    return made


def exported(folder: RunFolder, *more: str) -> str:
    done = asked("export", folder.root.name, "--runs", str(folder.root.parent), "--to", *more)
    if done.exception:
        raise done.exception
    return done.output


@pytest.mark.parametrize(
    ("form", "name", "holds"),
    [
        ("csv", "results.csv", "001-one--oracle--r01"),
        ("junit", "junit.xml", '<testcase classname="oracle"'),
        ("profile", "profile-rows.jsonl", '"scenarioId": "001-one"'),
        ("inspect", "inspect/*_demo-oracle_*.json", '"task": "demo"'),
        ("atif", "atif/001-one--oracle--r01.json", '"ATIF-v1.8"'),
        ("otel", "otel-traces.jsonl", '"invoke_agent nop"'),
    ],
)
def test_each_format_is_written_into_the_runs_folder(folder: RunFolder, form: str, name: str, holds: str) -> None:
    said = exported(folder, form)
    (place,) = folder.root.glob(name)
    assert holds in place.read_text()
    assert str(folder.root / name.split("/", 1)[0]) in said


def test_junit_may_have_chosen_arms_only(folder: RunFolder) -> None:
    exported(folder, "junit", "--arm", "n*")
    assert 'classname="oracle"' not in (folder.root / "junit.xml").read_text()
    with pytest.raises(ConfigError, match="--arm: 'x' matches nothing; there are: nop, oracle"):
        exported(folder, "junit", "--arm", "x")


def test_inspect_logs_show_the_conversation_of_trials_that_have_one(folder: RunFolder) -> None:
    write_text(folder.cell(CELLS[1].id).attempt(1).file("prompt.md"), "Say hello")
    exported(folder, "inspect")
    logs = [json.loads(place.read_text()) for place in (folder.root / "inspect").iterdir()]
    samples = {log["eval"]["solver"]: log["samples"][0] for log in logs}
    spoken, silent = samples[CELLS[1].arm], samples[CELLS[0].arm]
    assert (spoken["input"], [message["content"] for message in spoken["messages"]]) == ("Say hello", ["done"])
    assert (silent["input"], silent["messages"]) == ("001-one", [])


def test_traces_have_texts_only_if_they_are_asked_for(folder: RunFolder) -> None:
    exported(folder, "otel")
    bare = (folder.root / "otel-traces.jsonl").read_text()
    exported(folder, "otel", "--content")
    assert ("done" in bare, "done" in (folder.root / "otel-traces.jsonl").read_text()) == (False, True)
    refused = asked("export", folder.root.name, "--runs", str(folder.root.parent), "--to", "csv", "--content")
    assert "--content: applies to --to otel only" in refused.output


def test_trials_without_a_trajectory_are_counted(folder: RunFolder) -> None:
    assert "1 of 2 trials left out: no trajectory" in exported(folder, "atif")


def test_a_run_without_any_trajectory_has_nothing_for_atif(folder: RunFolder) -> None:
    write_lines(folder.results, [make_result(CELLS[0])])
    with pytest.raises(ConfigError, match="no trial has a trajectory"):
        exported(folder, "atif")


def test_an_arm_with_a_slash_in_its_name_stays_in_the_folder(folder: RunFolder, tmp_path: Path) -> None:
    cell = make_cell("../x/y")
    write_record(folder.plan, make_plan(cell, arms=(make_arm(id="../x/y"),)))
    write_lines(folder.results, [make_result(cell)])
    exported(folder, "inspect", "-o", str(tmp_path / "out"))
    (place,) = (tmp_path / "out").iterdir()
    assert json.loads(place.read_text())["eval"]["metadata"]["arm"] == "../x/y"


def test_inspect_logs_have_the_names_that_inspect_lists(folder: RunFolder) -> None:
    """Time, task and id: `inspect log list` and `inspect view bundle` pass over any other name."""
    exported(folder, "inspect")
    names = sorted(place.name for place in (folder.root / "inspect").iterdir())
    assert len(names) == 2
    for name in names:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[+-]\d\d-\d\d_[a-z0-9-]+_[0-9a-zA-Z]{22}\.json", name)
        told = json.loads((folder.root / "inspect" / name).read_text())["eval"]
        assert name.rsplit("_", 1)[1] == f"{told['task_id']}.json"


def test_a_file_is_not_written_over_a_folder(folder: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder, but csv writes a file"):
        exported(folder, "csv", "-o", str(tmp_path))


def test_a_run_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "there is no plan" in str(asked("export", "none", "--to", "csv", "--runs", str(tmp_path)).exception)
