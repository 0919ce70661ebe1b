import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.collect.artifacts import ArtifactReader
from scylla_gha.store.rows import UntrustedFileError
from tests.support.records import make_cell, make_plan, make_result
from tests.support.sent import CELLS, good, make_packing, rows_text, send

ROW = make_result(CELLS[0])


def reader(attempt: int | None = None) -> ArtifactReader:
    return ArtifactReader(make_plan(*CELLS), make_packing(), attempt)


def raw(**given: Any) -> bytes:
    """A row with other values, whether or not a record could hold them."""
    return json.dumps({**ROW.model_dump(mode="json"), **given}).encode() + b"\n"


def refusal(path: Path, *, of: ArtifactReader | None = None) -> str:
    with pytest.raises(UntrustedFileError) as caught:
        (of or reader()).read(path)
    return str(caught.value)


def test_a_sound_artifact_is_taken_whole(tmp_path: Path) -> None:
    why = "no time\nwas left\x1b[31m"
    sent = reader().read(send(tmp_path, good(CELLS[0]), attempt=2, said={"unstarted": {CELLS[1].id: why}}))
    assert (sent.shard, sent.attempt, sent.unstarted) == (0, 2, {CELLS[1].id: "no time was left[31m"})
    assert {cell: row.text for cell, row in sent.rows.items()} == {CELLS[0].id: good(CELLS[0])}
    assert sent.rows[CELLS[0].id].measures


def test_rows_may_be_missing_where_there_are_none(tmp_path: Path) -> None:
    assert reader().read(send(tmp_path / "a", None)).rows == {}
    assert reader().read(send(tmp_path / "b", b"")).rows == {}
    assert refusal(send(tmp_path / "c", None, said={"count": 1})) == "results.jsonl is missing"


CONTENTS = {
    "cut": (good(CELLS[0])[:-30], "has no end: the file is cut"),
    "truncated JSON": (good(CELLS[0])[:-30] + b"\n", "line 1 is not a row: '': Invalid JSON"),
    "no JSON": (b"hello\n", "line 1 is not a row: '': Invalid JSON"),
    "empty line": (b"\n", "line 1 is not a row"),
    "deep nesting": (b'{"experiment":' + b"[" * 9000 + b"]" * 9000 + b"}\n", "line 1 is not a row"),
    "NaN": (raw().replace(b'"score": 1.0', b'"score": NaN'), "line 1 is not a row: 'score'"),
    "Infinity": (raw(seconds=2.5).replace(b"2.5", b"Infinity"), "line 1 is not a row: 'seconds'"),
    "a huge number": (raw(input_tokens=10**30), "line 1: input_tokens is out of range"),
    "a huge number in a map": (raw(tools={"Bash": 10**17}), "line 1: tools is out of range"),
    "less than nothing": (raw(usd=-1.0), "line 1: usd is out of range"),
    "a number as text": (raw(usd="1.0"), "line 1 is not a row: 'usd': Input should be a valid number"),
    "a column of its own": (raw(**{"x\n::error::": 1}), r"line 1 is not a row: 'x\n::error::': Extra inputs"),
    "a missing column": (b"{}\n", "line 1 is not a row: 'experiment': Field required"),
    "another schema": (raw(schema_version=1), "line 1: its schema version is 1, not 2"),
    "half a sign": (raw().replace(b"ended by itself", b"\\ud800"), "line 1 is not a row"),
    "no UTF-8": (raw().replace(b"ended by itself", b"\xff"), "line 1 is not a row"),
    "time without zone": (raw(started_at="2026-01-02T03:04:05"), "line 1: started_at has no time zone"),
    "measures nothing, and passes": (raw(outcome="sandbox_error"), "measures_agent does not follow from its outcome"),
    "judged without a verdict": (raw(passed=None), "line 1: it is judged, but has no verdict"),
    "a verdict without judging": (raw(judged=False), "line 1: it has a verdict, but is not judged"),
    "another GitHub": (raw(github="github.com"), "its github is not the planned one"),
    "another experiment": (raw(experiment="other"), "its experiment is not the planned one"),
    "another epoch": (raw(epoch="e"), "its epoch is not the planned one"),
    "another key": (raw(key="other"), "its key is not the planned one"),
    "another arm": (raw(arm="oracle2"), "its arm is not the planned one"),
    "another repetition": (raw(repetition=2), "its repetition is not the planned one"),
    "another model": (raw(model="gpt"), "its model is not the planned one"),
    "a cell of another shard": (good(CELLS[2]), "line 1: '001-one--oracle--r02' is not a cell of its shard"),
    "a cell that is not planned": (good(make_cell("x")), "line 1: '001-one--x--r01' is not a cell of its shard"),
    "a path as a cell": (raw(cell="../../etc"), "line 1: '../../etc' is not a cell of its shard"),
    "a doubled cell": (good(CELLS[0], CELLS[0]), f"{CELLS[0].id} has two rows"),
}


