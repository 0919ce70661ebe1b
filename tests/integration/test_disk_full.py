"""A disk that gets full in the middle of a run: what was done is kept, and the same command goes on."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import scylla
from tests.support.repository import environment, make_repository, write_greet_experiment

SUDO = () if os.geteuid() == 0 else ("sudo", "-n")
MEGA = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    options = f"size=4m,uid={os.getuid()},mode=0755"
    subprocess.run([*SUDO, "mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*SUDO, "umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("full", ["records", "workspaces"])
def test_a_full_disk_is_named_and_nothing_that_was_done_is_lost(disk: Path, tmp_path: Path, full: str) -> None:
    repo = make_repository(tmp_path / "repo", files={"greet.sh": "#!/bin/sh\necho hi\n", "notes/kept.txt": "kept\n",
                                                     "large.bin": os.urandom(MEGA)}).root  # fmt: skip
    write_greet_experiment(repo, limits={"free_disk_mb": 0})
    own = {"SCYLLA_WORK": str(disk / "work")} if full == "workspaces" else {}
    runs = disk / "runs" if full == "records" else tmp_path / "runs"
    command = ("evaluate", "greet", "--runs", str(runs), "--jobs", "1", "--yes")
    first = scylla(*command, "--only", "*nop*", cwd=repo, env=environment(tmp_path, **own))
    assert first.code == 0, first.err
    before = {path: path.read_bytes() for path in runs.rglob("trial.json")}
    fill(disk)
    said = scylla(*command, cwd=repo, env=environment(tmp_path, **own))
    assert said.code == 8, said.err
    assert "Traceback" not in said.err
    assert "No space left on device" in said.err
    assert str(disk) in said.err
    assert {path: path.read_bytes() for path in before} == before
    (disk / "filling").unlink()
    said = scylla(*command, cwd=repo, env=environment(tmp_path, **own))
    assert said.code == 0, said.err
    assert {path: path.read_bytes() for path in before} == before
    report = json.loads(next(runs.rglob("report.json")).read_text())
    assert report["counts"] == {"planned": 2, "ran": 2, "judged": 2, "scored": 2}


def fill(disk: Path) -> None:
    """Leave no room at all."""
    with (disk / "filling").open("wb", buffering=0) as file:
        for size in (MEGA, 4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
