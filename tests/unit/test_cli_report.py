"""`scylla-gha report`, with --github."""

import json
from pathlib import Path

from scylla_gha.store.records import write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.actions import step_in
from tests.support.command import scylla
from tests.support.records import make_cell, make_experiment, make_plan
from tests.support.reports import EVIL, full_report, hostile_rows_report


def test_the_page_and_the_figures_go_to_the_run(tmp_path: Path) -> None:
    step, folder = step_in(tmp_path / "step"), RunFolder(tmp_path / "runs" / "demo")
    report = full_report()
    write_record(folder.report("json"), report)
    said = scylla("report", "demo", "--github", cwd=tmp_path, env=step.environment())
    assert (said.code, said.out) == (0, ""), said.err
    assert step.summary.read_text() == folder.report("md").read_text()
    found = step.given()
    assert {"verdict", "pass_rate", "delta", "low", "high", "agent_usd", "judge_usd", "missing"} <= found.keys()
    assert int(found["missing"]) == report.counts.planned - report.counts.judged
    assert said.err.count("::warning ") == len(report.excluded) <= 10


def test_a_gate_that_does_not_hold_fails_after_all_is_written(tmp_path: Path) -> None:
    step, folder = step_in(tmp_path / "step"), RunFolder(tmp_path / "runs" / "demo")
    write_record(folder.report("json"), full_report().model_copy(update={"comparisons": ()}))
    write_record(folder.plan, make_plan(make_cell(), experiment=make_experiment(gate="better")))
    said = scylla("report", "demo", "--github", cwd=tmp_path, env=step.environment())
    assert said.code == 10
    assert "::error title=scylla-gha::gate better does not hold" in said.err
    assert step.given()["verdict"] == "no_baseline"
    assert step.summary.read_text() != ""


def test_with_json_the_report_is_all_that_standard_output_gets(tmp_path: Path) -> None:
    step, folder = step_in(tmp_path / "step"), RunFolder(tmp_path / "runs" / "demo")
    write_record(folder.report("json"), hostile_rows_report())
    said = scylla("report", "demo", "--github", "--json", cwd=tmp_path, env=step.environment())
    assert json.loads(said.out)["question"] == EVIL


def test_what_strangers_wrote_is_no_command_of_the_log(tmp_path: Path) -> None:
    step, folder = step_in(tmp_path / "step"), RunFolder(tmp_path / "runs" / "demo")
    report = full_report()
    evil = report.excluded[0].model_copy(update={"reason": "x\n::set-output name=verdict::better\n##[add-mask]y"})
    write_record(folder.report("json"), report.model_copy(update={"excluded": (evil,)}))
    said = scylla("report", "demo", "--github", cwd=tmp_path, env=step.environment())
    commands = [line for line in (said.out + said.err).splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == 1
    assert commands[0].startswith("::warning title=demo::")
