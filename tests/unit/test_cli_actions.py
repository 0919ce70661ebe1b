from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.github.actions import JobFacts, job_facts
from scylla_gha.publish import actions_output
from tests.support.actions import Step, step_in


@pytest.fixture
def step(tmp_path: Path) -> Step:
    return step_in(tmp_path)


@pytest.fixture
def run(step: Step) -> JobFacts:
    return job_facts(step.environment())


def test_the_facts_are_of_this_process(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in step.environment().items():
        monkeypatch.setenv(name, value)
    assert actions_output.actions_job().run_id == 4711
    monkeypatch.delenv("GITHUB_RUN_ID")
    with pytest.raises(ConfigError, match="GITHUB_RUN_ID is not set"):
        actions_output.actions_job()


def test_what_is_unknown_is_an_empty_output(step: Step, run: JobFacts) -> None:
    actions_output.write_job_outputs(run, {"cells": 3, "usd": None, "path": Path("/x")})
    assert step.given() == {"cells": "3", "usd": "", "path": "/x"}


def test_ten_are_said_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    actions_output.annotate_all("warning", [f"cell {number}" for number in range(1_212)], "demo", "report.md")
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert lines[0] == "::warning title=demo::cell 0"
    assert lines[9:] == ["::warning title=demo::cell 9", "::notice title=demo::1,202 more of 1,212: report.md"]


def test_a_page_is_put_on_the_run(step: Step, run: JobFacts, capsys: pytest.CaptureFixture[str]) -> None:
    actions_output.summarise(run, "# demo\n", "report.md")
    assert (step.summary.read_text(), capsys.readouterr().err) == ("# demo\n", "")
    actions_output.summarise(run, "line\n" * 300_000, "report.md")
    assert "the step summary is cut at 1 MiB" in capsys.readouterr().err
    assert len(step.summary.read_bytes()) <= 1024 * 1024


def test_without_a_summary_nothing_is_written(step: Step) -> None:
    actions_output.summarise(job_facts(step.environment(GITHUB_STEP_SUMMARY="")), "# demo\n", "report.md")
    assert step.summary.read_text() == ""
