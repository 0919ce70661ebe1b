"""An engine that dies in the middle of a trial, and an image that is gone: nobody's fault, and nothing is lost."""

import contextlib
import threading
from pathlib import Path

import pytest

from scylla_gha.model.trial import Outcome
from scylla_gha.sandboxes.docker import engine
from tests.integration.test_boxing import CHECKS, SOLVE, boxed, travelled
from tests.support.command import scylla
from tests.support.engine import found_by
from tests.support.killing import is_running
from tests.support.library import write
from tests.support.own_engine import OwnEngine, own_engine
from tests.support.processes import wait_for
from tests.support.repository import Repository, make_repository

SLEEP = "echo done >kept; exec sleep 600.0417"


# the engine's client leaves connections that break to the garbage collection
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_an_engine_loses_is_done_again_when_it_is_back(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", checkpoints=CHECKS, beside={"checks/hidden.sh": "echo hidden\n"})
    with own_engine() as own:
        solve_without_the_image(repository, tmp_path / "first")
        die_in_the_middle(own, repository, tmp_path / "runs")
        own.start()
        (told,) = travelled(boxed(repository, tmp_path / "runs", SOLVE)).told
        outcomes = [attempt.outcome for attempt in told[1].attempts]
        assert outcomes == [Outcome.SANDBOX_ERROR] * 3 + [Outcome.COMPLETED]
        assert told[2] is not None
        assert told[2].result is not None
        assert told[2].result.passed
        engine.await_removals()
        with contextlib.closing(engine.connect()) as api:
            assert api.containers(all=True) == []
            # the one of the container that was lost; by its owner, it is removed at the next start
            assert all(
                volume["Labels"][engine.OWNER_LABEL] == engine.owner() for volume in api.volumes()["Volumes"] or ()
            )
        prune(tmp_path)


def prune(folder: Path) -> None:
    """All images go, and the layers of a cache; but not unasked."""
    layer = write(folder / "cache/layers/one.tar", "a layer")
    env = {**found_by(), "SCYLLA_CACHE": str(folder / "cache")}
    unasked = scylla("image", "prune", cwd=folder, env=env)
    assert (unasked.code, layer.exists()) == (6, True)
    assert "nothing was removed; --yes" in unasked.err
    said = scylla("image", "prune", "--yes", cwd=folder, env=env)
    assert said.code == 0, said.err
    assert ", 1 cached layer, " in said.err
    assert not layer.exists()
    with contextlib.closing(engine.connect()) as api:
        assert api.images() == []


def solve_without_the_image(repository: Repository, runs: Path) -> None:
    """The planned image is not in the engine when the agent is to start: it is given it."""
    journey = boxed(repository, runs, SOLVE)
    with contextlib.closing(engine.connect()) as api:
        assert api.images() == []
    (told,) = travelled(journey).told
    assert told[1].outcome is Outcome.COMPLETED


def die_in_the_middle(own: OwnEngine, repository: Repository, runs: Path) -> None:
    journey = boxed(repository, runs, SLEEP)
    killer = threading.Thread(target=kill_once_it_runs, args=(own,))
    killer.start()
    (told,) = travelled(journey).told
    killer.join()
    first, *others = told[1].attempts
    assert (first.outcome, first.retryable) == (Outcome.SANDBOX_ERROR, True)
    assert "the container engine" in first.reason
    assert [other.outcome for other in others] == [Outcome.SANDBOX_ERROR] * 2
    assert "no container engine answers" in others[0].reason
    assert told[2] is None
    assert wait_for(lambda: not is_asleep()), "what the engine left behind ends by itself"


def kill_once_it_runs(own: OwnEngine) -> None:
    assert wait_for(is_asleep)
    own.kill()


def is_asleep() -> bool:
    return is_running(*SLEEP.split()[-2:])
