"""`scylla-gha cell`: what it needs to start; what it does is in tests/integration/test_shards.py."""

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.command import NO_ENGINE, scylla
from tests.support.repository import FIXTURE
from tests.support.shards import make_shop


def test_a_job_does_without_the_statistics(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    shop.plan()
    argv = [sys.executable, "-X", "importtime", "-m", "scylla_gha", "cell", "greet", "--shard", "0", "--minutes", "0"]
    env = {**os.environ, "DOCKER_HOST": NO_ENGINE, **shop.env}
    done = subprocess.run(argv, cwd=shop.repo, env=env, capture_output=True, text=True, check=True)
    modules = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "pydantic" in modules
    assert not modules & {"numpy", "scipy", "pandas", "pyarrow"}
    assert done.stdout == f"{shop.run}/shards/000/results.jsonl\n"


def test_without_a_shard_or_a_plan_it_says_what_is_missing(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    said = scylla("cell", "greet", cwd=shop.repo, env=shop.env)
    assert said.code == 2
    assert "Missing option '--shard'" in said.err
    said = scylla("cell", "greet", "--shard", "0", cwd=shop.repo, env=shop.env)
    assert said.code == 3
    assert "there is no plan; run `scylla-gha evaluate greet` first" in said.err


def test_one_job_at_a_time_does_a_shard_and_none_while_the_whole_folder_is_in_use(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    shop.plan()
    shard = shop.run / "shards" / "000"
    shard.mkdir(parents=True)
    for folder, how, code in ((shop.run, fcntl.LOCK_SH, 0), (shard, fcntl.LOCK_EX, 6), (shop.run, fcntl.LOCK_EX, 6)):
        with held(folder, how):
            said = scylla("cell", "greet", "--shard", "0", "--minutes", "0", cwd=shop.repo, env=shop.env)
        assert said.code == code, said.err
        assert code == 0 or f"{folder}: process {os.getpid()} (" in said.err


def test_a_changed_fixture_is_refused(tmp_path: Path) -> None:
    shop = make_shop(tmp_path)
    shop.plan()
    (shop.repo / "fixtures" / FIXTURE / "greet.sh").write_text("exit 1\n")
    said = scylla("cell", "greet", "--shard", "0", cwd=shop.repo, env=shop.env)
    assert said.code == 3
    assert "but the scenario pins" in said.err


@contextlib.contextmanager
def held(folder: Path, how: int) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, how)
    try:
        yield
    finally:
        os.close(descriptor)
