"""`scylla-gha compare`, over runs, files and what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError, GateError
from scylla_gha.model.report import ResultComparison
from scylla_gha.store import write_lines, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.command import Said, scylla
from tests.support.foreign import asked, csv_file, strict_json
from tests.support.frames import table
from tests.support.records import WHEN, make_cell, make_experiment, make_plan, make_report, make_result
from tests.support.repository import environment, make_repository
from tests.unit.test_cli_tables import BAD, HEADER, rows

BETTER = HEADER + "".join(f"s{s:02d},arm0,{r},1,,0.2,2\n" for s in range(8) for r in (1, 2))
WORSE = BETTER.replace(",1,,", ",0,,").replace("s00,arm0,1,0", "s00,arm0,1,1")


def compared(a: Path | str, b: Path | str, *more: str, runs: Path | None = None) -> ResultComparison:
    done = asked("compare", str(a), str(b), "--json", "--runs", str(runs or "nowhere"), *more)
    if done.exception:
        raise done.exception
    strict_json(done.stdout)
    return ResultComparison.model_validate_json(done.stdout)


def stored(runs: Path, name: str, *, toolkit: str = "0.1.0", **given: Any) -> RunFolder:
    folder, cells = RunFolder(runs / name), [make_cell(scenario=f"00{number}-s") for number in range(3)]
    write_record(folder.plan, make_plan(*cells))
    write_lines(folder.results, [make_result(cell, **given) for cell in cells])
    write_record(folder.report("json"), make_report(toolkit_version=toolkit))
    return folder


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_bad_rows_are_compared_with_good_ones_without_a_made_up_number(tmp_path: Path, text: str) -> None:
    bad, good = csv_file(tmp_path / "bad.csv", text), csv_file(tmp_path / "good.csv", rows(8) + "s,a,1,0,,,\n")
    for a, b in ((bad, good), (good, bad), (bad, bad)):
        made = compared(a, b)
        for pair in made.pairs:
            assert (pair.ruling.contrast.value is None) == (pair.ruling.contrast.scenarios == 0)
        assert made.pairs or any("has no row" in warning for warning in made.warnings)


def test_duplicate_rows_are_refused(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "a.csv", HEADER + "s,a,1,1,,,\ns,a,1,0,,,\n")
    with pytest.raises(ConfigError, match="exists already"):
        compared(place, place)


def test_a_run_is_compared_by_its_name_its_folder_or_its_rows(tmp_path: Path) -> None:
    folder = stored(tmp_path, "base")
    for named in ("base", folder.root, folder.results):
        (pair,) = compared("base", named, runs=tmp_path).pairs
        assert (pair.before, pair.after) == ((3, 3), (3, 3))


def test_other_circumstances_are_warned_of(tmp_path: Path) -> None:
    stored(tmp_path, "base")
    stored(tmp_path, "head", toolkit="0.2.0", sandbox="docker", agent_version="2", workspace_digest="other")
    warnings = "\n".join(compared("base", "head", runs=tmp_path).warnings)
    for word in ("versions of the toolkit: 0.1.0 and 0.2.0", "sandboxes", "agent versions", "different states"):
        assert word in warnings


def test_rows_of_another_plan_and_second_ones_are_left_out_and_warned_of(tmp_path: Path) -> None:
    folder = stored(tmp_path, "base")
    row = make_result(make_cell(scenario="000-s"))
    write_lines(
        folder.results, [row, row, make_result(make_cell(scenario="009-s")), make_result(make_cell(), key="old")]
    )
    made = compared("base", "base", runs=tmp_path)
    assert made.pairs[0].before == (1, 1)
    assert "A (base): Left out: 3 rows of no planned cell, or there twice." in made.warnings
    assert "A (base): No judged trial in 2 planned cells, left out of its rates." in made.warnings


def test_what_is_neither_file_nor_run_is_said_with_the_runs_there_are(tmp_path: Path) -> None:
    stored(tmp_path, "base")
    with pytest.raises(ConfigError, match=r"head: no file, directory or run of that name in .*; the runs are: base"):
        compared("base", "head", runs=tmp_path)


def test_arms_are_matched_by_name_or_as_told(tmp_path: Path) -> None:
    a = csv_file(tmp_path / "a.csv", rows(3, arms=3))
    b = csv_file(tmp_path / "b.csv", rows(3).replace("arm1", "other"))
    made = compared(a, b)
    assert [(pair.a_arm, pair.b_arm) for pair in made.pairs] == [("arm0", "arm0")]
    assert "Not compared: 2 arms in A alone: arm1, arm2." in made.warnings
    told = compared(a, b, "--arms", "arm1=other", "--arm", "arm0")
    assert [(pair.a_arm, pair.b_arm) for pair in told.pairs] == [("arm0", "arm0"), ("arm1", "other")]
    with pytest.raises(ConfigError, match="has no arm 'arm1'"):
        compared(a, b, "--arm", "arm1")
    only = csv_file(tmp_path / "c.csv", BETTER.replace("arm0", "z"))
    with pytest.raises(ConfigError, match="--arms A_ARM=B_ARM; A has arm0, arm1, arm2; B has z"):
        compared(a, only)
    (pair,) = compared(csv_file(tmp_path / "d.csv", BETTER), only).pairs
    assert (pair.a_arm, pair.b_arm) == ("arm0", "z")
    assert asked("compare", str(a), str(b), "--arms", "arm1").exit_code == 2


@pytest.mark.parametrize(
    ("first", "second", "gate", "fires"),
    [
        (BETTER, WORSE, "worse", True),
        (WORSE, BETTER, "worse", False),
        (WORSE, BETTER, "not_better", False),
        (BETTER, BETTER, "not_better", True),
        (BETTER, WORSE, "not_equivalent", True),
        (BETTER, HEADER, "worse", True),
    ],
)
def test_a_gate_fires_with_a_code_of_its_own(
    tmp_path: Path, first: str, second: str, gate: str, *, fires: bool
) -> None:
    a, b = csv_file(tmp_path / "a.csv", first), csv_file(tmp_path / "b.csv", second)
    assert asked("compare", str(a), str(b)).exception is None
    done = asked("compare", str(a), str(b), "--fail-on", gate)
    assert isinstance(done.exception, GateError) is fires
    assert GateError.exit_code == 10


def test_the_terminal_shows_verdict_difference_and_flips(tmp_path: Path) -> None:
    a, b = csv_file(tmp_path / "a.csv", WORSE), csv_file(tmp_path / "b.csv", BETTER)
    shown = asked("compare", str(a), str(b)).stdout
    for words in (
        "1/16",
        "16/16",
        "arm0: better (+",
        "B over A: usd x1",
        ", usd per pass x",
        "fixed: s01: 0/2 -> 2/2",
        "warning: A",
    ):
        assert words in shown


def test_spent_less_is_shown_as_a_ratio(tmp_path: Path) -> None:
    a = csv_file(tmp_path / "a.csv", BETTER)
    b = csv_file(
        tmp_path / "b.csv", BETTER.replace(",0.2,", ",0.1,").replace("s00,arm0,1,1,,0.1", "s00,arm0,1,1,,0.12")
    )
    shown = asked("compare", str(a), str(b), "--metric", "usd").stdout
    assert "arm0: better (x0.5" in shown


HIGH, LOW = ["PPPF", "PPFP", "PFPP", "PPPP"] * 3, ["FFPF", "FPFF", "PFFF", "FFFF"] * 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for at in range(10):
        passed = HIGH if at < 5 else LOW
        write_lines(tmp_path / f"runs/d{at}/results.jsonl", table({"arm": passed, "nop": ["FFFF"] * 12}))
    return tmp_path


def history(folder: Path, *args: str, **env: str) -> Said:
    said = scylla("history", *args, cwd=folder, env=env)
    assert "Traceback" not in said.err
    return said


def test_a_series_of_runs_is_a_table_with_a_curve_and_what_was_found(folder: Path) -> None:
    said = history(folder, *(f"d{at}" for at in range(10)), PYTHONIOENCODING="utf-8")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == "arm  ▇▇▇▇▇▂▂▂▂▂"
    assert "  change down of pass_rate at d5: 81.2 % to 18.8 %" in said.out
    assert "d5              48         12     18.8 %  ▂          -62.5" in said.out
    assert "baseline: d0" in said.out
    assert said.out.isascii() is False
    assert history(folder, "d0", "d1", PYTHONIOENCODING="ascii").out.isascii()


def test_a_series_of_runs_is_drawn_into_a_file(folder: Path) -> None:
    said = history(folder, *(f"d{at}" for at in range(10)), "--svg", "history.svg")
    assert said.err.endswith("chart: history.svg\n")
    picture = (folder / "history.svg").read_text(encoding="utf-8")
    assert "drops from 81 % to 19 %" in picture
    assert "prefers-color-scheme:dark" in picture
    assert "not written: the chart needs an arm with two result sets" in history(folder, "d0", "--svg", "no.svg").err
    assert not (folder / "no.svg").exists()


def test_one_arm_a_pinned_run_and_its_margin(folder: Path) -> None:
    write_record(folder / "runs/d5/plan.json", make_plan(experiment=make_experiment(margin=0.2)))
    told = json.loads(history(folder, "runs/d1", "runs/d5", "--baseline", "d0", "--arm", "arm", "--json").out)
    assert (told["baseline"], told["margin"]) == ("d0", 0.2)
    (series,) = told["series"]
    assert [one["run"] for one in series["points"]] == ["d0", "d1", "d5"]
    assert [one["verdict"] for one in series["points"]] == [None, "not_enough_data", "worse"]
    assert told["notes"] == ["3 result sets are too few to find changes of level; 9 are needed"]


def test_epochs_of_one_file_are_told_apart_by_when_they_began(folder: Path) -> None:
    later = table({"arm": LOW}, epoch="b", started_at=WHEN.replace(year=2027))
    earlier = table({"arm": HIGH}, epoch="c", started_at=WHEN)
    write_lines(folder / "both.jsonl", [*later, *earlier])
    told = json.loads(history(folder, "both.jsonl", "--json").out)
    assert [(one["run"], one["epoch"]) for one in told["series"][0]["points"]] == [("both", "c"), ("both", "b")]
    assert told["baseline"] == "both@c"


def test_what_is_not_there_is_named(folder: Path) -> None:
    assert "d99: neither a file of rows" in history(folder, "d0", "d99").err
    said = history(folder, "d0", "--arm", "arn")
    assert said.code == 3
    assert '--arm arn: no row is of it; did you mean "arm"?; there are: arm, nop' in said.err
    assert history(folder).code == 2


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def power(repo: Path, *args: str) -> Said:
    said = scylla("power", *args, cwd=repo, env=environment(repo.parent))
    assert "Traceback" not in said.err
    return said


def test_without_a_pilot_it_goes_by_the_usual_variances_and_knows_no_cost(repo: Path) -> None:
    said = power(repo, "greet", "--json")
    told = json.loads(said.out)
    assert (told["arms"], told["comparisons"], told["variances"]) == (2, 1, [])
    assert told["basis"].startswith("typical variation")
    assert {(one["usd"], one["minutes"]) for one in told["designs"]} == {(None, None)}
    assert told["at_hand"].startswith("the 1 scenario at hand cannot show any effect")
    assert not (repo / "runs").exists(), "nothing is written"


def test_stored_rows_are_the_pilot_and_say_what_a_design_costs(repo: Path) -> None:
    rows = table({"base": ["PFPF", "PPPF"] * 5, "mcp": ["PFPP", "PPFF"] * 5}, usd=0.5, judge_usd=0.25, seconds=60.0)
    run = repo / "runs" / "demo"
    write_lines(run / "results.jsonl", rows)
    cells = [make_cell(row.arm, row.repetition, row.scenario) for row in rows]
    write_record(run / "plan.json", make_plan(*cells, experiment=make_experiment(baseline="base")))
    told = json.loads(power(repo, "demo", "--effect", "0.3", "--json").out)
    assert [one["arm"] for one in told["variances"]] == ["mcp"]
    (own,) = [one for one in told["designs"] if (one["scenarios"], one["repetitions"]) == (10, 5)]
    assert (own["trials"], own["usd"], own["minutes"]) == (100, pytest.approx(75.0), pytest.approx(100.0))
    assert told["cheapest"]["sees"] is True
    text = power(repo, "greet", "--pilot", "demo").out
    assert "by typical variation" in text, "rows of other arms tell nothing of these"


def test_what_is_no_effect_is_refused(repo: Path) -> None:
    assert power(repo, "greet", "--effect", "0").code == 2
    assert power(repo, "greet", "--pilot", "none").code == 3


@pytest.fixture
def aa_folder(tmp_path: Path) -> Path:
    """A run of three planned arms, of which two have rows."""
    rows = table({"base": ["PFPF", "PPPF", "FFPF"] * 4, "mcp": ["PFPP", "PPFF", "FPPF"] * 4})
    write_lines(tmp_path / "runs/demo/results.jsonl", rows)
    cells = [make_cell(row.arm, row.repetition, row.scenario) for row in rows]
    experiment = make_experiment(baseline="base", margin=0.1, seed=3)
    write_record(tmp_path / "runs/demo/plan.json", make_plan(*cells, make_cell("cli"), experiment=experiment))
    return tmp_path


def aa(aa_folder: Path, *args: str) -> Said:
    said = scylla("aa-test", *args, cwd=aa_folder)
    assert "Traceback" not in said.err
    return said


def test_each_arm_is_held_against_itself_with_the_plans_family_and_margin(aa_folder: Path) -> None:
    told = json.loads(aa(aa_folder, "demo", "--resamples", "60", "--json").out)
    assert (told["family"], told["margin"], told["resamples"]) == (2, 0.1, 60)
    assert [one["arm"] for one in told["arms"]] == ["base", "mcp"]
    assert told["left_out"] == ["cli"]
    assert told["over_all"]["verdicts"] == 120
    assert told["over_all"]["false_share"] <= 0.05


def test_it_is_a_table_for_people_and_rows_alone_will_do(aa_folder: Path) -> None:
    (aa_folder / "runs/demo/results.jsonl").rename(aa_folder / "rows.jsonl")
    said = aa(aa_folder, "rows.jsonl", "--resamples", "20")
    assert said.code == 0
    assert said.out.splitlines()[0] == "demo: each arm against itself; a verdict of better or worse is false"
    assert "each p is multiplied by 1, the experiment's number of comparisons; the margin is 5 points" in said.out


def test_without_rows_an_arm_is_not_compared_with_itself(aa_folder: Path) -> None:
    said = aa(aa_folder, "nothing")
    assert (said.code, said.out) == (3, "")
    assert "nothing: neither a file of rows, nor a folder with results.jsonl, nor a run in runs" in said.err
