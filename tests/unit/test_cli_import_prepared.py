"""`scylla-gha import` of rows that are not as ours: units, constants, joined columns, and scores of judges."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy import stats

from scylla_gha.cli.main import cli
from scylla_gha.errors import ConfigError
from scylla_gha.model.report import Report
from scylla_gha.model.result import Result
from scylla_gha.store import read_lines, read_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.foreign import asked, csv_file
from tests.support.pages import ROOT

ROWS = "task,model,prompt,ms,score\na,m,p,1500,80\na,m,q,2500,40\nb,m,p,1000,90\nb,m,q,,50\n"
MAPPED = ("--map", "scenario=task", "--map", "arm=model+prompt", "--map", "seconds=ms", "--passed-if", "score>=0.6")


def imported(place: Path, *more: str) -> list[Result]:
    runs = place.parent / "runs"
    done = asked("import", str(place), "--name", "run", "--runs", str(runs), *more)
    if done.exception:
        raise done.exception
    return list(read_lines(RunFolder(runs / "run").results, Result))


def refused(place: Path, *more: str) -> str:
    with pytest.raises(ConfigError) as caught:
        imported(place, *more)
    return str(caught.value)


def test_units_constants_and_an_arm_of_two_columns(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "x.csv", ROWS)
    rows = imported(place, *MAPPED, "--unit", "ms=ms", "--unit", "score=percent", "--set", "agent=theirs")
    assert [row.seconds for row in rows] == [1.5, 2.5, 1.0, None]
    assert [row.score for row in rows] == [0.8, 0.4, 0.9, 0.5]
    assert {row.arm for row in rows} == {"m + p", "m + q"}
    assert {row.agent for row in rows} == {"theirs"}
    assert [row.passed for row in rows] == [True, False, True, False]


def test_the_same_in_a_map_file(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "x.csv", ROWS)
    (tmp_path / "map.yaml").write_text(
        "columns: {scenario: task, arm: model+prompt, seconds: ms}\nunits: {seconds: ms, score: percent}\n"
        "constants: {model: m1}\npassed_if: score>=0.6\n"
    )
    rows = imported(place, "--map-file", str(tmp_path / "map.yaml"))
    assert (rows[0].seconds, rows[0].model, rows[0].score) == (1.5, "m1", 0.8)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--unit", "ms=cent"), "--unit 'cent': not a unit of seconds; there are: ns, us, ms, s, min, h"),
        (("--unit", "nothing=ms"), "--unit nothing: no field uses that column"),
        (("--set", "seconds=1"), "--map takes seconds from column 'ms'; remove one of the two"),
        (("--set", "colour=red"), "--set 'colour': not a field of a row"),
        (("--map", "arm=model+promt"), "'promt': there is no such column; did you mean prompt?"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(tmp_path: Path, more: tuple[str, ...], said: str) -> None:
    text = refused(csv_file(tmp_path / "x.csv", ROWS), *MAPPED, *more)
    assert said.removesuffix("; did you mean prompt?") in text


def test_milliseconds_are_not_taken_for_seconds(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "x.csv", "scenario,arm,passed,duration_ms\na,b,1,1500\n")
    assert "looks like milliseconds" in refused(place, "--map", "seconds=duration_ms")
    (row,) = imported(place, "--map", "seconds=duration_ms", "--unit", "duration_ms=ms")
    assert row.seconds == 1.5


JUDGED = "scenario,arm,run\na,x,1\na,y,2\n"


def test_scores_of_judges_come_from_a_second_file(tmp_path: Path) -> None:
    place = csv_file(tmp_path / "x.csv", JUDGED)
    scores = csv_file(tmp_path / "j.csv", "run,judge,score\n1,j1,0.9\n1,j2,0.5\n1,j3,0.7\n2,j1,0.2\n2,j2,\n")
    first, second = imported(place, "--judge-scores", str(scores), "--passed-if", "score>=0.6")
    assert first.judge_scores == {"j1": 0.9, "j2": 0.5, "j3": 0.7}
    assert (first.score, first.passed) == (0.7, True)
    assert (second.judge_scores, second.score) == ({"j1": 0.2}, 0.2)


@pytest.mark.parametrize(
    ("scores", "more", "said"),
    [
        ("run,judge,score\n3,j1,0.9\n", (), "1 judged row is not in x.csv; the first: run=3"),
        ("run,judge,score\n1,j1,0.9\n1,j1,0.8\n", (), "judge 'j1' scored this row already"),
        ("id,judge,score\n1,j1,0.9\n", (), "the files have no column in common"),
        ("run,judge,score\n1,j1,0.9\n", ("--join", "id"), "--join 'id': there is no such column"),
        ("run,rater,score\n1,j1,0.9\n", (), "--judge-scores 'judge': there is no such column"),
        ("run,judge,score\n1,j1,high\n", (), "'high' not a number"),
        ("run,judge,score\n1,j1,90\n", (), "90.0 should be less than or equal to 1"),
    ],
)
def test_scores_that_fit_no_row_are_refused(tmp_path: Path, scores: str, more: tuple[str, ...], said: str) -> None:
    place, other = csv_file(tmp_path / "x.csv", JUDGED), csv_file(tmp_path / "j.csv", scores)
    assert said in refused(place, "--judge-scores", str(other), "--passed-if", "score>=0.6", *more)


def test_the_worked_example_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/running.md").read_text()
    for name, body in re.findall(r"`(\w+\.csv)`:\n\n```csv\n(.*?)```", page, re.DOTALL):
        (tmp_path / name).write_text(body)
    (line,) = re.findall(r"```bash\nscylla-gha (.*?)\n```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, shlex.split(line), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    folder = RunFolder(tmp_path / "runs/runs")
    rows = list(read_lines(folder.results, Result))
    assert (rows[0].seconds, rows[0].usd, rows[0].score, rows[0].agent) == (4.0, 0.015, 0.5, "their-agent")
    report = read_record(folder.report("json"), Report)
    assert report is not None
    assert {arm.arm for arm in report.arms} == {"small + plain", "small + long"}
    assert report.analysis is not None
    assert report.analysis.agreement is not None
    assert report.analysis.agreement.judges == ("ann", "bob", "eve")


def test_arms_that_share_no_scenario_are_compared_by_ranks_as_the_ancestors_did(tmp_path: Path) -> None:
    """T0 to T2 on tasks of their own: the tables of an unpaired study, by the command line alone."""
    scores = {"T0": [0.2, 0.4, 0.3, 0.5, 0.1], "T1": [0.6, 0.5, 0.7, 0.4, 0.9], "T2": [0.8, 0.9, 1.0, 0.7, 0.6]}
    lines = [f"{arm}-{at},{arm},{score},{int(score >= 0.6)}"
             for arm, mine in scores.items() for at, score in enumerate(mine)]  # fmt: skip
    place = csv_file(tmp_path / "x.csv", "scenario,arm,score,passed\n" + "\n".join(lines) + "\n")
    imported(place)
    report = read_record(RunFolder(tmp_path / "runs/run").report("json"), Report)
    assert report is not None
    assert report.analysis is not None
    assert {one.verdict for one in report.analysis.rulings} == {"not_enough_data"}
    found = {one.metric: one for one in report.analysis.unpaired}["score"]
    expected = stats.kruskal(*scores.values())
    assert (found.h, found.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    pair = found.pairs[0]
    assert (pair.arm, pair.baseline) == ("T1", "T0")
    assert pair.p == pytest.approx(stats.mannwhitneyu(scores["T1"], scores["T0"], method="asymptotic").pvalue)
    assert pair.cliffs_delta == pytest.approx((22 - 1) / 25)
    assert found.arms[0].low is not None
    assert found.arms[0].low < 0.3 < (found.arms[0].high or 0)
    text = (tmp_path / "runs/run/report.md").read_text()
    assert "Kruskal-Wallis H" in text
    assert "T1 against T0" in text


def test_three_arms_on_the_same_scenarios_get_friedmans_test(tmp_path: Path) -> None:
    table = {"a": [0.1, 0.3, 0.2, 0.5], "b": [0.4, 0.3, 0.6, 0.7], "c": [0.9, 0.8, 0.6, 1.0]}
    lines = [f"s{at},{arm},{score},1" for arm, mine in table.items() for at, score in enumerate(mine)]
    place = csv_file(tmp_path / "x.csv", "scenario,arm,score,passed\n" + "\n".join(lines) + "\n")
    imported(place)
    report = read_record(RunFolder(tmp_path / "runs/run").report("json"), Report)
    assert report is not None
    assert report.analysis is not None
    (found,) = [one for one in report.analysis.omnibus if one.metric == "score"]
    expected = stats.friedmanchisquare(*table.values())
    assert (found.statistic, found.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    assert report.analysis.unpaired == ()
    assert "Friedman" in (tmp_path / "runs/run/report.md").read_text()


def test_rows_with_and_without_an_offset_have_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    times = ("2026-03-29T02:30:00", "2026-03-29T02:30:00Z", "2026-10-25T02:30:00+02:00", "2026-10-25 02:30:00+01:00")
    rows = "".join(f"t{number % 2},{'ab'[number // 2]},{number < 3},{time}\n" for number, time in enumerate(times))
    csv_file(tmp_path / "times.csv", f"scenario,arm,passed,started_at\n{rows}")
    told = asked("import", "times.csv", "--name", "times")
    assert told.exit_code == 0, told.output
    report = (tmp_path / "runs/times/report.md").read_text()
    assert "1 row has a time without an offset from UTC, which is read as UTC." in report
    assert asked("history", "times", "times").exit_code == 0


def test_a_row_without_a_verdict_is_not_sent_to_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    csv_file(tmp_path / "some.csv", "scenario,arm,passed\nt1,a,true\nt2,a,\n")
    told = asked("import", "some.csv", "--name", "some")
    assert told.exit_code == 0, told.output
    report = (tmp_path / "runs/some/report.md").read_text()
    assert "imported without a verdict" in report
    assert "scylla-gha judge" not in told.output + report
