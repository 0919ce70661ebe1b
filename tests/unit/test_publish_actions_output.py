from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.github_api.actions import JobFacts, job_facts
from scylla_gha.model.analysis import Analysis, Contrast, Ruling
from scylla_gha.model.report import Comparison, Counts, Excluded, Report
from scylla_gha.publish import actions_output
from scylla_gha.publish.actions_output import outputs, publish_on_run
from tests.support.actions import Step, step_in
from tests.support.records import make_report, make_summary
from tests.support.reports import full_report


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


def report_of(**rulings: tuple[str, float | None]) -> Report:
    """Arms with a verdict and a difference each, beside the baseline `nop`."""
    compared = [Comparison.model_validate({"arm": arm, "baseline": "nop", "verdict": verdict, "why": "w"})
                for arm, (verdict, _) in rulings.items()]  # fmt: skip
    ruled = tuple(_ruling(one, rulings[one.arm][1]) for one in compared)
    arms = tuple(make_summary(arm=name, usd=0.5, pass_rate=0.25) for name in (*rulings, "nop"))
    return make_report(comparisons=tuple(compared), arms=arms, judge_usd=None,
                       counts=Counts(planned=9, ran=8, judged=7, scored=6),
                       analysis=Analysis(measures=(), slices=(), rulings=ruled, contrasts=()))  # fmt: skip


def _ruling(one: Comparison, value: float | None) -> Ruling:
    limits: dict[str, Any] = {} if value is None else {"low": value - 0.1, "high": value + 0.1}
    contrast = Contrast(arm=one.arm, baseline="nop", metric="pass_rate", scale="difference", value=value, scenarios=3,
                        **limits)  # fmt: skip
    return Ruling(arm=one.arm, baseline="nop", verdict=one.verdict, why="w", margin=0.05, contrast=contrast)


def test_the_outputs_are_the_reports_figures() -> None:
    assert outputs(report_of(a=("better", 0.3))) == {
        "verdict": "better", "arm": "a", "pass_rate": "0.2500", "delta": "0.3000", "low": "0.2000", "high": "0.4000",
        "agent_usd": "1.0000", "judge_usd": "", "missing": "2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rulings", "verdict", "arm"),
    [
        ({"a": ("better", 0.3), "b": ("worse", -0.1), "c": ("worse", -0.4)}, "worse", "c"),
        ({"a": ("better", 0.3), "b": ("not_enough_data", None)}, "not_enough_data", "b"),
        ({"a": ("better", 0.3), "b": ("better", 0.2)}, "better", "b"),
        ({"a": ("equivalent", 0.01), "b": ("better", 0.2)}, "better", "b"),
        ({"a": ("equivalent", 0.01)}, "equivalent", "a"),
    ],
)
def test_of_several_arms_the_worst_verdict_is_said_and_the_arm_it_is_of(
    rulings: dict[str, tuple[str, float | None]], verdict: str, arm: str
) -> None:
    found = outputs(report_of(**rulings))
    assert (found["verdict"], found["arm"]) == (verdict, arm)


def test_without_a_comparison_there_is_no_baseline() -> None:
    found = outputs(make_report(arms=(make_summary(usd=None),)))
    assert (found["verdict"], found["arm"], found["pass_rate"]) == ("no_baseline", "oracle", "1.0000")
    assert (found["delta"], found["low"], found["high"], found["agent_usd"], found["judge_usd"]) == (
        "",
        "",
        "",
        "",
        "0.0000",
    )
    assert outputs(make_report())["pass_rate"] == ""


def test_without_statistics_the_difference_is_unknown() -> None:
    found = outputs(full_report().model_copy(update={"analysis": None}))
    assert (found["delta"], found["low"], found["high"]) == ("", "", "")
    assert found["verdict"] != ""


def test_what_is_missing_is_annotated_and_can_command_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = step_in(tmp_path)
    evil = "gone\n::set-output name=verdict::better" + "x" * 500
    excluded = tuple(Excluded(cell=f"c{number}", outcome="missing", reason=evil) for number in range(12))
    publish_on_run(job_facts(step.environment()), make_report(excluded=excluded), "# page\n")
    assert step.summary.read_text() == "# page\n"
    assert step.given()["verdict"] == "no_baseline"
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert all(line.startswith(("::warning title=demo::c", "::notice title=demo::2 more of 12")) for line in lines)
    assert all(len(line) < 400 for line in lines)
