import datetime
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.history.append import append
from scylla_gha.history.index import INDEX, Wanted, baseline, chosen, entries, entry_in, last_waves
from scylla_gha.model.published import Entry, Origin, RunName
from scylla_gha.model.report import Counts
from tests.support.branch import NAME, a_run, bare, copy_of
from tests.support.records import WHEN

WHOLE = Counts(planned=2, ran=2, judged=2, scored=2)
PART = Counts(planned=2, ran=1, judged=1, scored=1)
A, B = "a" * 40, "b" * 40


def entry(run: str, *, experiment: str = "demo", day: int = 1, counts: Counts = WHOLE, **origin: Any) -> Entry:
    return Entry(name=RunName(experiment=experiment, run=run), origin=Origin(**origin), epoch="", toolkit_version="1",
                 published_at=WHEN.replace(day=day), folder=f"v1/runs/{run}", manifest="0" * 64, content="0" * 64,
                 counts=counts, passed=1, usd=None, judge_usd=None)  # fmt: skip


RUNS = (
    entry("1", branch="main", head=A),
    entry("2", branch="main", head=B, campaign="c"),
    entry("3", branch="main", counts=PART),
    entry("4", branch="topic", head=A, counts=PART),
    entry("5", experiment="other", branch="main", head=A),
)


@pytest.mark.parametrize(
    ("wanted", "runs"),
    [
        (Wanted(), "12345"),
        (Wanted("demo"), "1234"),
        (Wanted("demo", branch="main"), "123"),
        (Wanted("demo", branch="main", complete=True), "12"),
        (Wanted(commit=A[:7].upper()), "145"),
        (Wanted(campaign="c"), "2"),
        (Wanted(run="3"), "3"),
        (Wanted(run="3-1"), "3"),
        (Wanted(run="demo/3"), "3"),
        (Wanted(run="demo/3-1"), "3"),
        (Wanted(run="3-2"), ""),
    ],
)
def test_runs_are_chosen(wanted: Wanted, runs: str) -> None:
    assert "".join(one.name.run for one in chosen(RUNS, wanted)) == runs


def test_the_baseline_is_the_last_complete_run_else_the_last_one() -> None:
    for wanted, run in ((Wanted("demo", branch="main"), "2"), (Wanted("demo", branch="topic"), "4"),
                        (Wanted("demo", commit=A), "1"), (Wanted("demo", run="3"), "3")):  # fmt: skip
        found = baseline(RUNS, wanted)
        assert found is not None
        assert found.name.run == run
    assert baseline(RUNS, Wanted("none")) is None


def test_a_run_of_chosen_cells_is_no_baseline_where_there_is_a_whole_one() -> None:
    part = entry("6", branch="main").model_copy(update={"only": ("001-*",)})
    assert baseline([RUNS[0], part], Wanted("demo", branch="main")) == RUNS[0]
    assert baseline([part], Wanted("demo", branch="main")) == part


def test_a_commit_takes_seven_characters() -> None:
    with pytest.raises(ConfigError, match="--commit aaa: takes at least 7 characters"):
        chosen(RUNS, Wanted(commit="aaa"))


def test_entries_are_read_from_the_branch_oldest_first(tmp_path: Path) -> None:
    server = bare(tmp_path)
    assert entries(copy_of(tmp_path, server)) == []
    made = [append(copy_of(tmp_path, server), a_run(tmp_path, name=RunName(experiment="demo", run=run))).entry
            for run in ("9", "1")]  # fmt: skip
    assert entries(copy_of(tmp_path, server)) == made
    assert made[0].published_at < made[1].published_at <= datetime.datetime.now(datetime.UTC)


def test_what_is_no_entry_is_passed_over_and_never_overwritten(tmp_path: Path) -> None:
    server = bare(tmp_path)
    copy = copy_of(tmp_path, server)
    copy.push(copy.commit({f"{INDEX}/2026-01/demo--7-1.json": b'{"schema_version": 9}'}, "of a later version"))
    assert entries(copy) == []
    with pytest.raises(ConfigError, match=r"demo--7-1\.json: is no entry of this version; publish under another --run"):
        entry_in(copy, copy.files(INDEX), NAME)


def test_a_name_leads_to_no_other_place() -> None:
    for run in ("..", "a/b", "a--b", "-x", "", "a\nb", "é"):
        with pytest.raises(ValueError, match="pattern"):
            RunName(experiment="demo", run=run)


def test_a_later_wave_is_of_the_branch_that_its_campaign_began_on() -> None:
    waves = (
        entry("1", branch="main", head=A, campaign="c", wave=1),
        entry("2", head=A, campaign="c", wave=2),
        entry("3", head=B, campaign="c", wave=2),  # another campaign of that name
        entry("4", head=A, campaign="c", pull=7, wave=2),
        entry("5", head=A),
    )
    assert [one.name.run for one in chosen(waves, Wanted(branch="main"))] == ["1", "2"]
    assert chosen(waves[1:], Wanted(branch="main")) == []


def test_of_a_campaigns_waves_the_last_one_stands_for_all() -> None:
    runs = [entry("1", campaign="c", head="a" * 40), entry("2"), entry("3", campaign="c", head="a" * 40, wave=2),
            entry("4", campaign="c", head="b" * 40)]  # fmt: skip
    assert [run.name.run for run in last_waves(runs)] == ["2", "3", "4"]
