"""A disk that gets full in the middle of a run: what was done is kept, and the same command goes on."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.attempt.github import push_failure
from scylla_gha.errors import is_full_disk, is_lack_of_the_host
from scylla_gha.redaction import RedactionSession, Redactor
from tests.support.command import scylla
from tests.support.git import shell
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


def test_a_full_disk_of_the_search_for_secrets_is_not_the_agents_failure(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failure() -> str | None:
        bundle = tmp_path / "github.bundle"
        bundle.write_bytes((tmp_path / "made.bundle").read_bytes())
        return push_failure(bundle, RedactionSession(Redactor(())))

    shell(tmp_path, "git init -q all; head -c 6000000 /dev/urandom >all/large; cd all; git add .; git commit -qm a\n"
                    "git update-ref refs/end/1/heads/main HEAD; git bundle create -q ../made.bundle --all")  # fmt: skip
    assert failure() is None
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    with pytest.raises(OSError, match="No space left on device") as caught:
        failure()
    assert is_lack_of_the_host(caught.value)


def test_a_name_alone_is_no_full_disk(tmp_path: Path) -> None:
    assert not is_full_disk("error: unable to create file No space left on device: File name too long", tmp_path)
