"""The connection to a real engine, beside threads that do something else, and where the engine fails now and then."""

import contextlib
import os
import sys
import threading

import pytest

from scylla_gha.sandboxes.base import temporary
from scylla_gha.sandboxes.docker import engine
from scylla_gha.system.process import LimitHit
from tests.support.docker_runner import DockerRunner
from tests.support.engine import found_by
from tests.support.faulty_engine import before

pytestmark = pytest.mark.usefixtures("running_engine")


def test_the_engine_answers_while_the_environment_changes() -> None:
    """As keys are withheld, and given back, while containers are removed behind."""
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            for number in range(50):
                os.environ[f"SCYLLA_TEST_{number}"] = "x"
            for number in range(50):
                del os.environ[f"SCYLLA_TEST_{number}"]

    changing, usual = threading.Thread(target=change), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    with contextlib.closing(engine.connect()) as api:
        changing.start()
        try:
            assert all(api.ping() for _ in range(200))
        finally:
            done.set()
            changing.join()
            sys.setswitchinterval(usual)


LEAVES_ONE_BEHIND = "(setsid sleep 60 >/dev/null 2>&1 &) ; sleep 0.2; echo done"


def test_processes_that_cannot_be_frozen_are_killed(runner: DockerRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary() as folder, before(found_by()["DOCKER_HOST"], folder, refusals=2) as (host, faulty):
        monkeypatch.setenv("DOCKER_HOST", host)
        seen = runner.sh(LEAVES_ONE_BEHIND)
        engine.await_removals()
    assert (seen.finished.code, seen.finished.hits, seen.finished.note, seen.out) == (0, frozenset(), "", "done\n")
    assert faulty.refused == 2


def test_a_container_that_cannot_be_frozen_at_all_is_lost(
    runner: DockerRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with temporary() as folder, before(found_by()["DOCKER_HOST"], folder, refusals=99) as (host, _):
        monkeypatch.setenv("DOCKER_HOST", host)
        seen = runner.sh(LEAVES_ONE_BEHIND)
        with contextlib.closing(engine.connect()) as api:
            assert not api.containers(all=True, filters={"label": f"{engine.OWNER_LABEL}={engine.owner()}"})
    assert (seen.finished.code, seen.finished.hits) == (-9, {LimitHit.LOST})
    assert "unable to freeze" in seen.finished.note