@pytest.mark.parametrize(("content", "why"), CONTENTS.values(), ids=CONTENTS)
def test_one_bad_row_refuses_the_artifact(tmp_path: Path, content: bytes, why: str) -> None:
    before = b"" if content.count(b"\n") > 1 or why.startswith("line 1") else good(CELLS[1])
    assert why in refusal(send(tmp_path, before + content))


MANIFESTS: dict[str, tuple[dict[str, Any], str]] = {
    "other content": ({"sha256": "1" * 64}, "results.jsonl does not match its manifest (SHA-256 differs)"),
    "no digest": ({"sha256": "x"}, "manifest.json is not valid: 'sha256'"),
    "another experiment": ({"experiment": "a`b\n"}, r"its manifest is of the experiment 'a`b\n'"),
    "another shard": ({"shard": 1}, "its manifest is of another shard or attempt than its name"),
    "another attempt": ({"attempt": 2}, "its manifest is of another shard or attempt than its name"),
    "another plan": ({"plan": "1" * 64}, "its manifest is of another plan"),
    "fewer rows": ({"count": 1}, "its manifest counts 1 row, but there are 2"),
    "more rows than cells": ({"count": 3}, "its manifest counts 3 rows of 2 cells"),
    "a stranger unstarted": ({"unstarted": {"x": ""}}, "its manifest lists cells that are not in its shard"),
    "unstarted, with a row": (
        {"unstarted": {CELLS[0].id: ""}},
        f"{CELLS[0].id} has a row, but its manifest lists it as not started",
    ),
    "a key of its own": ({"x": 1}, "manifest.json is not valid: 'x': Extra inputs"),
    "NaN": ({"count": float("nan")}, "manifest.json is not valid: 'count'"),
}


@pytest.mark.parametrize(("given", "why"), MANIFESTS.values(), ids=MANIFESTS)
def test_the_manifest_must_say_what_is_there(tmp_path: Path, given: dict[str, Any], why: str) -> None:
    assert why in refusal(send(tmp_path, good(), said=given))


def _link(place: Path) -> None:
    (place / "results.jsonl").rename(place.parent / "elsewhere")
    (place / "results.jsonl").symlink_to(place.parent / "elsewhere")


def _hard_link(place: Path) -> None:
    (place.parent / "elsewhere").hardlink_to(place / "results.jsonl")


def _linked_manifest(place: Path) -> None:
    (place / "manifest.json").unlink()
    (place / "manifest.json").symlink_to("/etc/passwd")


def _pipe(place: Path) -> None:
    (place / "results.jsonl").unlink()
    os.mkfifo(place / "results.jsonl")


def _socket(place: Path) -> None:
    (place / "results.jsonl").unlink()
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as one:
        os.chdir(place)  # names of sockets are short
        one.bind("results.jsonl")
        os.chdir(here)


