"""`scylla-gha compare`, over runs, files and what is wrong with them."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError, GateError
from scylla_gha.model.comparison import ResultComparison
from scylla_gha.store.records import write_lines, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.foreign import asked, csv_file, strict_json
from tests.support.records import make_cell, make_plan, make_report, make_result
from tests.unit.test_cli_importing import BAD, HEADER, rows

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
    with pytest.raises(ConfigError, match="is there already"):
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
    for word in ("versions of the toolkit: 0.1.0 and 0.2.0", "sandboxes", "agent versions", "same state"):
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
