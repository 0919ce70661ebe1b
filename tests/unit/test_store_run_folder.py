import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell
from scylla_gha.store import atomic, read_lines, read_record, write_bytes, write_lines, write_record, write_text
from scylla_gha.store.run_folder import CellFolder, RunFolder, WavePaths, find_judgment, keep_judgment, traffic_of
from tests.support.library import write
from tests.support.records import make_cell, make_judgment


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_record_is_written_for_people_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "er" / "cell.json"
    write_record(file, make_cell())
    assert read_record(file, Cell) == make_cell()
    assert file.read_text().startswith('{\n "id": "001-one--nop--r01",\n')
    assert file.read_text().endswith("}\n")


def test_lines_are_written_and_read_again_one_record_a_line(tmp_path: Path) -> None:
    cells = [make_cell(repetition=number) for number in (1, 2, 3)]
    strange = cells[0].model_copy(update={"scenario": "a\nb\u2028c\x85d"})
    write_lines(tmp_path / "rows.jsonl", [strange, *cells])
    assert (tmp_path / "rows.jsonl").read_bytes().count(b"\n") == 4
    assert list(read_lines(tmp_path / "rows.jsonl", Cell)) == [strange, *cells]


def test_no_records_are_an_empty_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "rows.jsonl", [])
    assert list(read_lines(tmp_path / "rows.jsonl", Cell)) == []


def test_a_file_that_is_replaced_is_whole(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "long before")
    write_bytes(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_text() == "new"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("half", ["", "half"], ids=["before it wrote", "half way"])
def test_a_writer_that_raises_leaves_what_was_there(tmp_path: Path, error: type[BaseException], half: str) -> None:
    file = write(tmp_path / "a", "before")
    with pytest.raises(error), atomic(file) as temporary:  # noqa: PT012 the block is what is tested
        if half:
            temporary.write_text(half)
        raise error
    assert (names(tmp_path), file.read_text()) == (["a"], "before")


def test_a_writer_that_raises_leaves_nothing_where_nothing_was(tmp_path: Path) -> None:
    def cells() -> Iterator[Cell]:
        yield make_cell()
        raise ConfigError("the second is unreadable")

    with pytest.raises(ConfigError, match="the second is unreadable"):
        write_lines(tmp_path / "rows.jsonl", cells())
    assert names(tmp_path) == []


def test_a_writer_that_writes_nothing_is_an_error_and_keeps_what_was_there(tmp_path: Path) -> None:
    file = write(tmp_path / "a", "before")
    with pytest.raises(FileNotFoundError), atomic(file):
        pass
    assert file.read_text() == "before"


def test_a_file_is_beside_its_place_until_it_is_whole(tmp_path: Path) -> None:
    with atomic(tmp_path / "a.json") as temporary:
        temporary.write_text("x")
        assert temporary.parent == tmp_path
        assert temporary.name == f".a.json.{os.getpid()}.tmp"
        assert not (tmp_path / "a.json").exists()
    assert names(tmp_path) == ["a.json"]


def test_a_record_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_record(tmp_path / "gone.json", Cell) is None


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "the file: Invalid JSON: EOF"),
        (b'{"id": "a"', "the file: Invalid JSON: EOF"),
        (b"\xff\xfe", "the file: Invalid JSON"),
        (b"[]", "the file: Input should be an object"),
        (b"{}", "id: Field required"),
        (make_cell().model_dump_json().replace(":1,", ":0,").encode(), "repetition: Input should be greater than"),
        (make_cell().model_dump_json().replace("}", ',"more":1}').encode(), "more: Extra inputs are not permitted"),
    ],
)
def test_a_record_that_cannot_be_read_is_told_with_file_and_key(tmp_path: Path, content: bytes, fault: str) -> None:
    file = write(tmp_path / "cell.json", content)
    with pytest.raises(ConfigError) as caught:
        read_record(file, Cell)
    assert str(caught.value).startswith(f"{file}: not a Cell of this version: {fault}")
    assert str(caught.value).endswith("; move the file away to go on")


def test_a_line_that_cannot_be_read_is_told_with_its_number(tmp_path: Path) -> None:
    line = make_cell().model_dump_json()
    file = write(tmp_path / "rows.jsonl", f"{line}\n{line[:20]}\n")
    rows = read_lines(file, Cell)
    assert next(rows) == make_cell()
    with pytest.raises(ConfigError, match=r"rows\.jsonl:2: not a Cell: Invalid JSON"):
        next(rows)


def test_lines_that_are_not_there_say_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.jsonl: there is no such file; run `scylla-gha collect` first"):
        list(read_lines(tmp_path / "gone.jsonl", Cell))