def _folder(place: Path) -> None:
    (place / "results.jsonl").unlink()
    (place / "results.jsonl").mkdir()


def _more(place: Path) -> None:
    (place / "more").mkdir()


def _odd(place: Path) -> None:
    (place / "results.jsonl").rename(place / "..\nresults.jsonl")


def _many(place: Path) -> None:
    for at in range(50):
        (place / f"{at}").touch()


def _no_manifest(place: Path) -> None:
    (place / "manifest.json").unlink()


def _no_folder(place: Path) -> None:
    place.rename(place.with_name("real"))
    place.symlink_to(place.with_name("real"))


def _file_for_folder(place: Path) -> None:
    place.rename(place.with_name("real"))
    place.touch()


def _sparse(place: Path) -> None:
    os.truncate(place / "results.jsonl", 1 << 40)


def _fat_manifest(place: Path) -> None:
    (place / "manifest.json").write_bytes(b" " * 100_000)


SHAPES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link": (_link, "results.jsonl is a link, not a file"),
    "a link to a file of the machine": (_linked_manifest, "manifest.json is a link, not a file"),
    "a hard link": (_hard_link, "results.jsonl is a hard link"),
    "a pipe": (_pipe, "results.jsonl is a pipe, not a file"),
    "a socket": (_socket, "results.jsonl is a socket, not a file"),
    "a folder": (_folder, "results.jsonl is a folder, not a file"),
    "one more": (_more, "holds more than 2 files"),
    "an odd name": (_odd, r"contains '..\nresults.jsonl', which is not a file of such an artifact"),
    "many": (_many, "holds more than 2 files"),
    "no manifest": (_no_manifest, "manifest.json is missing"),
    "a link to a folder": (_no_folder, "is not a folder"),
    "a file": (_file_for_folder, "is not a folder"),
    "a terabyte of nothing": (_sparse, "results.jsonl has 1,099,511,627,776 bytes; at most 98,304 were expected"),
    "a fat manifest": (_fat_manifest, "manifest.json has 100,000 bytes; at most 67,584 were expected"),
}


@pytest.mark.parametrize(("shape", "why"), SHAPES.values(), ids=SHAPES)
def test_only_two_plain_files_of_a_likely_size_are_read(
    tmp_path: Path, shape: Callable[[Path], None], why: str
) -> None:
    place = send(tmp_path, good())
    shape(place)
    assert why in refusal(place)


def test_a_line_is_at_most_so_long(tmp_path: Path) -> None:
    place = send(tmp_path, good(CELLS[1]) + raw(reason="x" * 70_000), 0)
    assert refusal(place) == "line 2 is longer than 65,536 bytes"


@pytest.mark.parametrize("name", ["scylla-rows-demo-0-1", "scylla-rows-demo-002-1", "scylla-rows-other-000-1",
                                  "scylla-rows-demo-000-0", "scylla-rows-demo-000-1\n",
                                  "scylla-rows-demo-\u0660\u0660\u0660-1", "scylla-trials-demo-000-1"])  # fmt: skip
def test_a_name_is_that_of_a_shard_of_the_wave(tmp_path: Path, name: str) -> None:
    place = send(tmp_path, good())
    assert refusal(place.rename(place.with_name(name))) == "its name does not match a shard of this wave"


def test_an_attempt_that_has_not_been_yet_is_refused(tmp_path: Path) -> None:
    place = send(tmp_path, good(), attempt=3)
    assert refusal(place, of=reader(2)) == "the artifact comes from attempt 3, but this is attempt 2"
    assert reader(3).read(place).attempt == 3


def test_what_is_stored_is_written_anew(tmp_path: Path) -> None:
    """Doubled names in a line, blanks and escapes are gone: no later reader can see another row than was checked."""
    line = b'{"cell": "x",  ' + raw()[1:]
    sent = reader().read(send(tmp_path, line))
    assert sent.rows[CELLS[0].id].text == rows_text([ROW])
