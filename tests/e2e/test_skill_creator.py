"""A run of evals as a workspace of skill-creator, in the layout and with the names of its `references/schemas.md`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import scylla
from tests.support.provider import Body, Say, serve
from tests.support.skill_author import adder, author

KEY = "sk-ant-canary-0123456789"


def writer(body: Body) -> Say:
    """Write a file first, if this is an agent."""
    if body.get("tools") and not any(message["role"] == "assistant" for message in body["messages"]):
        command = "mkdir -p out && echo 3,42 > out/totals.csv && echo 3,3 >> data/pots.csv"
        return Say("I sum them.", "Bash", {"command": command, "description": "sums"})
    return adder(body)


def of(path: Path) -> Any:
    return json.loads(path.read_text())


def the_folders_are_those_of_runs(root: Path) -> None:
    runs = {str(path.relative_to(root)) for path in root.glob("eval-*/*/run-*")}
    assert runs == {
        f"eval-{number}/{name}/run-{run}"
        for number in (1, 2)
        for name in ("with_skill", "without_skill")
        for run in (1, 2)
    }


def an_eval_has_its_prompt_and_assertions(root: Path) -> None:
    metadata = of(root / "eval-1/eval_metadata.json")
    assert (metadata["eval_id"], metadata["prompt"]) == (1, "Sum both columns of data/pots.csv")
    assert metadata["assertions"] == ["The reply names both sums", "The reply has 42", "The reply is in English"]


def a_run_has_grades_times_and_outputs(root: Path) -> None:
    run = root / "eval-1/with_skill/run-1"
    grading, timing = of(run / "grading.json"), of(run / "timing.json")
    assert [set(each) for each in grading["expectations"]] == [{"text", "passed", "evidence"}] * 3
    assert grading["summary"] == {"passed": 3, "failed": 0, "total": 3, "pass_rate": 1.0}
    assert grading["execution_metrics"]["tool_calls"] == {"Bash": 1}
    assert (timing["total_tokens"] > 0, timing["total_duration_seconds"] > 0) == (True, True)
    outputs = {path.name: path.read_text() for path in (run / "outputs").iterdir()}
    assert outputs["out_totals.csv"] == "3,42\n"
    assert outputs["data_pots.csv"].endswith("3,3\n")
    assert "3 and 42" in outputs["answer.md"]
    assert "## Eval Prompt\n\nSum both columns" in (run / "transcript.md").read_text()


def the_benchmark_has_the_names_that_the_viewer_reads(root: Path) -> None:
    benchmark = of(root / "benchmark.json")
    metadata = benchmark["metadata"]
    assert (metadata["skill_name"], metadata["evals_run"], metadata["runs_per_configuration"]) == ("tally", [1, 2], 2)
    assert [run["configuration"] for run in benchmark["runs"]] == ["with_skill"] * 4 + ["without_skill"] * 4
    assert benchmark["runs"][0]["result"]["pass_rate"] == 1.0
    assert set(benchmark["run_summary"]["with_skill"]) == {"pass_rate", "time_seconds", "tokens"}
    assert benchmark["run_summary"]["delta"]["pass_rate"] == "+0.67"
    assert benchmark["notes"][0].startswith("On these evals, against no skill: not enough data")


@pytest.mark.timeout(600)
def test_the_workspace_is_that_of_skill_creator(tmp_path: Path) -> None:
    author(tmp_path)
    with serve(writer) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
        options = ("--yes", "--only", "evals", "--repetitions", "2", "--export", "skill-creator=workspace")
        said = scylla("skill", "skills/tally", *options, cwd=tmp_path, env=env)
        assert said.code == 0, said.err
    exported = scylla("export", "skill-tally", "--to", "skill-creator", "-o", "again", cwd=tmp_path)
    assert exported.code == 0, exported.err
    assert of(tmp_path / "again/iteration-1/benchmark.json") == of(tmp_path / "workspace/iteration-1/benchmark.json")
    badge = (tmp_path / "runs/skills/tally.svg").read_text()
    assert "<title>skill: not enough data</title>" in badge, "two repetitions"
    unpaid = scylla("skill", "skills/tally", cwd=tmp_path, env={"ANTHROPIC_API_KEY": ""})
    assert unpaid.code == 0, unpaid.err
    assert (tmp_path / "runs/skills/tally.svg").read_text() == badge, "figures of this version"
    (tmp_path / "skills/tally/SKILL.md").write_text("---\nname: tally\ndescription: Use it for sums.\n---\nAdd.\n")
    assert scylla("skill", "skills/tally", cwd=tmp_path, env={"ANTHROPIC_API_KEY": ""}).code == 0
    assert "not measured at this version" in (tmp_path / "runs/skills/tally.svg").read_text()
    for check in (
        the_folders_are_those_of_runs,
        an_eval_has_its_prompt_and_assertions,
        a_run_has_grades_times_and_outputs,
        the_benchmark_has_the_names_that_the_viewer_reads,
    ):
        check(tmp_path / "workspace/iteration-1")
    said = scylla("import", "workspace", "--name", "back", cwd=tmp_path)
    assert said.code == 0, said.err
    assert "8 rows" in said.err