def test_a_runs_folder_is_laid_out_as_documented(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    cell = folder.cell("c")
    paths = [folder.plan, folder.results, folder.report("json"), folder.report("md"), folder.report("html")]
    paths += [cell.cell, cell.trial, cell.judgment, cell.attempt(1).file("diff.patch")]
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        "plan.json",
        "results.jsonl",
        "report.json",
        "report.md",
        "report.html",
        "c/cell.json",
        "c/trial.json",
        "c/judgment.json",
        "c/attempt-1/diff.patch",
    ]


def test_records_of_another_key_get_a_free_place_each(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    found = []
    for _ in range(3):
        found.append(folder.archive_path("c", "0123456789").name)
        folder.archive_path("c", "0123456789").mkdir(parents=True)
    assert found == ["c--01234567", "c--01234567-2", "c--01234567-3"]


def test_attempts_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    cell = RunFolder(tmp_path).cell("c")
    for number in (10, 1, 2):
        cell.attempt(number).root.mkdir(parents=True)
    (cell.root / "attempt-1-copy").mkdir()
    assert [attempt.number for attempt in cell.attempts()] == [1, 2, 10]
    assert RunFolder(tmp_path).cell("other").attempts() == []


OWN, OTHER = (make_judgment(make_cell(), key=letter * 64) for letter in "ab")


@pytest.fixture
def judged(tmp_path: Path) -> CellFolder:
    """A cell with the judgment that stands."""
    place = CellFolder(tmp_path / "cell")
    keep_judgment(place, OWN, stands=True)
    return place


def test_another_judgment_lies_beside_the_one_that_stands(judged: CellFolder) -> None:
    keep_judgment(judged, OTHER, stands=False)
    assert read_record(judged.judgment, Judgment) == OWN
    assert read_record(judged.root / "judgments" / "bbbbbbbb.json", Judgment) == OTHER
    assert [find_judgment(judged, each.key) for each in (OWN, OTHER)] == [OWN, OTHER]
    assert find_judgment(judged, "c" * 64) is None


def test_a_judgment_that_is_superseded_is_kept_and_comes_back(judged: CellFolder) -> None:
    keep_judgment(judged, OTHER, stands=True)
    assert (read_record(judged.judgment, Judgment), find_judgment(judged, OWN.key)) == (OTHER, OWN)
    keep_judgment(judged, OWN, stands=True)
    assert (read_record(judged.judgment, Judgment), find_judgment(judged, OTHER.key)) == (OWN, OTHER)
    assert [path.name for path in (judged.root / "judgments").iterdir()] == ["bbbbbbbb.json"]


def test_what_is_stored_already_is_not_written_again(judged: CellFolder) -> None:
    before = judged.judgment.stat().st_mtime_ns, judged.judgment.stat().st_ino
    keep_judgment(judged, OWN, stands=True)
    assert (judged.judgment.stat().st_mtime_ns, judged.judgment.stat().st_ino) == before


def test_a_judgment_made_anew_under_its_key_takes_its_place(judged: CellFolder) -> None:
    keep_judgment(judged, OWN.model_copy(update={"error": "unjudged"}), stands=True)
    found = find_judgment(judged, OWN.key)
    assert found is not None
    assert (found.error, (judged.root / "judgments").exists()) == ("unjudged", False)


def test_controls_lie_by_subject_and_judge_with_their_traffic_beside_them(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    place = folder.probe("001-one", "Claude Opus 4.5", "0123456789")
    assert place == tmp_path / "controls" / "001-one" / "claude-opus-4.5--01234567.json"
    assert traffic_of(place).name == "claude-opus-4.5--01234567.traffic.jsonl"
    write_text(place, "{}")
    write_text(traffic_of(place), "")
    assert folder.probes() == [place]


def test_journals_are_those_of_all_attempts_also_of_cells_put_aside(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    places = ["cell-a/attempt-1", "cell-a/attempt-2", "old/cell-a--k/attempt-1"]
    for place in places:
        write_text(tmp_path / place / "traffic.jsonl", "")
    write_text(tmp_path / "cell-a" / "attempt-1" / "judge-traffic.jsonl", "")
    assert [str(path.parent.relative_to(tmp_path)) for path in run.journals("traffic.jsonl")] == places
    assert len(run.journals("judge-traffic.jsonl")) == 1


def test_the_files_of_a_wave_lie_in_the_runs_folder() -> None:
    paths = WavePaths(Path("runs/demo"))
    assert [paths.packing, paths.reused] == [Path("runs/demo/shards.json"), Path("runs/demo/reused.jsonl")]
    shard = paths.shard(7)
    assert [shard.rows, shard.manifest] == [
        Path("runs/demo/shards/007/results.jsonl"), Path("runs/demo/shards/007/manifest.json"),
    ]  # fmt: skip
