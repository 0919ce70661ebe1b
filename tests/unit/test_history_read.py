import gzip
import hashlib
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.history.append import append
from scylla_gha.history.copy import Copy
from scylla_gha.history.pack import pack, unpack
from scylla_gha.history.read import Stored
from scylla_gha.model.published import Entry, Part
from tests.support.branch import a_run, bare, copy_of, reported
from tests.support.records import make_result
from tests.support.sent import CELLS, rows_text


@pytest.fixture
def published(tmp_path: Path) -> tuple[Path, Entry]:
    server = bare(tmp_path)
    return server, append(copy_of(tmp_path, server), a_run(tmp_path)).entry


def fresh(tmp_path: Path, server: Path) -> Copy:
    copy = copy_of(tmp_path, server)
    copy.refresh()
    return copy


def tampered(tmp_path: Path, server: Path, path: str, content: bytes) -> Copy:
    """The branch after somebody with the right to push changed a file."""
    copy = fresh(tmp_path, server)
    copy.push(copy.commit({path: content}, "changed"))
    return fresh(tmp_path, server)


def test_rows_and_report_come_back_as_they_were(tmp_path: Path, published: tuple[Path, Entry]) -> None:
    server, entry = published
    stored = Stored(fresh(tmp_path, server), entry)
    assert b"".join(stored.rows()) == rows_text(make_result(cell) for cell in CELLS)
    assert stored.report().counts.judged == 4
    assert stored.manifest.name == entry.name


def test_many_rows_are_many_parts(tmp_path: Path) -> None:
    folder = reported(tmp_path / "run")
    packed = pack(folder.results, folder.report("json"), 3)
    assert [(part.name, part.rows) for part in packed.parts] == [
        ("report.json", None), ("rows-000.jsonl.gz", 3), ("rows-001.jsonl.gz", 1)]  # fmt: skip
    whole = b"".join(gzip.decompress(packed.files[f"rows-00{at}.jsonl.gz"]) for at in (0, 1))
    assert whole == folder.results.read_bytes()


def test_packing_is_by_content_alone(tmp_path: Path) -> None:
    folder = reported(tmp_path / "run")
    one, two = (pack(folder.results, folder.report("json")) for _ in range(2))
    assert one == two
    folder.results.write_bytes(folder.results.read_bytes() * 2)
    assert pack(folder.results, folder.report("json")).content != one.content


def test_a_run_without_rows_or_report_is_not_packed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"results\.jsonl: there is no such file; run `scylla-gha collect`"):
        pack(tmp_path / "results.jsonl", tmp_path / "report.json")


def test_changed_rows_are_refused(tmp_path: Path, published: tuple[Path, Entry]) -> None:
    server, entry = published
    copy = tampered(tmp_path, server, f"{entry.folder}/rows-000.jsonl.gz", gzip.compress(b"{}\n" * 4))
    with pytest.raises(ConfigError, match=r"demo/7-1: rows-000\.jsonl\.gz: is not what its manifest says"):
        list(Stored(copy, entry).rows())


def test_a_changed_manifest_or_report_is_refused(tmp_path: Path, published: tuple[Path, Entry]) -> None:
    server, entry = published
    copy = tampered(tmp_path, server, f"{entry.folder}/report.json", b"{}")
    with pytest.raises(ConfigError, match=r"report\.json: is not what its manifest says; it was changed"):
        Stored(copy, entry).report()
    with pytest.raises(ConfigError, match="its manifest is not what the index says; it was changed"):
        Stored(tampered(tmp_path, server, f"{entry.folder}/manifest.json", b"{}"), entry)


def test_what_is_not_there_is_named(tmp_path: Path, published: tuple[Path, Entry]) -> None:
    server, entry = published
    moved = entry.model_copy(update={"folder": "v1/runs/2020/01/demo/7-1"})
    with pytest.raises(ConfigError, match=r"v1/runs/2020/01/demo/7-1/manifest\.json is not on scylla-results"):
        Stored(fresh(tmp_path, server), moved)


def test_records_of_another_version_are_named(tmp_path: Path, published: tuple[Path, Entry]) -> None:
    server, entry = published
    copy = tampered(tmp_path, server, f"{entry.folder}/manifest.json", b"{}")
    as_told = entry.model_copy(update={"manifest": hashlib.sha256(b"{}").hexdigest()})
    with pytest.raises(ConfigError, match="demo/7-1: not a manifest of this version: Field required"):
        Stored(copy, as_told)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(b"x\n" * 1000), "is cut, or unfolds to more than 100 bytes"),
        (gzip.compress(b"x\n")[:-5], "is cut, or unfolds to more than 100 bytes"),
        (b"hello", "cannot be unpacked"),
        (gzip.compress(b"x\n"), "has not 2 rows, as its manifest says"),
    ],
    ids=["too much", "cut", "no gzip", "too few"],
)
def test_rows_that_cannot_be_unpacked_are_refused(
    tmp_path: Path, published: tuple[Path, Entry], content: bytes, why: str
) -> None:
    server, entry = published
    manifest = Stored(fresh(tmp_path, server), entry).manifest
    part = Part(name="rows-000.jsonl.gz", bytes=0, sha256=hashlib.sha256(content).hexdigest(), rows=2)
    with pytest.raises(ConfigError, match=why):
        list(unpack(manifest.model_copy(update={"files": (part,)}), lambda _: content, 100))
