import datetime
import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.publication import Origin, RunFile, RunIndexEntry, RunName
from scylla_gha.model.report import Counts
from scylla_gha.results_branch.clone import BranchClone
from scylla_gha.results_branch.publish_run import pack_run, publish_run
from scylla_gha.results_branch.stored_runs import (
    INDEX,
    RunQuery,
    StoredRun,
    baseline,
    index_entries,
    index_entry,
    last_waves,
    select_runs,
    unpack_rows,
)
from tests.support.branch import NAME, a_run, bare, copy_of, reported
from tests.support.records import WHEN, make_result
from tests.support.sent import CELLS, rows_text

WHOLE = Counts(planned=2, ran=2, judged=2, scored=2)
PART = Counts(planned=2, ran=1, judged=1, scored=1)
A, B = "a" * 40, "b" * 40


def entry(run: str, *, experiment: str = "demo", day: int = 1, counts: Counts = WHOLE, **origin: Any) -> RunIndexEntry:
    return RunIndexEntry(
        name=RunName(experiment=experiment, run=run),
        origin=Origin(**origin),
        epoch="",
        toolkit_version="1",
        published_at=WHEN.replace(day=day),
        folder=f"v1/runs/{run}",
        manifest="0" * 64,
        content="0" * 64,
        counts=counts,
        passed=1,
        usd=None,
        judge_usd=None,
    )


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
        (RunQuery(), "12345"),
        (RunQuery("demo"), "1234"),
        (RunQuery("demo", branch="main"), "123"),
        (RunQuery("demo", branch="main", complete=True), "12"),
        (RunQuery(commit=A[:7].upper()), "145"),
        (RunQuery(campaign="c"), "2"),
        (RunQuery(run="3"), "3"),
        (RunQuery(run="3-1"), "3"),
        (RunQuery(run="demo/3"), "3"),
        (RunQuery(run="demo/3-1"), "3"),
        (RunQuery(run="3-2"), ""),
    ],
)
def test_runs_are_chosen(wanted: RunQuery, runs: str) -> None:
    assert "".join(one.name.run for one in select_runs(RUNS, wanted)) == runs


def test_the_baseline_is_the_last_complete_run_else_the_last_one() -> None:
    for wanted, run in ((RunQuery("demo", branch="main"), "2"), (RunQuery("demo", branch="topic"), "4"),
                        (RunQuery("demo", commit=A), "1"), (RunQuery("demo", run="3"), "3")):  # fmt: skip
        found = baseline(RUNS, wanted)
        assert found is not None
        assert found.name.run == run
    assert baseline(RUNS, RunQuery("none")) is None


def test_a_run_of_chosen_cells_is_no_baseline_where_there_is_a_whole_one() -> None:
    part = entry("6", branch="main").model_copy(update={"only": ("001-*",)})
    assert baseline([RUNS[0], part], RunQuery("demo", branch="main")) == RUNS[0]
    assert baseline([part], RunQuery("demo", branch="main")) == part


def test_a_commit_takes_seven_characters() -> None:
    with pytest.raises(ConfigError, match="--commit aaa: give at least 7 characters"):
        select_runs(RUNS, RunQuery(commit="aaa"))


def test_entries_are_read_from_the_branch_oldest_first(tmp_path: Path) -> None:
    server = bare(tmp_path)
    assert index_entries(copy_of(tmp_path, server)) == []
    made = [publish_run(copy_of(tmp_path, server), a_run(tmp_path, name=RunName(experiment="demo", run=run))).entry
            for run in ("9", "1")]  # fmt: skip
    assert index_entries(copy_of(tmp_path, server)) == made
    assert made[0].published_at < made[1].published_at <= datetime.datetime.now(datetime.UTC)


def test_what_is_no_entry_is_passed_over_and_never_overwritten(tmp_path: Path) -> None:
    server = bare(tmp_path)
    copy = copy_of(tmp_path, server)
    copy.push(copy.commit({f"{INDEX}/2026-01/demo--7-1.json": b'{"schema_version": 9}'}, "of a later version"))
    assert index_entries(copy) == []
    with pytest.raises(
        ConfigError, match=r"demo--7-1\.json: is not an entry of this version; publish under another --run"
    ):
        index_entry(copy, copy.files(INDEX), NAME)


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
    assert [one.name.run for one in select_runs(waves, RunQuery(branch="main"))] == ["1", "2"]
    assert select_runs(waves[1:], RunQuery(branch="main")) == []


def test_of_a_campaigns_waves_the_last_one_stands_for_all() -> None:
    runs = [entry("1", campaign="c", head="a" * 40), entry("2"), entry("3", campaign="c", head="a" * 40, wave=2),
            entry("4", campaign="c", head="b" * 40)]  # fmt: skip
    assert [run.name.run for run in last_waves(runs)] == ["2", "3", "4"]


@pytest.fixture
def published(tmp_path: Path) -> tuple[Path, RunIndexEntry]:
    server = bare(tmp_path)
    return server, publish_run(copy_of(tmp_path, server), a_run(tmp_path)).entry


