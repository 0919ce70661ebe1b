"""The connection to a real engine, beside threads that do something else."""

import contextlib
import os
import sys
import threading

import pytest

from scylla_gha.sandboxes import engine

pytestmark = pytest.mark.usefixtures("running_engine")


def test_the_engine_is_asked_whatever_happens_to_the_environment_meanwhile() -> None:
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
