"""What holds for all tests."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import an_engine

OF_A_RUNNER = ("GITHUB_", "ACTIONS_", "RUNNER_")


def pytest_configure() -> None:
    """Make the tests independent of where they are started.

    A job in a shell's background is started without SIGINT, and so would be all that the tests start. In a job of
    Actions the runner's variables would tell commands under test of another run.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in os.environ if name.startswith(OF_A_RUNNER)]:
        del os.environ[name]


@pytest.fixture(scope="session")
def running_engine(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[None]:
    base = tmp_path_factory.getbasetemp()
    with an_engine((base if worker_id == "master" else base.parent) / "engine"):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What whole journeys start is not measured: that takes half as long again, and modules have tests of their own."""
    with pytest.MonkeyPatch.context() as patch:
        if Path(__file__).with_name("e2e") in item.path.parents:
            patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
            patch.setenv("SCYLLA_TEST_JOURNEY", "1")
        return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A skipped test is a failure: nothing may be left out silently."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