def fresh(tmp_path: Path, server: Path) -> BranchClone:
    copy = copy_of(tmp_path, server)
    copy.refresh()
    return copy


def tampered(tmp_path: Path, server: Path, path: str, content: bytes) -> BranchClone:
    """The branch after somebody with the right to push changed a file."""
    copy = fresh(tmp_path, server)
    copy.push(copy.commit({path: content}, "changed"))
    return fresh(tmp_path, server)


def test_rows_and_report_come_back_as_they_were(tmp_path: Path, published: tuple[Path, RunIndexEntry]) -> None:
    server, entry = published
    stored = StoredRun(fresh(tmp_path, server), entry)
    assert b"".join(stored.rows()) == rows_text(make_result(cell) for cell in CELLS)
    assert stored.report().counts.judged == 4
    assert stored.manifest.name == entry.name


def test_many_rows_are_many_parts(tmp_path: Path) -> None:
    folder = reported(tmp_path / "run")
    packed = pack_run(folder.results, folder.report("json"), part_rows=3)
    assert [(part.name, part.rows) for part in packed.parts] == [
        ("report.json", None), ("rows-000.jsonl.gz", 3), ("rows-001.jsonl.gz", 1)]  # fmt: skip
    whole = b"".join(gzip.decompress(packed.files[f"rows-00{at}.jsonl.gz"]) for at in (0, 1))
    assert whole == folder.results.read_bytes()


def test_packing_is_by_content_alone(tmp_path: Path) -> None:
    folder = reported(tmp_path / "run")
    one, two = (pack_run(folder.results, folder.report("json")) for _ in range(2))
    assert one == two
    folder.results.write_bytes(folder.results.read_bytes() * 2)
    assert pack_run(folder.results, folder.report("json")).content != one.content


def test_a_run_without_rows_or_report_is_not_packed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"results\.jsonl: there is no such file; run `scylla-gha collect`"):
        pack_run(tmp_path / "results.jsonl", tmp_path / "report.json")


def test_changed_rows_are_refused(tmp_path: Path, published: tuple[Path, RunIndexEntry]) -> None:
    server, entry = published
    copy = tampered(tmp_path, server, f"{entry.folder}/rows-000.jsonl.gz", gzip.compress(b"{}\n" * 4))
    with pytest.raises(ConfigError, match=r"demo/7-1: rows-000\.jsonl\.gz: does not match its manifest"):
        list(StoredRun(copy, entry).rows())


def test_a_changed_manifest_or_report_is_refused(tmp_path: Path, published: tuple[Path, RunIndexEntry]) -> None:
    server, entry = published
    copy = tampered(tmp_path, server, f"{entry.folder}/report.json", b"{}")
    with pytest.raises(
        ConfigError, match=r"report\.json: does not match its manifest \(SHA-256 differs\); it was changed"
    ):
        StoredRun(copy, entry).report()
    with pytest.raises(
        ConfigError, match=r"its manifest: does not match the index \(SHA-256 differs\); it was changed"
    ):
        StoredRun(tampered(tmp_path, server, f"{entry.folder}/manifest.json", b"{}"), entry)


def test_what_is_not_there_is_named(tmp_path: Path, published: tuple[Path, RunIndexEntry]) -> None:
    server, entry = published
    moved = entry.model_copy(update={"folder": "v1/runs/2020/01/demo/7-1"})
    with pytest.raises(ConfigError, match=r"v1/runs/2020/01/demo/7-1/manifest\.json is not on scylla-results"):
        StoredRun(fresh(tmp_path, server), moved)


def test_records_of_another_version_are_named(tmp_path: Path, published: tuple[Path, RunIndexEntry]) -> None:
    server, entry = published
    copy = tampered(tmp_path, server, f"{entry.folder}/manifest.json", b"{}")
    as_told = entry.model_copy(update={"manifest": hashlib.sha256(b"{}").hexdigest()})
    with pytest.raises(ConfigError, match="demo/7-1: not a manifest of this version: Field required"):
        StoredRun(copy, as_told)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(b"x\n" * 1000), "is truncated, or unpacks to more than 100 bytes"),
        (gzip.compress(b"x\n")[:-5], "is truncated, or unpacks to more than 100 bytes"),
        (b"hello", "cannot be unpacked"),
        (gzip.compress(b"x\n"), "its manifest states 2 rows; the part was changed"),
    ],
    ids=["too much", "cut", "no gzip", "too few"],
)
def test_rows_that_cannot_be_unpacked_are_refused(
    tmp_path: Path, published: tuple[Path, RunIndexEntry], content: bytes, why: str
) -> None:
    server, entry = published
    manifest = StoredRun(fresh(tmp_path, server), entry).manifest
    part = RunFile(name="rows-000.jsonl.gz", bytes=0, sha256=hashlib.sha256(content).hexdigest(), rows=2)
    with pytest.raises(ConfigError, match=why):
        list(unpack_rows(manifest.model_copy(update={"files": (part,)}), lambda _: content, 100))
